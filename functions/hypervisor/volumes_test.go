package hypervisor

import (
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestReportsVolumesThatServersCannotUse verifies the condition on backends whose volumes servers cannot use.
func TestReportsVolumesThatServersCannotUse(t *testing.T) {
	const key = "volume-secrets-volume-key-cinder-volume-ceph-rbd"
	before, _, _ := strings.Cut(controlPlaneYAML, "    volumes:\n")
	for name, tc := range map[string]struct {
		reason, others string
		change         func(*simulate.Cluster)
		want           string
	}{
		"All":       {"Keys are on all nodes.", controlPlaneYAML, nil, "STATUS_CONDITION_TRUE AllBackendsConfigured: libvirt has the keys of all backends on all nodes"},
		"No Cinder": {"The condition is unset.", before, nil, ""},
		"Shares": {
			"NFS shares are not mounted.", controlPlaneYAML + "    - backend: archive\n", nil,
			"STATUS_CONDITION_FALSE NotImplemented: archive: NFS backends are not implemented for hypervisors in this version",
		},
		"No key": {
			"Cinder is not there yet.", controlPlaneYAML, func(w *simulate.Cluster) { delete(w.Observed, key) },
			"STATUS_CONDITION_FALSE KeyMissing: ceph-rbd: waiting for the key of its user",
		},
		"Nodes": {
			"It waits for libvirt there.", controlPlaneYAML, func(w *simulate.Cluster) {
				set := w.Observed["volume-keys"].With(encoded.Number(3), "status", "desiredNumberScheduled")
				w.Observed["volume-keys"] = set.With(encoded.Number(1), "status", "numberAvailable")
			},
			"STATUS_CONDITION_FALSE NodesOutOfDate: libvirt does not have all keys yet on 2 of 3 nodes",
		},
		"Node down": {
			"Of 20 nodes, one may be down: the default of maxUnavailable.", controlPlaneYAML, func(w *simulate.Cluster) {
				set := w.Observed["volume-keys"]
				for field, n := range map[string]float64{"desiredNumberScheduled": 20, "numberAvailable": 19, "updatedNumberScheduled": 20} {
					set = set.With(encoded.Number(n), "status", field)
				}
				w.Observed["volume-keys"] = set
			},
			"STATUS_CONDITION_TRUE AllBackendsConfigured: libvirt has the keys of all backends on 19 of 20 nodes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(mine, "tenant-a", objects(planeClaim, tc.others)...)
			if err := makeReady(w); err != nil {
				t.Fatal(err)
			}
			if tc.change != nil {
				tc.change(w)
			}
			got := ""
			for _, c := range New().Run(w.Request()).Conditions {
				if c.GetType() == volumesAttachable {
					got = c.GetStatus().String() + " " + c.GetReason() + ": " + c.GetMessage()
				}
			}
			if got != tc.want {
				t.Errorf("%s\n got %q\nwant %q", tc.reason, got, tc.want)
			}
		})
	}
}
