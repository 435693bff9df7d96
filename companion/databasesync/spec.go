package databasesync

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// RetryAnnotation retries a failed step immediately when it is set to a new value.
const RetryAnnotation = "openstack.c5c3.io/retry"

// hashDigits is the length of a hash: 64 bits.
const hashDigits = 16

// phase is a phase of a schema upgrade, as used in names and records.
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

// shown maps phases to the phases of the status.
var shown = map[phase]string{
	versioning:  openstackv1.SyncPhasePending,
	syncing:     openstackv1.SyncPhaseSyncing,
	checking:    openstackv1.SyncPhaseExpanding,
	expanding:   openstackv1.SyncPhaseExpanding,
	contracting: openstackv1.SyncPhaseContracting,
	migrating:   openstackv1.SyncPhaseMigrating,
}

// afterRollout reports whether the steps of a phase require all consumers to run the new image.
func (p phase) afterRollout() bool { return p == contracting || p == migrating }

// changesSchema reports whether the steps of a phase change the schema for another release.
func (p phase) changesSchema() bool { return p == syncing || p == expanding }

// step is a step in its phase, with the hash that identifies it in the history.
type step struct {
	openstackv1.Step

	phase   phase
	release string
	hash    string
}

// key returns the name of a step: expand/db-sync.
func (s step) key() string { return string(s.phase) + phaseDivider + s.Name }

// classifyExitCode returns the result for an exit code; nil means that it is unknown.
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
			hash: names.Hash(hashDigits, string(p), spec.Release, image(spec), text(identityOf(s))),
		}
	}
	return out
}

// upgrading returns the phase that upgrades the schema of an existing database.
func upgrading(spec *openstackv1.DatabaseSyncSpec) phase {
	if len(spec.Expand) > 0 {
		return expanding
	}
	return syncing
}

// image returns the image of the steps.
func image(spec *openstackv1.DatabaseSyncSpec) string {
	if len(spec.Template.Spec.Containers) == 0 {
		return ""
	}
	return spec.Template.Spec.Containers[0].Image
}

// target returns a hash of the release, the image and the steps of a spec.
func target(spec *openstackv1.DatabaseSyncSpec) string {
	var check *identity
	if spec.UpgradeCheck != nil {
		check = new(identityOf(*spec.UpgradeCheck))
	}
	return names.Hash(hashDigits, spec.Release, image(spec), text(identities(spec.Sync)), text(identities(spec.Expand)),
		text(identities(spec.Contract)), text(identities(spec.OnlineMigrations)), text(check))
}

// request returns a hash of the spec for which an attempt is made: a failed step is delayed unless the hash changes.
func request(s *openstackv1.DatabaseSync) string {
	return names.Hash(hashDigits, strconv.FormatInt(s.Generation, 10), s.Annotations[RetryAnnotation])
}

// identity is the part of a step that identifies it in the history. Its JSON is hashed, so that a change of its fields, their order or
// their names reruns the steps of every database. It is therefore not the type of the API, which gains fields in later versions. Add a
// field only if a step must run again for it, with omitempty.
type identity struct {
	Name         string                 `json:"name"`
	Command      []openstackv1.Argument `json:"command"`
	SuccessCodes []int32                `json:"successCodes,omitempty"`
	RepeatCodes  []int32                `json:"repeatCodes,omitempty"`
	Quiesced     bool                   `json:"quiesced,omitempty"`
}

func identityOf(s openstackv1.Step) identity {
	return identity{
		Name: s.Name, Command: s.Command.Command, SuccessCodes: s.SuccessCodes, RepeatCodes: s.RepeatCodes, Quiesced: s.Quiesced,
	}
}

// identities returns the identities of a list of steps; nil for none, whose JSON differs from an empty list.
func identities(list []openstackv1.Step) []identity {
	var out []identity
	for _, s := range list {
		out = append(out, identityOf(s))
	}
	return out
}

// text serializes identities for hashing.
func text(part any) string {
	b, err := json.Marshal(part)
	if err != nil { // Strings and numbers always have a JSON form.
		return fmt.Sprintf("%+v", part)
	}
	return string(b)
}
