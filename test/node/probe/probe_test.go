//go:build linux

package main

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/test/node/podaccess"
)

func TestFormsOfFiles(t *testing.T) {
	for name, tc := range map[string]struct{ reason, text, want string }{
		"private key":    {"TLS keys are in PEM.", "-----BEGIN RSA PRIVATE KEY-----\nabc\n", "private key"},
		"certificate":    {"A certificate is no secret.", "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n", ""},
		"token":          {"Tokens of Kubernetes are JSON Web Tokens.", "eyJhbGciOiJSUzI1.eyJhdWQiOlsiaHR0.c2lnbmF0dXJl-_\n", "token"},
		"URL":            {"SQLAlchemy's URLs have passwords.", "[database]\nconnection = mysql+pymysql://nova:s3cret@maxscale/nova\n", "URL with password"},
		"URL without":    {"A URL without a password is no credential.", "auth_url = https://keystone:5000/v3\n", ""},
		"password":       {"Options with passwords.", "[service]\nadmin_password = hunter22\n", "password"},
		"plugin":         {"Names of plugins are no secrets.", "enabled_secretstore_plugins = store_crypto\n", ""},
		"comment":        {"Samples are comments.", "# admin_password = hunter22\n", ""},
		"path":           {"A path to a password is no password.", "password_file = /etc/password\n", ""},
		"key":            {"Fernet keys are base64.", "ZmVybmV0LWtleS1vZi0zMi1ieXRlcy1pbi10ZXN0cyE=\n", "key"},
		"binary":         {"Databases contain any text.", "\x00password = hunter22\n", ""},
		"text":           {"Configuration without secrets.", "[DEFAULT]\ndebug = false\n", ""},
		"password words": {"Boolean options of passwords are no passwords.", "password_hash_rounds = 4\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := formOf(tc.text); got != tc.want {
				t.Errorf("%s\ngot form %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestVariablesWithCredentials(t *testing.T) {
	got := variables([]string{
		"OS_DATABASE__CONNECTION=mysql+pymysql://nova:s3cret@maxscale/nova", "MARIADB_ROOT_PASSWORD=hunter22", "PATH=/bin:/usr/bin",
		"OS_KEYSTONE_AUTHTOKEN__AUTH_URL=https://keystone:5000", "TOKEN_FILE=/var/run/token", "PASSWORD_ROUNDS=4",
	})
	want := []podaccess.Credential{{Name: "MARIADB_ROOT_PASSWORD", Form: "by name"}, {Name: "OS_DATABASE__CONNECTION", Form: "URL with password"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestIdentity(t *testing.T) {
	got := podaccess.Facts{}
	identity(&got, "Uid:\t42424\t42425\t42424\t42424\nGid:\t1\t2\t1\t1\nGroups:\t2 3\nCapEff:\t0000000000000401\nNoNewPrivs:\t1\nSeccomp:\t2\n")
	want := podaccess.Facts{
		UID: 42425, GID: 2, Groups: []int{2, 3}, Capabilities: []string{"CHOWN", "NET_BIND_SERVICE"}, NoNewPrivileges: true, Seccomp: "filter",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestParseMounts(t *testing.T) {
	got := parseMounts(`1 0 0:50 / / ro,relatime - overlay root rw
2 1 0:51 / /proc rw - proc none rw
3 1 0:52 / /etc/tls ro,relatime shared:1 - tmpfs none rw
4 1 8:1 /pods/1/etc-hosts /etc/hosts rw - ext4 /dev/vda rw
`)
	want := []podaccess.Mount{
		{Path: "/", Type: "overlay", ReadOnly: true, Root: "/"},
		{Path: "/etc/hosts", Type: "ext4", Root: "/pods/1/etc-hosts"},
		{Path: "/etc/tls", Type: "tmpfs", ReadOnly: true, Root: "/"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestParsesTableOfSockets(t *testing.T) {
	const table = `  sl  local_address rem_address   st
   0: 0100007F:1F90 00000000:0000 0A
   1: 00000000:1388 00000000:0000 0A
   2: 0100007F:1F90 0100007F:A000 01
   3: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A
`
	want := []podaccess.Socket{
		{Protocol: "tcp", Address: "127.0.0.1", Port: 8080}, {Protocol: "tcp", Address: "0.0.0.0", Port: 5000}, {Protocol: "tcp", Address: "::1", Port: 80},
	}
	if diff := cmp.Diff(want, parseSockets("tcp", "0A", table)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestConnectFindsOpenPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	input := closed.Addr().String() + "\n" + l.Addr().String() + "\n"
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out strings.Builder
	if err := connect(strings.NewReader(input), &out); err != nil {
		t.Fatal(err)
	}
	if want := l.Addr().String() + "\n"; out.String() != want {
		t.Errorf("open: %q, want %q", out.String(), want)
	}
}
