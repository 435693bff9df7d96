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

// internalCA names the control plane's own authority: its issuer, its certificate and their Secret.
const internalCA = "internal-ca"

// model is everything that builders read, derived once.
type model struct {
	claim function.Claim
	// channel are the labels of the Composition's revisions that may compose it; empty: any.
	channel map[string]string
	// instance is the namespace of the workloads, and of the service composite resources on the management cluster.
	instance string
	spec     controlplanev1.ControlPlaneClusterSpec
	// previous is the status of the last call.
	previous controlplanev1.ControlPlaneClusterStatus
	platform *platformv1.PlatformConfigSpec
	size     size
	release  release.Release
	// providerConfig of the cluster that the workloads run in, which is remote if it is not the management cluster.
	providerConfig string
	remote         bool
	// settings are the claim's over the platform's, and what they come to.
	settings    controlplanev1.Global
	domain      string
	exposure    common.Exposure
	tls         common.TLS
	monitoring  common.Monitoring
	secretStore *common.SecretStoreReference
	images      common.Images
	// services are those that are enabled, in the order of the table; identity is the one that the others log in at.
	services []*serviceState
	identity *serviceState
	// domainIDs are those of the directories' domains that exist.
	domainIDs domainIDs
	// databaseWas is what is observed of the database, proxy what becomes of its proxy.
	databaseWas observedDatabase
	proxy       proxyState
	// root is how the database's root gets its password.
	root rootPassword
	// secrets are those that the claim names, pull those that images are pulled with. The spec and images name their copies.
	secrets tenantsecret.Set
	pull    []tenantsecret.Set
	// pools are the pools of StorageClusters that services keep something in, and keys the Secrets of their users.
	pools []poolUse
	keys  []tenantsecret.Set
	// platformPull are the copies of the platform's own pull secrets.
	platformPull []common.ObjectName
	// copiesObserved and pullsSeen: there are copies already.
	copiesObserved, pullsObserved bool
	// seen is what is observed.
	seen observe.State
	// neighbours are who reaches in from other namespaces.
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
	m := &model{claim: in.Claim, channel: in.Channel, spec: in.XR.Spec, previous: in.XR.Status, platform: p, seen: in.Observed}
	if m.claim.Name == "" {
		// A composite resource without a claim is the platform team's own.
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
	if err := checkImplemented(&m.spec); err != nil {
		return nil, err
	}
	var wrongOptions error
	m.serverOptions, wrongOptions = formatServerOptions(m.spec.Infrastructure)
	m.global()
	m.sortServices()
	m.addresses()
	if err := invalid.Distinct(
		m.checkLimits(), m.target(), m.checkResources(), m.checkTLS(),
		m.checkSchedules(), m.checkRecoveryTime(), m.checkHostnames(),
		m.checkServices(), m.checkTests(), m.checkKeystoneServices(), m.checkValues(), wrongOptions,
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

// target finds the cluster that the workloads run in.
func (m *model) target() error {
	var err error
	m.providerConfig, err = platform.Cluster(m.platform, m.claim.Namespace, m.spec.Cluster)
	m.remote = err == nil && m.providerConfig != platform.Management(m.platform)
	return err
}

func (m *model) meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.instance, Labels: m.workload(name).Labels()}
}

// workload is a workload of the control plane itself.
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

// defaultDomain is the DNS domain of a cluster where the platform sets none.
const defaultDomain = "cluster.local"

// clusterDomain is the DNS domain of the cluster that the workloads run in.
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

// messaging reports whether there is a queue, runsQueue whether it is one of the control plane's own.
func (m *model) messaging() bool { return ptr.Deref(m.spec.Infrastructure.RabbitMQ.Enabled, true) }

func (m *model) runsQueue() bool {
	return m.messaging() && m.spec.Infrastructure.RabbitMQ.External == nil
}

func (m *model) locks() bool { return ptr.Deref(m.spec.Infrastructure.Valkey.Enabled, true) }
