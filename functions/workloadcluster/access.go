package workloadcluster

import (
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// configs are the configurations of provider-kubernetes: the name of the resource, which is also the name of the requirement of the
// existing object, and the kind.
var configs = []struct {
	name string
	kind schema.GroupVersionKind
}{
	{"provider-config", observe.ClusterScopedConfig},
	{"cluster-provider-config", observe.NamespacedConfig},
}

// instanceLabel identifies the WorkloadCluster that composes a configuration.
const instanceLabel = "app.kubernetes.io/instance"

// requires returns the existing configurations with the name of the cluster.
func requires(in function.Input[workloadclusterv1.WorkloadCluster]) map[string]wire.Selector {
	out := map[string]wire.Selector{}
	for _, c := range configs {
		apiVersion, kind := c.kind.ToAPIVersionAndKind()
		out[c.name] = wire.Selector{APIVersion: apiVersion, Kind: kind, Name: in.XR.Name}
	}
	return out
}

// checkExistingAccess returns an error if another owner has created a configuration with the name of the cluster and other credentials:
// Objects that use it would move to this cluster, without their data.
func (m *model) checkExistingAccess(required map[string][]*structpb.Struct) error {
	ref := m.spec.Source.Existing.KubeconfigSecretRef
	for _, c := range configs {
		found := required[c.name]
		if len(found) == 0 {
			continue
		}
		existing := unstructured.Unstructured{Object: found[0].AsMap()}
		if existing.GetLabels()[instanceLabel] == m.workload().Labels()[instanceLabel] {
			continue
		}
		credentials := found[0].GetFields()["spec"].GetStructValue().GetFields()["credentials"].GetStructValue().GetFields()
		secret := credentials["secretRef"].GetStructValue().GetFields()
		text := func(field string) string { return secret[field].GetStringValue() }
		if credentials["source"].GetStringValue() != "Secret" || text("namespace") != string(ref.Namespace) || text("name") != string(ref.Name) ||
			text("key") != string(ref.Key) {
			return invalid.Field("spec.source.existing.kubeconfigSecretRef", "%s %s exists with other credentials, and Objects that use it would "+
				"move to another cluster; reference the same key of the same Secret, or choose another name for this object",
				existing.GetKind(), existing.GetName())
		}
	}
	return nil
}

// access builds the configurations of provider-kubernetes, with the name of the cluster. They are retained: without them, workloads of
// claims in the cluster could neither be changed nor deleted. An existing configuration with the same credentials is adopted.
func access(m *model) ([]compose.Stage, error) {
	ref := m.spec.Source.Existing.KubeconfigSecretRef
	var stage compose.Stage
	for _, c := range configs {
		apiVersion, kind := c.kind.ToAPIVersionAndKind()
		stage = append(stage, compose.Resource{
			Name: c.name, Management: true, Retain: true,
			Object: object.New(apiVersion, kind, object.Meta{Name: m.name, Labels: m.workload().Labels()}, object.Map{
				"credentials": object.Map{
					"source":    "Secret",
					"secretRef": object.Map{"namespace": string(ref.Namespace), "name": string(ref.Name), "key": string(ref.Key)},
				},
			}),
		})
	}
	return []compose.Stage{stage}, nil
}
