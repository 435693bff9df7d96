package platform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// owner owns the fields that are applied.
const owner = client.FieldOwner("platform")

// Decode reads objects from YAML or JSON documents. Empty documents are skipped.
func Decode(data []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	d := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		u := &unstructured.Unstructured{}
		switch err := d.Decode(&u.Object); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("cannot read the YAML: %w", err)
		case len(u.Object) > 0:
			out = append(out, u)
		}
	}
}

// Apply applies the objects of YAML documents with server-side apply, as the administrator. The error is about the
// first rejected object.
func (c *Cluster) Apply(ctx context.Context, data []byte) error {
	objects, err := Decode(data)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := c.apply(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) apply(ctx context.Context, o *unstructured.Unstructured) error {
	if err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), owner, client.ForceOwnership); err != nil {
		return fmt.Errorf("cannot apply %s: %w", nameOf(o), err)
	}
	return nil
}

// applyAll applies objects until the API accepts each of them: kinds and webhooks become available with a delay.
func (c *Cluster) applyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if err := c.processes.Wait(ctx, nameOf(o), func(ctx context.Context) (bool, error) {
			err := c.apply(ctx, o.DeepCopy())
			return err == nil, err
		}); err != nil {
			return err
		}
	}
	return nil
}

// Get reads an object of a kind; name is "namespace/name", or "name" for one without a namespace. Nil: it does not
// exist.
func (c *Cluster) Get(ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	if err := c.Client.Get(ctx, name, u); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return u, nil
}

// List reads all objects of a kind, in a namespace or (empty) in all.
func (c *Cluster) List(ctx context.Context, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := c.Client.List(ctx, list, client.InNamespace(namespace))
	return list.Items, err
}

// WaitCondition waits until an object's condition has a status at the object's current generation, if the condition
// reports one. Its error contains the object's conditions.
func (c *Cluster) WaitCondition(
	ctx context.Context, kind schema.GroupVersionKind, name types.NamespacedName, condition, status string,
) error {
	description := fmt.Sprintf("%s=%s of %s %s", condition, status, kind.Kind, name)
	return c.processes.Wait(ctx, description, func(ctx context.Context) (bool, error) {
		u, err := c.Get(ctx, kind, name)
		switch {
		case err != nil:
			return false, err
		case u == nil:
			return false, errors.New("it does not exist")
		}
		got := Conditions(u)
		for _, g := range got {
			if g.Type == condition && g.Status == status && (g.ObservedGeneration == 0 || g.ObservedGeneration == u.GetGeneration()) {
				return true, nil
			}
		}
		return false, fmt.Errorf("its conditions are %+v", got)
	})
}

// Condition is a condition of an object.
type Condition struct {
	// Type, Status, Reason and Message of the Kubernetes condition.
	Type, Status, Reason, Message string
	// ObservedGeneration is the observed generation; 0: not reported.
	ObservedGeneration int64
}

// Conditions returns the conditions of an object.
func Conditions(u *unstructured.Unstructured) []Condition {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	var out []Condition
	for _, entry := range list {
		m, _ := entry.(map[string]any)
		text := func(field string) string {
			s, _ := m[field].(string)
			return s
		}
		generation, _ := m["observedGeneration"].(int64)
		out = append(out, Condition{
			Type: text("type"), Status: text("status"), Reason: text("reason"), Message: text("message"),
			ObservedGeneration: generation,
		})
	}
	return out
}

// ConditionOf returns the condition of a type, and whether it exists.
func ConditionOf(u *unstructured.Unstructured, typ string) (Condition, bool) {
	all := Conditions(u)
	if i := slices.IndexFunc(all, func(c Condition) bool { return c.Type == typ }); i >= 0 {
		return all[i], true
	}
	return Condition{}, false
}

func nameOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() != "" {
		return fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
	}
	return fmt.Sprintf("%s %s", o.GetKind(), o.GetName())
}
