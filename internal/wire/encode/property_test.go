package encode_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
	strict "sigs.k8s.io/json"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

// kinds are types of objects that builders create. Each test uses a new one.
var kinds = map[string]func() runtime.Object{
	"Deployment":              func() runtime.Object { return &appsv1.Deployment{} },
	"StatefulSet":             func() runtime.Object { return &appsv1.StatefulSet{} },
	"DaemonSet":               func() runtime.Object { return &appsv1.DaemonSet{} },
	"Job":                     func() runtime.Object { return &batchv1.Job{} },
	"CronJob":                 func() runtime.Object { return &batchv1.CronJob{} },
	"Service":                 func() runtime.Object { return &corev1.Service{} },
	"ConfigMap":               func() runtime.Object { return &corev1.ConfigMap{} },
	"Secret":                  func() runtime.Object { return &corev1.Secret{} },
	"ServiceAccount":          func() runtime.Object { return &corev1.ServiceAccount{} },
	"Namespace":               func() runtime.Object { return &corev1.Namespace{} },
	"PersistentVolumeClaim":   func() runtime.Object { return &corev1.PersistentVolumeClaim{} },
	"Role":                    func() runtime.Object { return &rbacv1.Role{} },
	"RoleBinding":             func() runtime.Object { return &rbacv1.RoleBinding{} },
	"PodDisruptionBudget":     func() runtime.Object { return &policyv1.PodDisruptionBudget{} },
	"NetworkPolicy":           func() runtime.Object { return &networkingv1.NetworkPolicy{} },
	"Ingress":                 func() runtime.Object { return &networkingv1.Ingress{} },
	"HorizontalPodAutoscaler": func() runtime.Object { return &autoscalingv2.HorizontalPodAutoscaler{} },
}

// exactly compares a decoded value with the original. Nil and empty are different.
var exactly = cmp.Options{
	cmp.Comparer(func(a, b resource.Quantity) bool {
		return a.Cmp(b) == 0 && (a == resource.Quantity{}) == (b == resource.Quantity{})
	}),
	cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) }),
	cmp.Comparer(func(a, b metav1.MicroTime) bool { return a.Equal(&b) }),
}

// TestEncodingIsCompleteAndMinimal fills objects of every kind with random values. The output must be complete (strict decoding results
// in the object), minimal (it contains no zero value that decoding does not need), and, apart from zeros, equal to the
// output of encoding/json.
func TestEncodingIsCompleteAndMinimal(t *testing.T) {
	names := slices.Sorted(maps.Keys(kinds))
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(names).Draw(t, "kind")
		o := kinds[kind]()
		fill(t, reflect.ValueOf(o).Elem(), 0)
		disown(o, kind)
		checkObject(t, o)
	})
}

// checkObject checks the three properties for one object.
func checkObject(t interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}, o runtime.Object,
) {
	t.Helper()
	s, err := encode.Object(o)
	if err != nil {
		t.Fatalf("Object(...): %v", err)
	}
	out := s.Map()

	back, err := decode(o, out)
	if err != nil {
		t.Fatalf("cannot decode the output: %v", err)
	}
	if diff := cmp.Diff(o, back, exactly); diff != "" {
		t.Errorf("incomplete: -object, +decoded output:\n%s", diff)
	}

	zeros(out, "", func(path string) {
		back, err := decode(o, out)
		if err == nil && cmp.Equal(o, back, exactly) {
			t.Errorf("too much: %s was emitted, and decoding gives the same object without it", path)
		}
	})

	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatalf("json.Marshal(...): %v", err)
	}
	var want map[string]any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatalf("json.Unmarshal(...): %v", err)
	}
	if diff := cmp.Diff(withoutZeros(want), withoutZeros(out)); diff != "" {
		t.Errorf("not as JSON: -json.Marshal, +Object, zeros dropped from both:\n%s", diff)
	}
}

// decode strictly decodes a tree to a new object with the type of like.
func decode(like runtime.Object, tree map[string]any) (runtime.Object, error) {
	raw, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	o := reflect.New(reflect.TypeOf(like).Elem()).Interface().(runtime.Object)
	problems, err := strict.UnmarshalStrict(raw, o)
	if err == nil && len(problems) > 0 {
		err = problems[0]
	}
	return o, err
}

// zeros removes each zero value in the maps of a tree, calls without, and restores it.
func zeros(tree any, path string, without func(path string)) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(tree)) {
			v := tree[k]
			zeros(v, path+"."+k, without)
			if isZero(v) {
				delete(tree, k)
				without(path + "." + k)
				tree[k] = v
			}
		}
	case []any:
		for i, v := range tree {
			zeros(v, fmt.Sprintf("%s[%d]", path, i), without)
		}
	}
}

func isZero(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return v == nil || v == "" || v == false || v == 0.0 || v == "0" // the zero quantity
	}
}

// withoutZeros removes zero values from the maps of a tree, and maps that are empty then.
func withoutZeros(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if e = withoutZeros(e); !isZero(e) {
				out[k] = e
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = withoutZeros(e)
		}
		return out
	default:
		return v
	}
}

// disown removes the fields of an object that encode.Object rejects.
func disown(o runtime.Object, kind string) {
	v := reflect.ValueOf(o).Elem()
	v.FieldByName("TypeMeta").Set(reflect.ValueOf(metav1.TypeMeta{APIVersion: "v1", Kind: kind}))
	if status := v.FieldByName("Status"); status.IsValid() {
		status.SetZero()
	}
	m := o.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
	m.CreationTimestamp, m.DeletionTimestamp, m.DeletionGracePeriodSeconds = metav1.Time{}, nil, nil
	m.ManagedFields, m.ResourceVersion, m.UID, m.SelfLink, m.Generation = nil, "", "", "", 0 //nolint:staticcheck // also rejected
}

// fill sets v to random values, including zeros, nils and empty values. It sets less at greater depths, so that it
// terminates.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch o := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*o = resource.MustParse(rapid.SampledFrom([]string{"0", "1", "250m", "1.5Gi", "1e3", "0.1"}).Draw(t, "quantity"))
		return
	case *metav1.Time:
		*o = metav1.Unix(rapid.Int64Range(1, 2e9).Draw(t, "time"), 0)
		return
	case *metav1.MicroTime:
		*o = metav1.NewMicroTime(time.UnixMicro(rapid.Int64Range(1, 2e15).Draw(t, "time")))
		return
	case *metav1.Duration:
		o.Duration = time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "duration"))
		return
	case *intstr.IntOrString:
		*o = rapid.SampledFrom([]intstr.IntOrString{{}, intstr.FromInt32(80), intstr.FromString("25%"), intstr.FromString("")}).Draw(t, "port")
		return
	case *runtime.RawExtension:
		o.Raw = []byte(rapid.SampledFrom([]string{`{}`, `{"a":0,"b":{"c":[]}}`, `{"n":null}`}).Draw(t, "raw"))
		return
	case *metav1.FieldsV1:
		o.SetRawString(`{"f:a":{}}`)
		return
	}
	if depth > 3 && !rapid.Bool().Draw(t, "continue") {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.SampledFrom([]string{"", "a", "0", "Käse", "a.b/c"}).Draw(t, "string"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int32:
		v.SetInt(int64(rapid.SampledFrom([]int32{0, 1, -1, 1 << 30}).Draw(t, "int")))
	case reflect.Int64:
		v.SetInt(rapid.SampledFrom([]int64{0, 1, -1, 1 << 53}).Draw(t, "int64"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "not nil") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth+1)
		}
	case reflect.Slice:
		if n := rapid.IntRange(-1, 2).Draw(t, "length"); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		if n := rapid.IntRange(-1, 2).Draw(t, "length"); n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(t, k, 0)
				fill(t, e, depth+1)
				v.SetMapIndex(k, e)
			}
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(t, f, depth+1)
		}
	case reflect.Interface: // RawExtension's object, which TestEncodesValuesOfAllTypes covers
	default:
		panic("fill does not support " + v.Type().String())
	}
}
