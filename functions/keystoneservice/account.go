package keystoneservice

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// korcCloud returns the credentials of K-ORC, adminCloud the credentials of the companion.
func korcCloud() korc.Credentials {
	return korc.Credentials(keystonev1.KORCCloud(keystonev1.ServiceName))
}

func adminCloud() common.CloudCredentialsReference {
	return keystonev1.AdminCloud(keystonev1.ServiceName)
}

// entryResource is the name prefix of resources whose state is read.
const entryResource = "catalog-service"

func roleResource(role keystoneservicev1.Role) string { return "role-" + string(role) }

// account builds the service's user, its roles, and its login. The user has the name of the claim's instance: K-ORC adopts an existing
// user, so that tenants must not choose the name.
func account(m *model) ([]compose.Stage, error) {
	cloud, generated := korcCloud(), m.controlPlaneMeta(m.sub("user"))
	first := compose.Stage{
		{Name: "user-generator", Object: secret.Generator(generated)},
		{Name: "user-secret", Object: secret.Generated(generated, generated.Name, m.instance, nil), Retain: true},
	}
	second := compose.Stage{
		{Name: "user", Object: cloud.Owned("User", m.controlPlaneMeta(m.instance), object.Map{
			"name": m.instance, "domainRef": common.DefaultDomainObject, "passwordRef": generated.Name,
			"description": fmt.Sprintf("KeystoneService %s of namespace %s", m.claim.Name, m.claim.Namespace),
		})},
		{Name: "login", Object: m.login()},
	}
	var roles compose.Stage
	for _, role := range m.spec.Account.Roles {
		second = append(second, compose.Resource{
			Name: "imported-" + string(role), Object: cloud.Import("Role", m.controlPlaneMeta(m.sub(string(role))),
				object.Map{"name": string(role)}),
		})
		roles = append(roles, compose.Resource{Name: roleResource(role), Object: m.role(role)})
	}
	return []compose.Stage{first, second, roles}, nil
}

// role returns a role assignment of the user in the project of the services. It is revoked when its object is deleted, even if the user
// remains.
func (m *model) role(role keystoneservicev1.Role) *openstackv1.RoleAssignment {
	return c5c3.RoleAssignment(m.controlPlaneMeta(m.sub(string(role))), openstackv1.RoleAssignmentSpec{
		CloudCredentialsRef: adminCloud(),
		ManagedOptions:      openstackv1.ManagedOptions{OnDelete: openstackv1.OnDeleteDelete},
		ExemptUser:          true,
		Resource: openstackv1.RoleAssignmentResource{
			RoleRef: common.ObjectName(m.sub(string(role))), UserRef: common.ObjectName(m.instance), ProjectRef: common.ServiceProject,
		},
	})
}

// loginSecret returns the Secret of the service's login, in the control plane's namespace.
func (m *model) loginSecret() string { return m.sub("login") }

// login returns that Secret. It contains everything, so that pods can use it as environment or as file. Other services are called at their
// public addresses: of the internal addresses, only Keystone's is reachable from the namespace.
func (m *model) login() *c5c3v1.SecretAggregate {
	environment := map[string]string{
		"OS_AUTH_TYPE": "password", "OS_IDENTITY_API_VERSION": "3", "OS_INTERFACE": "public", "OS_REGION_NAME": m.plane.region,
		"OS_AUTH_URL": string(m.plane.identityURL), "OS_USERNAME": m.instance, "OS_USER_DOMAIN_NAME": common.DefaultDomain,
		"OS_PROJECT_NAME": common.ServiceProject, "OS_PROJECT_DOMAIN_NAME": common.DefaultDomain, "OS_PASSWORD": "{{ .password }}",
	}
	template := map[string]c5c3v1.SecretTemplate{
		keystoneservicev1.CAKey: "{{ .ca }}", keystoneservicev1.CloudsKey: c5c3v1.SecretTemplate(fmt.Sprintf(`clouds:
  %s:
    auth_type: password
    auth:
      auth_url: %s
      username: %q
      password: {{ .password | quote }}
      project_name: %s
      user_domain_name: %[5]s
      project_domain_name: %[5]s
    identity_api_version: 3
    interface: public
    region_name: %[6]q
`, keystoneservicev1.CloudName, m.plane.identityURL, m.instance, common.ServiceProject, common.DefaultDomain, m.plane.region)),
	}
	for _, name := range keystoneservicev1.Variables() {
		template[name] = c5c3v1.SecretTemplate(environment[name])
	}
	return c5c3.SecretAggregate(m.controlPlaneMeta(m.loginSecret()), c5c3v1.SecretAggregateSpec{
		TargetSecretName: common.ObjectName(m.loginSecret()),
		Sources: []c5c3v1.SecretSource{
			service.Source("password", m.sub("user"), secret.PasswordKey),
			service.Source("ca", keystonev1.CertificateSecretName(keystonev1.ServiceName), certificate.CAKey),
		},
		Template: template,
	})
}

// secretSet copies that Secret to the claim's namespace, with permission to get only this Secret.
func (m *model) secretSet() tenantsecret.Set {
	keys := append(keystoneservicev1.Variables(), keystoneservicev1.CloudsKey, keystoneservicev1.CAKey)
	return tenantsecret.Set{
		Name: m.instance, Prefix: m.claim.Name + "-", Type: corev1.SecretTypeOpaque, From: m.plane.Instance, Instance: m.claim.Namespace,
		Labels: m.labels(), Requests: []tenantsecret.Request{{Name: m.loginSecret(), As: m.name(), Keys: keys}},
	}
}

// companionAccess grants the companion access to the Secrets of the account, and no others.
func companionAccess(m *model) ([]compose.Stage, error) {
	objects := []runtime.Object{m.login()}
	for _, role := range m.spec.Account.Roles {
		objects = append(objects, m.role(role))
	}
	role, binding := c5c3.Grant(m.controlPlaneMeta(m.sub(c5c3.Name)), objects...)
	return []compose.Stage{{{Name: "companion-role", Object: role}, {Name: "companion-role-binding", Object: binding}}}, nil
}

// catalogEntry is an entry of the catalog.
type catalogEntry struct {
	keystoneservicev1.Catalog
	// field is its path in the spec, suffix the name suffix of its objects, which is empty for the first entry.
	field, suffix string
}

// catalogEntries returns all requested entries, in order.
func (m *model) catalogEntries() []catalogEntry {
	var out []catalogEntry
	if c := m.spec.Catalog; c != nil {
		out = append(out, catalogEntry{Catalog: *c, field: "spec.catalog"})
	}
	for i, c := range m.spec.AdditionalCatalog {
		out = append(out, catalogEntry{Catalog: c, field: fmt.Sprintf("spec.additionalCatalog[%d]", i), suffix: "-" + string(c.Type)})
	}
	return out
}

// catalog builds the service's catalog entries with their endpoints and regions. They are deleted with the claim, so that clients are not
// directed to a service that no longer exists.
func catalog(m *model) ([]compose.Stage, error) {
	cloud := korcCloud()
	var entries, regions compose.Stage
	for _, c := range m.catalogEntries() {
		name := m.instance + c.suffix
		resource := object.Map{"name": c.Name, "type": string(c.Type)}
		if c.Description != "" {
			resource["description"] = c.Description
		}
		entries = append(entries, compose.Resource{Name: entryResource + c.suffix, Object: cloud.Owned("Service",
			m.controlPlaneMeta(name), resource)})
		for _, end := range []struct {
			kind string
			url  keystoneservicev1.EndpointURL
		}{{"public", c.Endpoints.Public}, {"internal", c.Endpoints.Internal}} {
			meta := m.controlPlaneMeta(name + "-" + end.kind)
			entries = append(entries, compose.Resource{
				Name:   "endpoint-" + end.kind + c.suffix,
				Object: cloud.Owned("Endpoint", meta, object.Map{"interface": end.kind, "serviceRef": name, "url": string(end.url)}),
			})
			regions = append(regions, compose.Resource{
				Name: "region-" + end.kind + c.suffix,
				Object: c5c3.EndpointRegion(meta, openstackv1.EndpointRegionSpec{
					CloudCredentialsRef: adminCloud(), EndpointRef: common.ObjectName(meta.Name), Region: m.plane.region,
				}),
			})
		}
	}
	return []compose.Stage{entries, regions}, nil
}

// network allows traffic from pods of the claim's namespace, and of the namespaces that it lists, to Keystone only, to log in and to
// validate tokens.
func network(m *model) ([]compose.Stage, error) {
	pods := workload.ManagedPodLabels()
	pods["app.kubernetes.io/name"], pods["app.kubernetes.io/component"] = keystonev1.ServiceName, "api"
	from := workload.Flow{Namespaces: []string{m.claim.Namespace}, Ports: []int32{keystonev1.Port}}
	for _, n := range m.spec.PodNamespaces {
		from.Namespaces = append(from.Namespaces, string(n))
	}
	p := workload.NetworkPolicy(m.controlPlaneMeta(m.sub("keystone")), metav1.LabelSelector{MatchLabels: pods}, []workload.Flow{from}, nil)
	p.Spec.PolicyTypes, p.Spec.Egress = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, nil
	return []compose.Stage{{{Name: "network-policy", Object: p}}}, nil
}
