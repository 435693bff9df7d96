package release_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   string
		err    string
	}{
		"Supported": {"The release exists.", "2025.2", ""},
		"Old":       {"One that is not there any more.", "2024.2", `OpenStack release "2024.2" is not supported: choose one of 2025.1, 2025.2, 2026.1, 2026.2`},
		"Code":      {"A code name is not its name.", "flamingo", `OpenStack release "flamingo" is not supported`},
		"Empty":     {"Nothing is no release.", "", `OpenStack release "" is not supported`},
		"Space":     {"Nothing is trimmed.", "2025.2 ", `is not supported`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := release.Parse(tc.args)
			check(t, tc.reason, err, tc.err)
			if tc.err == "" && string(got) != tc.args {
				t.Errorf("%s\ngot %q", tc.reason, got)
			}
		})
	}
}

// check compares an error with an expected text; an empty text means that no error is expected.
func check(t *testing.T, reason string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s\ngot error %v", reason, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s\ngot error %v, want one with %q", reason, err, want)
	}
}

func TestSLURP(t *testing.T) {
	// From the releases repository: slurp: yes.
	want := map[release.Release]bool{"2025.1": true, "2025.2": false, "2026.1": true, "2026.2": false}
	got := map[release.Release]bool{}
	for _, r := range release.Releases() {
		got[r] = r.SLURP()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestVersion(t *testing.T) {
	type args struct {
		release release.Release
		service string
	}
	cases := map[string]struct {
		reason string
		args   args
		want   string
		err    string
	}{
		"First":          {"The oldest column.", args{"2025.1", "keystone"}, "27.1.0", ""},
		"Last":           {"The newest column.", args{"2026.2", "heat"}, "27.0.1", ""},
		"Tempest":        {"Tempest is the same for all.", args{"2025.2", "tempest"}, "47.0.0", ""},
		"UnknownService": {"The service does not exist.", args{"2025.2", "swift"}, "", `OpenStack service "swift" is not known: there are barbican, cinder, glance,`},
		"UnknownRelease": {"A release that was not parsed.", args{"2024.2", "nova"}, "", `OpenStack release "2024.2" is not supported`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.args.release.Version(tc.args.service)
			check(t, tc.reason, err, tc.err)
			if got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestEveryReleaseHasEveryService checks that every release has every service, that versions have three parts and do not decrease, and that
// every service but Tempest has a new major version in each release.
func TestEveryReleaseHasEveryService(t *testing.T) {
	if !slices.IsSorted(release.Releases()) {
		t.Errorf("releases are not sorted by age: %v", release.Releases())
	}
	for _, service := range release.Services() {
		var before []int
		for _, r := range release.Releases() {
			version, err := r.Version(service)
			if err != nil {
				t.Fatal(err)
			}
			parts := semver(t, version)
			switch {
			case before == nil:
			case service == "tempest" || service == "horizon":
				// From 2025.1 to 2026.1, Horizon increased the minor version.
				if slices.Compare(parts, before) < 0 {
					t.Errorf("%s of %s has version %s, which is lower than in the previous release", service, r, version)
				}
			case parts[0] <= before[0]:
				t.Errorf("%s of %s has version %s, which is no new major version", service, r, version)
			}
			before = parts
		}
	}
}

func semver(t *testing.T, version string) []int {
	t.Helper()
	out := make([]int, 0, 3)
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || strconv.Itoa(n) != part {
			t.Fatalf("%q is not a version", version)
		}
		out = append(out, n)
	}
	if len(out) != 3 {
		t.Fatalf("version %q has not three parts", version)
	}
	return out
}

func TestCheckUpgrade(t *testing.T) {
	type args struct{ from, to release.Release }
	cases := map[string]struct {
		reason string
		args   args
		err    string
	}{
		"Same":        {"Nothing to do.", args{"2025.2", "2025.2"}, ""},
		"Next":        {"One step.", args{"2025.1", "2025.2"}, ""},
		"NextSLURP":   {"One step to a SLURP release.", args{"2025.2", "2026.1"}, ""},
		"Skip":        {"A SLURP release may skip one.", args{"2025.1", "2026.1"}, ""},
		"NoSLURP":     {"Others may not.", args{"2025.2", "2026.2"}, "cannot go from 2025.2 to 2026.2 in one step: upgrade to 2026.1 first"},
		"TooFar":      {"Nor may it skip two.", args{"2025.1", "2026.2"}, "cannot go from 2025.1 to 2026.2 in one step: upgrade to 2025.2 or 2026.1 first"},
		"Back":        {"Never back.", args{"2025.2", "2025.1"}, "cannot go back from 2025.2 to 2025.1, because database schemas only move forward: keep 2025.2"},
		"BackSLURP":   {"Not even between SLURP releases.", args{"2026.1", "2025.1"}, "cannot go back"},
		"UnknownTo":   {"A release that was not parsed.", args{"2025.1", "x"}, `"x" is not supported`},
		"UnknownFrom": {"Nor was this one.", args{"", "2025.1"}, `"" is not supported`},
		"UnknownSame": {"It is unknown, even if both are equal.", args{"x", "x"}, `"x" is not supported`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, tc.reason, release.CheckUpgrade(tc.args.from, tc.args.to), tc.err)
		})
	}
}

// half returns the number of half-years until a release.
func half(t *rapid.T, r release.Release) int {
	year, n, _ := strings.Cut(string(r), ".")
	y, err := strconv.Atoi(year)
	if err != nil {
		t.Fatal(err)
	}
	h, err := strconv.Atoi(n)
	if err != nil {
		t.Fatal(err)
	}
	return 2*y + h
}

// TestCheckUpgradeCalendar checks that a step is half a year, or a year between first halves; that every later release can
// be reached by steps, and no earlier one.
func TestCheckUpgradeCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom(release.Releases()).Draw(t, "from")
		to := rapid.SampledFrom(release.Releases()).Draw(t, "to")

		d := half(t, to) - half(t, from)
		want := d == 0 || d == 1 || d == 2 && half(t, from)%2 == 1
		if got := release.CheckUpgrade(from, to) == nil; got != want {
			t.Fatalf("from %s to %s: allowed is %v, want %v", from, to, got, want)
		}

		reached := map[release.Release]bool{from: true}
		for _, via := range release.Releases() {
			for _, next := range release.Releases() {
				if reached[via] && release.CheckUpgrade(via, next) == nil {
					reached[next] = true
				}
			}
		}
		if reached[to] != (d >= 0) {
			t.Fatalf("%s is reached from %s: %v", to, from, reached[to])
		}
	})
}

func TestEffective(t *testing.T) {
	type args struct {
		desired             release.Release
		installed, previous string
	}
	cases := map[string]struct {
		reason string
		args   args
		want   release.Release
		err    string
	}{
		"Fresh":       {"No schema yet.", args{"2025.2", "", ""}, "2025.2", ""},
		"Installed":   {"Nothing to upgrade.", args{"2025.2", "2025.2", ""}, "2025.2", ""},
		"Upgrading":   {"The schema is not expanded yet.", args{"2026.1", "2025.1", ""}, "2025.1", ""},
		"TooFar":      {"An upgrade that is not allowed.", args{"2026.2", "2025.1", ""}, "", "upgrade to 2025.2 or 2026.1 first"},
		"Back":        {"A way back.", args{"2025.1", "2025.2", ""}, "", "cannot go back"},
		"Aborted":     {"The schema serves the previous release, too; its DatabaseSync has to agree.", args{"2025.1", "2025.2", "2025.1"}, "2025.2", ""},
		"FurtherBack": {"Not an earlier one.", args{"2025.1", "2026.1", "2025.2"}, "", "cannot go back"},
		"Unknown":     {"The release of the schema is not supported.", args{"2025.1", "2024.2", ""}, "", `cannot determine the release for the database's schema: OpenStack release "2024.2" is not supported`},
		"NotParsed":   {"A release that was not parsed.", args{"x", "", ""}, "", `"x" is not supported`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := release.Effective(tc.args.desired, tc.args.installed, tc.args.previous)
			check(t, tc.reason, err, tc.err)
			if got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestEffectiveFollowsSchema checks, for any sequence of desired releases and schema changes, that the effective release is
// the release of the schema, that each schema change is an allowed step, and that the desired release becomes effective
// eventually. Until the schema exists, the desired release can be changed freely.
func TestEffectiveFollowsSchema(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		installed := ""
		for range 20 {
			desired := rapid.SampledFrom(release.Releases()).Draw(t, "wanted")
			effective, err := release.Effective(desired, installed, "")
			if err != nil {
				continue // It is rejected, so nothing changes.
			}
			if installed != "" && string(effective) != installed {
				t.Fatalf("%s runs on a schema of %s", effective, installed)
			}
			if !rapid.Bool().Draw(t, "expanded") {
				continue
			}
			if err := release.CheckUpgrade(effective, desired); err != nil {
				t.Fatalf("%s runs after %s: %v", desired, effective, err)
			}
			installed = string(desired)
			if got, err := release.Effective(desired, installed, ""); err != nil || got != desired {
				t.Fatalf("got %s and error %v when the schema of %s is in place", got, err, desired)
			}
		}
	})
}
