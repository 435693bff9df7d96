package doctor

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
)

// localConfig is the default provider config of the management cluster.
const localConfig = "in-cluster"

// isLocal reports whether a provider config is of the management cluster: it is the one of the PlatformConfig, or it has the identity of
// the provider's own pod.
// https://github.com/crossplane-contrib/provider-kubernetes/tree/main/apis
func (w *walk) isLocal(ctx context.Context, config Ref) bool {
	if config.Name == w.platformProviderConfig(ctx) {
		return true
	}
	c, err := w.get(ctx, config.GroupVersionKind(), "", config.Name)
	if err != nil {
		return config.Name == localConfig
	}
	source, _, _ := unstructured.NestedString(c.Object, "spec", "credentials", "source")
	return source == "InjectedIdentity"
}

// platformProviderConfig returns the provider config of the management cluster, or "" if the PlatformConfig cannot be read.
func (w *walk) platformProviderConfig(ctx context.Context) string {
	c, err := w.get(ctx, platformv1.GroupVersionKind, "", platformv1.DefaultName)
	if err != nil {
		return ""
	}
	name, _, _ := unstructured.NestedString(c.Object, "spec", "providerConfig")
	return name
}

// providerConfigOf returns the provider config of an Object of provider-kubernetes.
func providerConfigOf(outer *observe.Object) Ref {
	kind := schema.FromAPIVersionAndKind(outer.APIVersion(), "ProviderConfig")
	if outer.Namespace() != "" {
		kind.Kind = "ClusterProviderConfig"
	} else {
		kind.Version = "v1alpha1"
	}
	return Ref{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: outer.String("spec", "providerConfigRef", "name")}
}

// accessReasons are the reasons for which the provider config is the cause, and not the Object whose message names it.
var accessReasons = []string{reasonMissingObject, reasonCredentials, reasonUnreachable}

// notAppliedCause returns the cause for an Object that provider-kubernetes cannot apply: the access to the cluster, or the Object.
func (w *walk) notAppliedCause(ctx context.Context, chain []Ref, self, config Ref, c observe.Condition) Cause {
	of := self
	if !w.isLocal(ctx, config) {
		of.Cluster = config.Name
	}
	cause := refusedCause(chain, self, c, of)
	switch {
	case cause.Reason == reasonMissingObject && !strings.Contains(c.Message, "rovider config") && !strings.Contains(c.Message, "credentials"):
		return cause // An object to which the manifest refers.
	case !slices.Contains(accessReasons, cause.Reason):
		return cause
	}
	cause.Object, cause.Chain = config, appended(chain, self)
	cause.Next = append([]string{describe(config)}, w.kubeconfigSteps(ctx, config)...)
	if cause.Reason != reasonMissingObject {
		cause.Next = append(cause.Next, clusterInfo(config.Name)...)
	}
	return cause
}

// kubeconfigSteps returns the next command for the Secret with the kubeconfig of a provider config.
func (w *walk) kubeconfigSteps(ctx context.Context, config Ref) []string {
	u, err := w.get(ctx, config.GroupVersionKind(), "", config.Name)
	if err != nil {
		return nil
	}
	name, _, _ := unstructured.NestedString(u.Object, "spec", "credentials", "secretRef", "name")
	namespace, _, _ := unstructured.NestedString(u.Object, "spec", "credentials", "secretRef", "namespace")
	if name == "" {
		return nil
	}
	return []string{"kubectl describe secret " + word(name) + " -n " + word(namespace)}
}
