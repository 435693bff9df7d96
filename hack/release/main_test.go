package main

import (
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

const tag = "v" + release.Version

// tree returns the files of a release, with changes.
func tree(changes map[string]string) fstest.MapFS {
	files := map[string]string{
		"docs/release-notes/" + tag + ".md": "# " + tag + "\n\nSee [versions](../reference/versions.md) and [limits](#limits).\n\n## Limits\n\nNone.\n",
		"CHANGELOG.md":                      "# Changelog\n\n## " + tag + "\n\n- New: [guide](docs/guide.md#steps), [site](https://example.org/a).\n\n## v0.0.1\n\n- Old\n",
		"README.md":                         "# Readme\n",
		"docs/install.md":                   "# Install\n",
		"hack/notes.md":                     "No version is published.\n",
	}
	maps.Copy(files, changes)
	out := fstest.MapFS{}
	for name, text := range files {
		if text != "" {
			out[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return out
}

// TestNotesRequireReadyTree checks the notes of a release, and the errors of a tree that is not ready.
func TestNotesRequireReadyTree(t *testing.T) {
	blob := homepage + "/blob/" + tag + "/"
	want := "See [versions](" + blob + "docs/reference/versions.md) and [limits](#limits).\n\n## Limits\n\nNone.\n\n## Changes\n\n" +
		"- New: [guide](" + blob + "docs/guide.md#steps), [site](https://example.org/a).\n"
	cases := map[string]struct {
		reason  string
		tag     string
		draft   bool
		changes map[string]string
		want    string
		wantErr string
	}{
		"Ready":        {reason: "The notes are the page and the section of the version, with absolute links.", tag: tag, want: want},
		"OtherVersion": {reason: "The tag is the version of the code.", tag: "v9.9.9", changes: map[string]string{"docs/release-notes/v9.9.9.md": "# v9.9.9\n\nText\n", "CHANGELOG.md": "## v9.9.9\n\n- New\n"}, wantErr: "tag v9.9.9: must be " + tag},
		"NoPage":       {reason: "A version has a page.", tag: tag, changes: map[string]string{"docs/release-notes/" + tag + ".md": ""}, wantErr: "docs/release-notes/" + tag + ".md: is required"},
		"Unreleased":   {reason: "The changelog names the version.", tag: tag, changes: map[string]string{"CHANGELOG.md": "## Unreleased\n\n- New\n"}, wantErr: `requires the section "## ` + tag + `"`},
		"EmptySection": {reason: "A version has changes.", tag: tag, changes: map[string]string{"CHANGELOG.md": "## " + tag + "\n\n## v0.0.1\n\n- Old\n"}, wantErr: "requires the section"},
		"OldPage":      {reason: "Pages do not deny the release.", tag: tag, changes: map[string]string{"docs/install.md": "# Install\n\n> **Note:** No version is published yet.\n"}, wantErr: `docs/install.md:3: "No version is published": is false after the release`},
		"OldReadme":    {reason: "The same applies to the readme.", tag: tag, changes: map[string]string{"README.md": "No version has been released.\n"}, wantErr: "README.md:1"},
		"TooLong":      {reason: "GitHub refuses long notes.", tag: tag, changes: map[string]string{"CHANGELOG.md": "## " + tag + "\n\n" + strings.Repeat("- New\n", 25_000)}, wantErr: "must have at most 125000 characters"},
		"Draft": {
			reason: "Before the release, changes are in another section, and pages may deny it.", tag: tag, draft: true,
			changes: map[string]string{"CHANGELOG.md": "## Unreleased\n\n- New\n", "README.md": "No version has been released.\n", "docs/release-notes/" + tag + ".md": "# " + tag + "\n\nDraft\n"},
			want:    "Draft\n\n## Changes\n\n- New\n",
		},
		"DraftOfRelease": {
			reason: "The commit of a release has no other section.", tag: tag, draft: true,
			changes: map[string]string{"CHANGELOG.md": "## Unreleased\n\n## " + tag + "\n\n- New\n", "docs/release-notes/" + tag + ".md": "# " + tag + "\n\nDraft\n"},
			want:    "Draft\n\n## Changes\n\n- New\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := printNotes(&out, tree(tc.changes), tc.tag, tc.draft)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || out.Len() > 0 {
					t.Errorf("%s\nwant an error with %q and no notes, got: %v", tc.reason, tc.wantErr, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("%s\n(-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTreeHasNotesOfItsVersion checks that this tree has notes of its version.
func TestTreeHasNotesOfItsVersion(t *testing.T) {
	var out strings.Builder
	if err := printNotes(&out, os.DirFS("../.."), tag, true); err != nil {
		t.Fatal(err)
	}
	for _, heading := range []string{"Features", "Supported versions", "Limits", "Stability of APIs", "Changes"} {
		if !strings.Contains(out.String(), "\n## "+heading+"\n") {
			t.Errorf("the notes have no section %q", heading)
		}
	}
}
