package claim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestValuesFollowRulesOfPrograms checks values by the rules of the programs that read them.
func TestValuesFollowRulesOfPrograms(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"bucket":                    {"Object stores accept it.", checkBucket("f", "a.b-c"), ""},
		"bucket like an address":    {"Object stores reject it.", checkBucket("f", "10.0.0.1"), "f: 10.0.0.1 has the form of an IP address, which object stores reject as a name; set another name"},
		"bucket with two dots":      {"Object stores reject it.", checkBucket("f", "a..b"), "f: a..b must have a letter or digit on each side of a dot: object stores reject it; set another name"},
		"authority":                 {"The CA signed the certificate.", CheckObjectStore("f", "https://a", "virtual", "b", true), ""},
		"authority of nothing":      {"There is no certificate.", CheckObjectStore("f", "http://a", "", "b", true), "f.caSecretRef: requires an endpoint with https://: http://a has no certificate; set https, or remove caSecretRef"},
		"bucket before an address":  {"A host name cannot end with an IP address.", CheckObjectStore("f", "https://192.0.2.4:443", "virtual", "b", false), "f.urlFormat: virtual puts the bucket before a host name, and the endpoint https://192.0.2.4:443 is an IP address; set path, or a host name"},
		"dots before a host":        {"A wildcard matches one label.", CheckObjectStore("f", "https://a.example.com", "virtual", "b.c", false), "f.urlFormat: virtual makes b.c.a.example.com of the bucket, which no wildcard certificate matches; set path, or a bucket without dots"},
		"dots without certificates": {"No certificate is verified.", CheckObjectStore("f", "http://a.example.com", "virtual", "b.c", false), ""},
		"dots in a path":            {"The host name does not contain the bucket.", CheckObjectStore("f", "https://a.example.com", "path", "b.c", false), ""},
		"DNS server":                {"Servers can reach it.", checkResolver("f", "fd00::53"), ""},
		"loopback":                  {"It is the server's own address.", checkResolver("f", "127.0.0.53"), "f: 127.0.0.53 is not usable as a DNS server: it is a loopback, link-local, multicast or unspecified address; set an address that servers can reach"},
		"unspecified":               {"It is the unspecified address.", checkResolver("f", "::"), "f: :: is not usable as a DNS server: it is a loopback, link-local, multicast or unspecified address; set an address that servers can reach"},
		"multicast":                 {"It is not the address of a DNS server.", checkResolver("f", "224.0.0.1"), "f: 224.0.0.1 is not usable as a DNS server: it is a loopback, link-local, multicast or unspecified address; set an address that servers can reach"},
		"options":                   {"A node can mount it.", checkMountOptions("f", "nfsvers=4.2,hard,timeo=600"), ""},
		"empty option":              {"mount refuses it.", checkMountOptions("f", "hard,,"), `f: "hard,," has an empty option; write options with one comma between them, such as vers=4.1,hard`},
		"read-only":                 {"Volumes could not be created.", checkMountOptions("f", "hard,ro"), "f: ro mounts shares read-only, and volumes are created in them; remove it"},
		"version":                   {"Linux does not support it.", checkMountOptions("f", "vers=9"), "f: NFS version 9 does not exist; set one of 3, 4, 4.0, 4.1, 4.2"},
		"name":                      {"LDAP servers accept it.", checkDN("f", `ou=a\, b, dc=example`), ""},
		"no name":                   {"LDAP servers reject it.", checkDN("f", "ou=a, users"), `f: "ou=a, users" is not a distinguished name: "users" must be <attribute>=<value>; write one such as ou=users,dc=example,dc=com`},
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

// TestMountOptionsReachNoOtherServer checks that a node connects to no host and port except for those of the share, which a limit allows.
func TestMountOptionsReachNoOtherServer(t *testing.T) {
	for _, option := range []string{
		"addr=192.0.2.4", "ADDR=192.0.2.4", "mountaddr=192.0.2.4", "mounthost=192.0.2.4", "clientaddr=192.0.2.4", "port=22", "mountport=80",
		"mountproto=udp", "bind", "rbind", "remount", "move", "suid", "dev", "exec", "fsc", "context=x", "x-systemd.requires=a.mount", "_netdev",
	} {
		if checkMountOptions("f", "vers=4.2,"+option) == nil {
			t.Errorf("%s is accepted", option)
		}
	}
}
