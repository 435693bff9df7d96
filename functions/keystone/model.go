package keystone

import (
	"errors"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// terminationGracePeriod is the time that requests have to complete while a pod stops.
const terminationGracePeriod = 60 * time.Second

// definition is the part that all Keystones have in common. Bootstrap creates the catalog entry.
var definition = service.Definition{
	App:                    keystonev1.ServiceName,
	Title:                  "Keystone",
	Outage:                 "tokens cannot be issued, and all other services reject requests",
	Port:                   keystonev1.Port,
	Module:                 "keystone.wsgi.api:application",
	HealthPath:             "/healthcheck",
	TerminationGracePeriod: terminationGracePeriod,
	Priority:               workload.PriorityInfrastructure,
	Databases: []service.Database{{
		Group: "database",
		// https://docs.openstack.org/keystone/latest/admin/upgrading.html, https://docs.openstack.org/keystone/latest/cli/index.html
		Schema: service.Schema{
			Sync:     []openstackv1.Step{service.Step("db-sync", "keystone-manage", "db_sync")},
			Expand:   []openstackv1.Step{service.Step("expand", "keystone-manage", "db_sync", "--expand")},
			Contract: []openstackv1.Step{service.Step("contract", "keystone-manage", "db_sync", "--contract")},
			Check:    []openstackv1.Argument{"keystone-status", "upgrade", "check"},
			Version:  []openstackv1.Argument{"keystone-manage", "db_version"},
			Empty:    "None",
		},
	}},
}

// Resources whose content the API's pods read at startup only.
const (
	// domainsResource is the Secret of all identity backends. Keystone reads its files at startup:
	// https://docs.openstack.org/keystone/latest/admin/configuration.html#domain-specific-configuration
	domainsResource = "domains"
	// clientResource is the Secret of the federation's client, an environment variable of the proxy.
	clientResource = "federation-client"
)

// model is the input of all builders. derive computes it once per call.
type model struct {
	service.Service
	spec keystonev1.KeystoneSpec
	// proxyImage of the federation proxy.
	proxyImage string
	// live is the reported state of the running Keystone, authority the CA of its certificate.
	live      *common.Live
	authority authority
}

func derive(in function.Input[keystonev1.Keystone]) (*model, error) {
	m := &model{spec: in.XR.Spec, authority: findAuthority(in.Observed)}
	caConfigMap := ""
	if m.authority.published {
		caConfigMap = keystonev1.AuthorityName(in.XR.Name)
	}
	var err error
	m.Base, err = definition.Derive(service.Input{
		Meta: in.XR.ObjectMeta, Spec: identity.Spec(&m.spec), Previous: in.XR.Status.ServiceStatus, Observed: in.Observed,
		Check:       func(r release.Release) error { return identity.Check("spec", r, &m.spec) },
		CAConfigMap: caConfigMap,
	})
	if err != nil {
		return nil, err
	}
	if check, ok := in.Observed.Get(loginResource); ok {
		m.live = live(check)
	}
	if m.spec.External != nil {
		return m, nil // It has neither pods nor files.
	}
	x, err := m.extension(in.Observed)
	if err != nil {
		return nil, err
	}
	m.Service, err = m.With(x)
	return m, err
}

// extension returns the additions of a Keystone.
func (m *model) extension(observed observe.State) (service.Extension, error) {
	egress, err := m.externalEgress()
	if err != nil {
		return service.Extension{}, err
	}
	x := service.Extension{
		Config:  service.Configuration{Options: m.options()},
		Pods:    service.Pods{Volumes: []service.Volume{m.keyVolume(fernetKeys), m.keyVolume(credentialKeys)}},
		Jobs:    service.Jobs{Names: []string{bootstrapName, trustFlushName}},
		Network: service.Network{Clients: []string{korc.Namespace}, Egress: egress}, // K-ORC logs in at the internal address.
		Access: service.Access{Accounts: []service.Account{
			{Resource: "admin", Secret: m.adminSecret(), User: m.spec.Bootstrap.AdminUser},
		}},
	}
	if len(m.spec.DomainIDs) > 0 {
		x.Pods.Annotate(map[string]string{domainsAnnotation: service.HashOf(m.spec.DomainIDs)})
	}
	if err := errors.Join(m.direct(&x, observed), m.addFederation(&x, observed)); err != nil {
		return service.Extension{}, err
	}
	return x, nil
}

// domainsAnnotation of the API's pods records the domains that existed at their start.
const domainsAnnotation = keystonev1.Group + "/domains"

// externalEgress returns egress to the ports of the directories and of the provider in the spec. Further addresses in a provider's
// metadata, such as the URL of its keys, must use the same ports.
func (m *model) externalEgress() ([]workload.Flow, error) {
	var addresses []string
	for _, b := range m.spec.IdentityBackends {
		addresses = append(addresses, b.LDAP.URL)
	}
	if f := m.spec.Federation; f != nil {
		addresses = append(addresses, string(f.MetadataURL), string(f.Issuer))
		if f.IntrospectionURL != "" {
			addresses = append(addresses, string(f.IntrospectionURL))
		}
	}
	if len(addresses) == 0 {
		return nil, nil
	}
	flow, err := workload.ExternalEgress(addresses...)
	return []workload.Flow{flow}, err
}

func (m *model) adminSecret() string { return keystonev1.AdminSecretName(m.Name) }

func (m *model) adminCloud() common.CloudCredentialsReference { return keystonev1.AdminCloud(m.Name) }

func status(m *model, plan compose.Plan) any {
	s := keystonev1.KeystoneStatus{ServiceStatus: m.Status(plan)}
	s.Live = m.live
	if m.spec.External != nil {
		s.Release = string(m.TargetRelease) // It does not depend on a release.
		return s
	}
	s.Refs = &keystonev1.References{AdminSecret: m.adminSecret()}
	return s
}
