// Package usage builds Usages, with which Crossplane keeps one object until another one is deleted.
// https://docs.crossplane.io/latest/managed-resources/usages/
package usage

import (
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Of keeps the resource of until the resource by is deleted, both in their composed form. meta is the metadata of the Usage. Both belong to
// the same composite resource and must be declared before it, because a Usage looks for its user with an increasing backoff.
func Of(meta object.Meta, by, of, reason string) compose.Resource {
	return compose.Resource{
		Name:       meta.Name,
		Management: true,
		Refer: func(to func(string) compose.Reference) runtime.Object {
			user, used := to(by), to(of)
			ref := object.Map{"name": used.Name}
			if used.Namespace == "" {
				// A namespaced Usage requires an explicitly empty namespace for a cluster-scoped object.
				ref["namespace"] = ""
			}
			return object.New("protection.crossplane.io/v1beta1", "Usage", meta, object.Map{
				"of":             end(used, ref),
				"by":             end(user, object.Map{"name": user.Name}),
				"reason":         reason,
				"replayDeletion": true,
			})
		},
	}
}

// OfClaim keeps a claim of any namespace until the resource by is deleted. by must be declared before it and be in the namespace of the
// Usage: Crossplane accepts a Usage of an object in another namespace only with a user. The user must not be the composite resource
// itself: the Usage and the composite resource would wait for each other. A deletion of the claim is rejected with the namespace of the
// Usage instead of the reason, which Crossplane omits if there is a user
// (https://github.com/crossplane/crossplane/blob/v2.3.4/internal/webhook/protection/usage/handler.go). The deletion is not repeated after
// the Usage is deleted, which may be months later.
func OfClaim(meta object.Meta, by, apiVersion, kind string, claim common.ClaimReference, reason string) compose.Resource {
	return compose.Resource{
		Name: meta.Name, Management: true,
		Refer: func(to func(string) compose.Reference) runtime.Object {
			user := to(by)
			return object.New("protection.crossplane.io/v1beta1", "Usage", meta, object.Map{
				"of": object.Map{"apiVersion": apiVersion, "kind": kind, "resourceRef": object.Map{
					"namespace": string(claim.Namespace), "name": string(claim.Name),
				}},
				"by":     end(user, object.Map{"name": user.Name}),
				"reason": reason,
			})
		},
	}
}

// end returns the user or the used object of a Usage.
func end(r compose.Reference, ref object.Map) object.Map {
	apiVersion, kind := r.Kind.ToAPIVersionAndKind()
	return object.Map{"apiVersion": apiVersion, "kind": kind, "resourceRef": ref}
}
