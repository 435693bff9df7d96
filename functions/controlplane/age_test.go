package controlplane

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestOutdatedStatusIsNotReady checks that the claim is not ready while the status of a service is too old, that it does not repeat the old
// status, and that the companion is not ready while no status is recent although its pods are.
func TestOutdatedStatusIsNotReady(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	old, recent := noon.Add(-freshness.ComponentLimit-time.Second), noon.Add(-freshness.ComponentLimit)
	for name, tc := range map[string]struct {
		reason string
		clock  bool
		// identity and catalog are the oldest times of the objects of Keystone and of the catalog.
		identity, catalog time.Time
		// reasons are the reasons of conditions that are not True.
		reasons map[string]string
		live    bool
	}{
		"recent":   {"Both are recent.", true, recent, recent, map[string]string{}, true},
		"one":      {"An object of Keystone is not observed.", true, old, recent, map[string]string{"KeystoneReady": "StatusTooOld"}, false},
		"no clock": {"A preview has none.", false, old, old, map[string]string{}, true},
		"no times": {"The companion is older than the function.", true, time.Time{}, time.Time{}, map[string]string{}, true},
		"all": {"The companion is not working.", true, old, old, map[string]string{
			"KeystoneReady": "WaitingForDependencies", "CatalogReady": "WaitingForDependencies", "CompanionReady": "NoProgress",
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := readyCluster(t, "{}", bare)
			if tc.clock {
				w.Required[freshness.Requirement] = []*structpb.Struct{structOf(t, map[string]any{
					"status": map[string]any{"lastScheduleTime": noon.Format(time.RFC3339)},
				})}
			}
			for resource, at := range map[string]time.Time{services.IdentityService: tc.identity, services.CatalogComponent: tc.catalog} {
				o := w.Observed[resource].Map()
				status, _ := o["status"].(map[string]any)
				if status == nil {
					status = map[string]any{}
					o["status"] = status
				}
				if !at.IsZero() {
					status[freshness.Field] = at.Format(time.RFC3339)
				}
				if resource == services.IdentityService {
					status["live"] = map[string]any{"reachable": "True"}
				}
				w.Observed[resource] = encoded.Of(structOf(t, o))
			}
			rsp, got := New().Run(w.Request()), map[string]string{}
			for _, c := range rsp.Conditions {
				if strings.HasSuffix(c.GetType(), "Ready") && c.GetReason() != "Ready" {
					got[c.GetType()] = c.GetReason()
				}
			}
			if len(got) != len(tc.reasons) {
				t.Errorf("%s Conditions %v, want %v", tc.reason, got, tc.reasons)
			}
			for typ, reason := range tc.reasons {
				if got[typ] != reason {
					t.Errorf("%s %s has reason %q, want %q", tc.reason, typ, got[typ], reason)
				}
			}
			if rsp.Composite.Ready != (len(tc.reasons) == 0) {
				t.Errorf("%s Ready is %t", tc.reason, rsp.Composite.Ready)
			}
			endpoints, _ := rsp.Composite.Object.At("status", "endpoints").List()[0].(map[string]any)
			if _, live := endpoints["live"]; live != tc.live {
				t.Errorf("%s The status of Keystone is repeated: %t", tc.reason, live)
			}
		})
	}
}
