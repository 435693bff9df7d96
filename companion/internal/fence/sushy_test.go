package fence

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// passwordHash is the hash of password by bcrypt, which sushy-emulator requires.
const passwordHash = "$2b$04$jEeN2sUvQNcDlL7A5sRKjeEwc6cG5SeNF.tR5C1SxU1F77q946Lxu"

// TestSushy powers a system of a real Redfish service off, and reads its power until it is off: sushy-emulator delays the change, as hardware
// does.
func TestSushy(t *testing.T) {
	program := os.Getenv("SUSHY_EMULATOR")
	if program == "" {
		t.Skip("SUSHY_EMULATOR names no program: make test-redfish installs it")
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate, key, authorities := selfSigned(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("SUSHY_EMULATOR_AUTH_FILE = %q\nSUSHY_EMULATOR_STATE_DIR = %q\nSUSHY_EMULATOR_FAKE_SYSTEMS = [{'uuid': %q, "+
		"'name': 'node-1', 'power_state': 'On', 'external_notifier': False, 'nics': []}]\n", file("users", []byte("root:"+passwordHash)), dir, uuid)
	var output bytes.Buffer
	run := exec.CommandContext(t.Context(), program, "--fake", "--config", file("config", []byte(config)), "-i", "127.0.0.1", "-p",
		fmt.Sprint(port), "--ssl-certificate", file("certificate", certificate), "--ssl-key", file("key", key))
	run.Stdout, run.Stderr = &output, &output
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if t.Failed() {
			t.Log(output.String())
		}
	})
	r := &Redfish{
		URL: fmt.Sprintf("https://127.0.0.1:%d/redfish/v1/Systems/%s", port, uuid), Username: "root", Password: password,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}},
	}
	var state State
	await(t, 30*time.Second, func() bool {
		state, err = r.State(t.Context())
		return err == nil
	})
	if state.Power != On || CheckIdentity(state.SystemUUID, uuid) != nil {
		t.Fatalf("%+v", state)
	}
	accept := func(State) error { return nil }
	if err := (&Redfish{URL: r.URL, Username: "root", Password: "other", Transport: r.Transport}).PowerOff(t.Context(), accept); err == nil {
		t.Error("another password is accepted")
	}
	for range 2 { // It can be repeated.
		if err := r.PowerOff(t.Context(), accept); err != nil {
			t.Fatal(err)
		}
	}
	await(t, 30*time.Second, func() bool {
		state, err = r.State(t.Context())
		return err == nil && state.Power == Off
	})
}

// await waits until a state is reached.
func await(t *testing.T, limit time.Duration, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !reached(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it was not reached within %s", limit)
		}
	}
}

// selfSigned returns a certificate for 127.0.0.1 with its key, as a management controller has one, and the authority for its clients.
func selfSigned(t *testing.T) (certificate, key []byte, authorities *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	authorities = x509.NewCertPool()
	authorities.AppendCertsFromPEM(certificate)
	return certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), authorities
}
