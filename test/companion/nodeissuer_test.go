//go:build platform

package companion

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/nodeissuer"
	access "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
)

const (
	pool    = "pool"
	account = "node-identity"
	peers   = "live-migration"
)

// nodes is an API server with a pool of two nodes, and the companion of its control plane.
type nodes struct {
	*cluster

	config *rest.Config
	ca     *pki.Authority
}

// TestPodsGetOnlyOwnNodeCertificate checks with a real API server that a pod gets the certificate of its node only: by the script that runs
// in pods, with tokens of pods.
func TestPodsGetOnlyOwnNodeCertificate(t *testing.T) {
	c := startNodes(t)
	c.create(&corev1.Secret{ObjectMeta: meta1("ovn-ca"), Data: map[string][]byte{"tls.crt": c.ca.Certificate, "tls.key": c.ca.Key}})
	c.create(c.issuer())

	t.Run("script", func(t *testing.T) { c.script(t, c.token(t, account, "node-1")) })
	for name, tc := range map[string]struct {
		reason, token, node, want string
		signer                    string
	}{
		"own node": {reason: "Another node gets its own.", token: c.token(t, account, "node-2"), node: "node-2", want: "Approved"},
		"another node": {
			reason: "A node cannot get the certificate of another one.", token: c.token(t, account, "node-2"), node: "node-1",
			want: "Denied: spec.request: the subject must be CN=node-2, the node of the pod",
		},
		"another account": {
			reason: "Other pods of the node are no part of OVN.", token: c.token(t, "other", "node-1"), node: "node-1",
			want: "Denied: spec.username: must be system:serviceaccount:pool:node-identity",
		},
		"no pod": {
			reason: "A token without a pod has no node.", token: c.token(t, account, ""), node: "node-1",
			want: "Denied: spec.extra: requires the node of a pod; use the token of a pod, and Kubernetes 1.30 or later",
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := c.as(t, func(config *rest.Config) { config.BearerToken = tc.token })
			r := c.request(t, tc.node, c5c3v1.SignerName(namespace, pool))
			if err := api.Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			eventually(t, "a decision", func() bool {
				return api.Get(t.Context(), client.ObjectKeyFromObject(r), r) == nil && len(r.Status.Conditions) > 0 &&
					(r.Status.Conditions[0].Type != certificatesv1.CertificateApproved || len(r.Status.Certificate) > 0)
			})
			got := string(r.Status.Conditions[0].Type)
			if got != "Approved" {
				got += ": " + r.Status.Conditions[0].Message
			}
			if got != tc.want || (tc.want == "Approved") != (len(r.Status.Certificate) > 0) {
				t.Errorf("%s\n%s, certificate of %d bytes, want %s", tc.reason, got, len(r.Status.Certificate), tc.want)
			}
		})
	}
	t.Run("forged node", func(t *testing.T) {
		api := c.as(t, func(config *rest.Config) { config.BearerToken = c.token(t, account, "node-2") })
		r := c.request(t, "node-1", c5c3v1.SignerName(namespace, pool))
		r.Spec.Extra = map[string]certificatesv1.ExtraValue{"authentication.kubernetes.io/node-name": {"node-1"}}
		if err := api.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := r.Spec.Extra["authentication.kubernetes.io/node-name"]; len(got) != 1 || got[0] != "node-2" {
			t.Errorf("the API server keeps the node that the creator claims: %q", got)
		}
	})
	t.Run("servers", func(t *testing.T) { c.servers(t) })
	t.Run("companions", func(t *testing.T) { c.companions(t) })
}

// servers checks that a node gets a certificate for live migration with its own names only, by the script that runs in pods, and that pods
// with the account of another purpose get none.
func (c *nodes) servers(t *testing.T) {
	const domain = pool + ".pod"
	issuer := access.NodeIssuer(object.Meta{Name: pool + "-" + peers, Namespace: namespace}, c5c3v1.NodeIssuerSpec{
		Namespace: pool, ServiceAccountName: peers, AuthoritySecretName: peers + "-ca", AuthorityNamespace: pool,
		Server: &c5c3v1.NodeServer{CommonName: pool, Domain: domain},
	})
	ca, err := pki.New(peers + "-ca")
	if err != nil {
		t.Fatal(err)
	}
	c.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: pool, Name: peers + "-ca"}, Data: map[string][]byte{"tls.crt": ca.Certificate, "tls.key": ca.Key},
	})
	role, binding := access.SecretReader(object.Meta{Name: peers + "-authority", Namespace: pool}, namespace, peers+"-ca")
	for _, o := range []client.Object{role, binding, issuer} {
		c.create(o)
	}
	signer := c5c3v1.SignerName(namespace, issuer.Name)
	env := func(node, address string) []string {
		return []string{"NODE_NAME=" + node, "SIGNER=" + signer, "NODE_IP=" + address, "INTERFACE=", "COMMON_NAME=" + pool, "DOMAIN=" + domain}
	}
	t.Run("script", func(t *testing.T) {
		leaf, _ := c.run(t, c.token(t, peers, "node-1"), env("node-1", "10.0.0.1")...)
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			_, err := leaf.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: "10-0-0-1." + domain, KeyUsages: []x509.ExtKeyUsage{usage}})
			if err != nil {
				t.Error(err)
			}
		}
		if got := strings.Join(leaf.DNSNames, " "); got != "10-0-0-1."+domain+" node-1" || leaf.Subject.String() != "CN="+pool {
			t.Errorf("the certificate is of %s with the names %s", leaf.Subject, got)
		}
	})
	for name, tc := range map[string]struct{ reason, account, node, address, want string }{
		"address of another node": {
			"It would receive servers in place of node-1.", peers, "node-2", "10.0.0.1",
			"the address 10.0.0.1 is in a certificate of node node-1, which has not expired",
		},
		"address of a node without a certificate": {
			"The Node object of node-2 lists the address.", peers, "node-1", "10.0.0.2", "the address 10.0.0.2 is an address of node node-2",
		},
		"unknown address": {
			"No Node lists it.", peers, "node-2", "10.0.0.3", "the address 10.0.0.3 must be an address of node node-2 (status.addresses)",
		},
		"account of OVN": {
			"Each purpose has an account of its own.", account, "node-2", "10.0.0.2", "spec.username: must be system:serviceaccount:pool:" + peers,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, out := c.run(t, c.token(t, tc.account, tc.node), env(tc.node, tc.address)...)
			if !strings.Contains(out, compact(tc.want)) {
				t.Errorf("%s\n%s", tc.reason, out)
			}
		})
	}
	t.Run("kubelet that lies", func(t *testing.T) {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-2"}}
		c.address(t, n, "10.0.0.1")
		defer c.address(t, n, "10.0.0.2")
		_, out := c.run(t, c.token(t, peers, "node-2"), env("node-2", "10.0.0.1")...)
		if !strings.Contains(out, compact("the address 10.0.0.1 is in a certificate of node node-1")) {
			t.Error(out)
		}
		if leaf, out := c.run(t, c.token(t, peers, "node-1"), env("node-1", "10.0.0.1")...); leaf == nil {
			t.Errorf("the node cannot renew its certificate: %s", out)
		}
	})
}

// compact returns a text without spaces, as the script logs replies of the API server.
func compact(text string) string { return strings.ReplaceAll(text, " ", "") }

// address sets the address of a Node, like its kubelet.
func (c *nodes) address(t *testing.T, n *corev1.Node, address string) {
	t.Helper()
	if err := c.api.Get(t.Context(), client.ObjectKeyFromObject(n), n); err != nil {
		t.Fatal(err)
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	if err := c.api.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

// companions checks that no companion signs for signers of other control planes or of Kubernetes.
func (c *nodes) companions(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace, signer, want string
	}{
		"own":        {namespace, c5c3v1.SignerName(namespace, "another-pool"), ""},
		"foreign":    {"other-cloud", c5c3v1.SignerName(namespace, pool), "a companion signs only for the NodeIssuers of its namespace"},
		"prefix":     {"cl", c5c3v1.SignerName(namespace, pool), "a companion signs only for the NodeIssuers of its namespace"},
		"kubernetes": {namespace, certificatesv1.KubeAPIServerClientSignerName, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			c.bind(t, "signer-"+name, "cobaltcore:node-signer", tc.namespace, "companion")
			api := c.as(t, func(config *rest.Config) { config.Impersonate = companionOf(tc.namespace) })
			for _, subresource := range []string{"approval", "status"} {
				r := c.request(t, "node-1", tc.signer)
				if err := c.api.Create(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				kind := certificatesv1.CertificateApproved
				if subresource == "status" {
					kind = certificatesv1.CertificateFailed
				}
				r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
					Type: kind, Status: corev1.ConditionTrue, Reason: "Test", Message: "test",
				}}
				err := api.SubResource(subresource).Update(t.Context(), r)
				if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("%s: %v, want %q", subresource, err, tc.want)
				}
			}
			if err := api.Get(t.Context(), client.ObjectKey{Namespace: pool, Name: "x"}, &corev1.Secret{}); !apierrors.IsForbidden(err) {
				t.Errorf("it reads Secrets of the pool: %v", err)
			}
		})
	}
}

// script runs the program of the pods with a token until it has a certificate, and checks the certificate.
func (c *nodes) script(t *testing.T, token string) {
	leaf, _ := c.run(t, token, "NODE_NAME=node-1", "SIGNER="+c5c3v1.SignerName(namespace, pool))
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: c.ca.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if leaf.Subject.String() != "CN=node-1" {
		t.Errorf("the certificate is of %s", leaf.Subject)
	}
}

// run runs the program of the pods with a token and variables until it has a certificate, which it returns, or until its request is denied.
func (c *nodes) run(t *testing.T, token string, env ...string) (leaf *x509.Certificate, output string) {
	t.Helper()
	for _, program := range []string{"openssl", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v; install it", err)
		}
	}
	server, err := url.Parse(c.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	dir, tls := t.TempDir(), t.TempDir()
	for name, data := range map[string][]byte{"token": []byte(token), "ca.crt": c.config.CAData} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(dir, "log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, "sh", "../../functions/hypervisor/certificate.sh")
	cmd.Env = append(append(os.Environ(), "TLS="+tls, "ACCOUNT="+dir,
		"KUBERNETES_SERVICE_HOST="+server.Hostname(), "KUBERNETES_SERVICE_PORT="+server.Port()), env...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(output)
		}
	}()
	text := func() string {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	eventually(t, "a certificate or a denial", func() bool {
		output = text()
		data, err := os.ReadFile(filepath.Join(tls, "tls.crt"))
		return err == nil && len(data) > 0 || strings.Contains(output, "was denied")
	})
	if strings.Contains(output, "was denied") {
		return nil, output
	}
	ready := exec.CommandContext(t.Context(), "sh", "../../functions/hypervisor/certificate.sh", "ready")
	ready.Env = cmd.Env
	if text, err := ready.CombinedOutput(); err != nil {
		t.Errorf("it is not ready: %v: %s", err, text)
	}
	data, err := os.ReadFile(filepath.Join(tls, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	if leaf, err = x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if ca, err := os.ReadFile(filepath.Join(tls, "ca.crt")); err != nil || !roots.AppendCertsFromPEM(ca) {
		t.Errorf("the authority is %s (%v)", ca, err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	key, err := os.Stat(filepath.Join(tls, "tls.key"))
	if err != nil || key.Mode().Perm()&0o007 != 0 {
		t.Errorf("the key has the mode %v (%v)", key.Mode(), err)
	}
	return leaf, output
}

func (c *nodes) issuer() *c5c3v1.NodeIssuer {
	return access.NodeIssuer(object.Meta{Name: pool, Namespace: namespace}, c5c3v1.NodeIssuerSpec{
		Namespace: pool, ServiceAccountName: account, AuthoritySecretName: "ovn-ca",
	})
}

// request returns a request for a node with a new key.
func (c *nodes) request(t *testing.T, node, signer string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: node}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: signer, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw}),
		},
	}
}

// token returns a token of a service account, of a pod on a node if it is not empty.
func (c *nodes) token(t *testing.T, account, node string) string {
	t.Helper()
	r := &authenticationv1.TokenRequest{}
	if node != "" {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "agent-", Namespace: pool},
			Spec: corev1.PodSpec{
				NodeName: node, ServiceAccountName: account, Containers: []corev1.Container{{Name: "agent", Image: "registry.example.com/agent:1"}},
			},
		}
		c.create(p)
		r.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID}
	}
	a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pool, Name: account}}
	if err := c.api.SubResource("token").Create(t.Context(), a, r); err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

// as returns a client of another user.
func (c *nodes) as(t *testing.T, change func(*rest.Config)) client.Client {
	t.Helper()
	config := rest.CopyConfig(c.config)
	change(config)
	if config.BearerToken != "" {
		config.CertData, config.KeyData = nil, nil
	}
	out, err := client.New(config, client.Options{Scheme: c.api.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func companionOf(namespace string) rest.ImpersonationConfig {
	return rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":companion", Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
}

// bind binds a ClusterRole of the chart to a service account.
func (c *nodes) bind(t *testing.T, name, role, namespace, account string) {
	t.Helper()
	c.create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	})
}

// startNodes starts Kubernetes with the chart's roles and its policy, and the companion as a pool grants it access.
func startNodes(t *testing.T) *nodes {
	t.Helper()
	config := startKubernetes(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, c5c3v1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	c := &nodes{cluster: &cluster{t: t, api: api}, config: config}
	if c.ca, err = pki.New("ovn-ca"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{namespace, pool} {
		c.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for name, address := range map[string]string{"node-1": "10.0.0.1", "node-2": "10.0.0.2"} {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.create(n)
		c.address(t, n, address)
	}
	for _, name := range []string{account, peers, "other"} {
		c.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pool, Name: name}})
		c.bind(t, "requester-"+name, "cobaltcore:node-certificates", pool, name)
	}
	for _, o := range access.Access(workload.Workload{Name: "companion", Namespace: namespace, App: "companion", Instance: "cloud"}) {
		c.create(o.(client.Object))
	}
	role, binding := access.Grant(object.Meta{Name: "issuer", Namespace: namespace}, c.issuer())
	c.create(role.(client.Object))
	c.create(binding.(client.Object))
	c.create(access.NodeSigner(object.Meta{Name: "signer"}, namespace))
	c.chart(t)
	c.definitions("../../apis/c5c3/crd.yaml")
	as := rest.CopyConfig(config)
	as.Impersonate = companionOf(namespace)
	mgr, err := ctrl.NewManager(as, ctrl.Options{
		Scheme: scheme, Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := nodeissuer.Add(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = mgr.Start(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return c
}

// chart creates the roles and the policy of the chart.
func (c *nodes) chart(t *testing.T) {
	t.Helper()
	roles, err := os.ReadFile("../../package/chart/templates/hypervisors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cobaltcore:node-certificates", "cobaltcore:node-signer"} {
		_, text, found := strings.Cut(string(roles), "  name: "+name+"\n")
		_, text, ruled := strings.Cut(text, "\nrules:\n")
		text, _, _ = strings.Cut(text, "\n---\n")
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := yaml.UnmarshalStrict([]byte(text), &role.Rules); err != nil || !found || !ruled {
			t.Fatalf("the chart has no role %s: %v", name, err)
		}
		c.create(role)
	}
	policies, err := os.ReadFile("../../examples/platform/admission.yaml")
	if err != nil {
		t.Fatal(err)
	}
	created := 0
	for doc := range strings.SplitSeq(string(policies), "\n---\n") {
		var o client.Object = &admissionregistrationv1.ValidatingAdmissionPolicy{}
		if strings.Contains(doc, "kind: ValidatingAdmissionPolicyBinding\n") {
			o = &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
		}
		if strings.Contains(doc, "\n  name: cobaltcore-node-signers\n") {
			if err := yaml.Unmarshal([]byte(doc), o); err != nil {
				t.Fatal(err)
			}
			c.create(o)
			created++
		}
	}
	if created != 2 {
		t.Fatalf("%d objects of the policy", created)
	}
	// A new policy is in force a moment later.
	c.bind(t, "foreign", "cobaltcore:node-signer", "foreign", "companion")
	foreign := c.as(t, func(config *rest.Config) { config.Impersonate = companionOf("foreign") })
	eventually(t, "the policy", func() bool {
		r := c.request(t, "node-1", c5c3v1.SignerName("unknown", "unknown"))
		if err := c.api.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
			Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test", Message: "test",
		}}
		err := foreign.SubResource("approval").Update(t.Context(), r)
		return err != nil && strings.Contains(err.Error(), "NodeIssuers of its namespace")
	})
}
