// Package ceph is what a pod needs to be a client of a Ceph cluster.
package ceph

import (
	"fmt"
	"strings"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Sources of the templates of a client's files.
const (
	ConfigSource  = "conf"
	KeyringSource = "keyring"
	// KeySource is that of a user's key alone.
	KeySource = "key"
)

// Files are the templates of what librados reads in a folder, of the cluster's configuration and a user's keyring. A keyring without the
// end of its last line is none.
func Files(user, folder, config, keyring string) map[string]c5c3v1.SecretTemplate {
	return map[string]c5c3v1.SecretTemplate{
		config: c5c3v1.SecretTemplate(fmt.Sprintf(
			"{{ .%s | trim }}\n[client.%s]\nkeyring = %s/%s\n", ConfigSource, user, folder, keyring)),
		keyring: c5c3v1.SecretTemplate(fmt.Sprintf("{{ .%s | trim }}\n", KeyringSource)),
	}
}

// FilesOf are the templates of the same files for the user of a pool of a StorageCluster, of which a Secret holds the key alone.
func FilesOf(c *common.StorageClient, folder, config, keyring string) map[string]c5c3v1.SecretTemplate {
	return map[string]c5c3v1.SecretTemplate{
		config:  c5c3v1.SecretTemplate(configOf(c, "keyring", folder+"/"+keyring)),
		keyring: c5c3v1.SecretTemplate(fmt.Sprintf("[client.%s]\nkey = {{ .%s | trim }}\n", c.User, KeySource)),
	}
}

// ConfigOf is the configuration of the same user, whose key is in a file of its own. It is for whoever reads a Secret as it is, without a
// template (https://docs.ceph.com/en/latest/rados/configuration/auth-config-ref/#keys).
func ConfigOf(c *common.StorageClient, keyFile string) string { return configOf(c, "keyfile", keyFile) }

// configOf says where a user's key is, by the option of what the file is.
func configOf(c *common.StorageClient, option, file string) string {
	return fmt.Sprintf(
		"[global]\nfsid = %s\nmon_host = %s\n[client.%s]\n%s = %s\n", c.FSID, strings.Join(c.Monitors, ","), c.User, option, file)
}

// Traffic is to monitors of both protocols and to daemons, in some networks or anywhere
// (https://docs.ceph.com/en/latest/rados/configuration/network-config-ref/).
func Traffic(networks []common.CIDR) workload.Flow {
	f := workload.Flow{Anywhere: len(networks) == 0, Ports: []int32{3300, 6789}, Ranges: []workload.Range{{First: 6800, Last: 7568}}}
	for _, n := range networks {
		f.Blocks = append(f.Blocks, string(n))
	}
	return f
}

// TrafficOf is that of the user of a pool of a StorageCluster: to its networks, or to its pods where these have addresses of their own.
func TrafficOf(c *common.StorageClient) workload.Flow {
	f := Traffic(nil)
	f.Anywhere, f.Blocks = !c.PodNetwork && len(c.Networks) == 0, c.Networks
	if c.PodNetwork {
		f.Namespaces = []string{c.Instance}
	}
	return f
}
