package override

import (
	"os"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
)

// noLeak are options that hack/registry/leaks.py selects for a review and that a tenant may set, with the reason. A name applies to
// all groups of all services.
var noLeak = map[string]string{
	"debug":                               "messages mask passwords and tokens (oslo_utils.strutils.mask_password)",
	"connection_trace":                    "statements contain the place in the code that sends them, and no values",
	"allow_trusts_redelegation":           "it needs the consent of the user who delegates",
	"datera_debug":                        "the image does not contain the driver",
	"datera_debug_replica_count_override": "the image does not contain the driver",
	"hitachi_mirror_ssl_cert_verify":      "the image does not contain the driver",
	"default_log_levels":                  "a rule rejects levels with which libraries log secrets (quietLoggers)",
	"domain_name_url_safe":                "it restricts names",
	"project_name_url_safe":               "it restricts names",
	"log_options":                         "values of secret options are masked",
	"logging_debug_format_suffix":         "it adds attributes of the message, such as the function",
	"split_loggers":                       "messages are the same, with another name of the logger",
	"verify_glance_signatures":            "it adds a protection",
	"volume_clear":                        "no driver of the image uses it: Ceph and NFS do not reuse blocks",
}

// TestOptionsThatMayLeakAreDecided tests that each option whose name or help text suggests that it reveals secrets or disables a protection
// is rejected, restricted to some values, or has a reason why a tenant may set it.
func TestOptionsThatMayLeakAreDecided(t *testing.T) {
	used := map[string]bool{}
	for service, tables := range services {
		for _, r := range registry.All(service) {
			for name := range selected(t, service, r) {
				if noLeak[name.Option] != "" {
					used[name.Option] = true
				} else if !decided(tables, name) {
					t.Errorf("%s %s: %s may reveal secrets or disable a protection: add it to a table of %s, or to noLeak with the reason",
						service, r.Release, name, service)
				}
			}
		}
	}
	for option := range noLeak {
		if !used[option] {
			t.Errorf("noLeak contains %s, which no release has or which a table contains", option)
		}
	}
}

// selected returns the options of a release whose names are in the list of hack/registry/leaks.py. The list has the groups of the option
// lists, and the tables those of the registry, so only the names of options are compared.
func selected(t *testing.T, service string, r *registry.Registry) map[registry.Name]*registry.Option {
	t.Helper()
	data, err := os.ReadFile("testdata/leaks/" + r.Release + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, service+" "); ok {
			names[strings.TrimSpace(rest[strings.LastIndex(rest, "]")+1:])] = true
		}
	}
	if len(names) == 0 {
		t.Fatalf("testdata/leaks/%s.txt has no option of %s", r.Release, service)
	}
	out := tabled(r)
	for name, o := range out {
		if o.Secret || !names[strings.ReplaceAll(o.Name, "-", "_")] {
			delete(out, name)
		}
	}
	return out
}
