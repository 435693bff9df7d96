package oslo_test

import (
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

func TestEnvName(t *testing.T) {
	type args struct{ group, option string }
	cases := map[string]struct {
		reason string
		args   args
		want   string // empty: rejected
	}{
		"Default": {"Options without a group.", args{"DEFAULT", "transport_url"}, "OS_DEFAULT__TRANSPORT_URL"},
		"Group":   {"Everything is in upper case.", args{"keystone_authtoken", "password"}, "OS_KEYSTONE_AUTHTOKEN__PASSWORD"},
		"Hyphen":  {"oslo.config knows foo-bar as foo_bar.", args{"g", "foo-bar"}, "OS_G__FOO_BAR"},
		"Backend": {"A hyphen in a group stays in the variable's name, which no shell exports.", args{"ceph-rbd", "rbd_user"}, ""},
		"Dot":     {"Nor a dot.", args{"g", "a.b"}, ""},
		"Empty":   {"Nor nothing.", args{"", "a"}, ""},
		"NoName":  {"Nor no option.", args{"g", ""}, ""},
		"Equals":  {"A name ends at =.", args{"g", "a=b"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := oslo.EnvName(tc.args.group, tc.args.option)
			if got != tc.want || (err == nil) != (tc.want != "") {
				t.Errorf("%s\ngot %q and error %v, want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}

func TestEnvValue(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   string
		want   string
	}{
		"Plain":      {"Nothing to do.", ` "a" `, ` "a" `},
		"Dollar":     {"Two readers, each of which halves.", `a$b`, `a$$$$b`},
		"Kubernetes": {"A variable of Kubernetes.", `$(A)`, `$$$$(A)`},
		"Backslash":  {"oslo.config takes \\$ as an escape too.", `\$`, `\\$$`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := oslo.EnvValue(tc.args); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
			if got := substitute(kubernetes(tc.want)); got != tc.args {
				t.Errorf("%s\nthe service sees %q, want %q", tc.reason, got, tc.args)
			}
		})
	}
}
