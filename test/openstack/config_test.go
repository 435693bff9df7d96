//go:build openstack && linux

package openstack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// namespaces of the options that Keystone's own sample of its configuration lists, and that of a library which one of those uses.
var namespaces = []string{
	"oslo.concurrency", "keystone", "oslo.cache", "oslo.log", "oslo.messaging", "oslo.policy", "oslo.db", "oslo.middleware", "osprofiler",
}

// unlisted is the group of the federation protocol, which Keystone registers when it is used.
var unlisted = []string{"openid"}

// TestConfiguration: oslo-config-validator knows every option of every configuration file that is emitted for every claim here,
// in each installed release.
func TestConfiguration(t *testing.T) {
	claims := map[string][]byte{"example": examples.Claim}
	for _, pattern := range []string{"testdata/[a-o]*.yaml", "testdata/small.yaml", "../../examples/controlplane/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("there is no claim %s (%v)", pattern, err)
		}
		for _, f := range files {
			if claims[f], err = os.ReadFile(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	for r, venv := range keystones {
		checked := map[string]bool{}
		for name, claim := range claims {
			text := strings.Replace(string(claim), `openStackRelease: "2025.2"`, `openStackRelease: "`+string(r)+`"`, 1)
			result, err := preview.Run([]byte(text), read(t, "platform.yaml"), kinds.Runners())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, o := range result.Objects {
				u := unstructured.Unstructured{Object: o.Manifest.AsMap()}
				for _, path := range [][]string{{"data"}, {"spec", "template"}} {
					files, _, err := unstructured.NestedStringMap(u.Object, path...)
					if err != nil || (u.GetKind() != "ConfigMap" && u.GetKind() != "SecretAggregate") {
						continue
					}
					for file, text := range files {
						if strings.HasSuffix(file, ".conf") && file != "httpd.conf" && !checked[text] {
							checked[text] = true
							validate(t, r, venv, name+": "+o.Name+"/"+file, text)
						}
					}
				}
			}
		}
		if len(checked) < 4 {
			t.Errorf("only %d files were checked for %s", len(checked), r)
		}
	}
}

// validate runs oslo-config-validator on a file.
func validate(t *testing.T, r release.Release, venv, name, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keystone.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--input-file", file}
	for _, n := range namespaces {
		args = append(args, "--namespace", n)
	}
	for _, g := range unlisted {
		args = append(args, "--exclude-group", g)
	}
	out, err := exec.Command(filepath.Join(venv, "bin", "oslo-config-validator"), args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s, %s: %v\n%s", r, name, err, out)
	}
}
