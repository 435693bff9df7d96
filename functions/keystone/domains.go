package keystone

import (
	"fmt"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

type backend = keystonev1.IdentityBackend

// direct adds the settings of identity backends: a Secret with a configuration file for each.
func (m *model) direct(x *service.Extension, observed observe.State) error {
	if len(m.spec.IdentityBackends) == 0 {
		return nil
	}
	spec := c5c3v1.SecretAggregateSpec{
		TargetSecretName: common.ObjectName(m.Sub(domainsResource)),
		Template:         map[string]c5c3v1.SecretTemplate{},
	}
	for i, b := range m.spec.IdentityBackends {
		text, err := m.domainConfig(i, b)
		if err != nil {
			return err
		}
		spec.Template["keystone."+b.Domain+".conf"] = c5c3v1.SecretTemplate(text)
		if ref := b.LDAP.PasswordSecretRef; ref != nil {
			s := service.Source(passwordSource(i), string(ref.Name), string(ref.Key))
			s.Escape = "OsloConfig"
			spec.Sources = append(spec.Sources, s)
		}
		if ref := b.LDAP.CASecretRef; ref != nil {
			spec.Sources = append(spec.Sources, service.Source(caSource(i), string(ref.Name), string(ref.Key)))
			spec.Template[b.Domain+".pem"] = c5c3v1.SecretTemplate("{{ ." + caSource(i) + " }}")
		}
	}
	x.Pods.Content = append(x.Pods.Content, compose.Resource{
		Name: domainsResource, Object: c5c3.SecretAggregate(m.Meta(m.Sub(domainsResource)), spec),
	})
	x.Pods.ConfigVolumes = []service.Volume{m.SecretVolume(domainsResource, m.Sub(domainsResource))}
	x.Pods.Annotate(m.StartupAnnotations(observed, service.StartupInput{
		Resource: domainsResource, Path: []string{"status", "contentHash"}, Annotation: keystonev1.Group + "/identity-backends",
	}))
	return nil
}

func passwordSource(i int) string { return fmt.Sprintf("password%d", i) }
func caSource(i int) string       { return fmt.Sprintf("ca%d", i) }

// domainConfig returns keystone.<domain>.conf of an identity backend. The companion fills in the password.
func (m *model) domainConfig(i int, b backend) (string, error) {
	ldap := oslo.Options{
		"url":           b.LDAP.URL,
		"suffix":        string(b.LDAP.Suffix),
		"user_tree_dn":  string(b.LDAP.UserTreeDN),
		"group_tree_dn": string(b.LDAP.GroupTreeDN),
		"user":          string(b.LDAP.User),
	}.Literal()
	for _, k := range []string{"user", "group_tree_dn"} {
		if ldap[k] == "" {
			delete(ldap, k)
		}
	}
	if b.LDAP.PasswordSecretRef != nil {
		ldap["password"] = oslo.Template("{{ ." + passwordSource(i) + " }}")
	}
	if b.LDAP.CASecretRef != nil {
		ldap["tls_cacertfile"] = m.Path(domainsResource, b.Domain+".pem")
	}
	over, err := override.Directory(string(m.Effective), b.LDAP.Options, m.spec.AllowUnknown, fmt.Sprintf("spec.identityBackends[%d].ldap", i))
	if err != nil {
		return "", err
	}
	for group, options := range over {
		over[group] = options.Literal()
	}
	return oslo.Config{"identity": {"driver": "ldap"}, "ldap": ldap}.Merge(over).Render()
}
