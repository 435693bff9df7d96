package batchjob

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRedacted(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"URL":            {"mysql+pymysql://keystone:hunter2@db:3306/keystone?x", "mysql+pymysql://keystone:***@db:3306/keystone?x"},
		"URLWithAt":      {"mysql://k:a@b@db/keystone", "mysql://k:***@db/keystone"},
		"URLWithSlash":   {"rabbit://k:a/b:c#d@mq", "rabbit://k:***@mq"},
		"URLNoUser":      {"redis://:hunter2@cache", "redis://:***@cache"},
		"URLNoPassword":  {"https://keystone:5000/v3", "https://keystone:5000/v3"},
		"URLs":           {"rabbit://a:b@h0:5671,c:d@h1/v", "rabbit://a:***@h1/v"},
		"Option":         {"connection_password = hunter2 and more\nnext", "connection_password = ***\nnext"},
		"JSON":           {`{"password": "hun\"ter2", "user": "k"}`, `{"password": ***, "user": "k"}`},
		"Python":         {`{'secret': 'hunter2', 'a': 1}`, `{'secret': ***, 'a': 1}`},
		"Bytes":          {`token: b'hunter2', x`, `token: ***, x`},
		"Identified":     {"CREATE USER x IDENTIFIED BY 'hunter2' REQUIRE SSL", "CREATE USER x IDENTIFIED BY *** REQUIRE SSL"},
		"Header":         {"X-Auth-Token: gAAAAA", "X-Auth-Token: ***"},
		"Bearer":         {"authorization: Bearer abc.def", "authorization: ***"},
		"Generated":      {"word Aa1Aa1Aa1Aa1Aa1Aa1Aa1 end", "word *** end"},
		"Revision":       {"Running upgrade 0a1b2c3d4e5f -> 9f8e7d6c5b4a", "Running upgrade 0a1b2c3d4e5f -> 9f8e7d6c5b4a"},
		"Key":            {"a\n-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nb", "a\n***\nb"},
		"KeyCut":         {"MIIabc\nxyz=\n-----END PRIVATE KEY-----\nb", "***\nb"},
		"KeyCutAtTheEnd": {"a\n-----BEGIN PRIVATE KEY-----\nMII", "a\n***"},
		"Access": {"OperationalError: (1045, \"Access denied for user 'k'@'10.0.0.1' (using password: YES)\")",
			"OperationalError: (1045, \"Access denied for user 'k'@'10.0.0.1' (using password: ***"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := redacted(tc.text); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestTailForStatusRedactsAndLimitsOutput(t *testing.T) {
	long := strings.Repeat("é"+strings.Repeat("x", 78)+"\n", 200) + "mysql://a:hunter2@b\nthe end\n"
	got := TailForStatus(long)
	if len(got) > maxLog || !strings.HasPrefix(got, "é") || !strings.HasSuffix(got, "\nmysql://a:***@b\nthe end") {
		t.Errorf("%d bytes: %.20s…", len(got), got)
	}
	if got := TailForStatus(strings.Repeat("日", 3000)); len(got) > maxLog || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
	if got := TailForStatus("\xff\xfe ok"); got != "? ok" {
		t.Errorf("%q", got)
	}
}

// passwordPattern matches passwords as created by generators or users, so that the search for them is unambiguous.
var passwordPattern = regexp.MustCompile(`^[!-~]{8,64}$`)

// FuzzExcerpt: a password is redacted in all forms in which services write it, in any context, and the result fits into a
// status.
func FuzzExcerpt(f *testing.F) {
	f.Add("hunter2hunter2", "before\n", "\nafter")
	f.Add(`a@b:c/d'e"f\g%h`, "x ", " y")
	f.Add("://:@://:@", "", "")
	f.Fuzz(func(t *testing.T, password, before, after string) {
		if got := TailForStatus(before + after); len(got) > maxLog || !utf8.ValidString(got) {
			t.Fatalf("%d bytes", len(got))
		}
		if !passwordPattern.MatchString(password) || strings.ContainsAny(before, `'"\`) || strings.Contains(hidden+before+after, password) {
			return
		}
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(password)
		for _, form := range []string{
			"password = " + password, `"password": "` + quoted + `"`, "--token=" + password, "X-Auth-Token: " + password,
		} {
			if got := TailForStatus(before + "\n" + form + "\n" + after); strings.Contains(got, password) || strings.Contains(got, quoted) {
				t.Errorf("%q shows %q", got, password)
			}
		}
		if strings.ContainsAny(password, `'"`) { // In a URL, they are encoded.
			return
		}
		if got := TailForStatus(before + "\nmysql+pymysql://keystone:" + password + "@db/keystone\n" + after); strings.Contains(got, password) {
			t.Errorf("%q shows %q", got, password)
		}
	})
}
