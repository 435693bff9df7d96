package controlplane

import (
	"encoding/json"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// runs is the release that the service reports, previous the one to which its upgrade can still be aborted. Both are empty where it
// reports none.
func (s *serviceState) runs() string { return s.seen.String("status", "release") }

func (s *serviceState) previous() string { return s.seen.String("status", "previousRelease") }

// assignReleases finds the release that each service is told. One that is there is told another only when those before it in the table run
// it, and keeps what it was told until then: nothing that happens to those takes it back.
func (m *model) assignReleases() {
	done := true
	for _, s := range m.services {
		previous := release.Release(s.seen.String("spec", "openStackRelease"))
		if s.targetRelease = m.release; previous != "" && !done {
			s.targetRelease = previous
		}
		m.deferRollout(s)
		done = done && previous == m.release && s.runs() == string(m.release) && s.ready()
	}
}

// deferRollout leaves a service that waits for its turn its image and its configuration, where those that the claim asks for are of the
// release that it waits for.
func (m *model) deferRollout(s *serviceState) {
	if s.targetRelease == m.release || s.check(m, s, s.targetRelease) == nil {
		return
	}
	previous := common.ServiceSpec{}
	// What was composed can be read again.
	if data, err := json.Marshal(s.seen.Map("spec")); err == nil && json.Unmarshal(data, &previous) == nil {
		s.basics.Image, s.basics.Overrides = previous.Image, previous.Overrides
	}
}

// checkUpgrade refuses a step that OpenStack does not support before anything of it is composed.
func (m *model) checkUpgrade() error {
	for _, s := range m.services {
		// An upgrade may be aborted as long as the schema serves the release before.
		if s.runs() == "" || s.previous() == string(m.release) {
			continue
		}
		from, err := release.Parse(s.runs())
		if err != nil {
			return err
		}
		if err := release.CheckUpgrade(from, m.release); err != nil {
			return invalid.Field("spec.openStackRelease", "%s; it is what %s runs", err, s.name)
		}
	}
	return nil
}

// oldest is the oldest release that a service runs, empty where none runs yet.
func (m *model) oldest() string {
	out := ""
	for _, s := range m.services {
		if r := s.runs(); out == "" || r != "" && r < out { // Releases sort by age.
			out = r
		}
	}
	return out
}

// upgrading reports whether a service runs another release than the one that is wanted.
func (m *model) upgrading() bool {
	for _, s := range m.services {
		if r := s.runs(); r != "" && r != string(m.release) {
			return true
		}
	}
	return false
}

// updatePhase: a release that does not run yet is being brought out; otherwise what was ready before is being changed.
func (m *model) updatePhase(plan compose.Plan) string {
	previous := m.previous
	switch {
	case m.upgrading():
		return common.UpdatePhaseUpdatingServices
	case plan.Ready():
		return common.UpdatePhaseIdle
	case previous.Phase == common.PhaseReady || previous.UpdatePhase != "" && previous.UpdatePhase != common.UpdatePhaseIdle:
		return common.UpdatePhaseUpdating
	}
	return common.UpdatePhaseIdle
}
