package override

import (
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	releases "github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestRejectsValuesThatStopService tests values that the types of options permit, and that stop a service.
func TestRejectsValuesThatStopService(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, service, in string
		want                string
	}{
		"a token":            {"Federated users have the longest.", "keystone", "{DEFAULT: {max_token_size: 255}}", ""},
		"no token":           {"Keystone does not issue it.", "keystone", "{DEFAULT: {max_token_size: 254}}", "config.DEFAULT.max_token_size: must be at least 255"},
		"a number as text":   {"A claim may contain both.", "keystone", "{DEFAULT: {max_token_size: '64'}}", "config.DEFAULT.max_token_size: must be at least 255"},
		"flat projects":      {"They are below a domain.", "keystone", "{DEFAULT: {max_project_tree_depth: 1}}", ""},
		"no projects":        {"Not even the service project.", "keystone", "{DEFAULT: {max_project_tree_depth: 0}}", "config.DEFAULT.max_project_tree_depth: "},
		"any credentials":    {"It is the default.", "keystone", "{application_credential: {user_limit: -1}}", ""},
		"enough credentials": {"A rotation fits.", "keystone", "{application_credential: {user_limit: 5}}", ""},
		"few credentials":    {"A rotation does not fit.", "keystone", "{application_credential: {user_limit: 4}}", "config.application_credential.user_limit: must be -1, or"},
		"a quota":            {"A unit without a space.", "glance", "{DEFAULT: {user_storage_quota: 500GB}}", ""},
		"a quota in bytes":   {"The unit is optional.", "glance", "{DEFAULT: {user_storage_quota: 1024}}", ""},
		"a quota with i":     {"Glance reads no GiB.", "glance", "{DEFAULT: {user_storage_quota: 500GiB}}", "config.DEFAULT.user_storage_quota: "},
		"a prefix":           {"Each cloud may have one.", "neutron", "{DEFAULT: {base_mac: 'fa:16:4E:00:00:00'}}", ""},
		"a group's prefix":   {"Neutron exits.", "neutron", "{DEFAULT: {base_mac: 'fb:16:3e:00:00:00'}}", "config.DEFAULT.base_mac: "},
		"no prefix":          {"Neutron exits.", "neutron", "{DEFAULT: {base_mac: fa-16-3e-00-00-00}}", "config.DEFAULT.base_mac: "},
		"routers":            {"Their own prefix.", "neutron", "{DEFAULT: {dvr_base_mac: 'fa:16:3f:01:00:00'}}", ""},
		"routers by octet":   {"The fourth octet differs.", "neutron", "{DEFAULT: {base_mac: 'fa:16:3f:02:00:00', dvr_base_mac: 'fa:16:3f:01:00:00'}}", ""},
		"routers as ports":   {"The default of base_mac.", "neutron", "{DEFAULT: {dvr_base_mac: 'FA:16:3E:00:00:00'}}", "config.DEFAULT.dvr_base_mac: must have another prefix"},
		"a group of routers": {"No interface has it.", "neutron", "{DEFAULT: {dvr_base_mac: '01:16:3f:00:00:00'}}", "config.DEFAULT.dvr_base_mac: "},
		"down early":         {"A report is missing always.", "cinder", "{DEFAULT: {service_down_time: 10}}", "config.DEFAULT.service_down_time: services report every 10 seconds"},
		"down later":         {"One report is in time.", "cinder", "{DEFAULT: {service_down_time: 11}}", ""},
		"reports late":       {"The default of service_down_time.", "cinder", "{DEFAULT: {report_interval: 300}}", "config.DEFAULT.report_interval: services report every 300"},
		"reports in time":    {"It is shorter than the default.", "cinder", "{DEFAULT: {report_interval: 60}}", ""},
		"both":               {"They fit together.", "cinder", "{DEFAULT: {report_interval: 60, service_down_time: 180}}", ""},
		"deleted at once":    {"It is the default.", "nova", "{DEFAULT: {reclaim_instance_interval: 0}}", ""},
		"deleted later":      {"Nobody may delete the volumes then.", "nova", "{DEFAULT: {reclaim_instance_interval: 3600}}", "config.DEFAULT.reclaim_instance_interval: must be at most 0"},
		"no list":            {"It is the largest page.", "nova", "{api: {max_limit: 0}}", "config.api.max_limit: must be at least 1"},
		"no time":            {"Stacks fail at once.", "heat", "{DEFAULT: {stack_action_timeout: 0}}", "config.DEFAULT.stack_action_timeout: must be at least 1"},
		"no template":        {"None is that small.", "heat", "{DEFAULT: {max_template_size: 0}}", "config.DEFAULT.max_template_size: must be at least 1"},
		"a large template":   {"No request can contain it.", "heat", "{DEFAULT: {max_template_size: 1048576}}", "config.DEFAULT.max_template_size: 1048576 bytes must be less"},
		"both sizes":         {"A request can contain it.", "heat", "{DEFAULT: {max_template_size: 1048576, max_json_body_size: 2097152}}", ""},
		"quiet loggers":      {"SQLAlchemy does not log values.", "nova", "{DEFAULT: {default_log_levels: [sqlalchemy=WARN, nova.scheduler=DEBUG]}}", ""},
		"quiet as text":      {"A claim may contain a list as text.", "nova", "{DEFAULT: {default_log_levels: 'amqp=WARN, sqlalchemy=error'}}", ""},
		"no level":           {"The root logger has level INFO.", "nova", "{DEFAULT: {default_log_levels: [amqp=WARN]}}", "config.DEFAULT.default_log_levels: must contain sqlalchemy=WARN"},
		"no loggers":         {"It replaces the default list.", "glance", "{DEFAULT: {default_log_levels: []}}", "config.DEFAULT.default_log_levels: must contain sqlalchemy=WARN"},
		"a loud logger":      {"INFO contains values.", "heat", "{DEFAULT: {default_log_levels: [sqlalchemy=INFO]}}", "config.DEFAULT.default_log_levels: must contain sqlalchemy=WARN"},
		"a loud engine":      {"It is more specific.", "heat", "{DEFAULT: {default_log_levels: [sqlalchemy=WARN, sqlalchemy.engine=DEBUG]}}", "sqlalchemy.engine logs values"},
		"a loud store":       {"botocore logs headers.", "glance", "{DEFAULT: {default_log_levels: [sqlalchemy=WARN, botocore.auth=DEBUG]}}", "botocore.auth logs credentials"},
		"a loud image":       {"A patched image logs the same.", "nova", "{DEFAULT: {default_log_levels: [sqlalchemy=DEBUG]}}\nallowUnknown: true", "must contain sqlalchemy=WARN"},
		"a patched image":    {"It may have other rules.", "keystone", "{DEFAULT: {max_token_size: 64}}\nallowUnknown: true", ""},
	} {
		_, err := Options(tc.service, "2025.2", overrides(t, "config: "+tc.in), "spec")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s\ngot %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}

// TestValuesReportedOnce tests that a contradiction of two options of the tenant is one error.
func TestValuesReportedOnce(t *testing.T) {
	_, err := Options("cinder", "2025.2", overrides(t, "config: {DEFAULT: {report_interval: 60, service_down_time: 30}}"), "spec")
	if got := len(flat(err)); got != 1 {
		t.Errorf("%d errors, want 1: %v", got, err)
	}
}

// TestValueRulesExist tests that each rule is about an option of every release.
func TestValueRulesExist(t *testing.T) {
	for service, rules := range valueRules {
		for _, r := range releases.Releases() {
			known, err := registry.For(service, string(r))
			if err != nil {
				t.Fatal(err)
			}
			for _, rule := range rules {
				if len(known.Lookup(rule.group, rule.option)) != 1 {
					t.Errorf("%s of %s has no option [%s] %s", service, r, rule.group, rule.option)
				}
			}
		}
	}
}
