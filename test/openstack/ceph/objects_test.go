//go:build openstack && linux

package ceph

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/ec2credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// TestCephObjects checks that users of a control plane can store objects in an object store of a StorageCluster, by
// Swift and by S3, in their project only. The gateway is configured as Rook does for the composed CephObjectStore.
func TestCephObjects(t *testing.T) {
	if harness.Programs.Ceph == "" {
		t.Skip("a Ceph runs only on request: SERVICE=ceph")
	}
	s := startStores(t)
	one, two := s.member(t, "one"), s.member(t, "two")
	t.Run("Catalog", func(t *testing.T) { testStoreEntries(t, s, one) })
	t.Run("Swift", func(t *testing.T) { testSwift(t, s, one, two) })
	t.Run("S3", func(t *testing.T) { testS3(t, s, one, two) })
	t.Run("Role", func(t *testing.T) { testStoreRole(t, s) })
}

// gatewayUser is the user of gateways of object store objects, as Rook calls it.
const gatewayUser = "rgw.objects.a"

// stores are a control plane and an object store for its users.
type stores struct {
	cloud    *clouds.Cloud
	identity *gophercloud.ServiceClient
	ceph     *operators.Ceph
	// instance is the namespace of the StorageCluster, service the KeystoneService of its object store.
	instance string
	service  *simulate.Cluster
	// store is the CephObjectStore that Rook would be given.
	store *unstructured.Unstructured
	http  *http.Client
	// authority of its certificate.
	authority []byte
}

// startStores creates a cloud with an object store from two claims: a control plane and a StorageCluster.
func startStores(t *testing.T) *stores {
	t.Helper()
	plane := lettingObjectsIn(harness.Read(t, "small.yaml"))
	s := &stores{cloud: harness.Start(t, plane, nil)}
	s.startWith(t, plane, func() *operators.Ceph {
		return harness.StartCephWith(t, nil, map[string]operators.Caps{gatewayUser: operators.GatewayCaps()})
	})
	return s
}

// lettingObjectsIn returns the claim of a control plane that admits the object store.
func lettingObjectsIn(plane []byte) []byte {
	return bytes.Replace(plane, []byte("\nspec:\n"), []byte("\nspec:\n  keystoneServices:\n"+
		"  - {namespace: tenant-a, name: ceph-objects, type: object-store, additionalTypes: [s3]}\n"), 1)
}

// startWith runs the object store with a control plane that admits it, on a Ceph that has the user of its gateways.
func (s *stores) startWith(t *testing.T, plane []byte, ceph func() *operators.Ceph) {
	t.Helper()
	s.compose(t, plane)
	var err error
	if s.identity, err = s.cloud.Operators.Identity(context.Background(), s.cloud.Namespace, "keystone-clouds", "admin"); err != nil {
		t.Fatal(err)
	}
	s.ceph = ceph()
	s.configure(t)
	s.serve(t)
}

// compose composes the StorageCluster's claim for an existing Ceph: Rook does not run here, and the KeystoneService is
// composed like every claim of that kind.
func (s *stores) compose(t *testing.T, plane []byte) {
	t.Helper()
	claim := append(harness.Read(t, "storage.yaml"), "  objectStores:\n  - name: objects\n"+
		"    keystone: {controlPlaneRef: {namespace: tenant-a, name: "+nameOf(t, plane)+"}}\n"...)
	w, err := preview.NewCluster(claim, harness.Read(t, "platform.yaml"), kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	w.Reconcile = func(desired []map[string]any) error {
		var others []map[string]any
		for _, m := range desired {
			u := &unstructured.Unstructured{Object: m}
			switch {
			case u.GetKind() == "CephObjectStore":
				s.store = u
			case u.GroupVersionKind().Group == rook.Group:
			case u.GetKind() == "KeystoneService":
				if err := s.letIn(plane, harness.Read(t, "platform.yaml"), m); err != nil {
					return err
				}
			default:
				others = append(others, m)
			}
		}
		return s.cloud.Operators.Reconcile(context.Background(), others)
	}
	w.Reports = func(kind, _ string) map[string]any {
		if kind != "KeystoneService" || s.service == nil {
			return nil
		}
		status := s.service.XR.GetFields()["status"].GetStructValue().AsMap()
		return map[string]any{"account": status["account"], "controlPlaneInstance": status["controlPlaneInstance"]}
	}
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	s.instance = w.XR.GetFields()["status"].GetStructValue().GetFields()["instance"].GetStringValue()
}

// nameOf returns the name of a claim.
func nameOf(t *testing.T, claim []byte) string {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(claim, u); err != nil {
		t.Fatal(err)
	}
	return u.GetName()
}

// letIn composes a KeystoneService.
func (s *stores) letIn(plane, platform []byte, composed map[string]any) error {
	u := &unstructured.Unstructured{Object: composed}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "spec": composed["spec"],
		"metadata": map[string]any{"namespace": u.GetNamespace(), "name": u.GetName()},
	})
	if err != nil {
		return err
	}
	if s.service, err = preview.NewCluster(text, platform, kinds.Runners()); err != nil {
		return err
	}
	if s.service.RequiredResources, err = preview.Bound(plane, s.cloud.Simulation.XR); err != nil {
		return err
	}
	s.service.Reconcile, s.service.Remove = s.cloud.Simulation.Reconcile, s.cloud.Simulation.Remove
	return s.service.Run(func(simulate.Step) {})
}

// field returns a field of the CephObjectStore's spec.
func (s *stores) field(path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(s.store.Object, append([]string{"spec"}, path...)...)
	return v
}

// configure writes the options of a CephObjectStore into Ceph's option store, as Rook does
// (https://github.com/rook/rook/blob/v1.18.8/pkg/operator/ceph/object/config.go).
func (s *stores) configure(t *testing.T) {
	t.Helper()
	secret, err := s.cloud.Operators.Secret(context.Background(), s.instance, s.field("auth", "keystone", "serviceUserSecretName").(string))
	if err != nil {
		t.Fatal(err)
	}
	for _, required := range []string{
		"OS_PROJECT_DOMAIN_NAME", "OS_USER_DOMAIN_NAME", "OS_PROJECT_NAME", "OS_USERNAME", "OS_PASSWORD",
	} {
		if len(secret[required]) == 0 {
			t.Fatalf("Rook refuses a Secret without %s", required)
		}
	}
	if a, v := string(secret["OS_AUTH_TYPE"]), string(secret["OS_IDENTITY_API_VERSION"]); a != "password" || v != "3" {
		t.Fatalf("Rook refuses authentication %q and version %q", a, v)
	}
	if u, p := secret["OS_USER_DOMAIN_NAME"], secret["OS_PROJECT_DOMAIN_NAME"]; !bytes.Equal(u, p) {
		t.Fatalf("Rook refuses a user of domain %s in a project of domain %s", u, p)
	}
	var accepted []string
	for _, r := range s.field("auth", "keystone", "acceptedRoles").([]any) {
		accepted = append(accepted, r.(string))
	}
	var commands strings.Builder
	for option, value := range map[string]any{
		"rgw_keystone_url":              s.field("auth", "keystone", "url"),
		"rgw_keystone_accepted_roles":   strings.Join(accepted, ","),
		"rgw_keystone_implicit_tenants": s.field("auth", "keystone", "implicitTenants"),
		"rgw_keystone_api_version":      string(secret["OS_IDENTITY_API_VERSION"]),
		"rgw_keystone_admin_domain":     string(secret["OS_PROJECT_DOMAIN_NAME"]),
		"rgw_keystone_admin_project":    string(secret["OS_PROJECT_NAME"]),
		"rgw_keystone_admin_user":       string(secret["OS_USERNAME"]),
		"rgw_keystone_admin_password":   string(secret["OS_PASSWORD"]),
		"rgw_s3_auth_use_keystone":      s.field("protocols", "s3", "authUseKeystone"),
		"rgw_swift_account_in_url":      s.field("protocols", "swift", "accountInUrl"),
		"rgw_log_nonexistent_bucket":    "true", "rgw_log_object_name_utc": "true", "rgw_enable_usage_log": "true",
	} {
		fmt.Fprintf(&commands, "ceph config set client.%s %s '%v'\n", gatewayUser, option, value)
	}
	if s.field("protocols", "enableAPIs") != nil {
		t.Fatal("both protocols are wanted, and some APIs are switched off")
	}
	if out, err := s.ceph.Run(context.Background(), "set -e\n"+commands.String()); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// serve runs a gateway with its certificate, which trusts the other CAs of the Secret.
func (s *stores) serve(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	trusted, err := s.cloud.Operators.Secret(ctx, s.instance, s.field("gateway", "caBundleRef").(string))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := s.cloud.Operators.Secret(ctx, s.instance, s.field("gateway", "sslCertificateRef").(string))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bundle := filepath.Join(dir, "bundle.pem")
	if err := os.WriteFile(bundle, trusted[rook.CABundleKey], 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := cluster.New(dir, func(string) (cluster.Image, error) {
		return cluster.Image{Root: harness.Programs.Ceph, Mounts: []sandbox.Mount{{Source: bundle, Target: "/etc/ssl/certs/ca-certificates.crt"}}}, nil
	}, harness.Progress())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // Before the cloud's logs are kept under the same names.
		if files, err := filepath.Glob(filepath.Join(dir, "logs", "*")); t.Failed() && err == nil {
			for _, f := range files {
				text, _ := os.ReadFile(f) // it is only shown
				t.Logf("%s:\n%s", filepath.Base(f), text[max(0, len(text)-8000):])
			}
		}
	})
	t.Cleanup(c.Stop)
	alive, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	if err := operators.New(alive, c, s.cloud.Operators.Public, harness.Programs.MariaDBOperator).Gateway(alive, s.ceph, operators.Gateway{
		Namespace: s.instance, Name: rook.GatewayName("objects"), User: gatewayUser, Certificate: pair["tls.crt"], Key: pair["tls.key"],
	}); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pair["ca.crt"]) {
		t.Fatal("the certificate names no authority")
	}
	s.authority = pair["ca.crt"]
	s.http = &http.Client{Timeout: clouds.RequestTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DialContext: c.Dial, DisableKeepAlives: true,
	}}
}

// An account is a user of a project.
type account struct {
	project, user string
	// token, and the catalog by type of service.
	token   string
	catalog map[string]string
	// access and secret are a credential for S3.
	access, secret string
}

// userPassword is the password of these users.
const userPassword = "an unused password"

// member creates a project with a user who has the role member.
func (s *stores) member(t *testing.T, name string) account {
	t.Helper()
	return s.user(t, name, "member")
}

func (s *stores) user(t *testing.T, name, role string) account {
	t.Helper()
	ctx := context.Background()
	project, err := projects.Create(ctx, s.identity, projects.CreateOpts{Name: name, DomainID: "default"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	user, err := users.Create(ctx, s.identity, users.CreateOpts{Name: name, DomainID: "default", Password: userPassword}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := roles.List(s.identity, roles.ListOpts{Name: role}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found, err := roles.ExtractRoles(pages)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d roles %s: %v", len(found), role, err)
	}
	if err := roles.Assign(ctx, s.identity, found[0].ID, roles.AssignOpts{UserID: user.ID, ProjectID: project.ID}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	out := account{project: project.ID, user: user.ID, catalog: map[string]string{}}
	c := harness.KeystoneClient(t, s.cloud, false)
	out.token = harness.Login(t, c, map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{
			"user": map[string]any{"id": user.ID, "password": userPassword},
		}},
		"scope": map[string]any{"project": map[string]any{"id": project.ID}},
	}).Token
	token, err := c.Validate(ctx, harness.AdminOf(t, c).Token, out.token)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range token.Catalog {
		for _, e := range entry.Endpoints {
			if e.Interface == "public" {
				out.catalog[entry.Type] = e.URL
			}
		}
	}
	key, err := ec2credentials.Create(ctx, s.identity, user.ID, ec2credentials.CreateOpts{TenantID: project.ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	out.access, out.secret = key.Access, key.Secret
	return out
}

// call sends a request of Swift.
func (s *stores) call(t *testing.T, method, url, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("X-Auth-Token", token)
	}
	return s.do(t, r)
}

func (s *stores) do(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	answer, err := s.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// sign sends a request by S3 with a signature of version 4
// (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
func (s *stores) sign(t *testing.T, method, url, access, secret, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	sum := func(text string) string { h := sha256.Sum256([]byte(text)); return hex.EncodeToString(h[:]) }
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	at, hash := time.Now().UTC().Format("20060102T150405Z"), sum(body)
	r.Header.Set("X-Amz-Date", at)
	r.Header.Set("X-Amz-Content-Sha256", hash)
	const signed = "host;x-amz-content-sha256;x-amz-date"
	canonical := strings.Join([]string{
		method, r.URL.EscapedPath(), r.URL.RawQuery, "host:" + r.URL.Host, "x-amz-content-sha256:" + hash, "x-amz-date:" + at, "", signed, hash,
	}, "\n")
	scope := at[:8] + "/default/s3/aws4_request"
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	signature := hex.EncodeToString(mac(key, "AWS4-HMAC-SHA256\n"+at+"\n"+scope+"\n"+sum(canonical)))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+access+"/"+scope+", SignedHeaders="+signed+", Signature="+signature)
	return s.do(t, r)
}

// testStoreEntries checks that the catalog has the addresses of both protocols, for Swift with the project's account.
func testStoreEntries(t *testing.T, s *stores, m account) {
	address := "https://" + rook.GatewayName("objects") + "." + s.instance + ".svc"
	for typ, want := range map[string]string{"object-store": address + "/swift/v1/AUTH_" + m.project, "s3": address} {
		if m.catalog[typ] != want {
			t.Errorf("%s is at %q, want %q", typ, m.catalog[typ], want)
		}
	}
}

// want fails if a response has another status.
func want(t *testing.T, label string, status int, body string, statuses ...int) {
	t.Helper()
	if !slices.Contains(statuses, status) {
		t.Errorf("%s: status %d, want one of %v: %s", label, status, statuses, body)
	}
}

// testSwift checks that a member can store and read an object, and that clients without a token and other projects
// cannot.
func testSwift(t *testing.T, s *stores, one, two account) {
	container := one.catalog["object-store"] + "/box"
	status, body := s.call(t, http.MethodPut, container, one.token, "")
	want(t, "make a container", status, body, http.StatusCreated)
	status, body = s.call(t, http.MethodPut, container+"/thing", one.token, "content")
	want(t, "keep an object", status, body, http.StatusCreated)
	if status, body = s.call(t, http.MethodGet, container+"/thing", one.token, ""); status != http.StatusOK || body != "content" {
		t.Errorf("it reads %d %q", status, body)
	}
	status, body = s.call(t, http.MethodGet, container+"/thing", "gAAAAAno-token", "")
	want(t, "with a forged token", status, body, http.StatusUnauthorized)
	status, body = s.call(t, http.MethodGet, container+"/thing", "", "")
	want(t, "with no token", status, body, http.StatusUnauthorized, http.StatusForbidden)
	status, body = s.call(t, http.MethodGet, container+"/thing", two.token, "")
	want(t, "with the token of another project", status, body, http.StatusForbidden)
	status, body = s.call(t, http.MethodPut, two.catalog["object-store"]+"/box", two.token, "")
	want(t, "make a container of that name in another project", status, body, http.StatusCreated)
	if status, body = s.call(t, http.MethodGet, two.catalog["object-store"]+"/box", two.token, ""); strings.Contains(body, "thing") {
		t.Errorf("it contains the object of another project: %d %q", status, body)
	}
}

// testS3 checks the same by S3, and that both protocols see each other's objects.
func testS3(t *testing.T, s *stores, one, two account) {
	bucket := one.catalog["s3"] + "/bucket"
	status, body := s.sign(t, http.MethodPut, bucket, one.access, one.secret, "")
	want(t, "make a bucket", status, body, http.StatusOK)
	status, body = s.sign(t, http.MethodPut, bucket+"/thing", one.access, one.secret, "content")
	want(t, "keep an object", status, body, http.StatusOK)
	if status, body = s.sign(t, http.MethodGet, bucket+"/thing", one.access, one.secret, ""); status != http.StatusOK || body != "content" {
		t.Errorf("it reads %d %q", status, body)
	}
	if status, body = s.call(t, http.MethodGet, one.catalog["object-store"]+"/bucket/thing", one.token, ""); body != "content" {
		t.Errorf("Swift reads %d %q", status, body)
	}
	status, body = s.sign(t, http.MethodGet, bucket+"/thing", one.access, "another secret", "")
	want(t, "with a wrong secret", status, body, http.StatusForbidden)
	status, body = s.sign(t, http.MethodGet, bucket+"/thing", two.access, two.secret, "")
	want(t, "with the credential of another project", status, body, http.StatusForbidden, http.StatusNotFound)
	if strings.Contains(body, "content") {
		t.Error("another project reads it")
	}
}

// testStoreRole checks that a user without an accepted role cannot store anything.
func testStoreRole(t *testing.T, s *stores) {
	reader := s.user(t, "three", "reader")
	status, body := s.call(t, http.MethodPut, reader.catalog["object-store"]+"/box", reader.token, "")
	want(t, "Swift", status, body, http.StatusUnauthorized, http.StatusForbidden)
	status, body = s.sign(t, http.MethodPut, reader.catalog["s3"]+"/bucket", reader.access, reader.secret, "")
	want(t, "S3", status, body, http.StatusForbidden)
}
