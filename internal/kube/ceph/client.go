// Package ceph builds the files and network rules of a pod that is a client of a Ceph cluster.
package ceph

import (
	"fmt"
	"strings"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Names of the sources in the templates of a client's files.
const (
	ConfigSource  = "conf"
	KeyringSource = "keyring"
	// KeySource is the source with only the key of a user.
	KeySource = "key"
)

// Files returns templates of the files that librados reads in a folder, from the configuration of the cluster and the keyring of a user.
// librados ignores a keyring whose last line has no line break.
func Files(user, folder, config, keyring string) map[string]c5c3v1.SecretTemplate {
	return map[string]c5c3v1.SecretTemplate{
		config: c5c3v1.SecretTemplate(fmt.Sprintf(
			"{{ .%s | trim }}\n[client.%s]\nkeyring = %s/%s\n", ConfigSource, user, folder, keyring)),
		keyring: c5c3v1.SecretTemplate(fmt.Sprintf("{{ .%s | trim }}\n", KeyringSource)),
	}
}

// FilesOf returns templates of the same files for the user of a pool of a StorageCluster, whose Secret contains only the key.
func FilesOf(c *common.StorageClient, folder, config, keyring string) map[string]c5c3v1.SecretTemplate {
	return map[string]c5c3v1.SecretTemplate{
		config:  c5c3v1.SecretTemplate(configOf(c, "keyring", folder+"/"+keyring)),
		keyring: c5c3v1.SecretTemplate(fmt.Sprintf("[client.%s]\nkey = {{ .%s | trim }}\n", c.User, KeySource)),
	}
}

// ConfigOf returns the configuration of the same user with the key in another file, for consumers that use a Secret without a template
// (https://docs.ceph.com/en/latest/rados/configuration/auth-config-ref/#keys).
func ConfigOf(c *common.StorageClient, keyFile string) string { return configOf(c, "keyfile", keyFile) }

// configOf returns a configuration in which option (keyring or keyfile) is the path of the user's key.
func configOf(c *common.StorageClient, option, file string) string {
	return fmt.Sprintf(
		"[global]\nfsid = %s\nmon_host = %s\n[client.%s]\n%s = %s\n", c.FSID, strings.Join(c.Monitors, ","), c.User, option, file)
}

// Traffic returns the egress to monitors, with both protocols, and daemons, in the given networks or anywhere
// (https://docs.ceph.com/en/latest/rados/configuration/network-config-ref/).
func Traffic(networks []common.CIDR) workload.Flow {
	f := workload.Flow{Anywhere: len(networks) == 0, Ports: []int32{3300, 6789}, Ranges: []workload.Range{{First: 6800, Last: 7568}}}
	for _, n := range networks {
		f.Blocks = append(f.Blocks, string(n))
	}
	return f
}

// TrafficOf returns the egress for the user of a pool of a StorageCluster: to its networks, or to its pods if they use the pod network.
func TrafficOf(c *common.StorageClient) workload.Flow {
	f := Traffic(nil)
	f.Anywhere, f.Blocks = !c.PodNetwork && len(c.Networks) == 0, c.Networks
	if c.PodNetwork {
		f.Namespaces = []string{c.Instance}
	}
	return f
}
