package identity

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/stableerr"
)

const (
	// timeout of a call. It is longer than Nova waits for a cell whose database does not respond (CELL_TIMEOUT, 60 s), after which it
	// returns the records of the other cells.
	timeout = 90 * time.Second
	// connectTimeout limits the connection to an address, and the TLS handshake: a service that is away must not delay a pass.
	connectTimeout = 5 * time.Second
	// idleTimeout is shorter than the timeouts of servers (Apache's default is 5 s), so that no request is sent on a connection that its
	// server closes.
	idleTimeout = 4 * time.Second
	// idleConnections is the maximum number of idle connections to a service.
	idleConnections = 8
)

// ApplicationCredential is an application credential as reported by Keystone, without its secret.
type ApplicationCredential struct {
	// ID is assigned by Keystone; Name is unique per user.
	ID, Name string
}

// IsUnauthorized reports whether a login failed because Keystone does not accept the password.
func IsUnauthorized(err error) bool { return errors.Is(err, errUnauthorized) }

// Transport returns a transport to Keystone for the certificate of an authority.
type Transport func(ca []byte) (http.RoundTripper, error)

// Login logs in and returns the session.
func (t Transport) Login(ctx context.Context, c Cloud) (*User, error) {
	way, err := t(c.CA)
	if err != nil {
		return nil, err
	}
	provider, err := openstack.NewClient(c.AuthURL)
	if err != nil {
		return nil, fmt.Errorf("cannot use auth_url %q as an address", c.AuthURL)
	}
	provider.HTTPClient = http.Client{
		Transport: openstackapi.SameAddress(way), Timeout: timeout,
		// Do not send passwords to a redirect target.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	service, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	if err != nil {
		return nil, fmt.Errorf("cannot use auth_url %q as an address", c.AuthURL)
	}
	result := tokens.Create(ctx, service, c.options())
	switch {
	case !gophercloud.ResponseCodeIs(result.Err, http.StatusUnauthorized):
	case c.ApplicationCredentialID != "":
		return nil, fmt.Errorf("cannot log in: application credential %s is %w", c.ApplicationCredentialID, errRevoked)
	case c.ProjectName != "" || c.ProjectID != "": // Keystone does not distinguish these causes.
		return nil, fmt.Errorf("cannot log in as user %s: %w, or has no role in project %s",
			c.Username, errUnauthorized, cmp.Or(c.ProjectName, c.ProjectID))
	default:
		return nil, fmt.Errorf("cannot log in as user %s: %w", c.Username, errUnauthorized)
	}
	if result.Err != nil {
		return nil, explain("log in as "+c.userName(), result.Err, c.Password, c.ApplicationCredentialSecret)
	}
	who, err := result.ExtractUser()
	if err != nil || who == nil {
		return nil, errors.New("cannot log in: the response of Keystone has no user")
	}
	if err := provider.SetTokenAndAuthResult(result); err != nil {
		return nil, errors.New("cannot log in: the response of Keystone has no token")
	}
	provided, err := result.ExtractRoles()
	if err != nil {
		return nil, errors.New("cannot log in: the response of Keystone has invalid roles")
	}
	user := &User{service: service, id: who.ID, region: c.Region}
	if user.catalog, err = result.ExtractServiceCatalog(); err != nil {
		return nil, errors.New("cannot log in: the response of Keystone has an invalid catalog")
	}
	for _, role := range provided {
		user.roles = append(user.roles, role.Name)
	}
	return user, nil
}

// domainID returns the ID only if no name is set, because Keystone accepts only one of them.
func domainID(name, id string) string {
	if name != "" {
		return ""
	}
	return id
}

// options returns the options of the login.
func (c Cloud) options() *tokens.AuthOptions {
	if c.ApplicationCredentialID != "" {
		return &tokens.AuthOptions{
			ApplicationCredentialID: c.ApplicationCredentialID, ApplicationCredentialSecret: c.ApplicationCredentialSecret,
		}
	}
	return &tokens.AuthOptions{
		Username: c.Username, Password: c.Password, DomainName: c.UserDomainName, DomainID: domainID(c.UserDomainName, c.UserDomainID),
		Scope: c.scope(),
	}
}

// userName returns the description of the credentials for messages.
func (c Cloud) userName() string {
	if c.ApplicationCredentialID != "" {
		return "application credential " + c.ApplicationCredentialID
	}
	return "user " + c.Username
}

func (c Cloud) scope() tokens.Scope {
	switch {
	case c.ProjectID != "":
		return tokens.Scope{ProjectID: c.ProjectID}
	case c.ProjectName != "":
		return tokens.Scope{
			ProjectName: c.ProjectName, DomainName: c.ProjectDomainName, DomainID: domainID(c.ProjectDomainName, c.ProjectDomainID),
		}
	}
	return tokens.Scope{DomainName: c.DomainName, DomainID: domainID(c.DomainName, c.DomainID)}
}

// KeepAlive returns a Transport that keeps connections for a few seconds, so that the requests of one pass share them. It has one
// transport, for the last certificate.
func KeepAlive() Transport {
	var (
		mutex sync.Mutex
		last  []byte
		way   *http.Transport
	)
	return func(ca []byte) (http.RoundTripper, error) {
		mutex.Lock()
		defer mutex.Unlock()
		if way != nil && bytes.Equal(ca, last) {
			return way, nil
		}
		next, err := newTransport(ca)
		if err != nil {
			return nil, err
		}
		if way != nil {
			way.CloseIdleConnections()
		}
		next.MaxIdleConnsPerHost, next.IdleConnTimeout = idleConnections, idleTimeout
		last, way = bytes.Clone(ca), next
		return way, nil
	}
}

// TLS returns a transport that accepts certificates of one authority, or of the system's authorities if none is given.
func TLS(ca []byte) (http.RoundTripper, error) {
	way, err := newTransport(ca)
	if err != nil {
		return nil, err
	}
	// A separate transport for each login, so that no connection is kept open.
	way.DisableKeepAlives = true
	return way, nil
}

// SlowTLS returns a transport like TLS, for servers that need up to the given time for the TLS handshake.
func SlowTLS(handshake time.Duration) Transport {
	return func(ca []byte) (http.RoundTripper, error) {
		way, err := newTransport(ca)
		if err != nil {
			return nil, err
		}
		way.DisableKeepAlives, way.TLSHandshakeTimeout = true, handshake
		return way, nil
	}
}

func newTransport(ca []byte) (*http.Transport, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(ca) > 0 {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("cannot read the certificate of an authority in key %s: it is not PEM", CAKey)
		}
	}
	return &http.Transport{
		TLSClientConfig: settings,
		DialContext:     (&net.Dialer{Timeout: connectTimeout}).DialContext, TLSHandshakeTimeout: connectTimeout,
	}, nil
}

// User is a session of a user that manages its own credentials and, as an administrator, objects in Keystone. All calls are
// idempotent. All errors contain the message of Keystone.
type User struct {
	service *gophercloud.ServiceClient
	id      string
	roles   []string
	catalog *tokens.ServiceCatalog
	region  string
}

// Service returns the client of another service, by its type and its internal address in the catalog.
func (u *User) Service(kind string) (*gophercloud.ServiceClient, error) {
	for _, s := range u.catalog.Entries {
		for _, e := range s.Endpoints {
			if s.Type == kind && e.Interface == "internal" && (u.region == "" || u.region == e.RegionID) {
				address := gophercloud.NormalizeURL(e.URL)
				return &gophercloud.ServiceClient{ProviderClient: u.service.ProviderClient, Endpoint: address, Type: kind}, nil
			}
		}
	}
	return nil, fmt.Errorf("cannot find service %s: Keystone's catalog has no internal endpoint of that type%s", kind, in(u.region))
}

func in(region string) string {
	if region == "" {
		return ""
	}
	return " in region " + region
}

// MissingRoles returns the given roles, by name and in the given order, that the user does not have in the scope of its
// login.
func (u *User) MissingRoles(roles []string) []string {
	return slices.DeleteFunc(slices.Clone(roles), func(role string) bool { return slices.Contains(u.roles, role) })
}

// ApplicationCredentials returns all application credentials of the user.
func (u *User) ApplicationCredentials(ctx context.Context) ([]ApplicationCredential, error) {
	list, err := openstackapi.List(ctx, "Keystone", "list application credentials",
		applicationcredentials.List(u.service, u.id, nil), applicationcredentials.ExtractApplicationCredentials)
	if err != nil {
		return nil, err
	}
	out := make([]ApplicationCredential, len(list))
	for i, a := range list {
		out[i] = ApplicationCredential{ID: a.ID, Name: a.Name}
	}
	return out, nil
}

// CreateApplicationCredential creates an application credential with a given secret, for the project of the login and with
// the given roles of the user, by name; without roles, with all of the user's roles. The credential cannot create or delete
// others. An existing credential of that name is not an error.
func (u *User) CreateApplicationCredential(ctx context.Context, name, description, secret string, roles []string) error {
	options := applicationcredentials.CreateOpts{Name: name, Description: description, Secret: secret}
	for _, role := range roles {
		options.Roles = append(options.Roles, applicationcredentials.Role{Name: role})
	}
	err := applicationcredentials.Create(ctx, u.service, u.id, options).Err
	if err == nil || gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		return nil
	}
	return explain("create an application credential", err, secret)
}

// DeleteApplicationCredential revokes an application credential. A missing one is not an error.
func (u *User) DeleteApplicationCredential(ctx context.Context, id string) error {
	err := applicationcredentials.Delete(ctx, u.service, u.id, id).Err
	if err == nil || gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return explain("revoke application credential "+id, err)
}

// ChangePassword changes the user's password.
func (u *User) ChangePassword(ctx context.Context, from, to string) error {
	err := users.ChangePassword(ctx, u.service, u.id, users.ChangePasswordOpts{OriginalPassword: from, Password: to}).Err
	if err == nil {
		return nil
	}
	return explain("change the password", err, from, to)
}

// explain formats an error with the message of Keystone, but without the request, which contains secrets. The given secrets
// are redacted in any case.
func explain(operation string, err error, secrets ...string) error {
	text := err.Error()
	var response gophercloud.ErrUnexpectedResponseCode
	if missing := stableerr.IsNoResponse(err); missing != "" {
		text = missing
	} else if errors.As(err, &response) {
		var body struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		text = fmt.Sprintf("Keystone returned HTTP %d", response.Actual)
		if json.Unmarshal(response.Body, &body) == nil && body.Error.Message != "" {
			text += ": " + body.Error.Message
		}
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	return fmt.Errorf("cannot %s: %s", operation, text)
}
