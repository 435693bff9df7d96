// Package livecloudtest returns the objects of a simulated cloud as Crossplane leaves them in a cluster, for tests of package livecloud.
package livecloudtest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
)

// Fields of composite resources with the references to their objects, by the scope of the composite resource. The simulation composes
// without spec.crossplane, which a Nova copies to its cells: a test of a Nova stores all references in the first one.
var (
	ClusterScoped = []string{"spec", "resourceRefs"}
	Namespaced    = []string{"spec", "crossplane", "resourceRefs"}
)

// Objects returns a claim, its composite resources and their objects. nested is the field with the references of nested composite
// resources.
func Objects(s *preview.State, nested []string) ([]*unstructured.Unstructured, error) {
	xr := &unstructured.Unstructured{Object: s.Cluster.XR.AsMap()}
	claim := (&unstructured.Unstructured{Object: s.Claim}).DeepCopy()
	ref := map[string]any{"apiVersion": xr.GetAPIVersion(), "kind": xr.GetKind(), "name": xr.GetName()}
	if err := unstructured.SetNestedMap(claim.Object, ref, "spec", "resourceRef"); err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedField(claim.Object, "Background", "spec", "compositeDeletePolicy"); err != nil {
		return nil, err
	}
	claim.Object["status"] = xr.Object["status"]
	out := collector{nested: nested, objects: []*unstructured.Unstructured{claim}}
	if err := out.composite(s.Cluster, xr, ClusterScoped); err != nil {
		return nil, err
	}
	return out.objects, nil
}

// collector collects objects, each once.
type collector struct {
	nested  []string
	objects []*unstructured.Unstructured
}

// composite adds a composite resource and its objects, and sets the references to them in a field.
func (c *collector) composite(s *simulate.State, xr *unstructured.Unstructured, field []string) error {
	var refs []any
	for _, name := range slices.Sorted(maps.Keys(s.Objects)) {
		u := &unstructured.Unstructured{Object: s.Objects[name].Observed.AsMap()}
		annotations := u.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[xcrd.AnnotationKeyCompositionResourceName] = name
		u.SetAnnotations(annotations)
		ref := map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "name": u.GetName()}
		if u.GetNamespace() != "" && xr.GetNamespace() == "" { // Objects of a namespaced composite resource have its namespace.
			ref["namespace"] = u.GetNamespace()
		}
		refs = append(refs, ref)
		if nested := s.Nested[name]; nested != nil {
			if err := c.composite(nested, u, c.nested); err != nil {
				return err
			}
			continue
		}
		c.add(u)
	}
	for _, o := range s.Created {
		c.add(tree(o))
	}
	if err := unstructured.SetNestedSlice(xr.Object, refs, field...); err != nil {
		return fmt.Errorf("cannot set the references of %s: %w", xr.GetName(), err)
	}
	c.add(xr)
	return nil
}

func tree(o *structpb.Struct) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: o.AsMap()}
}

func (c *collector) add(o *unstructured.Unstructured) {
	if !slices.ContainsFunc(c.objects, func(other *unstructured.Unstructured) bool {
		return other.GroupVersionKind() == o.GroupVersionKind() && other.GetNamespace() == o.GetNamespace() && other.GetName() == o.GetName()
	}) {
		c.objects = append(c.objects, o)
	}
}
