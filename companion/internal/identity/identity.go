package identity

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/steady"
)

// timeout of a call.
const timeout = 30 * time.Second

// ApplicationCredential is what Keystone reports about one: never its secret.
type ApplicationCredential struct {
	// ID is Keystone's, Name is unique among those of a user.
	ID, Name string
}

// IsUnauthorized reports whether a login failed because Keystone does not accept the password.
func IsUnauthorized(err error) bool { return errors.Is(err, errUnauthorized) }

// Transport returns a way to Keystone for the certificate of an authority.
type Transport func(ca []byte) (http.RoundTripper, error)

// Login logs in.
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
		Transport: way, Timeout: timeout,
		// A password goes where it was meant to go.
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
	case c.ProjectName != "" || c.ProjectID != "": // Keystone does not tell one from the other.
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
		return nil, errors.New("cannot log in: Keystone's answer names no user")
	}
	if err := provider.SetTokenAndAuthResult(result); err != nil {
		return nil, errors.New("cannot log in: Keystone's answer has no token")
	}
	provided, err := result.ExtractRoles()
	if err != nil {
		return nil, errors.New("cannot log in: Keystone's answer has roles that are none")
	}
	user := &User{service: service, id: who.ID, region: c.Region}
	if user.catalog, err = result.ExtractServiceCatalog(); err != nil {
		return nil, errors.New("cannot log in: Keystone's answer has a catalog that is none")
	}
	for _, role := range provided {
		user.roles = append(user.roles, role.Name)
	}
	return user, nil
}

// domainID gives way to a name: Keystone takes one of them.
func domainID(name, id string) string {
	if name != "" {
		return ""
	}
	return id
}

// options are how it is logged in.
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

// userName logs in.
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

// TLS is a transport that accepts the certificates of one authority, or those of the system if none is given.
func TLS(ca []byte) (http.RoundTripper, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(ca) > 0 {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("cannot read the certificate of an authority in key %s: it is not PEM", CAKey)
		}
	}
	// A transport of its own for each login: nothing is kept open.
	return &http.Transport{TLSClientConfig: settings, DisableKeepAlives: true}, nil
}

// A User is logged in, looks after its own credentials and, if it is an administrator, after what there is in Keystone. Every call may be
// repeated. Every error is a sentence with what Keystone answered.
type User struct {
	service *gophercloud.ServiceClient
	id      string
	roles   []string
	catalog *tokens.ServiceCatalog
	region  string
}

// Service is the client of another service, by its type in the catalog and its internal address there.
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

// MissingRoles are those of some roles, by their names, that the user does not have where it logged in to, in the order that they are given in.
func (u *User) MissingRoles(roles []string) []string {
	return slices.DeleteFunc(slices.Clone(roles), func(role string) bool { return slices.Contains(u.roles, role) })
}

// ApplicationCredentials are all of the user.
func (u *User) ApplicationCredentials(ctx context.Context) ([]ApplicationCredential, error) {
	pages, err := applicationcredentials.List(u.service, u.id, nil).AllPages(ctx)
	if err != nil {
		return nil, explain("list application credentials", err)
	}
	list, err := applicationcredentials.ExtractApplicationCredentials(pages)
	if err != nil {
		return nil, errors.New("cannot list application credentials: Keystone's answer is none")
	}
	out := make([]ApplicationCredential, len(list))
	for i, a := range list {
		out[i] = ApplicationCredential{ID: a.ID, Name: a.Name}
	}
	return out, nil
}

// CreateApplicationCredential makes one with a secret that the caller has chosen, for the project that the user logged in to and with some
// of the user's roles there, by their names: with all of them if none is named. It cannot make or delete others. That there is one of that
// name is no error.
func (u *User) CreateApplicationCredential(ctx context.Context, name, description, secret string, roles []string) error {
	options := applicationcredentials.CreateOpts{Name: name, Description: description, Secret: secret}
	for _, role := range roles {
		options.Roles = append(options.Roles, applicationcredentials.Role{Name: role})
	}
	err := applicationcredentials.Create(ctx, u.service, u.id, options).Err
	if err == nil || gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		return nil
	}
	return explain("make an application credential", err, secret)
}

// DeleteApplicationCredential revokes one. That there is none is no error.
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

// explain makes a sentence of an error: what Keystone says, and not what it was asked, in which there are secrets. Those that
// were sent are taken out in any case.
func explain(what string, err error, secrets ...string) error {
	text := err.Error()
	var response gophercloud.ErrUnexpectedResponseCode
	if missing := steady.IsNoResponse(err); missing != "" {
		text = missing
	} else if errors.As(err, &response) {
		var body struct {
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		text = fmt.Sprintf("Keystone answers %d", response.Actual)
		if json.Unmarshal(response.Body, &body) == nil && body.Error.Message != "" {
			text += ": " + body.Error.Message
		}
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	return fmt.Errorf("cannot %s: %s", what, text)
}
