package databasesync

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// RetryAnnotation asks to run a failed step again at once. Any new value does.
const RetryAnnotation = "openstack.c5c3.io/retry"

// hashDigits is how much of a hash is kept: 64 bits.
const hashDigits = 16

// phase is a part of a schema's life, as it stands in names and records.
type phase string

const (
	versioning   phase = "version"
	syncing      phase = "sync"
	checking     phase = "check"
	expanding    phase = "expand"
	contracting  phase = "contract"
	migrating    phase = "migrate"
	phaseDivider       = "/"
)

// shown is the phase as the status reports it.
var shown = map[phase]string{
	versioning:  openstackv1.SyncPhasePending,
	syncing:     openstackv1.SyncPhaseSyncing,
	checking:    openstackv1.SyncPhaseExpanding,
	expanding:   openstackv1.SyncPhaseExpanding,
	contracting: openstackv1.SyncPhaseContracting,
	migrating:   openstackv1.SyncPhaseMigrating,
}

// afterRollout reports whether the steps of a phase need every consumer to run the new image.
func (p phase) afterRollout() bool { return p == contracting || p == migrating }

// changesSchema reports whether the steps of a phase bring the schema towards another release.
func (p phase) changesSchema() bool { return p == syncing || p == expanding }

// step is a step in its phase, with the identity by which it is known to have run.
type step struct {
	openstackv1.Step

	phase   phase
	release string
	hash    string
}

// key names a step: expand/db-sync.
func (s step) key() string { return string(s.phase) + phaseDivider + s.Name }

// classifyExitCode reports what an exit code means. Nil is an unknown one.
func (s step) classifyExitCode(code *int32) string {
	switch {
	case code == nil:
		return openstackv1.StepFailed
	case slices.Contains(s.RepeatCodes, *code):
		return openstackv1.StepRepeat
	case slices.Contains(s.SuccessCodes, *code), len(s.SuccessCodes) == 0 && *code == 0:
		return openstackv1.StepSucceeded
	}
	return openstackv1.StepFailed
}

// steps returns the steps of a phase of a spec.
func steps(spec *openstackv1.DatabaseSyncSpec, p phase) []step {
	lists := map[phase][]openstackv1.Step{
		syncing: spec.Sync, expanding: spec.Expand, contracting: spec.Contract, migrating: spec.OnlineMigrations,
	}
	list := lists[p]
	if p == checking && spec.UpgradeCheck != nil {
		list = []openstackv1.Step{*spec.UpgradeCheck}
	}
	if p == versioning && spec.SchemaVersion != nil {
		list = []openstackv1.Step{spec.SchemaVersion.Step}
	}
	out := make([]step, len(list))
	for i, s := range list {
		out[i] = step{
			Step: s, phase: p, release: spec.Release,
			hash: names.Hash(hashDigits, string(p), spec.Release, image(spec), text(s)),
		}
	}
	return out
}

// upgrading is the phase that brings the schema of an existing database to another release.
func upgrading(spec *openstackv1.DatabaseSyncSpec) phase {
	if len(spec.Expand) > 0 {
		return expanding
	}
	return syncing
}

// image that the steps run.
func image(spec *openstackv1.DatabaseSyncSpec) string {
	if len(spec.Template.Spec.Containers) == 0 {
		return ""
	}
	return spec.Template.Spec.Containers[0].Image
}

// target is the identity of what a spec asks for: release, image and steps.
func target(spec *openstackv1.DatabaseSyncSpec) string {
	return names.Hash(hashDigits, spec.Release, image(spec), text(spec.Sync), text(spec.Expand), text(spec.Contract),
		text(spec.OnlineMigrations), text(spec.UpgradeCheck))
}

// request is the identity of the spec that an attempt is made for: a failed step waits unless this changes.
func request(s *openstackv1.DatabaseSync) string {
	return names.Hash(hashDigits, strconv.FormatInt(s.Generation, 10), s.Annotations[RetryAnnotation])
}

// text of a part of a spec, to be hashed.
func text(part any) string {
	b, err := json.Marshal(part)
	if err != nil { // Strings and numbers always have a JSON form.
		return fmt.Sprintf("%+v", part)
	}
	return string(b)
}
