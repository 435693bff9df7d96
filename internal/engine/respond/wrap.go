package respond

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Target contains the clusters and names of a composite resource's objects, which determine how they are composed.
type Target struct {
	// Namespaced: the composite resource has a namespace, which Crossplane forces on everything that it composes.
	Namespaced bool
	// Namespace of the composite resource, if it has one.
	Namespace string
	// Prefix of the names of Objects: the instance for a cluster-scoped composite resource, its own name for a namespaced one.
	Prefix string
	// Management and Workload are the provider configs of the management cluster and of the one that the workloads run in.
	Management, Workload string
	// Remote: these two clusters are different.
	Remote bool
	// DeleteData: objects that hold data are deleted with the claim. Otherwise they stay.
	DeleteData bool
}

// needsObject reports whether an item must be composed as an Object of provider-kubernetes: if it is in another cluster, if it is
// retained (Crossplane cannot orphan objects that it composes directly), if it is only observed, or if its scope or namespace does not fit.
func (p Target) needsObject(i compose.Item) bool {
	switch {
	case p.isRemote(i):
		return true
	case i.Retain, i.Observe:
		return true
	case p.Namespaced:
		return i.Rule.ClusterScoped || i.Body.At("metadata", "namespace").Text() != p.Namespace
	}
	return false
}

// isRemote reports whether an item is in another cluster than the management cluster.
func (p Target) isRemote(i compose.Item) bool {
	if i.Cluster != "" {
		return i.Cluster != p.Management
	}
	return p.Remote && !i.Management
}

// wrap returns the Object around an item.
func (p Target) wrap(i compose.Item) encoded.Struct {
	w := wrapper.Wrapper{
		Name: p.objectName(i.Name), ProviderConfig: p.clusterOf(i), Keep: i.Retain && !p.DeleteData, Observe: i.Observe,
		ReadyCEL: i.Rule.CEL, Desired: i.Body,
	}
	if p.Namespaced {
		w.Namespace = p.Namespace
	}
	return w.Struct()
}

// CheckClusters returns an error if an object would move to another cluster: provider-kubernetes would create it there without its data,
// and leave the first one behind. The provider config of a cluster is set in the PlatformConfig, so this is no error of the claim.
func (p Target) CheckClusters(plan compose.Plan, observed observe.State) error {
	for _, i := range plan.Items() {
		o, ok := observed.Get(i.Name)
		if !ok || i.Observe {
			continue
		}
		if from, to := p.observedCluster(o), p.clusterOf(i); from != to {
			return fmt.Errorf("%s is in the cluster with the provider config %s, and would move to %s without its data; restore the provider "+
				"config %s in the PlatformConfig (spec.clusters or spec.providerConfig)", i.Name, from, to, from)
		}
	}
	return nil
}

// clusterOf returns the provider config of the cluster that an item is composed into.
func (p Target) clusterOf(i compose.Item) string {
	if p.isRemote(i) {
		return cmp.Or(i.Cluster, p.Workload)
	}
	return p.Management
}

// observedCluster returns the provider config of the cluster that an observed resource is in. Crossplane composes only into the management
// cluster.
func (p Target) observedCluster(o *observe.Object) string {
	if w := o.Wrapper(); w != nil {
		return w.String("spec", "providerConfigRef", "name")
	}
	return p.Management
}

// Reference returns the reference to the composed resource of an item: the object itself, or the Object around it.
func (p Target) Reference(i compose.Item) compose.Reference {
	switch {
	case !p.needsObject(i):
		return i.Reference()
	case p.Namespaced:
		return compose.Reference{Kind: wrapper.Namespaced, Namespace: p.Namespace, Name: p.objectName(i.Name)}
	}
	return compose.Reference{Kind: wrapper.ClusterScoped, Name: p.objectName(i.Name)}
}

// longestObjectName is the maximum length of the name of an Object: provider-kubernetes owns fields as provider-kubernetes/NAME
// (ssaFieldOwner), and an API server accepts field managers of at most 128 bytes (FieldManagerMaxLength of apimachinery's
// pkg/apis/meta/v1/validation).
const longestObjectName = 128 - len("provider-kubernetes/")

// objectName returns the name of the Object around a resource. It must never change, because provider-kubernetes owns fields under it. A
// name that is too long is cut, and ends with a hash of the full name.
func (p Target) objectName(resource string) string {
	name := p.Prefix + "-" + resource
	if len(name) <= longestObjectName {
		return name
	}
	hash := fmt.Sprintf("-%x", sha256.Sum256([]byte(name)))[:11]
	return strings.TrimRight(name[:longestObjectName-len(hash)], "-.") + hash
}
