package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// debianImage is the name of a Debian on a registry: the public one, or where mmdebstrap makes it localhost.
func debianImage(registry, suite string) string { return registry + "/debian:" + suite + "-slim" }

// engine builds images.
type engine struct {
	program string
	// global are the flags before the command.
	global []string
	log    io.Writer
	cache  string
}

// findEngine takes the one that is wanted, or the first that exists.
func findEngine(ctx context.Context, desired, cache string, log io.Writer) (engine, error) {
	e := engine{log: log, cache: cache}
	for _, program := range []string{"podman", "buildah"} {
		if desired != "" && program != desired {
			continue
		}
		if _, err := exec.LookPath(program); err == nil {
			e.program = program
			break
		}
	}
	if e.program == "" && desired != "podman" {
		e.program = "buildah"
		if err := debian(ctx, log, "buildah"); err != nil {
			return e, err
		}
	}
	switch e.program {
	case "buildah":
		// A separate store, which `make clean` removes, and only options that work in a container inside of a container.
		e.global = []string{
			"--root", filepath.Join(cache, "storage"), "--runroot", filepath.Join(cache, "run"), "--storage-driver", "vfs",
		}
		return e, nil
	case "podman":
		return e, nil
	}
	return e, fmt.Errorf("there is no program %q that builds images: choose podman or buildah", desired)
}

// debian installs a Debian package.
func debian(ctx context.Context, log io.Writer, name string) error {
	if _, err := exec.LookPath(name); err == nil {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return fmt.Errorf("please install %s (or Podman), or run as root where there is apt-get", name)
	}
	fmt.Fprintln(log, "installs", name)
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-yqq", "--no-install-recommends", name}} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot install %s (apt-get %s): %w\n%s", name, args[0], err, out)
		}
	}
	return nil
}

// build builds an image and puts it into the layout.
func (e engine) build(ctx context.Context, j *job, o options) error {
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	if err := j.write(ctx, folder); err != nil {
		return err
	}
	base := o.base
	if base == "" {
		if base, err = e.base(ctx, j.suite); err != nil {
			return fmt.Errorf("cannot make a Debian to build on: %w", err)
		}
	}
	local := "localhost/" + j.name()
	args := []string{"build", "--format", "oci", "--isolation", "chroot", "--tag", local, "--build-arg", "BASE=" + base}
	for _, name := range slices.Sorted(maps.Keys(j.args)) {
		args = append(args, "--build-arg", name+"="+j.args[name])
	}
	j.labels["org.opencontainers.image.base.name"] = base
	for _, name := range slices.Sorted(maps.Keys(j.labels)) {
		args = append(args, "--label", name+"="+j.labels[name])
	}
	// Authorities that this machine trusts, such as the authority of a proxy.
	if file := os.Getenv("SSL_CERT_FILE"); file != "" {
		args = append(args, "--secret", "id=authorities,src="+file)
	}
	if err := e.run(ctx, append(args, folder)...); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return err
	}
	if err := e.run(ctx, "push", "--quiet", local, "oci:"+o.out+":"+j.name()); err != nil || e.program == "podman" {
		return err
	}
	return e.run(ctx, "rmi", local) // Otherwise, it would exist twice.
}

// name of the image in the layout: without the registry, with the tag.
func (j *job) name() string {
	_, name, _ := strings.Cut(j.reference, "/")
	return name
}

// base makes a Debian, once, and returns its name.
func (e engine) base(ctx context.Context, suite string) (string, error) {
	if e.program != "buildah" {
		return debianImage("docker.io/library", suite), nil
	}
	ownBase := debianImage("localhost", suite)
	if _, err := e.output(ctx, "inspect", "--type", "image", "--format", "{{.FromImageID}}", ownBase); err == nil {
		return ownBase, nil
	}
	if err := debian(ctx, e.log, "mmdebstrap"); err != nil {
		return "", err
	}
	fmt.Fprintln(e.log, "makes a Debian", suite)
	root, err := os.CreateTemp("", "debian-*.tar")
	if err != nil {
		return "", err
	}
	defer os.Remove(root.Name()) //nolint:errcheck // a temporary file
	if err := root.Close(); err != nil {
		return "", err
	}
	args := []string{"--variant=minbase", "--aptopt=Acquire::Languages \"none\""}
	// As the public one: https://github.com/debuerreotype/debuerreotype/blob/master/scripts/.slimify-excludes
	for _, path := range []string{"/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/man/*"} {
		args = append(args, "--dpkgopt=path-exclude="+path)
	}
	if out, err := exec.CommandContext(ctx, "mmdebstrap", append(args, suite, root.Name())...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("mmdebstrap: %w\n%s", err, out)
	}
	container, err := e.output(ctx, "from", "scratch")
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"add", "--quiet", container, root.Name(), "/"},
		{"config", "--cmd", "bash", container},
		{"commit", "--quiet", "--rm", "--format", "oci", container, ownBase},
	} {
		if err := e.run(ctx, args...); err != nil {
			return "", err
		}
	}
	return ownBase, nil
}

// run runs the engine until it exits, with its output in the log.
func (e engine) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, e.program, append(slices.Clone(e.global), args...)...) //nolint:gosec // one of two programs
	cmd.Stdout, cmd.Stderr = e.log, e.log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", e.program, args[0], err)
	}
	return nil
}

// output returns the output of the engine.
func (e engine) output(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, e.program, append(slices.Clone(e.global), args...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("%s %s: %w", e.program, args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// write makes the folder that an image is built in.
func (j *job) write(ctx context.Context, folder string) error {
	if err := os.MkdirAll(filepath.Join(folder, "patches"), 0o755); err != nil {
		return err
	}
	for name, text := range j.files {
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), []byte(text), mode); err != nil {
			return err
		}
	}
	if j.sources == "" {
		return nil
	}
	sources := filepath.Join(folder, "source")
	if err := os.Mkdir(sources, 0o755); err != nil {
		return err
	}
	archive := filepath.Join(folder, "source.tar")
	defer os.Remove(archive) //nolint:errcheck // the folder is temporary, too
	for _, command := range [][]string{
		{"git", "-C", j.sources, "archive", "--output", archive, j.commit},
		{"tar", "-xf", archive, "-C", sources},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("cannot read commit %s of %s: %w: %s", j.commit, j.sources, err, out)
		}
	}
	return nil
}

// revision is the tag for the commit that a git work tree has checked out, and the commit: stable-2025.2 where its branch is
// stable/2025.2, and else the commit's own first digits.
func revision(ctx context.Context, tree string) (tag, commit string, err error) {
	query := func(args ...string) string {
		if err != nil {
			return ""
		}
		var out []byte
		if out, err = exec.CommandContext(ctx, "git", append([]string{"-C", tree}, args...)...).Output(); err != nil {
			err = fmt.Errorf("cannot read the state of %s (git %s): %w", tree, args[0], err)
		}
		return strings.TrimSpace(string(out))
	}
	commit = query("rev-parse", "HEAD")
	branch := query("rev-parse", "--abbrev-ref", "HEAD")
	if err != nil {
		return "", "", err
	}
	if series, ok := strings.CutPrefix(branch, "stable/"); ok {
		return "stable-" + series, commit, nil
	}
	return commit[:12], commit, nil
}
