// Package identity calls Keystone as a user that manages its own credentials
// (https://docs.openstack.org/api-ref/identity/v3/). Errors never contain secrets.
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

// Cloud contains the address of Keystone and the credentials: the `auth` section of a clouds.yaml.
type Cloud struct {
	// AuthURL is Keystone's address, with https.
	AuthURL string `json:"auth_url"`
	// Region of the services. Empty if there is only one.
	Region string `json:"-"`
	// CA is the PEM certificate of the authority that issued Keystone's certificate. Defaults to the authorities of the
	// system.
	CA []byte `json:"-"`

	// Username, its domain and its Password.
	Username       string `json:"username"`
	UserDomainName string `json:"user_domain_name"`
	UserDomainID   string `json:"user_domain_id"`
	Password       string `json:"password"`

	// Application credential instead of a user and its password. It includes the project.
	ApplicationCredentialID     string `json:"application_credential_id"`
	ApplicationCredentialSecret string `json:"application_credential_secret"`

	// Domain to which the login is scoped, by name or ID, if it is not scoped to a project.
	DomainName string `json:"domain_name"`
	DomainID   string `json:"domain_id"`
	// Project to which the login is scoped, by name or ID. If empty, the login is scoped to the domain, or unscoped.
	ProjectName       string `json:"project_name"`
	ProjectID         string `json:"project_id"`
	ProjectDomainName string `json:"project_domain_name"`
	ProjectDomainID   string `json:"project_domain_id"`
}

// ReadCloud reads a cloud of the clouds.yaml in a Secret. It supports passwords and application credentials by ID, and reads
// no files or environment variables. The error describes what is missing in the Secret.
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
		return Cloud{}, fmt.Errorf("its %s is not valid YAML", CloudsKey) // The parser's error may quote the content.
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
		return Cloud{}, fmt.Errorf("cloud %q requires auth_url: an address that begins with https://, because a password is sent to it", name)
	case c.ApplicationCredentialID != "" && c.ApplicationCredentialSecret == "":
		return Cloud{}, fmt.Errorf("cloud %q requires application_credential_secret with application_credential_id", name)
	case c.ApplicationCredentialID != "":
		return c, nil
	case c.UserDomainName == "" && c.UserDomainID == "":
		return Cloud{}, fmt.Errorf("cloud %q requires user_domain_name", name)
	case c.ProjectName != "" && c.ProjectDomainName == "" && c.ProjectDomainID == "":
		return Cloud{}, fmt.Errorf("cloud %q requires project_domain_name with project_name", name)
	}
	return c, nil
}

// errUnauthorized is the reason for a rejected password.
var errUnauthorized = errors.New("the password is not accepted by Keystone, or the user is locked out")

// errRevoked is the reason for a rejected application credential, which causes no lockout.
var errRevoked = errors.New("not accepted by Keystone: it is revoked or has expired, or its secret differs")
