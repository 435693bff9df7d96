package jsonannotation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestReadAndWrite(t *testing.T) {
	type record struct {
		Name string `json:"name"`
	}
	o := &corev1.Secret{}
	if got, err := Read[record](o, "a"); got != nil || err != nil {
		t.Errorf("none: %v, %v", got, err)
	}
	Write(&o.ObjectMeta, "a", record{"x"})
	if diff := cmp.Diff(map[string]string{"a": `{"name":"x"}`}, o.Annotations); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got, err := Read[record](o, "a"); err != nil || got == nil || got.Name != "x" {
		t.Errorf("%v, %v", got, err)
	}
	o.Annotations["a"] = "{"
	if got, err := Read[record](o, "a"); err == nil || got != nil {
		t.Errorf("an invalid record: %v, %v", got, err)
	}
}
