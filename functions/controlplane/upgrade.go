package controlplane

import (
	"encoding/json"
	"fmt"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// assignReleases returns the services with their target releases. An existing service gets a new release only after all services before it
// in the table run it, and keeps its release until then. It never returns to the old release because of changes in the services before it.
func (m *model) assignReleases() ([]*services.State, error) {
	var out []*services.State
	done := true
	for _, s := range m.Services {
		previous := release.Release(s.Observed.String("spec", "openStackRelease"))
		assigned := *s
		if assigned.TargetRelease = m.Release; previous != "" && !done {
			assigned.TargetRelease = previous
			if err := m.deferRollout(&assigned); err != nil {
				return nil, err
			}
		}
		out = append(out, &assigned)
		done = done && previous == m.Release && s.ReportedRelease() == string(m.Release) && s.Ready()
	}
	return out, nil
}

// deferRollout keeps image and configuration of a service that waits for its upgrade, if the settings of the claim are invalid in its
// current release.
func (m *model) deferRollout(s *services.State) error {
	if s.TargetRelease == m.Release || s.Model.Check(s.TargetRelease) == nil {
		return nil
	}
	previous := common.ServiceSpec{}
	data, err := json.Marshal(s.Observed.Map("spec"))
	if err != nil {
		return fmt.Errorf("encode the spec of %s: %w", s.Name, err)
	}
	if err := json.Unmarshal(data, &previous); err != nil { // It was composed from the same type.
		return fmt.Errorf("decode the spec of %s: %w", s.Name, err)
	}
	s.Basics.Image, s.Basics.Overrides = previous.Image, previous.Overrides
	return nil
}

// checkUpgrade returns an error for an upgrade that OpenStack does not support, before any part of it is composed.
func (m *model) checkUpgrade() error {
	for _, s := range m.Services {
		// An upgrade may be aborted as long as the schema supports the previous release.
		if s.ReportedRelease() == "" || s.PreviousRelease() == string(m.Release) {
			continue
		}
		from, err := release.Parse(s.ReportedRelease())
		if err != nil {
			return err
		}
		if err := release.CheckUpgrade(from, m.Release); err != nil {
			return invalid.Field("spec.openStackRelease", "%s; %s currently runs this release", err, s.Name)
		}
	}
	return nil
}

// oldest returns the oldest release that a service runs, empty if none runs yet.
func (m *model) oldest() string {
	out := ""
	for _, s := range m.Services {
		if r := s.ReportedRelease(); out == "" || r != "" && r < out { // Releases sort chronologically.
			out = r
		}
	}
	return out
}

// upgrading reports whether a service runs another release than the target.
func (m *model) upgrading() bool {
	for _, s := range m.Services {
		if r := s.ReportedRelease(); r != "" && r != string(m.Release) {
			return true
		}
	}
	return false
}

// updatePhase returns the phase of the update: of services during an upgrade, or of a control plane that was ready before.
func (m *model) updatePhase(plan compose.Plan) string {
	previous := m.Previous
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
