package respond_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
)

func TestComponents(t *testing.T) {
	items := func(verdicts ...ready.Result) []compose.Item {
		var out []compose.Item
		for _, v := range verdicts {
			out = append(out, compose.Item{Name: "a", Readiness: v})
		}
		return out
	}
	previously := func(phase string) []common.ComponentStatus {
		return []common.ComponentStatus{{Name: "other", Phase: common.ComponentReady}, {Name: "part", Phase: phase}}
	}
	waiting := ready.Wait("Later", "it takes its time")
	cases := map[string]struct {
		reason   string
		part     compose.ComponentStatus
		previous []common.ComponentStatus
		want     common.ComponentStatus
	}{
		"Ready": {
			reason: "All that is wanted is ready.",
			part:   compose.ComponentStatus{Items: items(ready.Yes, ready.Yes), Ready: 2, Total: 2, Version: "1.2.3"},
			want:   common.ComponentStatus{Phase: common.ComponentReady, Ready: "2/2", Version: "1.2.3"},
		},
		"Waiting": {
			reason: "Nothing of it may exist yet.",
			part:   compose.ComponentStatus{Needs: []string{"database"}, Total: 2},
			want:   common.ComponentStatus{Phase: common.ComponentWaiting, Ready: "0/2", Reason: "WaitingForDependencies", Message: "waits for database"},
		},
		"Creating": {
			reason: "It was never ready.",
			part:   compose.ComponentStatus{Items: items(ready.Yes, waiting), Ready: 1, Total: 3},
			want:   common.ComponentStatus{Phase: common.ComponentCreating, Ready: "1/3", Reason: "Later", Message: " : it takes its time"},
		},
		"Updating": {
			reason:   "It was ready before.",
			part:     compose.ComponentStatus{Items: items(waiting), Total: 1},
			previous: previously(common.ComponentReady),
			want:     common.ComponentStatus{Phase: common.ComponentUpdating, Ready: "0/1", Reason: "Later", Message: " : it takes its time"},
		},
		"StillUpdating": {
			reason:   "An update takes several calls.",
			part:     compose.ComponentStatus{Items: items(waiting), Total: 1},
			previous: previously(common.ComponentUpdating),
			want:     common.ComponentStatus{Phase: common.ComponentUpdating, Ready: "0/1", Reason: "Later", Message: " : it takes its time"},
		},
		"Failed": {
			reason:   "A failure takes precedence over the previous phase.",
			part:     compose.ComponentStatus{Items: items(waiting, ready.Fail("Broken", "it is broken")), Total: 2},
			previous: previously(common.ComponentUpdating),
			want:     common.ComponentStatus{Phase: common.ComponentFailed, Ready: "0/2", Reason: "Broken", Message: " : it is broken"},
		},
		"Since": {
			reason: "The latest change, in UTC; invalid times are ignored.",
			part: compose.ComponentStatus{Ready: 3, Total: 3, Items: []compose.Item{
				{Readiness: ready.Yes, Since: "2025-01-01T00:00:00Z"}, {Readiness: ready.Yes, Since: "2025-03-01T00:00:00Z"}, {Readiness: ready.Yes},
			}},
			want: common.ComponentStatus{
				Phase: common.ComponentReady, Ready: "3/3", Since: &metav1.Time{Time: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)},
			},
		},
		"SinceGarbage": {
			reason: "Other controllers may write invalid times.",
			part:   compose.ComponentStatus{Ready: 1, Total: 1, Items: []compose.Item{{Readiness: ready.Yes, Since: "yesterday"}}},
			want:   common.ComponentStatus{Phase: common.ComponentReady, Ready: "1/1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.part.Name, tc.want.Name = "part", "part"
			got := respond.Components(compose.Plan{Parts: []compose.ComponentStatus{tc.part}}, tc.previous)
			if diff := cmp.Diff([]common.ComponentStatus{tc.want}, got); diff != "" {
				t.Errorf("%s\nComponents(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestComponentsCutsLongMessages tests that long messages of other controllers are cut to the limit at a character boundary.
func TestComponentsCutsLongMessages(t *testing.T) {
	for _, long := range []string{strings.Repeat("x", 2000), strings.Repeat("ä", 1000), strings.Repeat("€", 1000)} {
		part := compose.ComponentStatus{Name: "part", Total: 1, Items: []compose.Item{{Readiness: ready.Wait(long, "%s", long)}}}
		c := respond.Components(compose.Plan{Parts: []compose.ComponentStatus{part}}, nil)[0]
		for field, limit := range map[string]int{c.Reason: 63, c.Message: 1024} {
			if !utf8.ValidString(field) || len(field) > limit || len(field) < limit-6 || !strings.HasSuffix(field, "…") {
				t.Errorf("%d bytes, of %d at most: %s", len(field), limit, field)
			}
		}
	}
}
