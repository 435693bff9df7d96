package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// TestCheckPasswords checks errors for password rules that exclude services, that are invalid, or that users cannot
// satisfy.
func TestCheckPasswords(t *testing.T) {
	const (
		field   = "spec.config.security_compliance.password_regex: "
		refuses = field + "does not match the passwords of services, which are 32 letters and digits, so that no service could log in; require only " +
			"letters and digits, and at most 32 characters"
	)
	for name, tc := range map[string]struct {
		reason  string
		options oslo.Options
		want    string
	}{
		"none":            {"Keystone takes any password.", nil, ""},
		"empty":           {"Keystone takes it for none.", oslo.Options{"password_regex": ""}, ""},
		"Keystone's":      {"Its documentation has this one.", oslo.Options{"password_regex": `^(?=.*\d)(?=.*[a-zA-Z]).{7,}$`}, ""},
		"upper and lower": {"The passwords have both.", oslo.Options{"password_regex": `^(?=.*[A-Z])(?=.*[a-z])(?=.*[0-9]).{12,}$`}, ""},
		"symbol":          {"The passwords have none.", oslo.Options{"password_regex": `^(?=.*\d)(?=.*[!@#$%^&*)(]).{8,}$`}, refuses},
		"long":            {"They have 32 characters.", oslo.Options{"password_regex": `^.{33,}$`}, refuses},
		"short":           {"They have more.", oslo.Options{"password_regex": `^.{8,16}$`}, refuses},
		"no digits":       {"They have some.", oslo.Options{"password_regex": `^(?!.*\d).*$`}, refuses},
		"no spaces":       {"They have none.", oslo.Options{"password_regex": `^(?!.*\s).{8,}$`}, ""},
		"beginning":       {"Keystone matches the beginning.", oslo.Options{"password_regex": `B3d`}, refuses},
		"unanchored":      {"The beginning is enough.", oslo.Options{"password_regex": `[a-z]`}, ""},
		"bracket in lookahead": {
			"It is of a class.", oslo.Options{"password_regex": `^(?=.*[])}])`}, refuses,
		},
		"escape in lookahead": {"It is a text.", oslo.Options{"password_regex": `^(?!.*\))[a-zA-Z0-9]+$`}, ""},
		"group in lookahead":  {"It has its own end.", oslo.Options{"password_regex": `^(?=(.*\d){3})(?=(.*[a-z]){3}).*$`}, ""},
		"python alone":        {"Go cannot evaluate it.", oslo.Options{"password_regex": `^(?<!a).*(.)\1`}, ""},
		"open bracket":        {"Keystone would refuse every password.", oslo.Options{"password_regex": `^[a-z.{8,}$`}, field + "is not a regular expression: missing closing ]: `[a-z.{8,}$`; correct it"},
		"open parenthesis":    {"So it would here.", oslo.Options{"password_regex": `^(?=.*\d.{8,}$`}, field + "is not a regular expression: missing closing ): `(?=.*\\d.{8,}$`; correct it"},
		"ages":                {"A password can be changed for a while.", oslo.Options{"minimum_password_age": int64(1), "password_expires_days": int64(90)}, ""},
		"ages as texts":       {"Claims may write numbers so.", oslo.Options{"minimum_password_age": "90", "password_expires_days": int64(30)}, "spec.config.security_compliance.minimum_password_age: 90 days are not less than password_expires_days (30), so that users could not change a password before it expires; lower it"},
		"age alone":           {"Passwords do not expire.", oslo.Options{"minimum_password_age": int64(90)}, ""},
		"ages contradict":     {"It expires before.", oslo.Options{"minimum_password_age": int64(90), "password_expires_days": int64(90)}, "spec.config.security_compliance.minimum_password_age: 90 days are not less than password_expires_days (90), so that users could not change a password before it expires; lower it"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := checkPasswords("spec", oslo.Config{"security_compliance": tc.options}); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
