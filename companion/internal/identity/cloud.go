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
	// CA is the certificate of the authority that Keystone's is of, in PEM. None: those of the system.
	CA []byte `json:"-"`

	// Username, its domain and its Password.
	Username       string `json:"username"`
	UserDomainName string `json:"user_domain_name"`
	UserDomainID   string `json:"user_domain_id"`
	Password       string `json:"password"`

	// Project that the login is for, by name or ID. None: the login is for no project.
	ProjectName       string `json:"project_name"`
	ProjectID         string `json:"project_id"`
	ProjectDomainName string `json:"project_domain_name"`
	ProjectDomainID   string `json:"project_domain_id"`
}

// ReadCloud reads a cloud of the clouds.yaml in a Secret. Only passwords are understood, and no file or environment variable is
// looked at. The error says what the Secret lacks.
func ReadCloud(data map[string][]byte, name string) (Cloud, error) {
	var file struct {
		Clouds map[string]struct {
			Auth Cloud `json:"auth"`
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
	c.CA = data[CAKey]
	switch {
	case !strings.HasPrefix(c.AuthURL, "https://"):
		return Cloud{}, fmt.Errorf("cloud %q needs auth_url: an address that begins with https://, since a password is sent there", name)
	case c.UserDomainName == "" && c.UserDomainID == "":
		return Cloud{}, fmt.Errorf("cloud %q needs user_domain_name", name)
	case c.ProjectName != "" && c.ProjectDomainName == "" && c.ProjectDomainID == "":
		return Cloud{}, fmt.Errorf("cloud %q needs project_domain_name together with project_name", name)
	}
	return c, nil
}

// errRefused is why nobody can log in.
var errRefused = errors.New("the password is not accepted by Keystone, or the user is locked out")
