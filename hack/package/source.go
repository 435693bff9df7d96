package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// source is the commit that is built.
type source struct {
	// root is the folder of the repository.
	root string
	// version without a v, such as 0.1.0.
	version string
	// revision is the commit's hash, with -dirty where files differ from it.
	revision string
	// time of the commit: the only time that anything built carries.
	time time.Time
}

// versions is the one place where the version is written.
const versions = "internal/openstack/release/images.go"

var (
	// semantic is a semantic version without build metadata, which no image tag can carry. See https://semver.org.
	semantic       = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	versionLiteral = regexp.MustCompile(`(?m)^const Version = "([^"]*)"$`)
)

// findSource returns the checked-out commit of root. An empty version defaults to the version in internal/openstack/release; a leading v
// is dropped.
func findSource(ctx context.Context, root, version string) (source, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return source{}, err
	}
	s := source{root: root, version: strings.TrimPrefix(version, "v")}
	if s.version == "" {
		code, err := os.ReadFile(filepath.Join(root, versions))
		if err != nil {
			return s, fmt.Errorf("cannot find the version: %w", err)
		}
		found := versionLiteral.FindSubmatch(code)
		if found == nil {
			return s, fmt.Errorf("cannot find the version: %s has no `const Version`", versions)
		}
		s.version = string(found[1])
	}
	if !semantic.MatchString(s.version) {
		return s, fmt.Errorf("version %q is not a semantic version such as 0.1.0 or 0.2.0-rc.1", s.version)
	}
	commit, err := git(ctx, root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return s, err
	}
	hash, seconds, _ := strings.Cut(commit, " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return s, fmt.Errorf("cannot read the time of the commit: %w", err)
	}
	s.revision, s.time = hash, time.Unix(at, 0).UTC()
	changes, err := git(ctx, root, "status", "--porcelain")
	if changes != "" {
		s.revision += "-dirty"
	}
	return s, err
}

// tag is the tag of a Crossplane package.
func (s source) tag() string { return "v" + s.version }

// git runs git in a folder and returns its output.
func git(ctx context.Context, folder string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", folder}, args...)...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("cannot read the commit with git (a clone with .git is required): %s", strings.TrimSpace(string(exit.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}
