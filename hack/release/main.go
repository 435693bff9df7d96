// Command release prints the notes of a release, and fails if the tree is not ready for it:
//
//	go run ./hack/release v0.1.0   # the notes: the page of the version, and its section of the changelog
//	go run ./hack/release -draft   # the same before the release, of the version of the code and the section Unreleased
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

const (
	homepage = "https://github.com/c5c3/crossplane-cobaltcore"
	// maxNotes is the largest number of characters that GitHub accepts.
	maxNotes = 125_000
)

// unreleased are the phrases of pages that are false as soon as a version is published.
var unreleased = regexp.MustCompile(`(?i)not published yet|no version (has been released|is published)`)

func main() {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	draft := flags.Bool("draft", false, "print a draft: the tree need not be ready")
	_ = flags.Parse(os.Args[1:]) // It exits.
	tag := flags.Arg(0)
	if tag == "" {
		tag = "v" + release.Version
	}
	if err := printNotes(os.Stdout, os.DirFS("."), tag, *draft); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// printNotes writes the notes of a tag.
func printNotes(out io.Writer, tree fs.FS, tag string, draft bool) error {
	notes, err := notesOf(tree, tag, draft)
	if err != nil {
		return err
	}
	if !draft {
		if err := ready(tree, tag); err != nil {
			return err
		}
	}
	_, err = io.WriteString(out, notes)
	return err
}

// ready checks that nothing in a tree describes the state before the release.
func ready(tree fs.FS, tag string) error {
	var errs []error
	if want := "v" + release.Version; tag != want {
		errs = append(errs, fmt.Errorf("tag %s: must be %s, the version of internal/openstack/release; change one of them", tag, want))
	}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && name != "docs" && !strings.HasPrefix(name, "docs/") {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".md" || name == "CHANGELOG.md" {
			return nil
		}
		page, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(page), "\n") {
			if found := unreleased.FindString(line); found != "" {
				errs = append(errs, fmt.Errorf("%s:%d: %q: is false after the release; remove it", name, i+1, found))
			}
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// notesOf joins the page of a version and its changes.
func notesOf(tree fs.FS, tag string, draft bool) (string, error) {
	name := "docs/release-notes/" + tag + ".md"
	page, err := fs.ReadFile(tree, name)
	if err != nil {
		return "", fmt.Errorf("%s: is required; describe features, versions, limits and the stability of APIs", name)
	}
	changelog, err := fs.ReadFile(tree, "CHANGELOG.md")
	if err != nil {
		return "", err
	}
	changes := section(string(changelog), tag)
	if unreleased := section(string(changelog), "Unreleased"); draft && unreleased != "" {
		changes = unreleased
	}
	if changes == "" {
		return "", fmt.Errorf("CHANGELOG.md: requires the section %q with changes; rename the section Unreleased", "## "+tag)
	}
	_, text, _ := strings.Cut(string(page), "\n") // GitHub shows the title.
	notes := absolute(strings.TrimSpace(text), path.Dir(name), tag) + "\n\n## Changes\n\n" + absolute(changes, ".", tag) + "\n"
	if len(notes) > maxNotes {
		return "", fmt.Errorf("CHANGELOG.md: the notes must have at most %d characters, not %d; shorten the section", maxNotes, len(notes))
	}
	return notes, nil
}

// section returns the text below a heading of the second level.
func section(text, heading string) string {
	_, text, found := strings.Cut("\n"+text, "\n## "+heading+"\n")
	if !found {
		return ""
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return strings.TrimSpace(text)
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// absolute replaces links to files by links to the files of a tag, because notes have no folder.
func absolute(text, folder, tag string) string {
	return link.ReplaceAllStringFunc(text, func(found string) string {
		target := link.FindStringSubmatch(found)[1]
		if strings.Contains(target, "://") || strings.HasPrefix(target, "#") {
			return found
		}
		return "](" + homepage + "/blob/" + tag + "/" + path.Join(folder, target) + ")"
	})
}
