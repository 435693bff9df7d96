package identity

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

func administrator(t *testing.T, k *identitytest.Keystone) *User {
	t.Helper()
	c := cloud()
	c.Username, c.ProjectName = "admin", "admin"
	u, err := through(k)(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestAssign: a role is assigned and removed exactly as given.
func TestAssign(t *testing.T) {
	for path, ids := range map[string]openstackv1.RoleAssignmentIDs{
		"projects/p/users/u/roles/r":  {RoleID: "r", UserID: "u", ProjectID: "p"},
		"projects/p/groups/g/roles/r": {RoleID: "r", GroupID: "g", ProjectID: "p"},
		"domains/d/groups/g/roles/r":  {RoleID: "r", GroupID: "g", DomainID: "d"},
		"system/users/u/roles/r":      {RoleID: "r", UserID: "u", System: "all"},
	} {
		k := identitytest.New(map[string]string{"admin": password})
		u := administrator(t, k)
		if provided, err := u.HasRole(t.Context(), ids); provided || err != nil {
			t.Errorf("%s before: %v, %v", path, provided, err)
		}
		if err := u.Assign(t.Context(), ids); err != nil {
			t.Error(err)
		}
		if provided, err := u.HasRole(t.Context(), ids); !provided || err != nil {
			t.Errorf("%s after: %v, %v", path, provided, err)
		}
		if diff := cmp.Diff([]string{path}, k.AssignedRoles()); diff != "" {
			t.Errorf("given (-want +got):\n%s", diff)
		}
		for range 2 { // Repeated calls are no error.
			if err := u.RemoveRole(t.Context(), ids); err != nil || len(k.AssignedRoles()) != 0 {
				t.Errorf("%s at the end: %v, %v", path, k.AssignedRoles(), err)
			}
		}
	}
}

// TestAdministratorErrorsContainResponse: errors contain the message of Keystone.
func TestAdministratorErrorsContainResponse(t *testing.T) {
	k := identitytest.New(map[string]string{"admin": password})
	u := administrator(t, k)
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodGet, http.MethodPatch} {
		k.Refuse(method, "You are not authorized.")
	}
	_, assigned := u.HasRole(t.Context(), openstackv1.RoleAssignmentIDs{RoleID: "r", UserID: "u", ProjectID: "p"})
	_, region := u.EndpointRegion(t.Context(), "e")
	exempted, exempt := u.Exempt(t.Context(), "x")
	for operation, err := range map[string]error{
		"assign the role": u.Assign(t.Context(), openstackv1.RoleAssignmentIDs{RoleID: "r", UserID: "u", ProjectID: "p"}),
		"remove the role": u.RemoveRole(t.Context(), openstackv1.RoleAssignmentIDs{RoleID: "r", UserID: "u",
			ProjectID: "p"}),
		"check the role assignment":               assigned,
		"get endpoint e":                          region,
		"get user x":                              exempt,
		"set the region of endpoint e to eu-de-1": u.SetEndpointRegion(t.Context(), "e", "eu-de-1"),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "cannot "+operation+": Keystone returned HTTP 403") {
			t.Errorf("%s: %v", operation, err)
		}
	}
	if exempted {
		t.Error("nothing was changed")
	}
}

func TestAPIVersion(t *testing.T) {
	u := administrator(t, identitytest.New(map[string]string{"admin": password}))
	if got, err := u.APIVersion(t.Context()); got != "v3.14" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestEndpointRegion(t *testing.T) {
	k := identitytest.New(map[string]string{"admin": password})
	k.SetRegion("e", "RegionOne")
	u := administrator(t, k)
	if err := u.SetEndpointRegion(t.Context(), "e", "eu-de-1"); err != nil {
		t.Fatal(err)
	}
	if got, err := u.EndpointRegion(t.Context(), "e"); got != "eu-de-1" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestExempt: the options are set once; other options are retained.
func TestExempt(t *testing.T) {
	k := identitytest.New(map[string]string{"admin": password})
	k.SetOption("admin", "multi_factor_auth_enabled", false)
	u := administrator(t, k)
	for _, first := range []bool{true, false} {
		if exempt, enabled, err := u.Exemption(t.Context(), u.ID()); exempt == first || !enabled || err != nil {
			t.Errorf("exempt: %v, enabled: %v, %v", exempt, enabled, err)
		}
		if changed, err := u.Exempt(t.Context(), u.ID()); changed != first || err != nil {
			t.Errorf("changed: %v, %v", changed, err)
		}
		want := map[string]any{
			"ignore_lockout_failure_attempts": true, "ignore_password_expiry": true, "ignore_change_password_upon_first_use": true,
			"ignore_user_inactivity": true, "multi_factor_auth_enabled": false,
		}
		if diff := cmp.Diff(want, k.Options("admin")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestFindCloud(t *testing.T) {
	api := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(identitytest.Clouds("cloud", "clouds", password)).Build()
	broken := interceptor.NewClient(api, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no")
		},
	})
	for name, tc := range map[string]struct {
		reader                   client.Reader
		namespace, secret, cloud string
		user, errorMessage, err  string
	}{
		"There": {reader: api, namespace: "cloud", secret: "clouds", cloud: "admin", user: "admin"},
		"NoSecret": {reader: api, namespace: "cloud", secret: "other", cloud: "admin",
			errorMessage: "spec.cloudCredentialsRef: Secret other does not exist"},
		"Elsewhere": {reader: api, namespace: "other", secret: "clouds", cloud: "admin",
			errorMessage: "spec.cloudCredentialsRef: Secret clouds does not exist"},
		"OtherCloud": {reader: api, namespace: "cloud", secret: "clouds", cloud: "x",
			errorMessage: `spec.cloudCredentialsRef: Secret clouds: its clouds.yaml has no cloud "x": it has admin`},
		"Broken": {reader: broken, namespace: "cloud", secret: "clouds", cloud: "admin", err: "cannot read Secret clouds: no"},
	} {
		ref := common.CloudCredentialsReference{}
		ref.SecretName, ref.CloudName = "clouds", tc.cloud
		if tc.secret != "clouds" {
			ref.SecretName = "other"
		}
		c, reason, err := FindCloud(t.Context(), tc.reader, tc.namespace, ref)
		if c.Username != tc.user || reason != tc.errorMessage || (err == nil) != (tc.err == "") || err != nil && err.Error() != tc.err {
			t.Errorf("%s: %s, %q, %v", name, c.Username, reason, err)
		}
	}
}

// TestScope: Keystone requires a name with a domain, or only an ID.
func TestScope(t *testing.T) {
	for name, tc := range map[string]struct {
		cloud Cloud
		want  tokens.Scope
	}{
		"None": {Cloud{}, tokens.Scope{}},
		"ID":   {Cloud{ProjectID: "p", ProjectName: "service", ProjectDomainName: "Default"}, tokens.Scope{ProjectID: "p"}},
		"Name": {Cloud{ProjectName: "service", ProjectDomainName: "Default", ProjectDomainID: "d"}, tokens.Scope{ProjectName: "service",
			DomainName: "Default"}},
		"Domain":   {Cloud{DomainName: "acme", DomainID: "a", UserDomainName: "acme"}, tokens.Scope{DomainName: "acme"}},
		"ItsID":    {Cloud{DomainID: "a"}, tokens.Scope{DomainID: "a"}},
		"Both":     {Cloud{DomainName: "acme", ProjectID: "p"}, tokens.Scope{ProjectID: "p"}},
		"DomainID": {Cloud{ProjectName: "service", ProjectDomainID: "d"}, tokens.Scope{ProjectName: "service", DomainID: "d"}},
	} {
		if diff := cmp.Diff(tc.want, tc.cloud.scope()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// requests are the requests to Keystone.
type requests struct {
	keystone http.RoundTripper
	bodies   []map[string]any
}

func (r *requests) RoundTrip(q *http.Request) (*http.Response, error) {
	body := map[string]any{}
	if q.Body != nil {
		var text bytes.Buffer
		if _, err := text.ReadFrom(q.Body); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text.Bytes(), &body); err != nil {
			return nil, err
		}
		q.Body = http.NoBody
		q = q.Clone(q.Context())
		q.Body = readCloser{bytes.NewReader(text.Bytes())}
	}
	r.bodies = append(r.bodies, body)
	return r.keystone.RoundTrip(q)
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// TestRequestsContainScope: a login is for a user of a domain and a project; a credential contains its scope.
func TestRequestsContainScope(t *testing.T) {
	sent := &requests{keystone: identitytest.New(map[string]string{"glance": password})}
	c := cloud()
	u, err := Transport(func([]byte) (http.RoundTripper, error) { return sent, nil }).Login(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.CreateApplicationCredential(t.Context(), "first", "for glance", "secret", []string{"service"}); err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"auth": map[string]any{
			"identity": map[string]any{"methods": []any{"password"}, "password": map[string]any{"user": map[string]any{
				"name": "glance", "password": password, "domain": map[string]any{"name": "Default"},
			}}},
			"scope": map[string]any{"project": map[string]any{"name": "service", "domain": map[string]any{"name": "Default"}}},
		}},
		{"application_credential": map[string]any{"name": "first", "description": "for glance", "secret": "secret", "unrestricted": false,
			"roles": []any{map[string]any{"name": "service"}}}},
	}
	if diff := cmp.Diff(want, sent.bodies); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c.UserDomainName, c.UserDomainID = "", "default"
	_, _ = Transport(func([]byte) (http.RoundTripper, error) { return sent, nil }).Login(t.Context(), c) // The fake does not support IDs.
	user := map[string]any{"name": "glance", "password": password, "domain": map[string]any{"id": "default"}}
	want[0]["auth"].(map[string]any)["identity"].(map[string]any)["password"] = map[string]any{"user": user}
	if diff := cmp.Diff(want[0], sent.bodies[2]); diff != "" {
		t.Errorf("by the ID of a domain (-want +got):\n%s", diff)
	}
	if got := u.service.HTTPClient.Timeout; got <= 0 || got > 90*time.Second { // Nova waits 60 seconds for the database of a cell.
		t.Errorf("a call may take %s", got)
	}
}

// TestTransport: TLS 1.2 or later is required, with a certificate of the authority, and no connection is kept open.
func TestTransport(t *testing.T) {
	for name, ca := range map[string][]byte{"system": nil, "own": certificate} {
		way, err := TLS(ca)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := way.(*http.Transport)
		if !ok || got.TLSClientConfig == nil || got.TLSClientConfig.MinVersion != tls.VersionTLS12 || !got.DisableKeepAlives ||
			got.TLSClientConfig.InsecureSkipVerify {
			t.Errorf("%s: %+v", name, got)
		}
		if own := got.TLSClientConfig.RootCAs != nil; own != (ca != nil) {
			t.Errorf("%s: authorities of our own: %v", name, own)
		}
	}
	if _, err := TLS([]byte("x")); err == nil || err.Error() != "cannot read the certificate of an authority in key cacert: it is not PEM" {
		t.Errorf("%v", err)
	}
}

// TestUnreachable: the message for an expired certificate does not contain the time, which differs each time.
func TestUnreachable(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want ConnectError
	}{
		{x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time 12:00"}, ConnectError{ReasonCertificateRejected,
			"the certificate of k has expired or is not valid yet"}},
		{
			fmt.Errorf("get: %w", x509.UnknownAuthorityError{}),
			ConnectError{ReasonCertificateRejected, "the certificate of k is not trusted by the system's authorities: x509: certificate signed " +
				"by unknown authority"},
		},
		{errors.New("reset"), ConnectError{ReasonConnectionFailed, "no connection to k: reset"}},
	} {
		if diff := cmp.Diff(tc.want, *unreachable("k", tc.err)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	broken := Transport(func([]byte) (http.RoundTripper, error) { return nil, errors.New("no transport") })
	if diff := cmp.Diff(&ConnectError{ReasonConnectionFailed, "no transport"}, broken.Visit(t.Context(), "https://k")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(&ConnectError{ReasonConnectionFailed, `":" is not an address`}, Transport(TLS).Visit(t.Context(), ":")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// certificate is the certificate of an authority.
var certificate = func() []byte {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}()
