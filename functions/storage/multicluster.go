package storage

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
)

// Ceph may run in another cluster: all of its objects are in that cluster, and the management cluster has only objects for users and for
// Crossplane (docs/design/0028-ceph-in-a-cluster-of-its-own.md).

const (
	// workloadNamespaceResource is the namespace in the cluster of the storage nodes, if that is not the management cluster.
	workloadNamespaceResource = "workload-namespace"
	// monitorsResource observes Rook's ConfigMap of monitors in another cluster, where it cannot be a required resource.
	monitorsResource = "monitors"
)

// target resolves the cluster of the storage nodes, and checks it for a new claim.
func (m *model) target(required map[string][]*structpb.Struct) error {
	var err error
	m.cluster, err = platform.Target(m.platform, required, m.claim.Namespace, m.spec.Cluster, workloadclusterv1.Storage, m.observed.Len() > 0)
	return err
}

// inOtherCluster is like remote, for use before the model is derived. It needs no error: the model reads the same PlatformConfig and
// cluster, and nothing is composed if that fails.
func inOtherCluster(in function.Input[storagev1.StorageCluster]) bool {
	p, err := platform.Read(in.Required)
	if err != nil {
		return false
	}
	at, err := platform.Cluster(p, in.Claim.Namespace, in.XR.Spec.Cluster)
	return err == nil && at != platform.Management(p)
}

// remote reports whether the nodes are in another cluster than the management cluster.
func (m *model) remote() bool { return m.cluster != platform.Management(m.platform) }

// storesSecrets reports whether Secrets are copied through the platform's store: keys of users to the clusters of consumers, and the
// platform's pull secrets. The store accepts labeled namespaces only.
func (m *model) storesSecrets() bool { return m.remote() && m.platform.SecretStore != nil }

// withManagementSecrets adds to a set of Secrets of the management cluster the store through which they are copied to the nodes' cluster.
func (m *model) withManagementSecrets(set tenantsecret.Set) tenantsecret.Set {
	management := platform.Management(m.platform)
	return set.ForClusters(management, m.cluster, management, tenantsecret.StorageStore(m.platform.SecretStore))
}

// checkExternalClient rejects features that require a component with access to both clusters. Whether clients reach the daemons depends on
// networks that are unknown here.
func (m *model) checkExternalClient() error {
	if m.spec.Cluster == nil {
		return nil
	}
	var errs []error
	if m.isExternal() {
		errs = append(errs, invalid.Field("spec.cluster", "an external Ceph cluster is reached from the clusters of its clients; remove "+
			"cluster"))
	}
	if !m.remote() {
		return errors.Join(errs...)
	}
	for i, o := range m.spec.ObjectStores {
		if o.Keystone != nil {
			errs = append(errs, invalid.Field(fmt.Sprintf("spec.objectStores[%d].keystone", i), "is not supported in another "+
				"cluster in this version: users cannot reach the gateways, and the gateways cannot reach Keystone; remove keystone, or place the "+
				"object store in the management cluster"))
		}
	}
	if m.platform.SecretStore == nil && len(ptr.Deref(m.spec.Images, common.Images{}).PullSecrets) > 0 {
		errs = append(errs, invalid.Field(pullsField, "pull secrets require a secret store when the workloads run in another cluster; "+
			"remove them, or ask the platform team to set secretStore in the PlatformConfig"))
	}
	if m.platform.SecretStore == nil && len(ptr.Deref(m.platform.Images, common.Images{}).PullSecrets) > 0 {
		errs = append(errs, errors.New("the platform's images.pullSecrets cannot be copied to another cluster without a secret store; "+
			"ask the platform team to set secretStore in the PlatformConfig, or to remove pullSecrets"))
	}
	return errors.Join(errs...)
}

// observedMonitors observes Rook's ConfigMap of monitors in another cluster.
func (m *model) observedMonitors() compose.Stage {
	if !m.remote() || m.isExternal() {
		return nil
	}
	monitorsMeta := object.Meta{Name: rook.MonitorsName, Namespace: m.instance}
	return compose.Stage{{
		Name: monitorsResource, Observe: true, Object: workload.ConfigMap(monitorsMeta, nil),
		Ready: func(o *observe.Object) ready.Result {
			if o.String("data", rook.MonitorsKey) == "" {
				return ready.Wait(waitingForMonitors, "waiting for Rook to publish the monitors")
			}
			return ready.Yes
		},
	}}
}

// namespaces returns the namespace of the cluster and, if its nodes are in another cluster, an additional one in the management cluster,
// which has no pods.
func (m *model) namespaces(build func(level string) *corev1.Namespace) compose.Stage {
	if !m.remote() {
		level := "privileged"
		if m.isExternal() {
			level = "restricted" // No Ceph daemon runs in it.
		}
		return compose.Stage{{Name: namespaceComponent, Retain: true, Object: build(level)}}
	}
	return compose.Stage{
		{Name: namespaceComponent, Retain: true, Management: true, Object: build("restricted")},
		{Name: workloadNamespaceResource, Retain: true, Object: build("privileged")},
	}
}
