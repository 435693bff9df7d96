package hypervisor

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCertificateScript verifies how a pod gets the certificate of its node: by a request with its token, which is in no argument, and
// with a key that never leaves the pod.
func TestCertificateScript(t *testing.T) {
	const leaf, authority = "-----BEGIN CERTIFICATE-----\nleaf\n", "-----BEGIN CERTIFICATE-----\nauthority\n"
	signed := `"certificate": "` + base64.StdEncoding.EncodeToString([]byte(leaf+authority)) + `"`
	for name, tc := range map[string]struct {
		reason string
		status string
		// start is the beginning of the certificate's validity of a hundred seconds, in seconds before now. Empty: it does not exist.
		start        string
		verify       string
		want, output string
		requests     string
	}{
		"first": {
			reason: "The pod has none.", status: signed, verify: "0", want: leaf, requests: "POST,GET",
			output: "certificate: the certificate of node-1 is valid until",
		},
		"fresh":   {reason: "A third of the lifetime has not passed.", start: "10", status: signed, verify: "0", want: "old"},
		"renewal": {reason: "A third has passed.", start: "50", status: signed, verify: "0", want: leaf, requests: "POST,GET"},
		"expired": {reason: "It is not valid any more.", start: "1000", status: signed, verify: "0", want: leaf, requests: "POST,GET"},
		"denied": {
			reason: "The companion denies the request: the certificate stays.", start: "50", status: `"conditions": [{"type": "Denied"}]`, verify: "0",
			want: "old", requests: "POST,GET", output: "was denied",
		},
		"failed": {
			reason: "The request failed.", start: "50", status: `"conditions": [{"type": "Failed"}]`, verify: "0",
			want: "old", requests: "POST,GET", output: "was denied",
		},
		"invalid": {
			reason: "A certificate that its authority has not signed is not used.", start: "50", status: signed, verify: "1", want: "old",
			requests: "POST,GET",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := requestStubs(t)
			tls := t.TempDir()
			for file, text := range map[string]string{"token": "secret-token", "ca.crt": "ca"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tc.start != "" {
				if err := os.WriteFile(filepath.Join(tls, "tls.crt"), []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := script(t, dir, []string{
				"NODE_NAME=node-1", "SIGNER=nodes.c5c3.io/cloud.pool", "TLS=" + tls, "ACCOUNT=" + dir, "STAGE=" + dir, "START=" + tc.start,
				"KUBERNETES_SERVICE_HOST=fd00::1", "KUBERNETES_SERVICE_PORT=443", "VERIFY=" + tc.verify,
				"STATUS={\n  \"metadata\": {\"managedFields\": [{\"f:certificate\": {}}]},\n  \"status\": {" + tc.status + "}\n}",
			}, "certificate.sh")
			if err != nil || !strings.Contains(out, tc.output) {
				t.Errorf("%s %v: %s", tc.reason, err, out)
			}
			got, err := os.ReadFile(filepath.Join(tls, "tls.crt"))
			if err != nil || string(got) != tc.want {
				t.Errorf("%s\nthe certificate is %q (%v), want %q", tc.reason, got, err, tc.want)
			}
			if tc.want == leaf {
				if got, err := os.ReadFile(filepath.Join(tls, "ca.crt")); err != nil || string(got) != authority {
					t.Errorf("the authority is %q (%v)", got, err)
				}
			}
			called, err := os.ReadFile(filepath.Join(dir, "called"))
			if err != nil {
				t.Fatal(err)
			}
			var requests []string
			for line := range strings.Lines(string(called)) {
				if _, rest, ok := strings.Cut(line, "--request "); ok {
					requests = append(requests, strings.Fields(rest)[0])
				}
			}
			if got := strings.Join(requests, ","); got != tc.requests {
				t.Errorf("%s\nrequests %s, want %s\n%s", tc.reason, got, tc.requests, called)
			}
			if strings.Contains(string(called), "secret-token") || strings.Contains(string(called), "key\n") {
				t.Errorf("an argument contains a secret:\n%s", called)
			}
			if tc.requests == "" {
				return
			}
			for _, want := range []string{
				"https://[fd00::1]:443/apis/certificates.k8s.io/v1/certificatesigningrequests", `"signerName": "nodes.c5c3.io/cloud.pool"`,
				`"usages": ["client auth", "digital signature"]`, "-subj /CN=node-1", base64.StdEncoding.EncodeToString([]byte("request\n")),
			} {
				if !strings.Contains(string(called), want) {
					t.Errorf("no request has %s:\n%s", want, called)
				}
			}
			if login, err := os.ReadFile(filepath.Join(dir, "login")); err != nil ||
				!strings.Contains(string(login), `header = "Authorization: Bearer secret-token"`) {
				t.Errorf("it logs in with %s (%v)", login, err)
			}
		})
	}
	dir := stubs(t, map[string]string{"openssl": "exit 1"})
	if _, err := script(t, dir, []string{"TLS=" + dir}, "certificate.sh", "ready"); err == nil {
		t.Error("it is ready without a valid certificate")
	}
}

// requestStubs writes stubs for the programs of certificate.sh into a folder. They read the variables START, STAGE, STATUS and VERIFY.
func requestStubs(t *testing.T) string {
	t.Helper()
	return stubs(t, map[string]string{
		"openssl": `case "$1 $4" in
"genpkey "*) shift 5; echo key >"$2" ;;
"req "*) echo request ;;
"x509 "*) case "$*" in
  *-startdate*) echo "notBefore=$(date -u -d "-$START seconds")" ;;
  *-enddate*) echo "notAfter=$(date -u -d "$((100 - ${START:-0})) seconds")" ;;
  esac ;;
verify*) exit "$VERIFY" ;;
esac`,
		"curl": `cat >>"` + "$STAGE/login" + `"
case "$*" in *"--request POST"*) echo '{}' ;; *) printf '%s\n' "$STATUS" ;; esac`,
		// A long pause ends the script.
		"sleep": `[ "$1" = 2 ] || kill -TERM "$PPID"`,
	})
}

// TestCertificateScript_Server verifies that a node that is a server requests its own names, and requests again if they change.
func TestCertificateScript_Server(t *testing.T) {
	const (
		leaf, authority = "-----BEGIN CERTIFICATE-----\nleaf\n", "-----BEGIN CERTIFICATE-----\nauthority\n"
		one             = "DNS:10-0-0-1.pool.pod,DNS:node-1"
		two             = "DNS:10-0-0-1.pool.pod,DNS:192-0-2-9.pool.pod,DNS:node-1"
		six             = "DNS:fd00--1.pool.pod,DNS:node-1"
	)
	for name, tc := range map[string]struct {
		reason, address, other, names string
		want                          string
		fails                         bool
	}{
		"node":              {reason: "Others connect to its address.", address: "10.0.0.1", want: one},
		"interface":         {reason: "Others connect to another address, too.", address: "10.0.0.1", other: "192.0.2.9", want: two},
		"same address":      {reason: "The interface has the node's address.", address: "10.0.0.1", other: "10.0.0.1", want: one},
		"IPv6":              {reason: "An address of IPv6.", address: "fd00::1", want: six},
		"fresh":             {reason: "The certificate has these names.", address: "10.0.0.1", names: one, want: ""},
		"other names":       {reason: "The node has another address now.", address: "10.0.0.1", names: six, want: one},
		"no such interface": {reason: "The interface has no address yet.", address: "10.0.0.1", other: "none", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, tls, interfaceName := requestStubs(t), t.TempDir(), ""
			if tc.other != "" {
				interfaceName = "bond0"
			}
			write(t, filepath.Join(dir, "token"), "token")
			answer := "exit 1"
			if tc.other != "none" {
				answer = "echo '2: bond0    inet " + tc.other + "/24 scope global bond0'"
			}
			if err := os.WriteFile(filepath.Join(dir, "ip"), []byte("#!/bin/sh\n"+answer+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if tc.names != "" {
				write(t, filepath.Join(tls, "tls.crt"), "old")
				write(t, filepath.Join(tls, "names"), tc.names+"\n")
			}
			out, err := script(t, dir, []string{
				"NODE_NAME=node-1", "SIGNER=nodes.c5c3.io/cloud.pool-live-migration", "TLS=" + tls, "ACCOUNT=" + dir, "STAGE=" + dir, "START=10",
				"KUBERNETES_SERVICE_HOST=192.0.2.1", "KUBERNETES_SERVICE_PORT=443", "VERIFY=0",
				"COMMON_NAME=pool", "DOMAIN=pool.pod", "NODE_IP=" + tc.address, "INTERFACE=" + interfaceName,
				`STATUS={"status": {"certificate": "` + base64.StdEncoding.EncodeToString([]byte(leaf+authority)) + `"}}`,
			}, "certificate.sh")
			if err != nil || tc.fails != strings.Contains(out, "the node has no address on bond0, which networks.liveMigration.interface names") {
				t.Fatalf("%s\n%v: %s", tc.reason, err, out)
			}
			called, err := os.ReadFile(filepath.Join(dir, "called"))
			if err != nil {
				t.Fatal(err)
			}
			requested := ""
			for line := range strings.Lines(string(called)) {
				if _, rest, ok := strings.Cut(line, "-addext subjectAltName="); ok {
					requested = strings.TrimSpace(rest)
				}
			}
			if requested != tc.want {
				t.Errorf("%s\nit requests %q, want %q\n%s", tc.reason, requested, tc.want, called)
			}
			if tc.want == "" {
				return
			}
			for _, want := range []string{
				"-subj /CN=pool ", `"usages": ["client auth", "digital signature", "key encipherment", "server auth"]`,
				"verify -purpose sslclient", "verify -purpose sslserver",
			} {
				if !strings.Contains(string(called), want) {
					t.Errorf("%s is missing:\n%s", want, called)
				}
			}
			if got, err := os.ReadFile(filepath.Join(tls, "names")); err != nil || string(got) != tc.want+"\n" {
				t.Errorf("the names are %q (%v)", got, err)
			}
		})
	}
}
