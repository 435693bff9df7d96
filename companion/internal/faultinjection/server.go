package faultinjection

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// NewScheme returns a scheme with the given types.
func NewScheme(add ...func(*runtime.Scheme) error) *runtime.Scheme {
	s := runtime.NewScheme()
	for _, do := range add {
		if err := do(s); err != nil {
			panic(err) // A conflict of types, which the first test detects.
		}
	}
	return s
}

// NewServer returns an in-memory API server: controller-runtime's fake, which checks versions, but with UIDs and with reads
// without JSON, which take most of its time. It contains objects, some kinds of which have a status subresource.
func NewServer(scheme *runtime.Scheme, statuses []client.Object, objects ...client.Object) client.WithWatch {
	// The default tracker maintains managed fields, which are not needed here.
	tracker := clienttesting.NewObjectTracker(scheme, serializer.NewCodecFactory(scheme).UniversalDecoder())
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjectTracker(tracker).
		WithObjects(objects...).WithStatusSubresource(statuses...).Build()
	s := &store{scheme: scheme, tracker: tracker}
	return interceptor.NewClient(server, interceptor.Funcs{
		Create: s.create, Get: s.get, List: s.list, Update: s.update, Patch: s.patch, SubResourceUpdate: s.updateSubresource,
	})
}

type store struct {
	scheme    *runtime.Scheme
	tracker   clienttesting.ObjectTracker
	createdAt int
}

func (s *store) create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	if o.GetUID() == "" {
		s.createdAt++
		o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.createdAt)))
	}
	return c.Create(ctx, o, opts...)
}

func (s *store) update(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
	if err := rejectReplacedObject(ctx, c, o); err != nil {
		return err
	}
	return c.Update(ctx, o, opts...)
}

func (s *store) updateSubresource(
	ctx context.Context, c client.Client, part string, o client.Object, opts ...client.SubResourceUpdateOption,
) error {
	if err := rejectReplacedObject(ctx, c, o); err != nil {
		return err
	}
	return c.SubResource(part).Update(ctx, o, opts...)
}

func (s *store) patch(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	if bytes.Contains(data, []byte(`"resourceVersion"`)) {
		if err := rejectReplacedObject(ctx, c, o); err != nil {
			return err
		}
	}
	return c.Patch(ctx, o, p, opts...)
}

// rejectReplacedObject rejects writes to an object that replaced another one with the same name. Resource versions of an API
// server are unique; here each object starts with the same one.
func rejectReplacedObject(ctx context.Context, c client.Client, o client.Object) error {
	now, ok := o.DeepCopyObject().(client.Object)
	if !ok || c.Get(ctx, client.ObjectKeyFromObject(o), now) != nil || o.GetUID() == "" || now.GetUID() == o.GetUID() {
		return nil //nolint:nilerr // The write itself reports the error.
	}
	return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("it is another object with the same name"))
}

func (s *store) get(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(o, s.scheme)
	if err != nil {
		return err
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	stored, err := s.tracker.Get(resource, key.Namespace, key.Name)
	if err != nil || !fill(o, stored) {
		return c.Get(ctx, key, o, opts...)
	}
	return nil
}

// fill copies a stored object to an object of the same type. It returns false if the types differ or the object is
// unstructured.
func fill(o client.Object, stored runtime.Object) bool {
	to, from := reflect.ValueOf(o).Elem(), reflect.ValueOf(stored.DeepCopyObject()).Elem()
	if _, untyped := o.(runtime.Unstructured); untyped || to.Type() != from.Type() {
		return false
	}
	to.Set(from)
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // As a decoder does.
	return true
}

func (s *store) list(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	gvk, err := apiutil.GVKForObject(list, s.scheme)
	if _, untyped := list.(runtime.Unstructured); untyped || err != nil || o.FieldSelector != nil {
		return c.List(ctx, list, opts...)
	}
	gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	stored, err := s.tracker.List(resource, gvk, o.Namespace)
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(stored)
	if err != nil {
		return err
	}
	var out []runtime.Object
	for _, item := range items {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		if o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			item.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
			out = append(out, item)
		}
	}
	slices.SortFunc(out, func(a, b runtime.Object) int { return cmp.Compare(nameOf(a), nameOf(b)) })
	return meta.SetList(list, out)
}

func nameOf(o runtime.Object) string {
	object, err := meta.Accessor(o)
	if err != nil {
		return ""
	}
	return object.GetNamespace() + "/" + object.GetName()
}
