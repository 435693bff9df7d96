package volume

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
)

// TestZones checks that volumes without a zone are placed in a zone with a backend, and that each zone has a backup
// service.
func TestZones(t *testing.T) {
	a, b, none := cinderv1.Backend{Name: "a", AvailabilityZone: "zone-a"}, cinderv1.Backend{Name: "b", AvailabilityZone: "zone-b"}, cinderv1.Backend{Name: "none"}
	for name, tc := range map[string]struct {
		reason      string
		backends    []cinderv1.Backend
		types       []cinderv1.VolumeType
		defaultType string
		want        []string
	}{
		"no zone":         {reason: "Cinder's own default serves.", backends: []cinderv1.Backend{none}, want: []string{"nova"}},
		"one zone":        {reason: "No backend is in Cinder's own default.", backends: []cinderv1.Backend{a}, want: []string{"zone-a"}},
		"default type":    {reason: "The default type is another backend's.", backends: []cinderv1.Backend{a, b, none}, defaultType: "b", want: []string{"zone-b", "nova", "zone-a"}},
		"several a type":  {reason: "A type without a backend takes the first zone.", backends: []cinderv1.Backend{a, none}, types: []cinderv1.VolumeType{{Name: "any"}}, want: []string{"zone-a", "nova"}},
		"unzoned default": {reason: "The default stays Cinder's own.", backends: []cinderv1.Backend{none, a}, want: []string{"nova", "zone-a"}},
		"nothing":         {reason: "A spec that is being checked may have no backend.", want: []string{"nova"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := cinderv1.Storage{Backends: tc.backends, VolumeTypes: tc.types, DefaultVolumeType: tc.defaultType}
			Complete(&s)
			if diff := cmp.Diff(tc.want, Zones(&s)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
