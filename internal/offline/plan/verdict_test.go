package plan

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// TestServicesHaveVerdicts checks that each service of a claim has a kind and one place in the order, and that each kind belongs to a
// service with a place, or to one that has no verdict.
func TestServicesHaveVerdicts(t *testing.T) {
	services := slices.Collect(maps.Values(servicesByKind))
	for f := range reflect.TypeFor[controlplanev1.Services]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !slices.Contains(services, name) {
			t.Errorf("services.%s has no kind of composite resource; add one with the folder %[1]s to internal/kindregistry", name)
		}
		if count(serviceOrder, name) != 1 {
			t.Errorf("services.%s has %d places in serviceOrder %q, want one", name, count(serviceOrder, name), serviceOrder)
		}
	}
	for kind, service := range servicesByKind {
		if count(serviceOrder, service)+count(excludedServices, service) != 1 {
			t.Errorf("%s belongs to %s, which is not a service of a claim; add its service to servicesOfParts or excludedServices", kind, service)
		}
	}
	for folder := range servicesOfParts {
		if !slices.ContainsFunc(kindregistry.WithForm(kindregistry.Composed), func(k kindregistry.Kind) bool { return k.Folder == folder }) {
			t.Errorf("no composed kind has the folder %s; remove it from servicesOfParts", folder)
		}
	}
}

func count(list []string, name string) int {
	n := 0
	for _, each := range list {
		if each == name {
			n++
		}
	}
	return n
}
