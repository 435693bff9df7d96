package schema

import (
	"regexp"
	"strings"
	"testing"
)

// TestPatterns tests each regular expression with examples that match its description, and examples that do not.
func TestPatterns(t *testing.T) {
	samples := map[string]struct{ good, bad string }{
		"name of a Kubernetes object": {"a.b-c", "A"},
		"DNS label":                   {"a-b", "a.b"},
		"DNS label, in which * stands for any characters": {"a*-b", "a.*"},
		"full host name":                              {"a.example.com", "192.0.2.1"},
		"full host name or IPv4 address":              {"192.0.2.1", "localhost"},
		"http or https address":                       {"https://a.example.com:8443/path", "ftp://a"},
		"https address, since secrets are sent there": {"https://a.example.com:8443/path", "http://a"},
		"key of a Secret":                             {"ca.crt", "a/b"},
		"five fields of cron":                         {"*/5 0 1,2 JAN MON-FRI", "@daily"},
		"value of a label":                            {"", "-a"},
		"image repository with its registry":          {"registry:5000/a/b", "registry"},
		"registry, with or without a path":            {"registry:5000", "Registry"},
		"sha256: and 64 hex digits":                   {"sha256:" + strings.Repeat("0f", 32), "sha256:0f"},
		"moment, as 2026-05-01T03:00:00Z":             {"2026-05-01T03:00:00Z", "2026-13-01T03:00:00Z"},
		"version, branch or commit":                   {"28.1.0-p1", "latest"},
		"size with its unit, such as 100Gi":           {"100Gi", "0Gi"},
		"ldap or ldaps address":                       {"ldaps://a:636", "ldap://a/b"},
		"one line":                                    {"a b", "a\nb"},
		"no control characters":                       {"a b", "a\x00"},
		"no blanks":                                   {"ab", "a b"},
		"addresses of OVN by TLS, such as ssl:10.20.0.11:6641,ssl:10.20.0.12:6641":                {"ssl:10.20.0.11:6641,ssl:a:6641", "tcp:10.20.0.11:6641"},
		"size with its unit, such as 10Ti":                                                        {"10Ti", "10Mi"},
		"number such as 1.5":                                                                      {"1.5", "-1"},
		"range such as 100:199":                                                                   {"100:199", "100-199"},
		"interval in minutes, hours or days, such as 15m, 1h or 1d":                               {"15m", "15s"},
		"range of addresses, such as 10.0.1.0/24":                                                 {"10.0.1.0/24", "10.0.1.0"},
		"range of addresses, such as 10.0.1.0/24, or *":                                           {"*", "10.0.1.0"},
		"name of letters, digits, '.', '_' and '-', which begins with a letter or digit":          {"a-", "-a"},
		"name of letters, digits, '.', '_' and '-', which begins and ends with a letter or digit": {"a-b", "a-"},
		"name of a bucket: lower-case letters, digits, '.' and '-', such as images":               {"images", "Images"},
		"name of a bucket: lower-case letters, digits, '.' and '-', such as backups":              {"backups", "a_b"},
		"name of lower-case letters, digits and '_', which begins with a letter":                  {"a_1", "a-1"},
		"name of lower-case letters and digits, which begins with a letter":                       {"cell1", "cell_1"},
		"name of lower-case letters, digits, '_' and '-', which begins with a letter":             {"a-b_1", "1a"},
		"host name or domain in lower case, without a dot at its end":                             {"example.com", "example.com."},
		"host name in lower case, or IP address":                                                  {"fd00::1", "a_b"},
		"CUSTOM_ and upper-case letters, digits and '_'":                                          {"CUSTOM_GPU", "HW_GPU"},
		"amount such as 500m, 2 or 32Gi, without an exponent":                                     {"500m", "1e3"},
		"share of an NFS server, such as nfs.example.com:/volumes":                                {"nfs.example.com:/volumes", "/volumes"},
		"https address without a path, such as https://vault.example.com:8200":                    {"https://vault.example.com:8200", "https://vault.example.com/v1"},
		"http or https address without a path, such as https://s3.example.com":                    {"http://s3.example.com", "s3.example.com"},
		"host with or without a port and no scheme, such as s3.example.com:443":                   {"s3.example.com:443", "https://s3.example.com"},
		"domain without *, such as cloud.example.com, which includes all below it, or *":          {"cloud.example.com", "*.example.com"},
	}
	requested := map[string]bool{}
	for pattern, description := range Patterns {
		requested[description] = true
		sample, ok := samples[description]
		if !ok {
			t.Errorf("no sample of %q", description)
			continue
		}
		expression := regexp.MustCompile(pattern)
		if !expression.MatchString(sample.good) || expression.MatchString(sample.bad) {
			t.Errorf("%s is not %q: it matches %q: %t, and %q: %t", pattern, description,
				sample.good, expression.MatchString(sample.good), sample.bad, expression.MatchString(sample.bad))
		}
	}
	for description := range samples {
		if !requested[description] {
			t.Errorf("no pattern for %q", description)
		}
	}
}
