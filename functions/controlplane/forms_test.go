package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestForms checks values by the rules of the programs that read them.
func TestForms(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"bucket":                    {"Object stores take it.", checkBucket("f", "a.b-c"), ""},
		"bucket like an address":    {"Object stores refuse it.", checkBucket("f", "10.0.0.1"), "f: 10.0.0.1 has the form of an IP address, which object stores refuse as a name; set another name"},
		"bucket with two dots":      {"Object stores refuse it.", checkBucket("f", "a..b"), "f: a..b must have a letter or digit on each side of a dot: object stores refuse it; set another name"},
		"authority":                 {"It signed the certificate.", checkObjectStore("f", "https://a", "virtual", "b", true), ""},
		"authority of nothing":      {"There is no certificate.", checkObjectStore("f", "http://a", "", "b", true), "f.caSecretRef: requires an endpoint with https://: http://a has no certificate; set https, or remove caSecretRef"},
		"bucket before an address":  {"No host name has an IP address at its end.", checkObjectStore("f", "https://192.0.2.4:443", "virtual", "b", false), "f.urlFormat: virtual puts the bucket before a host name, and the endpoint https://192.0.2.4:443 is an IP address; set path, or a host name"},
		"dots before a host":        {"A wildcard stands for one label.", checkObjectStore("f", "https://a.example.com", "virtual", "b.c", false), "f.urlFormat: virtual makes b.c.a.example.com of the bucket, which no wildcard certificate matches; set path, or a bucket without dots"},
		"dots without certificates": {"Nothing is compared.", checkObjectStore("f", "http://a.example.com", "virtual", "b.c", false), ""},
		"dots in a path":            {"The host is that of the endpoint.", checkObjectStore("f", "https://a.example.com", "path", "b.c", false), ""},
		"DNS server":                {"Servers reach it.", checkResolver("f", "fd00::53"), ""},
		"loopback":                  {"It is the server's own.", checkResolver("f", "127.0.0.53"), "f: 127.0.0.53 leads servers to no DNS server: it is a loopback, link-local, multicast or unspecified address; set an address that they reach"},
		"unspecified":               {"It is none.", checkResolver("f", "::"), "f: :: leads servers to no DNS server: it is a loopback, link-local, multicast or unspecified address; set an address that they reach"},
		"multicast":                 {"No DNS server answers there.", checkResolver("f", "224.0.0.1"), "f: 224.0.0.1 leads servers to no DNS server: it is a loopback, link-local, multicast or unspecified address; set an address that they reach"},
		"options":                   {"A node mounts it.", checkMountOptions("f", "nfsvers=4.2,hard,timeo=600"), ""},
		"empty option":              {"mount refuses it.", checkMountOptions("f", "hard,,"), `f: "hard,," has an empty option; write options with one comma between them, such as vers=4.1,hard`},
		"read-only":                 {"No volume can be created.", checkMountOptions("f", "hard,ro"), "f: ro mounts shares read-only, and volumes are created in them; remove it"},
		"version":                   {"Linux has none.", checkMountOptions("f", "vers=9"), "f: there is no version 9 of NFS; choose from 3, 4, 4.0, 4.1, 4.2"},
		"name":                      {"A directory takes it.", checkDN("f", `ou=a\, b, dc=example`), ""},
		"no name":                   {"A directory refuses it.", checkDN("f", "ou=a, users"), `f: "ou=a, users" is no distinguished name: "users" must be <attribute>=<value>; write one such as ou=users,dc=example,dc=com`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if tc.err != nil {
				got = tc.err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
