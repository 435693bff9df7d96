// Package usage makes Usages, by which Crossplane keeps one object until another one is gone.
// https://docs.crossplane.io/latest/managed-resources/usages/
package usage

import (
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Of keeps what the resource of is composed as while what the resource by is composed as is there. It is called as its meta says. Both are
// of the same composite resource, and declared before it: a Usage looks for its user with a growing backoff.
func Of(meta object.Meta, by, of, reason string) compose.Resource {
	return compose.Resource{
		Name:       meta.Name,
		Management: true,
		Refer: func(to func(string) compose.Reference) runtime.Object {
			user, used := to(by), to(of)
			ref := object.Map{"name": used.Name}
			if used.Namespace == "" {
				// A namespaced Usage names a cluster-scoped object by an explicitly empty namespace.
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

// OfClaim keeps a claim of any namespace while what the resource by is composed as is there, which is declared before it and lies in the
// namespace of the Usage: Crossplane accepts a Usage of an object in another namespace only if it names its user. That must not be the
// composite resource itself: the Usage would wait for it, and it for the Usage. An attempt to delete the claim is refused, with the
// namespace of the Usage instead of the reason, which Crossplane leaves out where there is a user
// (https://github.com/crossplane/crossplane/blob/v2.3.4/internal/webhook/protection/usage/handler.go), and not made again when the Usage
// has gone: that may be months later.
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

// end is one of the two objects of a Usage.
func end(r compose.Reference, ref object.Map) object.Map {
	apiVersion, kind := r.Kind.ToAPIVersionAndKind()
	return object.Map{"apiVersion": apiVersion, "kind": kind, "resourceRef": ref}
}
