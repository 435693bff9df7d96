package servicecheck

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/blockstorage"
)

const (
	// blockStorage is the type of Cinder in the Keystone catalog.
	blockStorage = "block-storage"
	// capacityReportInterval is how often Cinder's volume managers report their capacity by default, and failureThreshold is
	// the number of missed reports after which a backend is silent.
	capacityReportInterval = time.Minute
	failureThreshold       = 5
)

// readBackends sets the current state of the backends.
func (obs *observation) readBackends() {
	for _, b := range obs.check.Spec.Backends {
		obs.backends = append(obs.backends, obs.backend(b))
	}
}

// backend returns the current state of a backend.
func (obs *observation) backend(b openstackv1.CheckedBackend) openstackv1.CheckedBackendState {
	out := openstackv1.CheckedBackendState{Name: b.Name, Silent: true}
	previous := obs.check.Status.Backends
	if i := slices.IndexFunc(previous, func(s openstackv1.CheckedBackendState) bool { return s.Name == b.Name }); i >= 0 {
		out = *previous[i].DeepCopy()
	}
	out.Up = 0
	for _, s := range obs.volumeServices {
		if s.Binary == blockstorage.Volume && s.Backend == b.Name && s.Up {
			out.Up++
		}
	}
	var reportedAt time.Time
	var total, free blockstorage.Capacity
	known := false
	for _, p := range obs.volumePools {
		if p.Backend != b.Name {
			continue
		}
		known, total, free = true, total.Add(p.Total), free.Add(p.Free)
		if p.ReportedAt.After(reportedAt) {
			reportedAt = p.ReportedAt
		}
	}
	if known {
		out.TotalGiB, out.AvailableGiB = amount(total, out.TotalGiB), amount(free, out.AvailableGiB)
	}
	obs.recordReport(&out, b, reportedAt)
	return out
}

// recordReport records when managers last reported the capacity. The time of a recent report is not written, so that the status
// changes only with the capacity and not with each report.
func (obs *observation) recordReport(s *openstackv1.CheckedBackendState, b openstackv1.CheckedBackend, reportedAt time.Time) {
	longest := failureThreshold * cmp.Or(time.Duration(b.LooksEverySeconds)*time.Second, capacityReportInterval)
	isRecent := func(t time.Time) bool { return obs.now.Sub(t) <= longest }
	if isRecent(reportedAt) {
		s.Silent, s.Looked = false, nil
		return
	}
	// The time is unknown if managers are down, or schedulers have just started. Until now it was known.
	if reportedAt.IsZero() && !s.Silent && s.Looked == nil {
		reportedAt = obs.now
	}
	if !reportedAt.IsZero() && (s.Looked == nil || reportedAt.After(s.Looked.Time)) {
		s.Looked = &metav1.Time{Time: reportedAt}
	}
	s.Silent = s.Looked == nil || !isRecent(s.Looked.Time)
}

// amount returns the capacity in GiB: the previous value if it is unknown, nil if it is infinite.
func amount(r blockstorage.Capacity, before *int64) *int64 {
	switch {
	case r.Unknown:
		return before
	case r.Infinite:
		return nil
	}
	return &r.GiB
}

// backendsNotReporting returns a message for each silent backend.
func (obs *observation) backendsNotReporting() (out []string) {
	for _, b := range obs.backends {
		switch {
		case !b.Silent:
		case b.Looked == nil:
			out = append(out, "backend "+b.Name+" has never reported its capacity")
		default:
			out = append(out, fmt.Sprintf("backend %s has not reported its capacity since %s", b.Name, b.Looked.UTC().Format(time.RFC3339)))
		}
	}
	return out
}
