package nodeissuer

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

const (
	namespace = "team-a-prod-12345"
	pool      = "team-a-pool-67890"
	account   = "system:serviceaccount:" + pool + ":node-identity"
	node      = "node-1.example.com"
	signer    = "nodes.c5c3.io/" + namespace + "." + pool
)

var (
	scheme = faultinjection.NewScheme(corev1.AddToScheme, certificatesv1.AddToScheme, c5c3v1.AddToScheme)
	now    = time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC)
)

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// secret returns the Secret of an authority that expires at a time.
func secret(t *testing.T, until time.Time, isCA bool) *corev1.Secret {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ovn-ca"}, NotBefore: now.Add(-time.Hour), NotAfter: until,
		IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ovn-ca"}, Data: map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}}
}

// encoded returns a request in PEM.
func encoded(t *testing.T, key crypto.Signer, template *x509.CertificateRequest) []byte {
	t.Helper()
	raw, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw})
}

func named(name string) *x509.CertificateRequest {
	return &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}
}

// request returns a valid request of a pod on the node.
func request(t *testing.T, name string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Time{Time: now.Add(-time.Minute)}},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: signer, Username: account, Extra: map[string]certificatesv1.ExtraValue{nodeKey: {node}},
			Usages:  []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
			Request: encoded(t, newKey(t), named(node)),
		},
	}
}

func issuer() *c5c3v1.NodeIssuer {
	return &c5c3v1.NodeIssuer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pool, Generation: 3},
		Spec:       c5c3v1.NodeIssuerSpec{Namespace: pool, ServiceAccountName: "node-identity", AuthoritySecretName: "ovn-ca"},
	}
}

// newAPI returns an API server with these objects, which selects requests by their signer.
func newAPI(objects ...client.Object) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&c5c3v1.NodeIssuer{}, &certificatesv1.CertificateSigningRequest{}).
		WithIndex(&certificatesv1.CertificateSigningRequest{}, "spec.signerName", func(o client.Object) []string {
			r, _ := o.(*certificatesv1.CertificateSigningRequest)
			return []string{r.Spec.SignerName}
		}).Build()
}

// pass reconciles the issuer once, and returns its condition Ready and its events.
func pass(t *testing.T, api client.Client) (ready string, notes []string) {
	t.Helper()
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{Client: api, Reader: api, Events: recorder, Clock: clocktesting.NewFakePassiveClock(now), Random: rand.Reader}
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(issuer())})
	if err != nil {
		t.Fatal(err)
	}
	if result.RequeueAfter != interval {
		t.Errorf("the next pass is after %s", result.RequeueAfter)
	}
	got := &c5c3v1.NodeIssuer{}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(issuer()), got); err != nil {
		t.Fatal(err)
	}
	for len(recorder.Events) > 0 {
		notes = append(notes, <-recorder.Events)
	}
	if len(got.Status.Conditions) != 1 || got.Status.ObservedGeneration != 3 {
		t.Fatalf("status %+v", got.Status)
	}
	c := got.Status.Conditions[0]
	return fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message), notes
}

// state returns the conditions of a request, and whether it has a certificate.
func state(t *testing.T, api client.Client, name string) string {
	t.Helper()
	r := &certificatesv1.CertificateSigningRequest{}
	if err := api.Get(t.Context(), client.ObjectKey{Name: name}, r); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range r.Status.Conditions {
		out = append(out, string(c.Type)+": "+c.Message)
	}
	if len(r.Status.Certificate) > 0 {
		out = append(out, "certificate")
	}
	return strings.Join(out, "; ")
}

const (
	signing  = "Ready True Signing: requests of nodes are signed"
	verified = "Approved: the request is for the node of its pod"
)

// TestSignsOnlyRequestsForOwnNode: only a request of the pool's service account for the node of its pod is signed.
func TestSignsOnlyRequestsForOwnNode(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("n", 65)
	for name, tc := range map[string]struct {
		reason string
		edit   func(*certificatesv1.CertificateSigningRequest)
		want   string
	}{
		"valid": {reason: "A pod requests a certificate for its node.", want: verified + "; certificate"},
		"approved": {
			reason: "An earlier pass ended after the approval.", want: "Approved: ; certificate",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: "True"}}
			},
		},
		"approved by mistake": {
			reason: "An approval of a user does not replace the verification.",
			want:   "Approved: ; Failed: spec.username: must be " + account,
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Username = "admin"
				r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: "True"}}
			},
		},
		"denied before": {
			reason: "A denied request is not signed.", want: "Denied: ",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: "True"}}
			},
		},
		"other signer": {
			reason: "Requests for another pool are ignored.",
			edit:   func(r *certificatesv1.CertificateSigningRequest) { r.Spec.SignerName = signer + "1" },
		},
		"other account": {
			reason: "Another service account of the pool gets no certificate.", want: "Denied: spec.username: must be " + account,
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Username = "system:serviceaccount:" + pool + ":default"
			},
		},
		"other namespace": {
			reason: "The service account of another pool gets no certificate.", want: "Denied: spec.username: must be " + account,
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Username = "system:serviceaccount:team-b-pool-1:node-identity"
			},
		},
		"other node": {
			reason: "A pod gets no certificate for another node.",
			want:   "Denied: spec.request: the subject must be CN=node-2, the node of the pod",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Extra[nodeKey] = certificatesv1.ExtraValue{"node-2"}
			},
		},
		"no node": {
			reason: "A token that is not bound to a pod identifies no node.",
			want:   "Denied: spec.extra: requires the node of a pod; use the token of a pod, and Kubernetes 1.30 or later",
			edit:   func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Extra = nil },
		},
		"two nodes": {
			reason: "The node is ambiguous.",
			want:   "Denied: spec.extra: requires the node of a pod; use the token of a pod, and Kubernetes 1.30 or later",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Extra[nodeKey] = certificatesv1.ExtraValue{node, "node-2"}
			},
		},
		"long name": {
			reason: "A common name has at most 64 characters.",
			want:   "Denied: spec.request: the name of a node must have at most 64 characters; rename the node",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Extra[nodeKey], r.Spec.Request = certificatesv1.ExtraValue{long}, encoded(t, newKey(t), named(long))
			},
		},
		"server": {
			reason: "A certificate of a server could be used to impersonate a database.",
			want:   `Denied: spec.usages: must be ["client auth" "digital signature"]`,
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Usages = append(r.Spec.Usages, certificatesv1.UsageServerAuth)
			},
		},
		"second name": {
			reason: "A subject has no other attributes.",
			want:   "Denied: spec.request: the subject must be CN=" + node + ", the node of the pod",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Request = encoded(t, newKey(t), &x509.CertificateRequest{
					Subject: pkix.Name{CommonName: node, Organization: []string{"system:masters"}},
				})
			},
		},
		"alternative name": {
			reason: "A certificate of a node has no other names.", want: "Denied: spec.request: cannot have extensions",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Request = encoded(t, newKey(t), &x509.CertificateRequest{
					Subject: pkix.Name{CommonName: node}, DNSNames: []string{"ovn-southbound-0"},
				})
			},
		},
		"other key": {
			reason: "Clients of OVN are tested with ECDSA keys.", want: "Denied: spec.request: the key must be an ECDSA key",
			edit: func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Request = encoded(t, edwards, named(node)) },
		},
		"two requests": {
			reason: "Only one request is read.", want: "Denied: spec.request: must be one certificate request in PEM",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Request = append(r.Spec.Request, r.Spec.Request...)
			},
		},
		"garbage": {
			reason: "The API server accepts any block.", want: "Denied: spec.request: must be one certificate request in PEM",
			edit: func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Request = []byte("request") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, "request")
			if tc.edit != nil {
				tc.edit(r)
			}
			api := newAPI(issuer(), secret(t, now.Add(1000*time.Hour), true), r)
			ready, notes := pass(t, api)
			if diff := cmp.Diff(tc.want, state(t, api, "request")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			denied := strings.Contains(tc.want, "Denied: spec") || strings.Contains(tc.want, "Failed")
			if ready != signing || denied != strings.Contains(strings.Join(notes, ""), "Warning Denied") {
				t.Errorf("%s\n%s, events %q", tc.reason, ready, notes)
			}
			before := state(t, api, "request")
			pass(t, api)
			if after := state(t, api, "request"); after != before {
				t.Errorf("%s\nthe second pass changes %q to %q", tc.reason, before, after)
			}
		})
	}
}

// TestCertificateIsLimitedToNodeAndAuthority: a certificate has the name of the node, can only be used by a client, and does not outlive
// its authority.
func TestCertificateIsLimitedToNodeAndAuthority(t *testing.T) {
	for name, tc := range map[string]struct {
		authority, want time.Time
	}{
		"a week":    {now.Add(1000 * time.Hour), now.Add(168 * time.Hour)},
		"authority": {now.Add(time.Hour), now.Add(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			authority := secret(t, tc.authority, true)
			api := newAPI(issuer(), authority, request(t, "request"))
			pass(t, api)
			r := &certificatesv1.CertificateSigningRequest{}
			if err := api.Get(t.Context(), client.ObjectKey{Name: "request"}, r); err != nil {
				t.Fatal(err)
			}
			block, rest := pem.Decode(r.Status.Certificate)
			if block == nil || string(rest) != string(authority.Data["tls.crt"]) {
				t.Fatalf("the certificate is not followed by the one of the authority:\n%s", r.Status.Certificate)
			}
			leaf, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(rest)
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
				t.Error(err)
			}
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
				t.Error("the certificate can be used by a server")
			}
			if leaf.Subject.String() != "CN="+node || len(leaf.DNSNames) > 0 || leaf.IsCA || !leaf.NotAfter.Equal(tc.want) {
				t.Errorf("subject %s, names %q, authority %t, until %s", leaf.Subject, leaf.DNSNames, leaf.IsCA, leaf.NotAfter)
			}
		})
	}
}

// TestNodeCannotDelayOthers: a pass processes one request of each node, and later passes the others.
func TestNodeCannotDelayOthers(t *testing.T) {
	objects := []client.Object{issuer(), secret(t, now.Add(1000*time.Hour), true)}
	for i := range 60 {
		objects = append(objects, request(t, fmt.Sprintf("flood-%02d", i)))
	}
	other := request(t, "other")
	other.CreationTimestamp = metav1.Time{Time: now}
	other.Spec.Extra[nodeKey], other.Spec.Request = certificatesv1.ExtraValue{"node-2"}, encoded(t, newKey(t), named("node-2"))
	api := newAPI(append(objects, other)...)
	_, notes := pass(t, api)
	if diff := cmp.Diff([]string{"Normal Signed signed certificates of " + node + ", node-2"}, notes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := []string{verified + "; certificate", "", verified + "; certificate"}
	if got := []string{state(t, api, "flood-00"), state(t, api, "flood-01"), state(t, api, "other")}; !cmp.Equal(want, got) {
		t.Errorf("%q, want %q", got, want)
	}
	pass(t, api)
	if got := state(t, api, "flood-01"); got != want[0] {
		t.Errorf("the next request is not processed in the next pass: %q", got)
	}
}

// peerRequest returns the request of a pod on a node for a certificate of a server.
func peerRequest(t *testing.T, name, of string, names ...string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	r := request(t, name)
	r.Spec.Extra[nodeKey] = certificatesv1.ExtraValue{of}
	r.Spec.Usages = serverUsages
	r.Spec.Request = encoded(t, newKey(t), &x509.CertificateRequest{Subject: pkix.Name{CommonName: pool}, DNSNames: names})
	return r
}

// peerIssuer issues certificates for servers.
func peerIssuer(unlisted bool, records ...c5c3v1.NodeAddress) *c5c3v1.NodeIssuer {
	i := issuer()
	i.Spec.AuthorityNamespace = pool
	i.Spec.Server = &c5c3v1.NodeServer{CommonName: pool, Domain: pool + ".pod", UnlistedAddresses: unlisted}
	i.Status.Addresses = records
	return i
}

// nodeObject returns a Node with addresses.
func nodeObject(name string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return n
}

// record returns the record of an address in a certificate that expires at a time.
func record(address, of string, until time.Time) c5c3v1.NodeAddress {
	return c5c3v1.NodeAddress{Address: address, Node: common.ObjectName(of), ExpiresAt: metav1.Time{Time: until}}
}

// peerAuthority returns the Secret of the authority, in the namespace of the pool.
func peerAuthority(t *testing.T) *corev1.Secret {
	t.Helper()
	s := secret(t, now.Add(1000*time.Hour), true)
	s.Namespace = pool
	return s
}

// records returns the addresses in the status, as address=node@hours until the record ends.
func records(t *testing.T, api client.Client) string {
	t.Helper()
	i := &c5c3v1.NodeIssuer{}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(issuer()), i); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range i.Status.Addresses {
		out = append(out, fmt.Sprintf("%s=%s@%.0fh", a.Address, a.Node, a.ExpiresAt.Sub(now).Hours()))
	}
	return strings.Join(out, " ")
}

// TestServerCertificatesContainOnlyOwnAddresses: the certificate of a server has the name of the node, and names of addresses that are the
// node's.
func TestServerCertificatesContainOnlyOwnAddresses(t *testing.T) {
	const (
		domain  = "." + pool + ".pod"
		own     = "10-0-0-1" + domain
		foreign = "10-0-0-2" + domain
		free    = "192-0-2-1" + domain
		week    = "10.0.0.1=" + node + "@168h"
		denied  = "Denied: spec.request: "
		signed  = verified + "; certificate"
	)
	soon, past := now.Add(time.Hour), now.Add(-time.Hour)
	for name, tc := range map[string]struct {
		reason string
		names  []string
		// unlisted: a node can have addresses that no Node lists.
		unlisted bool
		records  []c5c3v1.NodeAddress
		nodes    []client.Object
		edit     func(*certificatesv1.CertificateSigningRequest)
		want     string
		recorded string
	}{
		"own": {reason: "The Node lists the address.", names: []string{own, node}, want: signed, recorded: week},
		"IPv6": {
			reason: "An address of IPv6 has hyphens, too.", names: []string{own, "2001-db8--1" + domain, node}, want: signed,
			recorded: week + " 2001:db8::1=" + node + "@168h",
		},
		"renewal": {
			reason: "The node has a certificate for the address.", names: []string{own, node}, want: signed, recorded: week,
			records: []c5c3v1.NodeAddress{record("10.0.0.1", node, soon)},
		},
		"renewal with a liar": {
			reason: "A kubelet reports the address of another node. The node with the certificate keeps it.", names: []string{own, node}, want: signed, recorded: week,
			records: []c5c3v1.NodeAddress{record("10.0.0.1", node, soon)}, nodes: []client.Object{nodeObject("node-3", "10.0.0.1")},
		},
		"address of another node": {
			reason: "A node would receive servers in place of another one.", names: []string{own, foreign, node},
			want: denied + "the address 10.0.0.2 is an address of node node-2",
		},
		"reported by two": {
			reason: "It is unknown which kubelet reports its own address.", names: []string{own, node}, nodes: []client.Object{nodeObject("node-3", "10.0.0.1")},
			want: denied + "the address 10.0.0.1 is an address of node node-3",
		},
		"name of another node": {
			reason: "Clients find a node by its name, too.", names: []string{own, "node-2"},
			want: denied + `the name "node-2" must be ` + node + ", the node of the pod, or one of its addresses with hyphens, as in 10-0-0-1" + domain,
		},
		"wildcard": {
			reason: "It is the name of all nodes.", names: []string{own, node, "*" + domain},
			want: denied + `the name "*` + domain + `" must be ` + node + ", the node of the pod, or one of its addresses with hyphens, as in 10-0-0-1" + domain,
		},
		"unusual form": {
			reason: "An address has one name.", names: []string{node, "2001-db8-0-0-0-0-0-1" + domain},
			want: denied + `the name "2001-db8-0-0-0-0-0-1` + domain + `" must be ` + node + ", the node of the pod, or one of its addresses with hyphens, as in 10-0-0-1" + domain,
		},
		"loopback": {
			reason: "Every node has it.", names: []string{node, "127-0-0-1" + domain}, unlisted: true,
			want: denied + `the name "127-0-0-1` + domain + `" must be ` + node + ", the node of the pod, or one of its addresses with hyphens, as in 10-0-0-1" + domain,
		},
		"no address":    {reason: "It is not a server.", names: []string{node}, want: denied + "the names must be " + node + ", the node of the pod, and names of 1 to 8 addresses"},
		"no node":       {reason: "Disk transfer looks for it.", names: []string{own}, want: denied + "the names must be " + node + ", the node of the pod, and names of 1 to 8 addresses"},
		"twice":         {reason: "It is a mistake.", names: []string{own, own, node}, want: denied + `the name "` + own + `" must occur once`},
		"unlisted":      {reason: "The pool has no other network.", names: []string{own, free, node}, want: denied + "the address 192.0.2.1 must be an address of node " + node + " (status.addresses)"},
		"other network": {reason: "The pool has an interface for live migration.", names: []string{own, free, node}, unlisted: true, want: signed, recorded: week + " 192.0.2.1=" + node + "@168h"},
		"taken": {
			reason: "The first node has it until its certificate expires.", names: []string{own, free, node}, unlisted: true,
			records: []c5c3v1.NodeAddress{record("192.0.2.1", "node-2", soon)}, recorded: "192.0.2.1=node-2@1h",
			want: denied + "the address 192.0.2.1 is in a certificate of node node-2, which has not expired",
		},
		"taken from its owner": {
			reason: "A node that has had an address can use its certificate until it expires.", names: []string{own, node},
			records: []c5c3v1.NodeAddress{record("10.0.0.1", "node-2", soon)}, recorded: "10.0.0.1=node-2@1h",
			want: denied + "the address 10.0.0.1 is in a certificate of node node-2, which has not expired",
		},
		"expired": {
			reason: "Certificates with the address have expired.", names: []string{own, free, node}, unlisted: true, want: signed,
			records: []c5c3v1.NodeAddress{record("192.0.2.1", "node-2", past)}, recorded: week + " 192.0.2.1=" + node + "@168h",
		},
		"deleted": {
			reason: "The node with the address was deleted.", names: []string{own, free, node}, unlisted: true, want: signed,
			records: []c5c3v1.NodeAddress{record("192.0.2.1", "node-9", soon)}, recorded: week + " 192.0.2.1=" + node + "@168h",
		},
		"too many": {
			reason: "A node cannot reserve the addresses of a network.", names: []string{own, free, node}, unlisted: true,
			records: []c5c3v1.NodeAddress{
				record("192.0.2.2", node, soon), record("192.0.2.3", node, soon), record("192.0.2.4", node, soon), record("192.0.2.5", node, soon),
				record("192.0.2.6", node, soon), record("192.0.2.7", node, soon), record("192.0.2.8", node, soon),
			},
			want: denied + "a node can have 8 addresses in certificates that have not expired",
			recorded: "192.0.2.2=" + node + "@1h 192.0.2.3=" + node + "@1h 192.0.2.4=" + node + "@1h 192.0.2.5=" + node + "@1h " +
				"192.0.2.6=" + node + "@1h 192.0.2.7=" + node + "@1h 192.0.2.8=" + node + "@1h",
		},
		"own common name": {
			reason: "Servers accept clients of the pool by its name.", want: denied + "the subject must be CN=" + pool + ", the name of the pool",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Request = encoded(t, newKey(t), &x509.CertificateRequest{Subject: pkix.Name{CommonName: node}, DNSNames: []string{own, node}})
			},
		},
		"IP address": {
			reason: "Names are verified, addresses are not.", want: denied + "the only extension must be alternative names of DNS",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Request = encoded(t, newKey(t), &x509.CertificateRequest{
					Subject: pkix.Name{CommonName: pool}, DNSNames: []string{own, node}, IPAddresses: []net.IP{net.ParseIP("10.0.0.2")},
				})
			},
		},
		"another extension": {
			reason: "The certificate of an authority would sign others.", want: denied + "the only extension must be alternative names of DNS",
			edit: func(r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Request = encoded(t, newKey(t), &x509.CertificateRequest{
					Subject: pkix.Name{CommonName: pool}, DNSNames: []string{own, node},
					ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}}},
				})
			},
		},
		"client": {
			reason: "The certificate of a client has other usages.", names: []string{own, node},
			want: `Denied: spec.usages: must be ["client auth" "digital signature" "key encipherment" "server auth"]`,
			edit: func(r *certificatesv1.CertificateSigningRequest) { r.Spec.Usages = clientUsages },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := peerRequest(t, "request", node, tc.names...)
			if tc.edit != nil {
				tc.edit(r)
			}
			objects := append(slices.Clone(tc.nodes), nodeObject(node, "10.0.0.1", "2001:db8::1"), nodeObject("node-2", "10.0.0.2"), peerAuthority(t), r,
				peerIssuer(tc.unlisted, tc.records...))
			api := newAPI(objects...)
			if ready, _ := pass(t, api); ready != signing {
				t.Error(ready)
			}
			if diff := cmp.Diff(tc.want, state(t, api, "request")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.recorded, records(t, api)); diff != "" {
				t.Errorf("%s\nrecords (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestServer_NodeInDomain: the name of a node cannot be the name of an address.
func TestServer_NodeInDomain(t *testing.T) {
	const name = "10-0-0-9." + pool + ".pod"
	api := newAPI(nodeObject(name, "10.0.0.1"), peerAuthority(t), peerIssuer(false), peerRequest(t, "request", name, name, "10-0-0-1."+pool+".pod"))
	pass(t, api)
	want := "Denied: spec.request: the name of a node cannot end with ." + pool + ".pod, the domain of addresses; rename the node"
	if diff := cmp.Diff(want, state(t, api, "request")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestServer_SamePass: two nodes that request the same address in one pass do not both get it.
func TestServer_SamePass(t *testing.T) {
	const free = "192-0-2-1." + pool + ".pod"
	api := newAPI(nodeObject(node, "10.0.0.1"), nodeObject("node-2", "10.0.0.2"), peerAuthority(t), peerIssuer(true),
		peerRequest(t, "a", node, free, node), peerRequest(t, "b", "node-2", free, "node-2"))
	pass(t, api)
	want := []string{
		verified + "; certificate", "Denied: spec.request: the address 192.0.2.1 is in a certificate of node " + node + ", which has not expired",
	}
	if diff := cmp.Diff(want, []string{state(t, api, "a"), state(t, api, "b")}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestServer_RecordedFirst: nothing is signed if the addresses cannot be recorded.
func TestServer_RecordedFirst(t *testing.T) {
	failure := errors.New("no connection")
	api := interceptor.NewClient(newAPI(nodeObject(node, "10.0.0.1"), peerAuthority(t), peerIssuer(false),
		peerRequest(t, "request", node, "10-0-0-1."+pool+".pod", node)), interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			if _, ok := o.(*c5c3v1.NodeIssuer); ok {
				return failure
			}
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
	})
	r := &Reconciler{
		Client: api, Reader: api, Events: events.NewFakeRecorder(10), Clock: clocktesting.NewFakePassiveClock(now), Random: rand.Reader,
	}
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(issuer())}); !errors.Is(err, failure) {
		t.Errorf("the pass ended with %v", err)
	}
	if got := state(t, api, "request"); got != "" {
		t.Errorf("the request is processed: %s", got)
	}
}

// TestServerCertificateHasBothUsages: libvirt and QEMU accept the certificate for a server and for a client.
func TestServerCertificateHasBothUsages(t *testing.T) {
	names := []string{"10-0-0-1." + pool + ".pod", node}
	authority := peerAuthority(t)
	api := newAPI(nodeObject(node, "10.0.0.1"), authority, peerIssuer(false), peerRequest(t, "request", node, names...))
	pass(t, api)
	r := &certificatesv1.CertificateSigningRequest{}
	if err := api.Get(t.Context(), client.ObjectKey{Name: "request"}, r); err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode(r.Status.Certificate)
	if block == nil || string(rest) != string(authority.Data["tls.crt"]) {
		t.Fatalf("the certificate is not followed by the one of the authority:\n%s", r.Status.Certificate)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(rest)
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: names[0], KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(names, leaf.DNSNames); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if leaf.KeyUsage != x509.KeyUsageDigitalSignature|x509.KeyUsageKeyEncipherment || leaf.Subject.String() != "CN="+pool || leaf.IsCA {
		t.Errorf("usages %v, subject %s, authority %t", leaf.KeyUsage, leaf.Subject, leaf.IsCA)
	}
}

// TestReportsMissingAuthorityOrRights: no request is processed without an authority or without rights, and the condition has the reason.
func TestReportsMissingAuthorityOrRights(t *testing.T) {
	broken := secret(t, now.Add(time.Hour), true)
	broken.Data["tls.key"] = secret(t, now.Add(time.Hour), true).Data["tls.key"]
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	for name, tc := range map[string]struct {
		secret    *corev1.Secret
		get, list error
		want      string
	}{
		"no Secret":       {want: "Ready False NoAuthority: waiting for Secret ovn-ca with the authority"},
		"another key":     {secret: broken, want: "Ready False AuthorityInvalid: Secret ovn-ca: tls.crt and tls.key must be a certificate and its key: tls: private key does not match public key"},
		"no authority":    {secret: secret(t, now.Add(time.Hour), false), want: "Ready False AuthorityInvalid: Secret ovn-ca: tls.crt must be the certificate of an authority"},
		"Secret denied":   {secret: broken, get: forbidden, want: "Ready False Forbidden: the companion may not read Secret ovn-ca with the authority yet"},
		"requests denied": {secret: secret(t, now.Add(time.Hour), true), list: forbidden, want: "Ready False Forbidden: the companion may not list CertificateSigningRequests yet"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{issuer(), request(t, "request")}
			if tc.secret != nil {
				objects = append(objects, tc.secret)
			}
			api := interceptor.NewClient(newAPI(objects...), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if _, ok := o.(*corev1.Secret); ok && tc.get != nil {
						return tc.get
					}
					return c.Get(ctx, key, o, opts...)
				},
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					if tc.list != nil {
						return tc.list
					}
					return c.List(ctx, list, opts...)
				},
			})
			if ready, _ := pass(t, api); ready != tc.want {
				t.Errorf("%s, want %s", ready, tc.want)
			}
			if got := state(t, api, "request"); got != "" {
				t.Errorf("the request is processed: %s", got)
			}
		})
	}
}
