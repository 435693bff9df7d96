// Package objecttest compares objects of a builder with expected YAML.
package objecttest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
)

// Case is an expected result of a builder, with its reason.
type Case struct {
	Reason string
	Got    []runtime.Object
	// Want is the expected YAML, one document for each object.
	Want string
}

// Run compares all cases.
func Run(t *testing.T, cases map[string]Case) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(strings.TrimSpace(tc.Want), strings.TrimSpace(text(t, tc.Got))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.Reason, diff)
			}
		})
	}
}

// text returns the YAML of the emitted objects.
func text(t *testing.T, objects []runtime.Object) string {
	t.Helper()
	documents := make([]string, len(objects))
	for i, o := range objects {
		s, err := encode.Object(o)
		if err != nil {
			t.Fatal(err)
		}
		data, err := yaml.Marshal(s.Map())
		if err != nil {
			t.Fatal(err)
		}
		documents[i] = string(data)
	}
	return strings.Join(documents, "---\n")
}
