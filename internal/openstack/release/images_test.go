package release_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

func TestImageFor(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	type args struct {
		name     string
		release  release.Release
		override release.Override
	}
	cases := map[string]struct {
		reason string
		args   args
		want   string
		err    string
	}{
		"Service":         {"The version of the release.", args{"keystone", "2025.2", release.Override{}}, "ghcr.io/c5c3/keystone:28.1.0", ""},
		"Part":            {"A part of a service has the service's.", args{release.NovaCompute, "2025.2", release.Override{}}, "ghcr.io/c5c3/nova-compute:32.2.1", ""},
		"PartOfAnother":   {"Of each its own.", args{release.OVNAgent, "2025.1", release.Override{}}, "ghcr.io/c5c3/neutron-ovn-agent:26.0.6", ""},
		"Companion":       {"This project's own version.", args{release.Companion, "2025.2", release.Override{}}, "ghcr.io/c5c3/crossplane-cobaltcore-companion:" + release.Version, ""},
		"Proxy":           {"The same for the proxy.", args{release.FederationProxy, "2025.2", release.Override{}}, "ghcr.io/c5c3/keystone-federation-proxy:" + release.Version, ""},
		"Memcached":       {"Not OpenStack's: the same in every release.", args{release.Memcached, "", release.Override{}}, "docker.io/library/memcached:1.6.39", ""},
		"Mirror":          {"A mirror replaces the registry.", args{"nova", "2026.1", release.Override{Registry: "registry.example.com:5000/mirror"}}, "registry.example.com:5000/mirror/c5c3/nova:33.0.2", ""},
		"MirrorMemcached": {"Every registry.", args{release.Memcached, "", release.Override{Registry: "registry.example.com"}}, "registry.example.com/library/memcached:1.6.39", ""},
		"Repository":      {"A repository beats a mirror and keeps the tag.", args{"nova", "2026.1", release.Override{Registry: "a.example.com", Repository: "b.example.com/x/nova"}}, "b.example.com/x/nova:33.0.2", ""},
		"Patched":         {"A patched version.", args{"nova", "2026.1", release.Override{Tag: "33.0.2-p12"}}, "ghcr.io/c5c3/nova:33.0.2-p12", ""},
		"Branch":          {"A branch.", args{"nova", "2026.1", release.Override{Tag: "stable-2025.2"}}, "ghcr.io/c5c3/nova:stable-2025.2", ""},
		"Commit":          {"A commit.", args{"nova", "2026.1", release.Override{Tag: "a1b2c3d"}}, "ghcr.io/c5c3/nova:a1b2c3d", ""},
		"FullCommit":      {"A whole one.", args{"nova", "2026.1", release.Override{Tag: strings.Repeat("a", 40)}}, "ghcr.io/c5c3/nova:" + strings.Repeat("a", 40), ""},
		"Digest":          {"A digest takes the tag's place.", args{"nova", "2026.1", release.Override{Digest: digest}}, "ghcr.io/c5c3/nova@" + digest, ""},
		"OtherTag":        {"Other images have other tags.", args{release.Memcached, "", release.Override{Tag: "1.6.39-alpine3.22"}}, "docker.io/library/memcached:1.6.39-alpine3.22", ""},

		"UnknownName":    {"The service does not exist.", args{"swift", "2025.2", release.Override{}}, "", `cannot find the image of "swift": OpenStack service "swift" is not known`},
		"UnknownRelease": {"A release that was not parsed.", args{"nova", "x", release.Override{}}, "", `"x" is not supported`},
		"Latest":         {"The tag identifies no version.", args{"nova", "2025.2", release.Override{Tag: "latest"}}, "", `the image's tag "latest" is not valid: give a version (28.1.0)`},
		"ShortCommit":    {"Too short a commit.", args{"nova", "2025.2", release.Override{Tag: "a1b2c3"}}, "", "the image's tag"},
		"LongCommit":     {"Too long a commit.", args{"nova", "2025.2", release.Override{Tag: strings.Repeat("a", 41)}}, "", "the image's tag"},
		"ThirdHalf":      {"A year has two halves.", args{"nova", "2025.2", release.Override{Tag: "stable-2025.3"}}, "", "the image's tag"},
		"LineBreak":      {"No line break at the end.", args{"nova", "2025.2", release.Override{Tag: "28.1.0\n"}}, "", "the image's tag"},
		"OtherTagSpace":  {"Not even a free tag.", args{release.Memcached, "", release.Override{Tag: "a b"}}, "", `the image's tag "a b" is not valid: give letters`},
		"TaggedName":     {"A repository has no tag.", args{"nova", "2025.2", release.Override{Repository: "example.com/nova:1"}}, "", "the image's repository"},
		"HostOnly":       {"A repository has a path.", args{"nova", "2025.2", release.Override{Repository: "example.com"}}, "", "the image's repository"},
		"Scheme":         {"A registry is no URL.", args{"nova", "2025.2", release.Override{Registry: "https://example.com"}}, "", "the image's registry"},
		"Slash":          {"Nor does it end with a slash.", args{"nova", "2025.2", release.Override{Registry: "example.com/"}}, "", "the image's registry"},
		"ShortDigest":    {"A digest has 64 digits.", args{"nova", "2025.2", release.Override{Digest: digest[:70]}}, "", "the image's digest"},
		"Both":           {"A tag or a digest.", args{"nova", "2025.2", release.Override{Tag: "28.1.0", Digest: digest}}, "", "the image has a tag and a digest"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := release.ImageFor(tc.args.name, tc.args.release, tc.args.override)
			check(t, tc.reason, err, tc.err)
			if got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// reference matches references that a container runtime accepts, from the grammar of github.com/distribution/reference.
var reference = regexp.MustCompile(`^[a-z0-9.:_-]+(/[a-z0-9._-]+)+(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}|@sha256:[0-9a-f]{64})$`)

// TestEveryImageHasAName covers every service of every release, and all other images.
func TestEveryImageHasAName(t *testing.T) {
	for _, r := range release.Releases() {
		for _, name := range append(release.Services(), release.Companion, release.FederationProxy, release.Memcached, release.Libvirt, release.NovaCompute, release.NeutronAgents, release.OVNAgent) {
			got, err := release.ImageFor(name, r, release.Override{})
			if err != nil || !reference.MatchString(got) {
				t.Errorf("image of %s in %s: %q, %v", name, r, got, err)
			}
		}
	}
}

// FuzzImageFor checks that an override results in a valid reference or in an error.
func FuzzImageFor(f *testing.F) {
	f.Add("keystone", "", "", "28.1.0", "")
	f.Add("memcached", "registry.example.com/mirror", "", "1.6 x", "")
	f.Add("nova", "", "example.com/a__b/c", "", "sha256:"+strings.Repeat("a", 64))
	f.Fuzz(func(t *testing.T, name, registry, repository, tag, digest string) {
		got, err := release.ImageFor(name, "2025.2", release.Override{Registry: registry, Repository: repository, Tag: tag, Digest: digest})
		switch {
		case err != nil && got != "":
			t.Fatalf("got %q and error %v", got, err)
		case err == nil && !reference.MatchString(got):
			t.Fatalf("%q is not the name of an image", got)
		}
	})
}

func TestCheckTag(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, service string
		release         release.Release
		tag, err        string
	}{
		"None":        {"The table's.", "keystone", "2025.2", "", ""},
		"Same":        {"An earlier point release.", "keystone", "2025.2", "28.0.2", ""},
		"Patched":     {"With a patch.", "keystone", "2025.2", "28.1.0-p3", ""},
		"Commit":      {"It identifies no release.", "keystone", "2025.2", "27abcde", ""},
		"Branch":      {"Its own.", "keystone", "2025.2", "stable-2025.2", ""},
		"Other":       {"The release before.", "keystone", "2025.2", "27.0.0", "keystone 27.0.0 belongs to OpenStack 2025.1, and openStackRelease is 2025.2, which has 28.1.0"},
		"Unknown":     {"The version is in no release.", "keystone", "2025.2", "26.0.0-p1", "belongs to no release that is supported"},
		"OtherBranch": {"The branch of another.", "keystone", "2025.2", "stable-2026.1", "stable-2026.1 is the branch of another release than openStackRelease 2025.2; give stable-2025.2"},
		"Horizon":     {"Whose first number stays for several releases.", "horizon", "2025.2", "25.5.0", ""},
		"OldHorizon":  {"The second number identifies the release.", "horizon", "2025.2", "25.3.2", "belongs to OpenStack 2025.1"},
		"NewHorizon":  {"And then the first again.", "horizon", "2026.2", "27.1.0", ""},
		"Service":     {"The service does not exist.", "swift", "2025.2", "1.0.0", "is not known"},
	} {
		t.Run(name, func(t *testing.T) { check(t, tc.reason, release.CheckTag(tc.service, tc.release, tc.tag), tc.err) })
	}
}
