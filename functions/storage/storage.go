// Package storage composes a StorageCluster: a Ceph cluster by Rook, with pools, users, file systems and object stores.
package storage

import (
	"cmp"
	"errors"

	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/claimed"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// New returns the function of XStorageCluster composite resources.
func New() function.Runner {
	return function.Kind[storagev1.StorageCluster, *model]{
		Graph: graph, Rules: readiness.Rules, Requires: requires, Derive: derive, Target: place, Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{
			{Type: "CephHealthy", Verdict: (*model).healthy},
			{Type: "CapacitySufficient", Former: "CapacitySuffices", Verdict: (*model).capacityCondition},
			{Type: "ZonesHealthy", Former: "ZonesIntact", Verdict: (*model).zonesHealthy},
			{Type: "MirroringHealthy", Verdict: (*model).mirroringHealthy},
		},
	}
}

// Names of components.
const (
	namespaceComponent   = "namespace"
	pullComponent        = "pull-secrets"
	identitiesComponent  = "identities"
	clusterComponent     = "cluster"
	orderComponent       = "deletion-order"
	managerPoolComponent = "manager-pool"
	poolsComponent       = "pools"
	mirrorPeerComponent  = "mirror-peer"
	mirrorTokenComponent = "mirror-token"
	mirroringComponent   = "mirroring"
	usersComponent       = "users"
	classesComponent     = "storage-classes"
	filesystemsComponent = "filesystems"
	nfsComponent         = "nfs"
	authorityComponent   = "authority"
	keystoneComponent    = "keystone"
	objectsComponent     = "object-stores"
	accessComponent      = "access"
	keysComponent        = "keys"
	checkComponent       = "check"
	monitoringComponent  = "monitoring"
)

// graph lists the components of a cluster and their dependencies. Pools follow a cluster with capacity: Rook creates pools before the first
// OSD stores data, and such pools are not writable.
var graph = compose.Graph[*model]{
	{Name: namespaceComponent, Phase: common.PhasePending, Build: namespace},
	{
		Name: pullComponent, Phase: common.PhasePending, Needs: []string{namespaceComponent},
		Enabled: (*model).hasPullSecrets, Build: func(m *model) ([]compose.Stage, error) { return tenantsecret.Parallel(m.pulls), nil },
	},
	{
		Name: identitiesComponent, Phase: common.PhasePending, Needs: []string{namespaceComponent}, Enabled: (*model).runsCeph,
		Build: identities,
	},
	{
		Name: clusterComponent, Phase: common.PhaseInfrastructure, Needs: []string{identitiesComponent, pullComponent},
		Enabled: (*model).runsCeph, Build: cluster, Version: (*model).version,
	},
	{
		Name: orderComponent, Phase: common.PhaseInfrastructure, Follows: []string{clusterComponent}, Enabled: (*model).runsCeph,
		Build: deletionOrder,
	},
	{
		Name: managerPoolComponent, Phase: common.PhaseInfrastructure, Follows: []string{clusterComponent}, Enabled: (*model).isStretched,
		Build: managerPool,
	},
	{
		Name: mirrorPeerComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent}, Enabled: (*model).hasPeer,
		Build: func(m *model) ([]compose.Stage, error) { return m.peerSecrets.Stages(), nil },
	},
	{
		Name: poolsComponent, Phase: common.PhaseInfrastructure, Needs: []string{clusterComponent}, Enabled: (*model).runsCeph, Build: pools,
	},
	{Name: usersComponent, Phase: common.PhaseInfrastructure, Needs: []string{poolsComponent}, Enabled: (*model).createsUsers, Build: users},
	{
		Name: classesComponent, Phase: common.PhaseInfrastructure, Needs: []string{poolsComponent}, Enabled: (*model).hasClasses,
		Build: storageClasses,
	},
	{
		Name: mirrorTokenComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent, clusterComponent},
		Enabled: (*model).hasToken, Build: func(m *model) ([]compose.Stage, error) { return m.tokenSecrets.Stages(), nil },
	},
	{
		Name: mirroringComponent, Phase: common.PhaseInfrastructure, Needs: []string{clusterComponent, mirrorPeerComponent, poolsComponent},
		Enabled: func(m *model) bool { return m.peer() != nil }, Build: mirror,
	},
	{
		Name: filesystemsComponent, Phase: common.PhaseInfrastructure, Needs: []string{clusterComponent},
		Enabled: func(m *model) bool { return len(m.spec.Filesystems) > 0 }, Build: filesystems,
	},
	{
		Name: nfsComponent, Phase: common.PhaseInfrastructure, Needs: []string{filesystemsComponent}, Enabled: (*model).hasNFS, Build: nfs,
	},
	{
		Name: authorityComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent},
		Enabled: (*model).hasObjects, Build: authority,
	},
	{
		Name: keystoneComponent, Phase: common.PhaseIdentity, Needs: []string{namespaceComponent}, Enabled: (*model).logsIn, Build: keystone,
	},
	{
		Name: objectsComponent, Phase: common.PhaseInfrastructure, Needs: []string{clusterComponent, authorityComponent},
		Enabled: (*model).hasObjects, Build: objectStores,
	},
	{
		Name: accessComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent, clusterComponent}, Build: access,
	},
	{
		Name: keysComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent}, Enabled: (*model).isExternal,
		Build: func(m *model) ([]compose.Stage, error) { return m.keys.Stages(), nil },
	},
	{
		Name: checkComponent, Phase: common.PhaseInfrastructure, Needs: []string{pullComponent, accessComponent, keysComponent},
		Enabled: (*model).isExternal, Build: check,
	},
	{
		Name: monitoringComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent, clusterComponent, checkComponent},
		Enabled: (*model).isMonitored, Build: monitored,
	},
}.MustValidate()

// model is the input of all builders. derive computes it once per call.
type model struct {
	claim function.Claim
	// instance is the namespace of the cluster.
	instance string
	// cluster is the provider config of the nodes' cluster.
	cluster string
	spec    storagev1.StorageClusterSpec
	// previous is the status of the last call.
	previous storagev1.StorageClusterStatus
	platform *platformv1.PlatformConfigSpec
	// pools are all pools, consumers their owners.
	pools     []pool
	consumers []consumer
	image     string
	// monitoring is the platform's configuration, overridden by the claim's.
	monitoring common.Monitoring
	// clientAccess is the available access data of clients. peerKnown reports whether it has the monitors.
	clientAccess storagev1.Access
	peerKnown    bool
	// pulls are the image pull secrets of the claim and of the platform, pullSecrets their copies.
	pulls       []tenantsecret.Set
	pullSecrets []common.ObjectName
	// keys are the Secrets of the claim's namespace with the keys of users of an external Ceph cluster.
	keys tenantsecret.Set
	// logins are the credentials with which object stores validate tokens.
	logins tenantsecret.Set
	// peerSecrets have the token of the peer cluster, tokenSecrets the token of this one.
	peerSecrets, tokenSecrets tenantsecret.Set
	observed                  observe.State
}

func derive(in function.Input[storagev1.StorageCluster]) (*model, error) {
	base, err := claimed.Read(in.Required, in.Claim, in.XR.Name)
	if err != nil {
		return nil, err
	}
	m := &model{
		claim: base.Claim, instance: base.Instance, platform: base.Platform, spec: *in.XR.Spec.DeepCopy(), previous: in.XR.Status,
		observed: in.Observed,
	}
	m.complete()
	if err := errors.Join(syntax.CheckSizes("spec", &m.spec), m.checkDevices(), m.checkLimits(), m.target(in.Required),
		m.checkMonitoringLabels(), m.checkArbiterNodes(), m.checkCosts()); err != nil {
		return nil, err
	}
	m.monitoring = m.monitoringSettings()
	m.assignPools()
	m.keys, m.logins = m.keySet(), m.loginSet()
	m.peerSecrets, m.tokenSecrets = m.peerSet(), m.tokenSet()
	m.findPulls()
	if m.image, err = m.findImage(); err != nil {
		return nil, err
	}
	if err := errors.Join(
		m.checkConsumers(), m.checkNames(), m.checkDaemons(), m.checkValues(), m.checkRedundancy(), m.checkPlacementGroups(),
		m.checkCapacity(), m.checkRemoved(), m.checkExternal(), m.checkKeystone(), m.checkExternalClient(), m.checkStretched(),
		m.checkHostnames(), m.checkFamily(), m.checkMirroring(), m.checkNFS(), m.checkClasses(),
	); err != nil {
		return nil, err
	}
	m.findAccess(in.Required)
	return m, nil
}

// complete sets the defaults that no schema contains: they depend on other fields.
func (m *model) complete() {
	s := &m.spec
	if len(s.Pools) == 0 {
		for _, p := range []storagev1.Purpose{
			storagev1.PurposeImages, storagev1.PurposeVolumes, storagev1.PurposeVMs, storagev1.PurposeBackups,
		} {
			s.Pools = append(s.Pools, storagev1.Pool{Name: string(p), Application: blockDevices})
		}
	}
	for i := range s.Pools {
		p := &s.Pools[i]
		if p.Application == blockDevices {
			p.Purpose = cmp.Or(p.Purpose, purposeOf(p.Name))
		}
	}
	if s.DeviceSelector != nil && len(s.NodeSelector) == 0 {
		s.NodeSelector = map[string]common.LabelValue{"node-role.kubernetes.io/storage": ""}
	}
}

// checkDevices requires the devices of a cluster that is not external. Admission rejects such a claim, too.
func (m *model) checkDevices() error {
	if m.spec.External == nil && (len(m.spec.Nodes) > 0) == (m.spec.DeviceSelector != nil) {
		return invalid.Field("spec", "set exactly one of nodes (nodes and devices by name), deviceSelector (devices by pattern) and "+
			"external (an existing Ceph cluster)")
	}
	return nil
}

// meta returns the metadata of an object.
func (m *model) meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: m.instance, Labels: m.workload(name).Labels()}
}

func (m *model) workload(app string) workload.Workload {
	return workload.Workload{
		Name: app, Namespace: m.instance, App: app, Instance: m.instance, Component: app, Priority: workload.PriorityService,
	}
}

// place returns the default target of objects: the nodes' cluster. Resources may set another cluster.
func place(m *model) respond.Target {
	return respond.Target{
		Prefix: m.instance, Management: platform.Management(m.platform), Workload: m.cluster, Remote: m.remote(),
		DeleteData: m.spec.DeletionPolicy == common.DeletionPolicyDelete,
	}
}

func status(m *model, plan compose.Plan) any {
	out := storagev1.StorageClusterStatus{
		CloudStatus: common.CloudStatus{
			Phase: plan.Phase(common.PhaseReady), Components: respond.Components(plan, m.previous.Components),
		},
		Instance: m.instance, ObjectStores: m.objectStoreStatus(), Mirroring: m.mirroringStatus(), NFS: m.nfsStatus(),
		StorageClasses: m.classStatus(),
	}
	if ceph := m.ceph(); ceph.Exists() {
		out.Health, out.Version, out.Capacity = ceph.String("status", "ceph", "health"), m.version(), m.capacity()
	}
	out.Dashboard = m.dashboardStatus()
	if known := m.published(); known != nil {
		out.Access = known
	}
	return out
}

// ceph returns the observed CephCluster.
func (m *model) ceph() *observe.Object {
	o, _ := m.observed.Get(clusterResource)
	return o
}

// version returns the running version of Ceph, without its build number.
func (m *model) version() string {
	text := m.ceph().String("status", "version", "version")
	for i, c := range text {
		if c == '-' {
			return text[:i]
		}
	}
	return text
}

// found returns the first object of a requirement, or nil.
func found(required map[string][]*structpb.Struct, name string) *structpb.Struct {
	if all := required[name]; len(all) > 0 {
		return all[0]
	}
	return nil
}
