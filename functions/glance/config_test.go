package glance

import (
	"encoding/json"
	"slices"
	"testing"

	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
)

// TestClonable verifies that image locations are published if images are in a pool of a StorageCluster, and never for a bucket, because
// they contain its key.
func TestClonable(t *testing.T) {
	text, err := json.Marshal(servicetest.Spec(t, "medium"))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		stores []string
		want   any
	}{
		"Pool":   {"Nova clones images there.", []string{"pool"}, true},
		"Others": {"Their addresses have no keys.", []string{"pool", "shared_", "rbd_1", "swift"}, true},
		"Bucket": {"Its address has the key.", []string{"pool", "s3"}, nil},
		"None":   {"Nova clones nothing.", []string{"shared_", "rbd_1", "swift"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := function.Input[glancev1.Glance]{}
			in.XR.Name, in.XR.Namespace = glancev1.ServiceName, "cloud"
			if err := json.Unmarshal(text, &in.XR.Spec); err != nil {
				t.Fatal(err)
			}
			in.XR.Spec.Stores = slices.DeleteFunc(in.XR.Spec.Stores, func(s glancev1.Store) bool { return !slices.Contains(tc.stores, string(s.Name)) })
			in.XR.Spec.DefaultStore, in.XR.Spec.Config = in.XR.Spec.Stores[0].Name, nil
			function.SetDefaults(&in.XR)
			m, err := derive(in)
			if err != nil || len(m.stores) != len(tc.stores) {
				t.Fatalf("%d stores: %v", len(m.stores), err)
			}
			if got := m.options()["DEFAULT"]["show_image_direct_url"]; got != tc.want {
				t.Errorf("%s\nshow_image_direct_url is %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
