package platform

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/crossplane-cobaltcore/hack/crds"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// definitionResource is the resource of CRDs.
var definitionResource = schema.GroupResource{Group: definitionKind.Group, Resource: "customresourcedefinitions"}

// thirdParty returns the CRDs of the kinds of other projects that are composed, from their releases.
func thirdParty(ctx context.Context) ([]*unstructured.Unstructured, error) {
	dir, err := crds.Fetch(ctx)
	if err != nil {
		return nil, err
	}
	var out []*unstructured.Unstructured
	for _, kind := range readiness.Rules.Kinds() {
		data, err := os.ReadFile(filepath.Join(dir, crds.FileName(kind)))
		if os.IsNotExist(err) { // Kubernetes' kinds, Crossplane's, or this project's
			continue
		} else if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(data, &u.Object); err != nil {
			return nil, err
		}
		unstructured.RemoveNestedField(u.Object, "status")
		u.SetCreationTimestamp(zeroTime)
		out = append(out, u)
	}
	return out, nil
}

// define creates CRDs, several in parallel.
func (c *Cluster) define(ctx context.Context, definitions []*unstructured.Unstructured) error {
	const workers = 8
	size := (len(definitions) + workers - 1) / workers
	var parts []func(context.Context) error
	for part := range slices.Chunk(definitions, max(size, 1)) {
		parts = append(parts, func(ctx context.Context) error { return c.applyAll(ctx, part) })
	}
	if err := together(ctx, parts...); err != nil {
		return err
	}
	for _, d := range definitions {
		if err := c.WaitCondition(ctx, definitionKind, types.NamespacedName{Name: d.GetName()}, "Established", "True"); err != nil {
			return err
		}
	}
	return nil
}
