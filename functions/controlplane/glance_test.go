package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
)

// withImages returns a claim that enables Glance, with additional fields.
func withImages(more string) string {
	return "{services: {glance: {enabled: true, stores: [{name: main, file: {storageSize: 100Gi}}]" + more + "}}}"
}

// TestGlanceGetsArchiveSettingsOfClaim checks that Glance gets the claim's ages and schedule.
func TestGlanceGetsArchiveSettingsOfClaim(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		want         glancev1.Archive
	}{
		"None": {"Glance has its own defaults.", "", glancev1.Archive{}},
		"All": {
			"All fields are passed on.", ", archive: {schedule: '0 1 * * *', afterDays: 7, imagesAfterDays: 90, suspend: true}",
			glancev1.Archive{Archive: common.Archive{Schedule: "0 1 * * *", AfterDays: 7, Suspend: true}, ImagesAfterDays: 90},
		},
	} {
		m, err := derive(input(t, withImages(tc.spec), "{}", nil))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := xrOf[*glancev1.Glance](t, m, glancev1.ServiceName).Spec.Archive
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
	_, err := derive(input(t, withImages(", archive: {schedule: '0 0 30 2 *'}"), "{}", nil))
	requireFieldError(t, "schedule", err, "spec.services.glance.archive.schedule", "")
}
