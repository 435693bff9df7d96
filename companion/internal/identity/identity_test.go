package identity

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

const password = "correct-horse-battery"

func cloud() Cloud {
	return Cloud{
		AuthURL: "https://keystone.cloud.svc:5000/v3", Username: "glance", Password: password, UserDomainName: "Default",
		ProjectName: "service", ProjectDomainName: "Default",
	}
}

func through(k *identitytest.Keystone) func(context.Context, Cloud) (*User, error) {
	return Transport(func([]byte) (http.RoundTripper, error) { return k, nil }).Login
}

func TestReadCloud(t *testing.T) {
	text := func(auth string) map[string][]byte {
		return map[string][]byte{"clouds.yaml": []byte("clouds:\n  glance:\n    auth:\n" + auth), "cacert": []byte("pem")}
	}
	full := "      auth_url: https://k:5000/v3\n      username: glance\n      password: x\n      user_domain_name: Default\n"
	for name, tc := range map[string]struct {
		reason string
		data   map[string][]byte
		want   Cloud
		err    string
	}{
		"Whole": {
			reason: "As written by Keystone's SecretAggregate.",
			data:   text(full + "      project_name: service\n      project_domain_name: Default\n"),
			want: Cloud{
				AuthURL: "https://k:5000/v3", CA: []byte("pem"), Username: "glance", Password: "x", UserDomainName: "Default",
				ProjectName: "service", ProjectDomainName: "Default",
			},
		},
		"NoFile": {reason: "Another Secret.", data: map[string][]byte{"cacert": nil}, err: "it has no key clouds.yaml"},
		"NoYAML": {reason: "Its content is not quoted.", data: map[string][]byte{"clouds.yaml": []byte("clouds: [" + password)},
			err: "is not valid YAML"},
		"WrongType": {reason: "Its content is not quoted.", data: map[string][]byte{"clouds.yaml": []byte("clouds: " + password)},
			err: "is not valid YAML"},
		"OtherCloud": {reason: "The error lists the clouds.", data: map[string][]byte{"clouds.yaml": []byte("clouds: {b: {}, a: {}}")},
			err: `has no cloud "glance": it has a, b`},
		"NoAddress": {reason: "It has no address.", data: text("      username: glance\n"), err: "requires auth_url"},
		"PlainText": {reason: "The password would be sent in plain text.", data: text(strings.Replace(full, "https", "http", 1)),
			err: "begins with https://"},
		"NoDomain": {reason: "A user name is unique only in its domain.", data: text("      auth_url: https://k\n"),
			err: "requires user_domain_name"},
		"Credential": {
			reason: "An application credential includes the user and the project.",
			data:   text("      auth_url: https://k\n      application_credential_id: i\n      application_credential_secret: s\n"),
			want:   Cloud{AuthURL: "https://k", CA: []byte("pem"), ApplicationCredentialID: "i", ApplicationCredentialSecret: "s"},
		},
		"HalfCredential": {reason: "An ID is not sufficient for a login.",
			data: text("      auth_url: https://k\n      application_credential_id: i\n"), err: "requires application_credential_secret"},
		"Domain": {
			reason: "A domain administrator logs in to the domain.", data: text(full + "      domain_name: acme\n"),
			want: Cloud{AuthURL: "https://k:5000/v3", CA: []byte("pem"), Username: "glance", Password: "x", UserDomainName: "Default",
				DomainName: "acme"},
		},
		"NoProjectDomain": {reason: "So is a project name.", data: text(full + "      project_name: service\n"),
			err: "requires project_domain_name"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadCloud(tc.data, "glance")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if (err == nil) != (tc.err == "") || err != nil && (!strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), password)) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

func TestApplicationCredentials(t *testing.T) {
	ctx := context.Background()
	k := identitytest.New(map[string]string{"glance": password, "nova": "other"})
	k.Add("nova", "not mine")
	u, err := through(k)(ctx, cloud())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second", "first"} { // Repeated calls are no error, and change nothing.
		if err := u.CreateApplicationCredential(ctx, name, "for glance", "secret of "+name, nil); err != nil {
			t.Fatal(err)
		}
	}
	list, err := u.ApplicationCredentials(ctx)
	if err != nil || len(list) != 2 || list[0].Name != "first" || list[1].Name != "second" {
		t.Fatalf("%v, %v", list, err)
	}
	if !k.AcceptsCredential(list[0].ID, "secret of first") {
		t.Error("the login fails")
	}
	for range 2 { // Repeated calls are no error.
		if err := u.DeleteApplicationCredential(ctx, list[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	if k.AcceptsCredential(list[0].ID, "secret of first") || !k.AcceptsCredential(list[1].ID, "secret of second") {
		t.Error("revoked another one")
	}
}

// TestRoles: an application credential has exactly the given roles; a role that the user does not have is rejected, and a
// login without roles in a project fails.
func TestRoles(t *testing.T) {
	k := identitytest.New(map[string]string{"glance": password})
	k.SetRoles("glance", "reader", "service")
	u, err := through(k)(t.Context(), cloud())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"admin", "Service"}, u.MissingRoles([]string{"admin", "service", "Service", "reader"})); diff != "" {
		t.Errorf("Lacks(...): -want +got:\n%s", diff)
	}
	if got := u.MissingRoles(nil); len(got) > 0 {
		t.Errorf("Lacks(nil) = %v", got)
	}
	if err := u.CreateApplicationCredential(t.Context(), "some", "", "x", []string{"service"}); err != nil {
		t.Error(err)
	}
	if err := u.CreateApplicationCredential(t.Context(), "all", "", "x", nil); err != nil {
		t.Error(err)
	}
	const rejected = "cannot create an application credential: Keystone returned HTTP 400: Invalid application credential: " +
		"Cannot create an application credential with unassigned role"
	if err := u.CreateApplicationCredential(t.Context(), "more", "", "x", []string{"service", "admin"}); err == nil ||
		err.Error() != rejected {
		t.Errorf("%v, want %s", err, rejected)
	}
	got := map[string][]string{}
	for _, c := range k.Credentials() {
		got[c.Name] = c.Roles
	}
	if diff := cmp.Diff(map[string][]string{"some": {"service"}, "all": {"reader", "service"}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	k.SetRoles("glance")
	if _, err := through(k)(t.Context(), cloud()); !IsUnauthorized(err) || !strings.HasSuffix(err.Error(),
		", or has no role in project service") {
		t.Errorf("without a role: %v", err)
	}
	closedAddress := cloud()
	closedAddress.ProjectName, closedAddress.ProjectDomainName, closedAddress.Password = "", "", "wrong"
	if _, err := through(k)(t.Context(), closedAddress); !IsUnauthorized(err) || strings.Contains(err.Error(), "project") {
		t.Errorf("without a project: %v", err)
	}
}

// TestLoginByCredential: an application credential logs in with its own scope, and a revoked one is reported.
func TestLoginByCredential(t *testing.T) {
	k := identitytest.New(map[string]string{"glance": password})
	c := Cloud{AuthURL: "https://keystone.cloud.svc:5000/v3", ApplicationCredentialID: k.Add("glance", "mine"),
		ApplicationCredentialSecret: "theirs"}
	u, err := through(k)(t.Context(), c)
	if err != nil || u.ID() != "id-glance" || len(u.MissingRoles([]string{"service"})) > 0 {
		t.Fatalf("%v, %v", u, err)
	}
	k.Remove("glance")
	const revoked = " is not accepted by Keystone: it is revoked or has expired, or its secret differs"
	if _, err := through(k)(t.Context(), c); err == nil || err.Error() != "cannot log in: application credential "+c.ApplicationCredentialID+revoked {
		t.Error(err)
	}
	k.SetDown(true)
	if _, err := through(k)(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(),
		"cannot log in as application credential "+c.ApplicationCredentialID+": ") {
		t.Error(err)
	}
}

func TestChangePassword(t *testing.T) {
	ctx := context.Background()
	k := identitytest.New(map[string]string{"glance": password})
	c := cloud()
	c.ProjectName, c.ProjectDomainName = "", "" // Without a project.
	u, err := through(k)(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.ChangePassword(ctx, password, "new"); err != nil {
		t.Fatal(err)
	}
	if _, err := through(k)(ctx, c); !IsUnauthorized(err) {
		t.Errorf("the old password: %v", err)
	}
	c.Password = "new"
	if _, err := through(k)(ctx, c); err != nil {
		t.Error(err)
	}
}

// TestErrorsContainMessageOfKeystone: errors contain the message of Keystone, but not the request.
func TestErrorsContainMessageOfKeystone(t *testing.T) {
	ctx := context.Background()
	k := identitytest.New(map[string]string{"glance": password})
	u, err := through(k)(ctx, cloud())
	if err != nil {
		t.Fatal(err)
	}
	down := func() error {
		k.SetDown(true)
		defer k.SetDown(false)
		_, err := through(k)(ctx, cloud())
		return err
	}
	wrong := cloud()
	wrong.Password = "wrong"
	_, rejected := through(k)(ctx, wrong)
	closedAddress := cloud()
	closedAddress.AuthURL = "https://127.0.0.1:1/v3"
	_, unreachable := Transport(TLS).Login(ctx, closedAddress)
	closedAddress.CA = []byte("no PEM")
	_, noCA := Transport(TLS).Login(ctx, closedAddress)
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"Down":        {down(), "cannot log in as user glance: Keystone returned HTTP 503: Service Unavailable"},
		"Refused":     {rejected, "cannot log in as user glance: the password is not accepted by Keystone, or the user is locked out"},
		"Unreachable": {unreachable, "cannot log in as user glance: no response from 127.0.0.1:1: connection refused"},
		"NoCA":        {noCA, "key cacert: it is not PEM"},
		// Keystone quotes the input.
		"BadInput": {u.CreateApplicationCredential(ctx, "x", "", strings.Repeat(password, 20), nil),
			`Keystone returned HTTP 400: Invalid input for field 'secret': "…"`},
		"SamePassword": {u.ChangePassword(ctx, password, password), "Keystone returned HTTP 400: The new password must be another one than …"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) || strings.Contains(tc.err.Error(), password) {
				t.Errorf("%v, want %q", tc.err, tc.want)
			}
			if IsUnauthorized(tc.err) != (name == "Refused") {
				t.Error("refused or not?")
			}
		})
	}
}

// TestTLS: only servers with a certificate of the authority are accepted, and redirects are not followed.
func TestTLS(t *testing.T) {
	k := identitytest.New(map[string]string{"glance": password})
	server := httptest.NewTLSServer(k)
	defer server.Close()
	c := cloud()
	c.AuthURL = server.URL + "/v3"
	if _, err := Transport(TLS).Login(context.Background(), c); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: %v", err)
	}
	mine := func([]byte) (http.RoundTripper, error) { return server.Client().Transport, nil }
	if _, err := Transport(mine).Login(context.Background(), c); err != nil {
		t.Error(err)
	}
	queried := false
	external := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { queried = true }))
	defer external.Close()
	redirects := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, external.URL, http.StatusTemporaryRedirect)
	}))
	defer redirects.Close()
	c.AuthURL = redirects.URL + "/v3"
	if _, err := Transport(mine).Login(context.Background(), c); err == nil || queried {
		t.Errorf("followed: %v", err)
	}
}

// TestSlowTLS: a server may take the given time for the handshake.
func TestSlowTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		time.Sleep(100 * time.Millisecond)
		return nil, nil
	}}
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for limit, want := range map[time.Duration]bool{time.Millisecond: false, time.Minute: true} {
		way, err := SlowTLS(limit)(ca)
		if err != nil {
			t.Fatal(err)
		}
		response, err := (&http.Client{Transport: way}).Get(server.URL)
		if err == nil {
			_ = response.Body.Close()
		}
		if got := err == nil; got != want {
			t.Errorf("a handshake within %s: %v", limit, err)
		}
	}
	if _, err := SlowTLS(time.Minute)([]byte("no certificate")); err == nil {
		t.Error("no certificate is accepted as an authority")
	}
}

// TestKeepAlive: requests of several logins share a connection, except for logins with another authority.
func TestKeepAlive(t *testing.T) {
	for name, tc := range map[string]struct {
		transport Transport
		want      int32
	}{
		"kept":   {transport: KeepAlive(), want: 1},
		"closed": {transport: TLS, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int32
			server := httptest.NewUnstartedServer(identitytest.New(map[string]string{"glance": password}))
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections.Add(1)
				}
			}
			server.StartTLS()
			defer server.Close()
			c := cloud()
			c.AuthURL = server.URL + "/v3"
			c.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			for range 3 {
				if _, err := tc.transport.Login(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			if got := connections.Load(); got != tc.want {
				t.Errorf("%d connections, want %d", got, tc.want)
			}
			c.CA = nil
			if _, err := tc.transport.Login(t.Context(), c); err == nil || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("another authority: %v", err)
			}
			c.CA = []byte("none")
			if _, err := tc.transport.Login(t.Context(), c); err == nil || !strings.Contains(err.Error(), "it is not PEM") {
				t.Errorf("no authority: %v", err)
			}
		})
	}
}

// TestVisit: each failing step of a client has its own reason, and messages do not change between visits.
func TestVisit(t *testing.T) {
	k := identitytest.New(nil)
	keystone := httptest.NewTLSServer(k)
	defer keystone.Close()
	httpServer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v3" {
			http.Redirect(w, r, "https://elsewhere.example.com", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("<html>welcome</html>"))
	}))
	defer httpServer.Close()
	trusting := Transport(func([]byte) (http.RoundTripper, error) { return keystone.Client().Transport, nil })
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, tc := range map[string]struct {
		way         Transport
		address     string
		reason      string
		wantMessage string
	}{
		"Keystone":    {way: trusting, address: keystone.URL + "/v3"},
		"Certificate": {TLS, keystone.URL + "/v3", ReasonCertificateRejected, "is not trusted by the system's authorities"},
		"Name":        {TLS, "https://identity.invalid/v3", ReasonNameResolutionFailed, "the name of identity.invalid cannot be resolved"},
		"Refused":     {TLS, closed.URL, ReasonConnectionFailed, "connection refused"},
		"NoTLS":       {TLS, strings.Replace(httpServer.URL, "http:", "https:", 1), ReasonConnectionFailed, "no connection to"},
		"Redirect":    {TLS, httpServer.URL + "/v3", ReasonUnexpectedResponse, "returned 302 Found"},
		"SomeoneElse": {TLS, httpServer.URL + "/", ReasonUnexpectedResponse, "not as Keystone"},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := tc.way.Visit(t.Context(), tc.address), tc.way.Visit(t.Context(), tc.address)
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("first and second visit differ:\n%s", diff)
			}
			switch {
			case (first == nil) != (tc.reason == ""):
				t.Errorf("%v", first)
			case first != nil && (first.Reason != tc.reason || !strings.Contains(first.Error(), tc.wantMessage)):
				t.Errorf("%s: %s, want %s: %s", first.Reason, first, tc.reason, tc.wantMessage)
			}
		})
	}
}

// TestTimeoutsAllowForSlowCells: a service that does not accept connections delays a pass briefly, and Nova has time to wait for a cell.
func TestTimeoutsAllowForSlowCells(t *testing.T) {
	way, err := TLS(nil)
	if err != nil {
		t.Fatal(err)
	}
	const cellTimeout = 60 * time.Second
	transport, _ := way.(*http.Transport)
	if transport.DialContext == nil || transport.TLSHandshakeTimeout == 0 || transport.TLSHandshakeTimeout >= cellTimeout || timeout <= cellTimeout {
		t.Errorf("handshake %s, call %s", transport.TLSHandshakeTimeout, timeout)
	}
}
