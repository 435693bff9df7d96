package emitted

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// unregistered are options that the services' packages do not list.
var unregistered = map[string]bool{
	// A claim sets it, with allowUnknown.
	"mine flag": true,
	// The group is named after a federation protocol: Keystone registers the option when a protocol is used for the
	// first time (https://docs.openstack.org/keystone/latest/admin/federation/configure_federation.html).
	"openid remote_id_attribute": true,
}

// foreign are files that oslo.config does not read: of a web server, librados, and the reader of Swift's accounts.
var foreign = []string{"httpd.conf", "ceph.conf", "swift.conf"}

// stores returns the groups of Glance's stores: enabled_backends = <name>:<driver>, …; and of Cinder's backends, which
// name their driver: volume_driver = cinder.volume.drivers.<driver>.<class>.
func stores(t *testing.T, text string) []registry.Group {
	t.Helper()
	file, err := oslo.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out []registry.Group
	for _, list := range file["DEFAULT"]["enabled_backends"] {
		for store := range strings.SplitSeq(list, ",") {
			name, driver, found := strings.Cut(strings.TrimSpace(store), ":")
			if !found {
				continue
			}
			out = append(out, registry.Group{Name: name, Template: driver})
		}
	}
	for group, options := range file {
		for _, class := range options["volume_driver"] {
			driver, _, _ := strings.Cut(strings.TrimPrefix(class, "cinder.volume.drivers."), ".")
			out = append(out, registry.Group{Name: group, Template: driver})
		}
	}
	return out
}

// owner returns the service that an object belongs to, in the release of its claim; nil if it belongs to none.
func owner(t *testing.T, o preview.Object, of string) *registry.Registry {
	t.Helper()
	app := labelsOf(o)["app.kubernetes.io/name"]
	// A StorageCluster has no release, and its Ceph users have the names of the services that use them.
	if len(registry.All(app)) == 0 || of == "" {
		return nil
	}
	known, err := registry.For(app, of)
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// storesOf returns the groups that the stores of a case's Glance name.
func storesOf(t *testing.T, c testCase) []registry.Group {
	t.Helper()
	for _, o := range c.Objects {
		if text := files(o)["glance-api.conf"]; text != "" {
			return stores(t, text)
		}
	}
	return nil
}

func labelsOf(o preview.Object) map[string]string {
	path := []string{"metadata", "labels"}
	if o.Wrapped {
		path = append([]string{"spec", "forProvider", "manifest"}, path...)
	}
	out, _, _ := unstructured.NestedStringMap(o.Manifest.AsMap(), path...)
	return out
}

// TestServicesAcceptTheirConfiguration checks that each service has every option of its configuration files and every rule of its policy
// in the release of the claim, and accepts each value.
func TestServicesAcceptTheirConfiguration(t *testing.T) {
	checked := map[string]int{}
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			for _, o := range c.Objects {
				known := owner(t, o, c.release)
				if known == nil {
					continue
				}
				for file, text := range files(o) {
					switch {
					case slices.Contains(foreign, file):
						continue
					case strings.HasSuffix(file, ".conf"):
						named, err := known.With(stores(t, text)...)
						if err != nil {
							t.Fatal(err)
						}
						checkOptions(t, named, o.Name+"/"+file, text)
					case file == "policy.yaml":
						rules := map[string]string{}
						if err := yaml.UnmarshalStrict([]byte(text), &rules); err != nil {
							t.Errorf("%s: %v", o.Name, err)
						}
						for _, err := range known.CheckPolicies(rules, false) {
							t.Errorf("%s: %v", o.Name, err)
						}
					default:
						continue
					}
					checked[c.release]++
				}
			}
		})
	}
	for _, r := range []string{"2025.1", "2025.2", "2026.1", "2026.2"} {
		if checked[r] < 10 {
			t.Errorf("only %d files were checked for %s", checked[r], r)
		}
	}
}

// TestOsloConfigReadsEnvironment checks that oslo.config reads every option that a pod's environment sets from there.
func TestOsloConfigReadsEnvironment(t *testing.T) {
	checked := 0
	for _, c := range cases(t) {
		for _, o := range c.Objects {
			known := owner(t, o, c.release)
			if known == nil {
				continue
			}
			named := known
			if known.Service == "glance" {
				var err error
				if named, err = known.With(storesOf(t, c)...); err != nil {
					t.Fatal(err)
				}
			}
			for _, pod := range pods(o.Manifest.AsMap()) {
				for _, container := range pod.Containers {
					for _, e := range container.Env {
						// keystone-manage bootstrap reads its own (https://docs.openstack.org/keystone/latest/cli/commands.html).
						// Nova's applications look by theirs which files there are (nova/api/openstack/wsgi_app.py), and so do Neutron's
						// (neutron/server/__init__.py).
						own := strings.HasPrefix(e.Name, "OS_BOOTSTRAP_") || strings.HasSuffix(e.Name, "_CONFIG_FILES")
						if !strings.HasPrefix(e.Name, "OS_") || own {
							continue
						}
						option := optionOf(named, e.Name)
						if option == nil || option.Multi {
							t.Errorf("%s: %s %s: %s sets no option", c.name, o.Kind, o.Name, e.Name)
							continue
						}
						if _, err := named.CheckOption(option.Group, option.Name, strings.ReplaceAll(e.Value, "$(POD_NAME)", o.Name+"-0")); err != nil && !option.Secret {
							t.Errorf("%s: %s %s: %s: %v", c.name, o.Kind, o.Name, e.Name, err)
						}
						checked++
					}
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no option is set by the environment")
	}
}

// optionsByVariable are the options of each registry by the variable of the environment that sets them.
var optionsByVariable = map[*registry.Registry]map[string]*registry.Option{}

// optionOf returns the option that a variable of the environment sets.
func optionOf(known *registry.Registry, variable string) *registry.Option {
	options, ok := optionsByVariable[known]
	if !ok {
		options = map[string]*registry.Option{}
		for _, group := range known.Groups() {
			for _, o := range known.Options(group) {
				env, err := oslo.EnvName(o.Group, o.Name)
				if _, earlier := options[env]; err == nil && !earlier {
					options[env] = o
				}
			}
		}
		optionsByVariable[known] = options
	}
	return options[variable]
}

// files returns the contents of a ConfigMap, and of the Secret of a SecretAggregate.
func files(o preview.Object) map[string]string {
	path := map[string][]string{"ConfigMap": {"data"}, "SecretAggregate": {"spec", "template"}}[o.Kind]
	if path == nil {
		return nil
	}
	m := o.Manifest.AsMap()
	if o.Wrapped {
		path = append([]string{"spec", "forProvider", "manifest"}, path...)
	}
	out, _, _ := unstructured.NestedStringMap(m, path...)
	return out
}

func checkOptions(t *testing.T, known *registry.Registry, at, text string) {
	t.Helper()
	file, err := oslo.Parse(text)
	if err != nil {
		t.Errorf("%s: %v", at, err)
	}
	if len(file) == 0 {
		t.Errorf("%s is empty", at)
	}
	for group, options := range file {
		for option, values := range options {
			if unregistered[group+" "+option] {
				continue
			}
			targets := known.Lookup(group, option)
			if len(targets) != 1 || targets[0].Group != group || targets[0].Name != option {
				t.Errorf("%s: [%s] %s is no option's present name in %s", at, group, option, known.Release)
				continue
			}
			if len(values) > 1 && !targets[0].Multi {
				t.Errorf("%s: [%s] %s is set %d times", at, group, option, len(values))
			}
			for _, v := range values {
				// Values that the companion fills in are in double braces; a dollar sign is written twice.
				if strings.HasPrefix(v, "{{") {
					continue
				}
				finding, err := known.CheckOption(group, option, strings.ReplaceAll(v, "$$", "$"))
				if err != nil {
					t.Errorf("%s: %v", at, err)
				}
				if finding.Deprecated {
					t.Errorf("%s: %s", at, finding.Message)
				}
			}
		}
	}
}
