package missingnodes_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/missingnodes"
)

func TestMessage(t *testing.T) {
	at := metav1.Time{Time: time.Date(2026, 1, 2, 12, 0, 0, 0, time.FixedZone("", 3600))}
	two := []openstackv1.MissingNode{{Name: "a", Since: at, Revision: "7d9f8c"}, {Name: "b", Since: at}}
	for name, tc := range map[string]struct {
		reason string
		first  []openstackv1.MissingNode
		count  int
		want   string
	}{
		"none": {"No node is missing.", nil, 0, ""},
		"all listed": {"Times are in UTC, and a revision may be unknown.", two, 2,
			"nova-compute does not report from 2 of 9 nodes: a (since 2026-01-02T11:00:00Z, revision 7d9f8c), b (since 2026-01-02T11:00:00Z)"},
		"more": {"The others are counted.", two[1:], 8, "nova-compute does not report from 8 of 9 nodes: b (since 2026-01-02T11:00:00Z) and 7 more"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := missingnodes.Message(tc.first, tc.count, 9); got != tc.want {
				t.Errorf("%s Message %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
