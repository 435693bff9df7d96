package ceph

import (
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// TestFiles tests that the configuration refers to the keyring in the same folder, and that both end with a line break.
func TestFiles(t *testing.T) {
	want := map[string]string{
		"ceph.conf": "[global]\nmon_host = a\n[client.glance]\nkeyring = /etc/ceph/keyring\n",
		"keyring":   "[client.glance]\nkey = b\n",
	}
	got := map[string]string{}
	for file, text := range Files("glance", "/etc/ceph", "ceph.conf", "keyring") {
		got[file] = filled(t, text, map[string]string{ConfigSource: "\n[global]\nmon_host = a", KeyringSource: "[client.glance]\nkey = b\n\n"})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFilesOf tests the same for a pool of a StorageCluster, with only the key of the user.
func TestFilesOf(t *testing.T) {
	c := &common.StorageClient{FSID: "f", Monitors: []string{"[v2:10.0.0.1:3300]", "[v2:10.0.0.2:3300]"}, User: "production-glance"}
	want := map[string]string{
		"ceph.conf": "[global]\nfsid = f\nmon_host = [v2:10.0.0.1:3300],[v2:10.0.0.2:3300]\n[client.production-glance]\nkeyring = /etc/ceph/keyring\n",
		"keyring":   "[client.production-glance]\nkey = AQ==\n",
	}
	got := map[string]string{}
	for file, text := range FilesOf(c, "/etc/ceph", "ceph.conf", "keyring") {
		got[file] = filled(t, text, map[string]string{KeySource: "AQ==\n"})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestConfigOf tests that the configuration refers to the key file if no keyring exists.
func TestConfigOf(t *testing.T) {
	c := &common.StorageClient{FSID: "f", Monitors: []string{"[v2:10.0.0.1:3300]", "[v2:10.0.0.2:3300]"}, User: "production-nova"}
	want := "[global]\nfsid = f\nmon_host = [v2:10.0.0.1:3300],[v2:10.0.0.2:3300]\n[client.production-nova]\nkeyfile = /etc/keys/userKey\n"
	if diff := cmp.Diff(want, ConfigOf(c, "/etc/keys/userKey")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func filled(t *testing.T, text c5c3v1.SecretTemplate, sources map[string]string) string {
	t.Helper()
	tmpl, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{"trim": strings.TrimSpace}).Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tmpl.Execute(&out, sources); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestTraffic tests the ports in https://docs.ceph.com/en/latest/rados/configuration/network-config-ref/.
func TestTraffic(t *testing.T) {
	daemons := workload.Flow{Ports: []int32{3300, 6789}, Ranges: []workload.Range{{First: 6800, Last: 7568}}}
	anywhere, some := daemons, daemons
	anywhere.Anywhere, some.Blocks = true, []string{"10.1.0.0/16", "fd00::/8"}
	if diff := cmp.Diff(anywhere, Traffic(nil)); diff != "" {
		t.Errorf("anywhere (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(some, Traffic([]common.CIDR{"10.1.0.0/16", "fd00::/8"})); diff != "" {
		t.Errorf("in networks (-want +got):\n%s", diff)
	}
}

// TestTrafficOf tests that egress is restricted to the pods of the daemons if they use the pod network.
func TestTrafficOf(t *testing.T) {
	daemons := workload.Flow{Ports: []int32{3300, 6789}, Ranges: []workload.Range{{First: 6800, Last: 7568}}}
	anywhere, some, pods := daemons, daemons, daemons
	anywhere.Anywhere, some.Blocks, pods.Namespaces = true, []string{"10.1.0.0/16"}, []string{"storage-1"}
	for name, tc := range map[string]struct {
		reason string
		client common.StorageClient
		want   workload.Flow
	}{
		"Anywhere": {"The networks are unknown.", common.StorageClient{Instance: "storage-1"}, anywhere},
		"Networks": {"The networks of the nodes are known.", common.StorageClient{Instance: "storage-1", Networks: []string{"10.1.0.0/16"}}, some},
		"Pods":     {"They have no network of nodes.", common.StorageClient{Instance: "storage-1", PodNetwork: true}, pods},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, TrafficOf(&tc.client)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
