package encode_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

// TestAllNumberTypesAreEqual checks that all number types of Go result in the same number.
func TestAllNumberTypesAreEqual(t *testing.T) {
	s, err := encode.Struct(map[string]any{
		"i": 1, "i8": int8(-8), "i16": int16(-16), "i32": int32(-32), "i64": int64(-64),
		"u": uint(1), "u8": uint8(8), "u16": uint16(16), "u32": uint32(32), "u64": uint64(64), "up": uintptr(7),
		"f32": float32(0.1), "f64": 0.2, "b": true, "s": "x", "most": uint64(1 << 53), "least": int64(-1 << 53),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"i": 1.0, "i8": -8.0, "i16": -16.0, "i32": -32.0, "i64": -64.0, "u": 1.0, "u8": 8.0, "u16": 16.0, "u32": 32.0, "u64": 64.0, "up": 7.0,
		"f32": 0.1, "f64": 0.2, "b": true, "s": "x", "most": float64(1 << 53), "least": -float64(1 << 53),
	}
	got := s.Map()
	for k, v := range got {
		if i, ok := v.(int64); ok {
			got[k] = float64(i)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, v := range map[string]any{
		"too large": uint64(1<<53 + 1), "too small": int64(-1<<53 - 1), "NaN": math.NaN(), "infinite": math.Inf(1), "complex": complex(1, 2), "function": func() {},
	} {
		if _, err := encode.Struct(map[string]any{"x": v}); err == nil {
			t.Errorf("%s is a number", name)
		}
	}
}

// TestServerOwned checks that each field of the API server is rejected, with its name.
func TestServerOwned(t *testing.T) {
	for _, field := range []string{
		"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid",
	} {
		_, err := encode.Object(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", field: "x"},
		}})
		if err == nil || !strings.Contains(err.Error(), `ConfigMap "a": field metadata.`+field+": ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	for name, tc := range map[string]struct {
		o    map[string]any
		want string
	}{
		"status":     {map[string]any{"apiVersion": "v1", "kind": "Pod", "status": map[string]any{}}, "cannot encode Pod: field status: "},
		"kind":       {map[string]any{"apiVersion": "v1"}, "it has no apiVersion or no kind"},
		"apiVersion": {map[string]any{"kind": "Pod"}, "it has no apiVersion or no kind"},
	} {
		if _, err := encode.Object(&unstructured.Unstructured{Object: tc.o}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := encode.Object(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}); err == nil || !strings.Contains(err.Error(), `*v1.Pod "p"`) {
		t.Errorf("a type without a kind: %v", err)
	}
}
