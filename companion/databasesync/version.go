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
	// revisionLine matches a line with a revision and Alembic's remarks, such as "d553edeb540f (head)". unknownRevision
	// matches Alembic's error, also when called by another tool, for a database whose revision is in none of its scripts
	// (https://github.com/sqlalchemy/alembic/blob/main/alembic/script/base.py, _catch_revision_errors).
	revisionLine    = regexp.MustCompile(`^([A-Za-z0-9_.-]{1,64})(?: \([a-z, ]+\))*$`)
	unknownRevision = regexp.MustCompile(`Can't locate revision identified by '([A-Za-z0-9_.-]{1,64})'`)
)

// identify determines the release of a schema that is new to this DatabaseSync: the database was retained by another one, or
// restored from a backup. Nothing is changed before the release is known. Until a step has started, the check is repeated
// when the spec changes.
func identify(w *observation) *plan {
	v := w.sync.Spec.SchemaVersion
	if v == nil || !w.fresh() {
		return nil
	}
	if started, _ := reached(w.sync.Status.History); started != "" {
		return nil // The database was empty; its content is from this DatabaseSync.
	}
	s := steps(&w.sync.Spec, versioning)[0]
	last := latest(w.sync.Status.History, s.hash)
	if last == nil || last.Result != openstackv1.StepSucceeded || last.Request != request(w.sync) {
		return w.startAttempt(s)
	}
	return w.matchRevision(v)
}

// matchRevision compares the reported revision with the spec; nil if the steps for a new database may run.
func (obs *observation) matchRevision(v *openstackv1.SchemaVersion) *plan {
	const requeue = "restore another backup or empty the database, and set annotation " + RetryAnnotation + " to a new value"
	found, desired := obs.sync.Status.SchemaRevision, obs.sync.Spec.Release
	if found == v.Empty {
		return nil
	}
	i := slices.IndexFunc(v.Revisions, func(r openstackv1.SchemaRevision) bool { return r.Revision == found })
	if i < 0 {
		if v.AllowUnknown {
			return nil
		}
		return obs.rejectedPlan("SchemaUnknown", fmt.Sprintf("the database has schema revision %s, which no supported release uses: "+
			"it is too old, too new, or belongs to other software. Nothing was changed: %s", found, requeue))
	}
	releases := v.Revisions[i].Releases
	if slices.Contains(releases, desired) {
		return nil // The steps usually change nothing.
	}
	summary := fmt.Sprintf("the database has a schema of release %s (revision %s)", strings.Join(releases, " or "), found)
	var why error
	for _, from := range slices.Backward(releases) {
		err := release.CheckUpgrade(release.Release(from), release.Release(desired))
		if err == nil {
			p := obs.statusUpdatePlan(openstackv1.SyncPhaseExpanding, summary)
			p.status.InstalledRelease, p.status.ContractedRelease = from, from
			p.note = summary + ", which is being upgraded"
			return p
		}
		if why == nil {
			why = err
		}
	}
	return obs.rejectedPlan("UpgradeRejected", fmt.Sprintf("%s, and nothing was changed: %s; or %s", summary, why, requeue))
}

// recordSchemaVersion records the revision that a version step reported. A step without a revision has failed, whatever its
// exit code.
func (obs *observation) recordSchemaVersion(r *record, res batchjob.Result) *plan {
	found := obs.revision(res)
	if found == "" {
		if res.FailureMessage == "" && res.Code != nil && *res.Code == 0 {
			res.FailureMessage = "it reported no revision, or its output could not be read"
		}
		return obs.finishedStep(r, openstackv1.StepFailed, res)
	}
	p := obs.finishedStep(r, openstackv1.StepSucceeded, res)
	p.status.SchemaRevision = found
	p.note = "the database reports revision " + found
	return p
}

// revision returns the revision that a version step reported with its exit code and output; "" if none exists.
func (obs *observation) revision(res batchjob.Result) string {
	if res.Code == nil {
		return ""
	}
	if *res.Code != 0 {
		if m := unknownRevision.FindStringSubmatch(obs.versionOutput); m != nil {
			return m[1] // The image does not contain this revision, but the table may.
		}
		return ""
	}
	return reported(cmp.Or(obs.sync.Spec.SchemaVersion, &openstackv1.SchemaVersion{}), obs.versionOutput)
}

// reported returns the revision in an output, which may also contain log lines and revisions of branches that never change:
// the last one in the table, otherwise the last possible one, otherwise the marker of an empty database; "" if none exists.
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
