//go:build openstack && linux

package configuration

import (
	"bytes"
	"maps"
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

// TestConfigurationPassesValidator checks every option of every configuration file emitted for the claims of test/openstack/testdata with
// oslo-config-validator, in each installed release. The validator takes seconds to load the options of a service, and compares only their
// names: it reads all files of a service at once.
func TestConfigurationPassesValidator(t *testing.T) {
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
		t.Run(string(r), func(t *testing.T) {
			// By the name in files, and then by content: the claim and the object.
			checked := map[string]map[string]string{}
			count := 0
			for name, claim := range claims {
				text := orderedRelease.ReplaceAllString(string(claim), `openStackRelease: "`+string(r)+`"`)
				result, err := preview.Run([]byte(text), harness.Read(t, "platform.yaml"), kinds.Runners())
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for _, o := range result.Objects {
					for file, text := range configurations(o) {
						kind := file
						if _, ok := files[file]; !ok {
							kind = "keystone.conf" // a domain's configuration
						}
						if checked[kind] == nil {
							checked[kind] = map[string]string{}
						}
						if _, ok := checked[kind][text]; !ok {
							checked[kind][text] = name + ": " + o.Name + "/" + file
							count++
						}
					}
				}
			}
			if count < 4 {
				t.Errorf("only %d files were checked", count)
			}
			for file, texts := range checked {
				validate(t, r, venv, file, texts)
			}
		})
	}
}

// configurations returns the configuration files of services in an object, by name.
func configurations(o preview.Object) map[string]string {
	out := map[string]string{}
	if o.Kind != "ConfigMap" && o.Kind != "SecretAggregate" {
		return out
	}
	for _, path := range [][]string{{"data"}, {"spec", "template"}} {
		content, _, err := unstructured.NestedStringMap(o.Manifest.AsMap(), path...)
		if err != nil {
			continue
		}
		for file, text := range content {
			if strings.HasSuffix(file, ".conf") && !slices.Contains(foreign, file) {
				out[file] = text
			}
		}
	}
	return out
}

// unknownOption is an error of oslo-config-validator.
var unknownOption = regexp.MustCompile(`(?m)^ERROR:\w+:(\S+)/(\S+) is not part of the sample config$`)

// validate runs oslo-config-validator on the files of a service, one after the other in one file: a group may occur several times.
func validate(t *testing.T, r release.Release, venv, file string, texts map[string]string) {
	t.Helper()
	if file == "cinder.conf" && r == "2026.2" {
		return // Its list of options imports google-api-python-client, which nothing else needs and the image does not have.
	}
	known := files[file]
	all := strings.Join(slices.Sorted(maps.Keys(texts)), "\n")
	if known.hidden != "" {
		all = regexp.MustCompile("(?m)^"+known.hidden+" = .*\n").ReplaceAllString(all, "")
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(all), 0o600); err != nil {
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
	if err == nil {
		return
	}
	t.Errorf("%s: %v\n%s", file, err, out)
	for _, m := range unknownOption.FindAllStringSubmatch(string(out), -1) {
		for text, name := range texts {
			if strings.Contains("\n"+text, "\n"+m[2]+" =") {
				t.Logf("%s/%s is in %s", m[1], m[2], name)
			}
		}
	}
}
