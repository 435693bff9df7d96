//go:build openstack && linux

package configuration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// files are the configuration files of services: by name, the namespaces of options that the service's sample lists,
// with those of the libraries that it uses, the groups that are registered only when they are used, and a pattern of
// unlisted options.
var files = map[string]struct {
	namespaces, unlisted []string
	hidden               string
}{
	"keystone.conf": {
		namespaces: []string{
			"oslo.concurrency", "keystone", "oslo.cache", "oslo.log", "oslo.messaging", "oslo.policy", "oslo.db", "oslo.middleware", "osprofiler",
		},
		unlisted: []string{"openid"}, // of the federation protocol
	},
	"placement.conf": {
		namespaces: []string{
			"placement.conf", "keystonemiddleware.auth_token", "oslo.log", "oslo.middleware", "oslo.middleware.http_proxy_to_wsgi", "oslo.policy",
		},
		unlisted: []string{"oslo_concurrency"},
	},
	"glance-api.conf": {
		namespaces: []string{
			"glance.api", "glance", "glance.multi_store", "castellan.config", "keystonemiddleware.auth_token", "oslo.concurrency", "oslo.db", "oslo.log",
			"oslo.messaging", "oslo.middleware", "oslo.middleware.http_proxy_to_wsgi", "oslo.policy",
		},
		// Groups of stores, with the names in claims.
		unlisted: []string{"main", "files", "objects", "blocks", "os_glance_staging_store", "os_glance_tasks_store", "barbican_service_user"},
		hidden:   "metadata_source_path",
	},
	"nova.conf": {
		namespaces: []string{
			"nova.conf", "castellan.config", "keystonemiddleware.auth_token", "oslo.cache", "oslo.concurrency", "oslo.limit", "oslo.log", "oslo.messaging",
			"oslo.middleware", "oslo.middleware.http_proxy_to_wsgi", "oslo.policy", "oslo.reports", "oslo.service.service",
		},
		// The options for limits in Keystone and for its logins are registered when they are used.
		unlisted: []string{"oslo_limit", "barbican_service_user"},
		hidden:   "application_credential_(id|secret)",
	},
	"cinder.conf": {
		namespaces: []string{
			"cinder", "castellan.config", "keystonemiddleware.auth_token", "oslo.concurrency", "oslo.db", "oslo.log", "oslo.messaging", "oslo.middleware",
			"oslo.middleware.http_proxy_to_wsgi", "oslo.policy", "oslo.service.service", "oslo.service.wsgi",
		},
		// Groups of backends, with the names in claims; the options of logins, and oslo.privsep's, are registered when
		// they are used.
		unlisted: []string{"cinder_sys_admin", "privsep_osbrick", "ceph-rbd", "glance", "nova", "service_user", "barbican_service_user"},
	},
	"neutron.conf": {
		namespaces: []string{
			"neutron", "neutron.db", "neutron.extensions", "neutron.ml2", "neutron.ml2.ovn", "nova.auth", "placement.auth",
			"keystonemiddleware.auth_token", "oslo.cache", "oslo.concurrency", "oslo.db", "oslo.log", "oslo.messaging", "oslo.middleware",
			"oslo.middleware.http_proxy_to_wsgi", "oslo.policy", "oslo.reports", "oslo.service.service",
		},
		hidden: "application_credential_(id|secret)",
	},
	"barbican.conf": {
		namespaces: []string{
			"barbican.common.config", "barbican.plugin.crypto", "barbican.plugin.crypto.simple", "barbican.plugin.secret_store",
			"barbican.plugin.secret_store.vault", "keystonemiddleware.auth_token", "oslo.concurrency", "oslo.db", "oslo.log", "oslo.messaging",
			"oslo.middleware", "oslo.middleware.http_proxy_to_wsgi", "oslo.policy",
		},
	},
	"heat.conf": {
		namespaces: []string{
			"heat.common.cache", "heat.common.config", "heat.common.context", "heat.common.crypt", "heat.common.wsgi", "heat.engine.clients",
			"heat.engine.clients.os.keystone.heat_keystoneclient", "heat.engine.hot.functions", "heat.engine.notification", "heat.engine.resources",
			"heat.api.aws.ec2token", "keystonemiddleware.auth_token", "oslo.cache", "oslo.concurrency", "oslo.log", "oslo.messaging",
			"oslo.middleware", "oslo.middleware.http_proxy_to_wsgi", "oslo.policy", "oslo.reports", "oslo.service.service",
		},
		hidden: "application_credential_(id|secret)",
	},
}

// foreign are files of other programs.
var foreign = []string{"httpd.conf"}

// orderedRelease is the release that a claim orders.
var orderedRelease = regexp.MustCompile(`openStackRelease: "[0-9.]+"`)

// TestConfiguration checks every option of every configuration file emitted for the claims of test/openstack/testdata with
// oslo-config-validator, in each installed release.
func TestConfiguration(t *testing.T) {
	claims := map[string][]byte{"example": examples.Claim}
	for _, pattern := range []string{"../testdata/[a-o]*.yaml", "../testdata/placement.yaml", "../testdata/secrets.yaml", "../testdata/small.yaml", "../testdata/stacks.yaml", "../testdata/volumes.yaml", "../../../examples/controlplane/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("there is no claim %s (%v)", pattern, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(text, []byte("kind: ControlPlaneCluster")) { // a pool needs a control plane
				claims[f] = text
			}
		}
	}
	for r, venv := range harness.Programs.Services {
		checked := map[string]bool{}
		for name, claim := range claims {
			text := orderedRelease.ReplaceAllString(string(claim), `openStackRelease: "`+string(r)+`"`)
			result, err := preview.Run([]byte(text), harness.Read(t, "platform.yaml"), kinds.Runners())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, o := range result.Objects {
				u := unstructured.Unstructured{Object: o.Manifest.AsMap()}
				for _, path := range [][]string{{"data"}, {"spec", "template"}} {
					content, _, err := unstructured.NestedStringMap(u.Object, path...)
					if err != nil || (u.GetKind() != "ConfigMap" && u.GetKind() != "SecretAggregate") {
						continue
					}
					for file, text := range content {
						if strings.HasSuffix(file, ".conf") && !slices.Contains(foreign, file) && !checked[text] {
							checked[text] = true
							validate(t, r, venv, name+": "+o.Name+"/"+file, file, text)
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
func validate(t *testing.T, r release.Release, venv, name, file, text string) {
	t.Helper()
	if file == "cinder.conf" && r == "2026.2" {
		return // Its list of options imports google-api-python-client, which nothing else needs and the image does not have.
	}
	known, ok := files[file]
	if !ok {
		known = files["keystone.conf"] // a domain's configuration
	}
	if known.hidden != "" {
		text = regexp.MustCompile("(?m)^"+known.hidden+" = .*\n").ReplaceAllString(text, "")
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--input-file", path}
	for _, n := range known.namespaces {
		args = append(args, "--namespace", n)
	}
	for _, g := range known.unlisted {
		args = append(args, "--exclude-group", g)
	}
	out, err := exec.Command(filepath.Join(venv, "bin", "oslo-config-validator"), args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s, %s: %v\n%s", r, name, err, out)
	}
}
