package servicecheck

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
)

// TestRemovesOnlyRecordsOfScaledDownPods: no record is removed of a process that reports, of an existing pod or one that its StatefulSet
// may create again, of a binary that is not in the spec, or of a hypervisor; all records of other pods that were scaled down are removed.
func TestRemovesOnlyRecordsOfScaledDownPods(t *testing.T) {
	sets := []string{"nova-conductor", "nova-cell1-conductor", "nova-scheduler", "nova", "nova-1"}
	binaries := []string{"nova-conductor", "nova-scheduler", "nova-compute", "nova-consoleauth"}
	rapid.Check(t, func(t *rapid.T) {
		w := &observation{collection: &collection{}, check: &openstackv1.ServiceCheck{}, sets: map[string]set{}}
		for range rapid.IntRange(0, 4).Draw(t, "processes") {
			w.check.Spec.Processes = append(w.check.Spec.Processes, openstackv1.CheckedProcess{
				Binary: rapid.SampledFrom(binaries).Draw(t, "binary"), StatefulSetName: common.ObjectName(rapid.SampledFrom(sets).Draw(t, "set")),
			})
		}
		for _, name := range sets {
			if !rapid.Bool().Draw(t, name+" exists") {
				continue
			}
			s := set{first: rapid.Int32Range(0, 2).Draw(t, "first"), replicas: rapid.Int32Range(0, 3).Draw(t, "replicas"), pods: map[string]bool{}}
			for i := range 6 {
				s.pods[fmt.Sprintf("%s-%d", name, i)] = rapid.Bool().Draw(t, "pod")
			}
			w.sets[name] = s
		}
		for i := range rapid.IntRange(0, 12).Draw(t, "records") {
			host := rapid.SampledFrom(sets).Draw(t, "host") + rapid.SampledFrom([]string{
				"", "-0", "-1", "-2", "-3", "-4", "-5", "-05", "-+4", "-4 ", "-x", "--4", "-1-4", "-99999999999", "-4.cloud",
			}).Draw(t, "number")
			w.services = append(w.services, compute.Service{
				ID: fmt.Sprint(i), Binary: rapid.SampledFrom(binaries).Draw(t, "of"), Host: host, Up: rapid.Bool().Draw(t, "up"),
			})
		}
		removed := map[string]bool{}
		for _, s := range w.stale() {
			removed[s.ID] = true
		}
		for _, s := range w.services {
			if got, want := removed[s.ID], away(w, s); got != want {
				t.Fatalf("%+v is removed: %v, want %v; processes %v, sets %+v", s, got, want, w.check.Spec.Processes, w.sets)
			}
		}
	})
}

// away implements the inverse check: it compares the host with the names of pods that were scaled down.
func away(w *observation, s compute.Service) bool {
	if s.Up || s.Binary == compute.Compute {
		return false
	}
	for _, p := range w.check.Spec.Processes {
		of, ok := w.sets[string(p.StatefulSetName)]
		if !ok || of.replicas == 0 || p.Binary != s.Binary {
			continue
		}
		for i := of.first + of.replicas; i < 10; i++ {
			if name := fmt.Sprintf("%s-%d", p.StatefulSetName, i); s.Host == name && !of.pods[name] {
				return true
			}
		}
	}
	return false
}
