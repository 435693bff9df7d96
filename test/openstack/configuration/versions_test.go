//go:build openstack && linux

package configuration

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/images"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/versions"
)

// TestConfigurationVersions checks that the Debian packages of clouds are of the series in docs/reference/versions.md.
func TestConfigurationVersions(t *testing.T) {
	for name, tree := range map[string]struct{ root, suite string }{
		"machine":    {"/", images.Debian},
		"proxy":      {harness.Programs.FederationProxy, images.Debian},
		"servers":    {harness.Programs.Servers, "trixie"},
		"network":    {harness.Programs.Network, "trixie"},
		"hypervisor": {harness.Programs.Hypervisor, "trixie"},
		"ceph":       {harness.Programs.Ceph, "trixie"},
	} {
		if tree.root == "" {
			continue // not selected
		}
		installed, err := install.Installed(tree.root)
		if err != nil {
			t.Fatal(err)
		}
		for p, recorded := range versions.DebianVersions {
			got, ok := installed[p.Package]
			if want := versions.Series(versions.Upstream(recorded)); ok && p.Suite == tree.suite && versions.Series(versions.Upstream(got)) != want {
				t.Errorf("%s: package %s is %s, want the series %s; record the version in test/versions/debian.go, and run make generate", name, p.Package, got, want)
			}
		}
	}
}
