package controlplane

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// internalCA is the name of the control plane's certificate authority: its issuer, its certificate and their Secret.
const internalCA = "internal-ca"

// model holds the inputs of all builders, derived once.
type model struct {
	claim function.Claim
	// channel holds the labels that select the Composition's revisions; empty: any revision.
	channel map[string]string
	// instance is the namespace of the workloads, and of the service composite resources on the management cluster.
	instance string
	spec     controlplanev1.ControlPlaneClusterSpec
	// previous is the status after the last reconciliation.
	previous controlplanev1.ControlPlaneClusterStatus
	platform *platformv1.PlatformConfigSpec
	size     size
	release  release.Release
	// providerConfig selects the cluster of the workloads; remote is true if it is not the management cluster.
	providerConfig string
	remote         bool
	// settings are the merged settings of claim and platform; the next fields are derived from them.
	settings    controlplanev1.Global
	domain      string
	exposure    common.Exposure
	tls         common.TLS
	monitoring  common.Monitoring
	secretStore *common.SecretStoreReference
	images      common.Images
	// services are the enabled services in the order of the table; identity is the one that authenticates the others.
	services []*serviceState
	identity *serviceState
	// domainIDs are the IDs of the existing domains of directories.
	domainIDs domainIDs
	// observedDatabase is the observed state of the database, proxy the derived state of its proxy.
	observedDatabase observedDatabase
	proxy            proxyState
	// root selects the source of the password of the database's root user.
	root rootPassword
	// secrets are the Secrets in the claim, pull the pull secrets of images. The spec and images contain the names of their copies.
	secrets tenantsecret.Set
	pull    []tenantsecret.Set
	// pools are the pools of StorageClusters that services use, keys the Secrets of their Ceph users.
	pools []poolUse
	keys  []tenantsecret.Set
	// platformPull are the copies of the platform's own pull secrets.
	platformPull []common.ObjectName
	// copiesObserved and pullsObserved report whether copies of the Secrets exist already.
	copiesObserved, pullsObserved bool
	// observed is the observed state of all composed resources.
	observed observe.State
	// neighbours are the clients in other namespaces.
	neighbours common.Neighbours
	// queue and store are the members of RabbitMQ and of Valkey.
	queue queueMembers
	store storeMembers
	// serverOptions are the options of MariaDB and of RabbitMQ, cells' own included.
	serverOptions serverOptions
}

func derive(in function.Input[controlplanev1.ControlPlaneCluster]) (*model, error) {
	p, err := platform.Read(in.Required)
	if err != nil {
		return nil, err
	}
	if err := admission.Check(in.Required); err != nil {
		return nil, err
	}
	m := &model{claim: in.Claim, channel: in.Channel, spec: in.XR.Spec, previous: in.XR.Status, platform: p, observed: in.Observed}
	if m.claim.Name == "" {
		// A composite resource without a claim belongs to the platform team.
		m.claim.Name = in.XR.Name
	}
	if m.instance, err = instanceOf(m.claim, p, in.XR.Status, in.Observed); err != nil {
		return nil, err
	}
	m.spec.Size = cmp.Or(m.spec.Size, controlplanev1.SizeSmall)
	m.spec.Global.Region = cmp.Or(m.spec.Global.Region, "RegionOne")
	m.spec.DeletionPolicy = cmp.Or(m.spec.DeletionPolicy, controlplanev1.DeletionPolicyRetain)
	var known bool
	if m.size, known = sizes[m.spec.Size]; !known {
		return nil, invalid.Field("spec.size", "%q is not a size; choose one of %s", m.spec.Size, join(slices.Sorted(maps.Keys(sizes))))
	}
	if m.release, err = release.Parse(m.spec.OpenStackRelease); err != nil {
		return nil, invalid.Field("spec.openStackRelease", "%s", err)
	}
	var optionsErr error
	m.serverOptions, optionsErr = formatServerOptions(m.spec.Infrastructure)
	m.global()
	m.sortServices()
	m.addresses()
	if err := invalid.Distinct(
		m.checkLimits(), m.target(), m.checkResources(), m.checkTLS(),
		m.checkSchedules(), m.checkRecoveryTime(), m.checkHostnames(),
		m.checkServices(), m.checkTests(), m.checkServiceGrants(), m.checkValues(), optionsErr,
	); err != nil {
		return nil, err
	}
	m.neighbours = neighboursOf(p.Network)
	if err := errors.Join(m.checkExposure(), m.checkQueueExposure(), m.queueMembers(), m.storeMembers()); err != nil {
		return nil, err
	}
	m.deriveDatabase(in.Observed)
	m.root = rootSecrets(m.spec.Infrastructure.MariaDB.RestoreFrom, in.Observed)
	if err := errors.Join(m.checkRoot(), m.addTenantSecrets(in.Observed), m.findPools(in.Required)); err != nil {
		return nil, err
	}
	m.assignReleases()
	m.findDomains(in.Observed)
	if err := errors.Join(m.checkUpgrade(), m.checkMembers(), m.checkStorage()); err != nil {
		return nil, err
	}
	return m, nil
}

// target selects the cluster of the workloads.
func (m *model) target() error {
	var err error
	m.providerConfig, err = platform.Cluster(m.platform, m.claim.Namespace, m.spec.Cluster)
	m.remote = err == nil && m.providerConfig != platform.Management(m.platform)
	return err
}

func (m *model) meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.instance, Labels: m.workload(name).Labels()}
}

// workload returns a workload of the control plane itself.
func (m *model) workload(app string) workload.Workload {
	return workload.Workload{
		Name: app, Namespace: m.instance,
		App: app, Instance: m.instance, Component: app, Priority: workload.PriorityInfrastructure,
		PullSecrets: m.images.PullSecrets,
	}
}

func (m *model) issuer() common.IssuerReference {
	return common.IssuerReference{Name: internalCA, Kind: "Issuer"}
}

// defaultDomain is the default DNS domain of a cluster.
const defaultDomain = "cluster.local"

// clusterDomain returns the DNS domain of the cluster of the workloads.
func (m *model) clusterDomain() string {
	return cmp.Or(string(m.platform.ClusterDomain), defaultDomain)
}

// otherDomain returns the DNS domain for specs of services, empty where it is their default.
func (m *model) otherDomain() common.Hostname {
	if d := m.clusterDomain(); d != defaultDomain {
		return common.Hostname(d)
	}
	return ""
}

// messaging reports whether the control plane has a message queue, runsQueue whether it runs the queue itself.
func (m *model) messaging() bool { return ptr.Deref(m.spec.Infrastructure.RabbitMQ.Enabled, true) }

func (m *model) runsQueue() bool {
	return m.messaging() && m.spec.Infrastructure.RabbitMQ.External == nil
}

func (m *model) locks() bool { return ptr.Deref(m.spec.Infrastructure.Valkey.Enabled, true) }
