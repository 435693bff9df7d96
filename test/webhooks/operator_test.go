package webhooks

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// program names the variable that holds the path of MariaDB's operator, as hack/tools/build.sh mariadb-controller prints it.
const program = "MARIADB_CONTROLLER"

// operator is the webhook server of MariaDB's operator.
type operator struct {
	client *http.Client
	url    string
	// requests is the number of reviewed requests.
	requests int
}

// startOperator starts the operator. It does not connect to its API server, which does not exist. Nil: it is not built.
func startOperator(t *testing.T) *operator {
	t.Helper()
	path := os.Getenv(program)
	if path == "" {
		return nil
	}
	dir := t.TempDir()
	pool := certificate(t, dir)
	config := filepath.Join(dir, "kubeconfig")
	write(t, config, []byte(`{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
		clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: a, user: {token: none}}]}`))
	port := freePort(t)
	log := &bytes.Buffer{}
	cmd := exec.CommandContext(t.Context(), path, "webhook", "--cert-dir", dir, "--validate-cert=false", "--port", strconv.Itoa(port),
		"--metrics-addr", "0", "--health-addr", "0")
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "KUBECONFIG="+config), log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	o := &operator{
		url:    fmt.Sprintf("https://localhost:%d/validate-k8s-mariadb-com-v1alpha1-", port),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}}},
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		c, err := net.Dial("tcp", "localhost:"+strconv.Itoa(port))
		if err == nil {
			_ = c.Close()
			return o
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("the operator serves no webhooks:\n%s", log)
		}
	}
}

// webhooks are the composed kinds of this operator, and whether it has webhooks for them.
var webhooks = map[string]bool{"ExternalMariaDB": false, "MariaDB": true, "MaxScale": true, "PhysicalBackup": true, "Database": true, "User": true, "Grant": true}

// call returns the response to creating an object, or to updating old to it. Empty: it is accepted.
func (o *operator) call(obj, old map[string]any) (string, error) {
	kind, _ := obj["kind"].(string)
	if obj["apiVersion"] != "k8s.mariadb.com/v1alpha1" {
		return "", nil
	}
	queries, known := webhooks[kind]
	switch {
	case !known:
		return "", fmt.Errorf("it is unknown whether there is a webhook for %s", kind)
	case !queries:
		return "", nil
	}
	o.requests++
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: types.UID("1"), Kind: metav1.GroupVersionKind{Group: "k8s.mariadb.com", Version: "v1alpha1", Kind: kind}, Operation: admissionv1.Create,
		},
	}
	var err error
	if review.Request.Object.Raw, err = json.Marshal(obj); err != nil {
		return "", err
	}
	if old != nil {
		review.Request.Operation, review.Request.OldObject = admissionv1.Update, runtime.RawExtension{}
		if review.Request.OldObject.Raw, err = json.Marshal(old); err != nil {
			return "", err
		}
	}
	body, err := json.Marshal(review)
	if err != nil {
		return "", err
	}
	rsp, err := o.client.Post(o.url+strings.ToLower(kind), "application/json", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer rsp.Body.Close()
	response := admissionv1.AdmissionReview{}
	if err := json.NewDecoder(rsp.Body).Decode(&response); err != nil || response.Response == nil {
		return "", fmt.Errorf("%s: no answer: %w", rsp.Status, err)
	}
	if response.Response.Allowed {
		return "", nil
	}
	return response.Response.Result.Message, nil
}

// certificate writes a certificate for localhost, and returns a pool that verifies it.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	write(t, filepath.Join(dir, "tls.crt"), text)
	write(t, filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
