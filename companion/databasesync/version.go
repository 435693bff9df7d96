package databasesync

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

var (
	// revisionLine is a line with nothing but a revision in it and what Alembic says of that, as in "d553edeb540f (head)". unknownRevision is
	// what Alembic says, through whatever tool asks it, of a database whose revision is none of its scripts'
	// (https://github.com/sqlalchemy/alembic/blob/main/alembic/script/base.py, _catch_revision_errors).
	revisionLine    = regexp.MustCompile(`^([A-Za-z0-9_.-]{1,64})(?: \([a-z, ]+\))*$`)
	unknownRevision = regexp.MustCompile(`Can't locate revision identified by '([A-Za-z0-9_.-]{1,64})'`)
)

// identify finds out which release the schema is of that this DatabaseSync has not had to do with yet: the database was retained by
// another one, or restored from a backup. Nothing is changed before that is known. Until a step has begun, it asks again whenever the
// spec changes.
func identify(w *observation) *plan {
	v := w.sync.Spec.SchemaVersion
	if v == nil || !w.fresh() {
		return nil
	}
	if started, _ := reached(w.sync.Status.History); started != "" {
		return nil // It was new, and what is in it since is this DatabaseSync's.
	}
	s := steps(&w.sync.Spec, versioning)[0]
	last := latest(w.sync.Status.History, s.hash)
	if last == nil || last.Result != openstackv1.StepSucceeded || last.Request != request(w.sync) {
		return w.begin(s)
	}
	return w.matchRevision(v)
}

// matchRevision compares the revision that was found with the spec: nil if the steps for a new database may run.
func (obs *observation) matchRevision(v *openstackv1.SchemaVersion) *plan {
	const again = "restore another backup or empty the database, and set annotation " + RetryAnnotation + " to a new value"
	found, desired := obs.sync.Status.SchemaRevision, obs.sync.Spec.Release
	if found == v.Empty {
		return nil
	}
	i := slices.IndexFunc(v.Revisions, func(r openstackv1.SchemaRevision) bool { return r.Revision == found })
	if i < 0 {
		if v.AllowUnknown {
			return nil
		}
		return obs.rejectedPlan("SchemaUnknown", fmt.Sprintf("the database holds a schema of revision %s, which is of no release that is known "+
			"here: it is too old or too new, or of something else. Nothing was changed: %s", found, again))
	}
	releases := v.Revisions[i].Releases
	if slices.Contains(releases, desired) {
		return nil // The steps find nothing to do, mostly.
	}
	what := fmt.Sprintf("the database holds a schema of release %s (revision %s)", strings.Join(releases, " or "), found)
	var why error
	for _, from := range slices.Backward(releases) {
		err := release.CheckUpgrade(release.Release(from), release.Release(desired))
		if err == nil {
			p := obs.statusUpdatePlan(openstackv1.SyncPhaseExpanding, what)
			p.status.InstalledRelease, p.status.ContractedRelease = from, from
			p.note = what + ", which is upgraded"
			return p
		}
		if why == nil {
			why = err
		}
	}
	return obs.rejectedPlan("UpgradeRefused", fmt.Sprintf("%s, and nothing was changed: %s. Or %s", what, why, again))
}

// recordSchemaVersion records what a step of the phase version has found. One that has reported nothing has failed, whatever its exit code is.
func (obs *observation) recordSchemaVersion(r *record, res batchjob.Result) *plan {
	found := obs.revision(res)
	if found == "" {
		if res.FailureMessage == "" && res.Code != nil && *res.Code == 0 {
			res.FailureMessage = "it has reported no revision, or its output could not be read"
		}
		return obs.finishedStep(r, openstackv1.StepFailed, res)
	}
	p := obs.finishedStep(r, openstackv1.StepSucceeded, res)
	p.status.SchemaRevision = found
	p.note = "the database reports revision " + found
	return p
}

// revision is what a version step has reported, by its end and its output: no words if it has reported nothing.
func (obs *observation) revision(res batchjob.Result) string {
	if res.Code == nil {
		return ""
	}
	if *res.Code != 0 {
		if m := unknownRevision.FindStringSubmatch(obs.said); m != nil {
			return m[1] // The image does not know it. Whether anybody does is in the table.
		}
		return ""
	}
	return reported(cmp.Or(obs.sync.Spec.SchemaVersion, &openstackv1.SchemaVersion{}), obs.said)
}

// reported is the revision that an output names, among log lines and the revisions of branches that never change: the last one that is
// known, or else the last that may be one. That the database is empty is believed if there is none. No words: it names nothing.
func reported(v *openstackv1.SchemaVersion, requested string) string {
	unknown, empty := "", ""
	for _, line := range slices.Backward(strings.Split(requested, "\n")) {
		line = strings.TrimSpace(line)
		m := revisionLine.FindStringSubmatch(line)
		switch {
		case line == v.Empty:
			empty = line
		case m == nil:
		case slices.ContainsFunc(v.Revisions, func(r openstackv1.SchemaRevision) bool { return r.Revision == m[1] }):
			return m[1]
		case unknown == "":
			unknown = m[1]
		}
	}
	return cmp.Or(unknown, empty)
}
