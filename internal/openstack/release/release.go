package release

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Release is the name of a coordinated OpenStack release, such as 2025.2: the year and its half. Names sort by age.
type Release string

// releases are the supported releases, the oldest first.
var releases = [...]Release{"2025.1", "2025.2", "2026.1", "2026.2"}

// parts are images of service parts that run on nodes and contain more software than the image of the service. They have
// the version of the service.
var parts = map[string]string{NovaCompute: "nova", NeutronAgents: "neutron", OVNAgent: "neutron"}

// ServiceOf returns the service to which an image with a part of a service belongs. ok is false for other images.
func ServiceOf(image string) (service string, ok bool) {
	service, ok = parts[image]
	return service, ok
}

// Releases returns the supported releases, the oldest first.
func Releases() []Release { return slices.Clone(releases[:]) }

// Services returns the names of all services, sorted.
func Services() []string { return slices.Sorted(maps.Keys(versions)) }

// Parse returns the release with that name. The error lists the supported releases.
func Parse(name string) (Release, error) {
	if !slices.Contains(releases[:], Release(name)) {
		return "", fmt.Errorf("OpenStack release %q is not supported: choose one of %s", name, list(releases[:], ", "))
	}
	return Release(name), nil
}

// SLURP reports whether the release is one of the Skip Level Upgrade Release Process: every other release, the first of each year, from
// which an upgrade may skip the next one (https://governance.openstack.org/tc/resolutions/20220210-release-cadence-adjustment.html).
func (r Release) SLURP() bool { return strings.HasSuffix(string(r), ".1") }

// Version returns the version of a service, or of a part of one, in the release, such as 28.1.0. It returns an error for an
// unknown service or release.
func (r Release) Version(service string) (string, error) {
	row, ok := versions[service]
	if of, part := parts[service]; part {
		row, ok = versions[of]
	}
	if !ok {
		return "", fmt.Errorf("OpenStack service %q is not known: there are %s", service, strings.Join(Services(), ", "))
	}
	if _, err := Parse(string(r)); err != nil {
		return "", err
	}
	return row[r], nil
}

// CheckUpgrade returns an error unless a cloud can be upgraded from one release to another in one step: to the same, to the
// next, or from one SLURP release to the next SLURP release. Downgrades are not possible: database schemas only move
// forward. The error lists the allowed steps.
func CheckUpgrade(from, to Release) error {
	for _, r := range []Release{from, to} {
		if _, err := Parse(string(r)); err != nil {
			return err
		}
	}
	steps := from.steps()
	switch {
	case from == to || slices.Contains(steps, to):
		return nil
	case to < from:
		return fmt.Errorf("OpenStack cannot go back from %s to %s, because database schemas only move forward: "+
			"keep %s, or restore a backup into a new cloud",
			from, to, from)
	}
	return fmt.Errorf("OpenStack cannot go from %s to %s in one step: upgrade to %s first", from, to, list(steps, " or "))
}

// steps returns the releases to which an upgrade is possible.
func (r Release) steps() []Release {
	later := releases[slices.Index(releases[:], r)+1:]
	switch {
	case len(later) > 1 && r.SLURP(): // Every other release is a SLURP release, so the second next release is one, too.
		return later[:2]
	case len(later) > 0:
		return later[:1]
	}
	return nil
}

// Effective returns the release that may run now. It can differ from the desired one, because new code does not run on an
// old schema. installed is the release of the current schema, as the DatabaseSync reports it; empty: there is no schema
// yet.
//
// A new service starts with the desired release. During an upgrade, the service stays with the installed release until the
// schema of the desired one is expanded and thus reported as installed. The Jobs that expand it already run the desired
// release.
//
// previous is the earlier release that the schema still supports, as the DatabaseSync reports it; empty: none. An upgrade
// to the installed release can be aborted by setting it. Nothing changes until the DatabaseSync accepts this and reports it
// as installed.
//
// It returns an error if the step from the installed to the desired release is not allowed, or if the installed release is
// not supported.
func Effective(desired Release, installed, previous string) (Release, error) {
	if installed == "" {
		return Parse(string(desired))
	}
	from, err := Parse(installed)
	if err != nil {
		return "", fmt.Errorf("cannot determine the release for the database's schema: %w", err)
	}
	if previous != "" && string(desired) == previous {
		return from, nil
	}
	if err := CheckUpgrade(from, desired); err != nil {
		return "", err
	}
	return from, nil
}

func list(rs []Release, separator string) string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = string(r)
	}
	return strings.Join(names, separator)
}
