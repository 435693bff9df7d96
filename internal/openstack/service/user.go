package service

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
)

// Keys of the Secret of an application credential.
const (
	credentialID     = "application_credential_id"
	credentialSecret = "application_credential_secret"
)

func (b *Base) userSecret() string { return b.Sub("user") }
func (s *Service) credentialSecret() string {
	return cmp.Or(s.extension.Keystone.Credential, s.Sub("credential"))
}

// registered reports whether the service has its own user and a catalog entry.
func (b *Base) registered() bool { return b.CatalogType != "" && b.Spec.Identity != nil }

// Cloud returns the reference to the clouds.yaml with which the service's user logs in with its password.
func (b *Base) Cloud() common.CloudCredentialsReference {
	return common.CloudCredentialsReference{SecretName: common.ObjectName(b.Sub("clouds")), CloudName: b.App}
}

// userName returns the name of the service's user in Keystone.
func (b *Base) userName() string { return b.Spec.Identity.NameOf(b.App) }

// buildUser builds the service's user in Keystone with its roles, and the application credential with which pods log in. The
// credential gets the roles of the user and is created after the user has them.
//
// The user is deleted from Keystone together with its object, and all its credentials with it. A service that is created
// again gets a new user with the same password: K-ORC adopts an existing user, but does not set its password. Its role
// assignments then have nothing to remove. A user with a stable ID is kept as long as the data.
func buildUser[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
	cloud := korc.Credentials(s.Spec.Identity.KORCCloudRef)
	own := cloud.Owned
	if s.NeedsStableUserID && s.Spec.DeletionPolicy != common.DeletionPolicyDelete {
		own = cloud.Managed
	}
	user := own("User", s.Meta(s.Name), object.Map{
		"name": s.userName(), "domainRef": common.DefaultDomainObject, "passwordRef": s.userSecret(), "description": "Service " + s.Title,
	})
	clouds := s.Clouds(Login{
		Cloud: s.Cloud(), URL: s.Spec.Identity.InternalURL, User: s.userName(), Project: s.Spec.Identity.Project(),
		Password: s.userSecret(), CA: s.Spec.Identity.CASecretRef, Region: s.lookupRegion(),
	})
	roles := []string{common.ServiceRole} // It suffices for the validation of tokens, and to accept the service's own tokens.
	if s.NeedsAdmin {
		roles = append(roles, common.AdminRole)
	}
	var assignments compose.Stage
	for _, role := range roles {
		assignments = append(assignments, compose.Resource{
			Name: "role-" + role,
			Object: c5c3.RoleAssignment(s.Meta(s.Sub(role)), openstackv1.RoleAssignmentSpec{
				CloudCredentialsRef: s.Spec.Identity.AdminCloudRef,
				ManagedOptions:      openstackv1.ManagedOptions{OnDelete: openstackv1.OnDeleteDetach},
				ExemptUser:          true,
				Resource: openstackv1.RoleAssignmentResource{
					RoleRef: common.ObjectName(role), UserRef: common.ObjectName(s.Name), ProjectRef: common.ServiceProject,
				},
			}),
		})
	}
	credential := s.ApplicationCredential(s.credentialSecret(), s.userName(), s.Cloud(), s.Spec.Identity.CredentialRotation,
		consumersOf(slices.Concat(s.loggedIn(), s.extension.Keystone.Consumers))...)
	credential.Spec.Roles = roles
	return []compose.Stage{
		{{Name: "user", Object: user}, {Name: "clouds", Object: clouds}},
		assignments,
		{{Name: "credential", Object: credential}},
	}, nil
}

// ApplicationCredential returns an application credential of a user that is rotated regularly, in the Secret name.
func (b *Base) ApplicationCredential(
	name, user string, cloud common.CloudCredentialsReference, r common.Rotation, consumers ...c5c3v1.Consumer,
) *c5c3v1.CredentialRotation {
	return b.rotation(name, r, c5c3v1.CredentialRotationSpec{
		Target: "ApplicationCredential", UserName: user, CloudCredentialsRef: &cloud, Consumers: consumers,
	})
}

// rotation returns a credential that is rotated after its interval, in the Secret name.
func (b *Base) rotation(name string, r common.Rotation, spec c5c3v1.CredentialRotationSpec) *c5c3v1.CredentialRotation {
	spec.SecretName = common.ObjectName(name)
	spec.IntervalDays, spec.PreRotationDays, spec.GracePeriodDays = r.IntervalDays, r.PreRotationDays, r.GracePeriodDays
	spec.Suspend = r.Suspend
	return c5c3.CredentialRotation(b.Meta(name), spec)
}

// consumersOf converts workloads to consumers of a credential.
func consumersOf(workloads []openstackv1.Consumer) []c5c3v1.Consumer {
	var out []c5c3v1.Consumer
	for _, c := range workloads {
		out = append(out, c5c3v1.Consumer{Kind: c.Kind, Name: c.Name})
	}
	return out
}

// Login contains the data with which a user logs in with a password.
type Login struct {
	Cloud         common.CloudCredentialsReference
	URL           common.URL
	User, Project string
	// Password is the Secret with the password, CA the key with the CA of the URL's certificate.
	Password string
	CA       common.SecretKeyReference
	// Region in which services are looked up. Empty: there is only one.
	Region string
}

// lookupRegion returns the region in which services are looked up if the Keystone is shared with other clouds. Empty: it is
// the control plane's own Keystone.
func (b *Base) lookupRegion() string {
	if b.Spec.Identity.SharedAs == "" {
		return ""
	}
	return b.Spec.Region
}

// Template returns the clouds.yaml of the user, in which {{ .password }} is the password.
func (l Login) Template() c5c3v1.SecretTemplate {
	yaml := fmt.Sprintf(`clouds:
  %[1]s:
    auth_type: password
    auth:
      auth_url: %[2]s
      username: %[3]q
      password: {{ .password | quote }}
      project_name: %[4]s
      user_domain_name: %[5]s
      project_domain_name: %[5]s
    identity_api_version: 3
    interface: internal
`, l.Cloud.CloudName, l.URL, l.User, l.Project, common.DefaultDomain)
	if l.Region != "" {
		yaml += fmt.Sprintf("    region_name: %q\n", l.Region)
	}
	return c5c3v1.SecretTemplate(yaml)
}

// Clouds builds the clouds.yaml of a user, with the CA of the internal endpoint. K-ORC reads the CA from key cacert.
func (b *Base) Clouds(l Login) runtime.Object {
	return c5c3.SecretAggregate(b.Meta(string(l.Cloud.SecretName)), c5c3v1.SecretAggregateSpec{
		TargetSecretName: l.Cloud.SecretName,
		Sources: []c5c3v1.SecretSource{
			Source("password", l.Password, secret.PasswordKey),
			Source("ca", string(l.CA.Name), string(l.CA.Key)),
			// The database password is a source only to detect its loss: External Secrets does not check for it, and
			// running pods already have it.
			Source("database", b.Sub("database"), secret.PasswordKey),
		},
		Template: map[string]c5c3v1.SecretTemplate{"clouds.yaml": l.Template(), "cacert": "{{ .ca }}"},
	})
}

// ServerCA returns the reference to the CA of the server certificate.
func (b *Base) ServerCA() common.SecretKeyReference {
	return common.SecretKeyReference{Name: common.ObjectName(b.Sub(serverTLS)), Key: certificate.CAKey}
}
