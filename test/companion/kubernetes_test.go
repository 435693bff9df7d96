//go:build platform

package companion

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const admin = "an-admin-of-this-test-only"

// startKubernetes starts a control plane without nodes, which ends with the test, and gives the way in as an administrator.
func startKubernetes(t *testing.T) *rest.Config {
	t.Helper()
	build := exec.Command("../../hack/tools/build.sh", "kubernetes")
	build.Stderr = os.Stderr
	binary, err := build.Output()
	if err != nil {
		t.Fatalf("cannot build Kubernetes: %v", err)
	}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	run := func(name string, args ...string) {
		if err := os.Symlink(strings.TrimSpace(string(binary)), file(name)); err != nil {
			t.Fatal(err)
		}
		log, err := os.Create(file(name + ".log"))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(file(name), args...)
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGKILL)
			_ = cmd.Wait()
			_ = log.Close()
			if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
				t.Logf("%s: …%s", name, text[max(0, len(text)-2000):])
			}
		})
	}
	write := func(name, text string) string {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file(name)
	}
	ports := freePorts(t, 3)
	etcd, peer := "http://"+ports[0], "http://"+ports[1]
	run("etcd", "--data-dir="+file("data"), "--unsafe-no-fsync", "--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer)

	key := write("tokens.key", privateKey(t))
	host, port, _ := net.SplitHostPort(ports[2])
	run("kube-apiserver", "--etcd-servers="+etcd, "--bind-address="+host, "--advertise-address="+host, "--secure-port="+port, "--cert-dir="+file("certificates"),
		"--token-auth-file="+write("users.csv", admin+`,admin,admin,"system:masters"`+"\n"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--service-cluster-ip-range=10.96.0.0/16", "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none")
	config := &rest.Config{
		Host: "https://" + ports[2], BearerToken: admin, QPS: -1, WarningHandler: rest.NoWarnings{},
		TLSClientConfig: rest.TLSClientConfig{CAFile: file("certificates/apiserver.crt")},
	}
	eventually(t, "the API server", func() bool {
		set, err := kubernetes.NewForConfig(config)
		if err != nil {
			return false
		}
		_, err = set.RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context())
		return err == nil
	})
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["it"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile}
	kubeconfig.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: admin}
	kubeconfig.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "admin"}
	kubeconfig.CurrentContext = "it"
	if err := clientcmd.WriteToFile(*kubeconfig, file("kubeconfig")); err != nil {
		t.Fatal(err)
	}
	run("kube-controller-manager", "--kubeconfig="+file("kubeconfig"), "--leader-elect=false", "--secure-port=0",
		"--controllers=job-controller,deployment-controller,replicaset-controller,garbage-collector-controller,ttl-after-finished-controller")
	return config
}

func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for range n {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		out = append(out, l.Addr().String())
	}
	return out
}

func privateKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))
}

// eventually waits until something holds, at most three minutes.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited too long for %s", what)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
