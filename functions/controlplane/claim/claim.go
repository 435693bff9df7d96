// Package claim reads the claim of a control plane: its spec merged with the settings of the platform and of its size, its cluster, and
// the names and addresses that follow from it.
package claim

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/claimed"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// Claim is a claim of a control plane. It does not change after Read.
type Claim struct {
	// Ref contains the namespace and the name of the claim.
	Ref function.Claim
	// Channel holds the labels that select the Composition's revisions; empty: any revision.
	Channel map[string]string
	// Instance is the namespace of the workloads, and of the service composite resources on the management cluster.
	Instance string
	Spec     controlplanev1.ControlPlaneClusterSpec
	// Previous is the status after the last reconciliation.
	Previous controlplanev1.ControlPlaneClusterStatus
	Platform *platformv1.PlatformConfigSpec
	Size     Size
	Release  release.Release
	// ProviderConfig selects the cluster of the workloads; Remote is true if it is not the management cluster.
	ProviderConfig string
	Remote         bool
	// Settings are the merged settings of claim and platform; the next fields are derived from them.
	Settings    controlplanev1.Global
	Domain      string
	Exposure    common.Exposure
	TLS         common.TLS
	Monitoring  common.Monitoring
	SecretStore *common.SecretStoreReference
	Images      common.Images
	// Observed is the observed state of all composed resources.
	Observed observe.State
	// Neighbours are the clients in other namespaces.
	Neighbours common.Neighbours

	// clusterErr is the error for a cluster that the platform does not have, or that lacks a requirement.
	clusterErr error
}

// Read reads a claim. The error is about the platform, or about a claim from which nothing can be derived; Check reports all others.
func Read(in function.Input[controlplanev1.ControlPlaneCluster]) (*Claim, error) {
	base, err := claimed.Read(in.Required, in.Claim, in.XR.Name)
	if err != nil {
		return nil, err
	}
	p := base.Platform
	c := &Claim{
		Ref: base.Claim, Channel: in.Channel, Spec: in.XR.Spec, Previous: in.XR.Status, Platform: p, Observed: in.Observed,
		Neighbours: neighboursOf(p.Network),
	}
	if c.Instance, err = instanceOf(base, in.XR.Status, in.Observed); err != nil {
		return nil, err
	}
	if err := syntax.CheckSizes("spec", &c.Spec); err != nil {
		return nil, err
	}
	var known bool
	if c.Size, known = sizes[c.Spec.Size]; !known {
		return nil, invalid.Field("spec.size", "%q is not a size; choose one of %s", c.Spec.Size,
			bounds.Join(slices.Sorted(maps.Keys(sizes))))
	}
	if c.Release, err = release.Parse(c.Spec.OpenStackRelease); err != nil {
		return nil, invalid.Field("spec.openStackRelease", "%s", err)
	}
	c.ProviderConfig, c.clusterErr = platform.Target(p, in.Required, c.Ref.Namespace, c.Spec.Cluster, workloadclusterv1.ControlPlane,
		in.Observed.Len() > 0)
	if c.clusterErr != nil && !invalid.Is(c.clusterErr) {
		return nil, c.clusterErr
	}
	c.Remote = c.clusterErr == nil && c.ProviderConfig != platform.Management(p)
	c.Settings = c.mergedSettings()
	c.Domain = string(c.Settings.Domain)
	c.Exposure = ptr.Deref(c.Settings.Exposure, common.Exposure{Type: exposure.None})
	c.TLS = effectiveTLS(c.Settings.TLS)
	monitoring := ptr.Deref(c.Settings.Monitoring, common.MonitoringSettings{})
	c.Monitoring = common.Monitoring{Enabled: ptr.Deref(monitoring.Enabled, false), Labels: monitoring.Labels}
	c.SecretStore = c.Settings.SecretStore
	c.Images = ptr.Deref(c.Settings.Images, common.Images{})
	return c, nil
}

// InternalCA is the name of the control plane's certificate authority: its issuer, its certificate and their Secret.
const InternalCA = "internal-ca"

// Meta returns the metadata of an object of the control plane itself.
func (c *Claim) Meta(name string) object.Meta {
	return object.Meta{Name: name, Namespace: c.Instance, Labels: c.Workload(name).Labels()}
}

// Workload returns a workload of the control plane itself.
func (c *Claim) Workload(app string) workload.Workload {
	return workload.Workload{
		Name: app, Namespace: c.Instance,
		App: app, Instance: c.Instance, Component: app, Priority: workload.PriorityInfrastructure,
		PullSecrets: c.Images.PullSecrets,
	}
}

// Issuer returns the issuer of certificates for endpoints inside the cluster.
func (c *Claim) Issuer() common.IssuerReference {
	return common.IssuerReference{Name: InternalCA, Kind: "Issuer"}
}

// DefaultClusterDomain is the default DNS domain of a cluster.
const DefaultClusterDomain = "cluster.local"

// ClusterDomain returns the DNS domain of the cluster of the workloads.
func (c *Claim) ClusterDomain() string { return string(c.Platform.ClusterDomain) }

// OtherDomain returns the DNS domain for specs of services, empty where it is their default.
func (c *Claim) OtherDomain() common.Hostname {
	if d := c.ClusterDomain(); d != DefaultClusterDomain {
		return common.Hostname(d)
	}
	return ""
}

// OtherFamily returns the first address family of the cluster of the workloads for specs, empty where it is their default.
func (c *Claim) OtherFamily() common.IPFamily {
	return platform.IPFamily(c.Platform, c.ProviderConfig)
}

// Messaging reports whether the control plane has a message queue.
func (c *Claim) Messaging() bool { return *c.Spec.Infrastructure.RabbitMQ.Enabled }

// RunsQueue reports whether the control plane has a message queue that it runs itself.
func (c *Claim) RunsQueue() bool {
	return c.Messaging() && c.Spec.Infrastructure.RabbitMQ.External == nil
}

// Locks reports whether the control plane has a key-value store, which services use for locks.
func (c *Claim) Locks() bool { return *c.Spec.Infrastructure.Valkey.Enabled }

// foregroundFinalizer makes the garbage collector wait for a nested composite resource's children, also where the claim
// was deleted in the background.
const foregroundFinalizer = metav1.FinalizerDeleteDependents

// ObjectMeta returns the metadata of a composite resource.
func (c *Claim) ObjectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: c.Instance, Labels: c.Workload(name).Labels(), Finalizers: []string{foregroundFinalizer},
	}
}

// WorkloadCluster returns the target cluster of the workloads.
func (c *Claim) WorkloadCluster() common.Target {
	return common.Target{ProviderConfig: common.ObjectName(c.ProviderConfig), Remote: c.Remote}
}

// Crossplane binds a service to the channel of the control plane, so that a new function version can be tried for some control planes
// without affecting others.
func (c *Claim) Crossplane() *common.Crossplane {
	if len(c.Channel) == 0 {
		return nil
	}
	return &common.Crossplane{CompositionRevisionSelector: &metav1.LabelSelector{MatchLabels: c.Channel}}
}
