// Package identity talks to Keystone as a user does who looks after its own credentials
// (https://docs.openstack.org/api-ref/identity/v3/). No error has a secret in it.
package identity

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Keys of a Secret with a clouds.yaml, as K-ORC reads them.
const (
	CloudsKey = "clouds.yaml"
	CAKey     = "cacert"
)

// Cloud is where Keystone is, and who logs in: what a clouds.yaml says in `auth`.
type Cloud struct {
	// AuthURL is Keystone's address, with https.
	AuthURL string `json:"auth_url"`
	// Region whose services are meant. None: there is one only.
	Region string `json:"-"`
	// CA is the certificate of the authority that Keystone's is of, in PEM. None: those of the system.
	CA []byte `json:"-"`

	// Username, its domain and its Password.
	Username       string `json:"username"`
	UserDomainName string `json:"user_domain_name"`
	UserDomainID   string `json:"user_domain_id"`
	Password       string `json:"password"`

	// Application credential in place of a user and its password. It is of a project already.
	ApplicationCredentialID     string `json:"application_credential_id"`
	ApplicationCredentialSecret string `json:"application_credential_secret"`

	// Domain that the login is for, by name or ID, if it is for no project.
	DomainName string `json:"domain_name"`
	DomainID   string `json:"domain_id"`
	// Project that the login is for, by name or ID. None: the login is for a domain, or for nothing.
	ProjectName       string `json:"project_name"`
	ProjectID         string `json:"project_id"`
	ProjectDomainName string `json:"project_domain_name"`
	ProjectDomainID   string `json:"project_domain_id"`
}

// ReadCloud reads a cloud of the clouds.yaml in a Secret. Passwords and application credentials by their IDs are understood, and
// no file or environment variable is looked at. The error says what the Secret lacks.
func ReadCloud(data map[string][]byte, name string) (Cloud, error) {
	var file struct {
		Clouds map[string]struct {
			Auth   Cloud  `json:"auth"`
			Region string `json:"region_name"`
		} `json:"clouds"`
	}
	text, ok := data[CloudsKey]
	if !ok {
		return Cloud{}, fmt.Errorf("it has no key %s", CloudsKey)
	}
	if yaml.Unmarshal(text, &file) != nil {
		return Cloud{}, fmt.Errorf("its %s cannot be read as YAML", CloudsKey) // The parser's own error may quote.
	}
	entry, ok := file.Clouds[name]
	if !ok {
		return Cloud{}, fmt.Errorf("its %s has no cloud %q: it has %s",
			CloudsKey, name, strings.Join(slices.Sorted(maps.Keys(file.Clouds)), ", "))
	}
	c := entry.Auth
	c.CA, c.Region = data[CAKey], entry.Region
	switch {
	case !strings.HasPrefix(c.AuthURL, "https://"):
		return Cloud{}, fmt.Errorf("cloud %q needs auth_url: an address that begins with https://, since a password is sent there", name)
	case c.ApplicationCredentialID != "" && c.ApplicationCredentialSecret == "":
		return Cloud{}, fmt.Errorf("cloud %q needs application_credential_secret together with application_credential_id", name)
	case c.ApplicationCredentialID != "":
		return c, nil
	case c.UserDomainName == "" && c.UserDomainID == "":
		return Cloud{}, fmt.Errorf("cloud %q needs user_domain_name", name)
	case c.ProjectName != "" && c.ProjectDomainName == "" && c.ProjectDomainID == "":
		return Cloud{}, fmt.Errorf("cloud %q needs project_domain_name together with project_name", name)
	}
	return c, nil
}

// errUnauthorized is why nobody can log in.
var errUnauthorized = errors.New("the password is not accepted by Keystone, or the user is locked out")

// errRevoked is the same of an application credential, which locks nobody out.
var errRevoked = errors.New("not accepted by Keystone: it is revoked or has expired, or its secret is another one")
