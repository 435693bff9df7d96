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
	"strings"
	"syscall"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// python is Debian's: any user may run it, unlike one below someone's home.
const python = "/usr/bin/python3"

// uv installs a release in a tenth of pip's time.
const uv = "uv==0.13.8"

// requirements besides Keystone: what its image has to have, and what tests a cloud from outside.
var requirements = []string{
	"PyMySQL", "python-memcached", // the drivers that are configured
	"python-ldap", "ldappool", // identity backends
	"uwsgi==2.0.31",
	// Versions before 81 have pkg_resources without a warning, which services of 2025 still import here and there.
	"setuptools<81",
	"python-openstackclient", "tempest",
}

// Cache is the folder for what is made once: $COBALTCORE_CACHE, or .cache/cobaltcore in the home folder.
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

// Keystone returns the virtual environment of a release, which is made if it is not there: Keystone in the version of the release table,
// everything else as the release's upper constraints have it. Root is the folder of this project.
func Keystone(ctx context.Context, root string, r release.Release, log io.Writer) (string, error) {
	version, err := r.Version("keystone")
	if err != nil {
		return "", err
	}
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	constraints := filepath.Join(root, "hack", "registry", "constraints", string(r)+".txt")
	text, err := os.ReadFile(constraints)
	if err != nil {
		return "", fmt.Errorf("cannot read the constraints of %s: %w", r, err)
	}
	wanted := append([]string{"keystone==" + version}, requirements...)
	hash := sha256.Sum256([]byte(strings.Join(append(wanted, uv, string(text)), "\n")))
	dir := filepath.Join(cache, "openstack", string(r))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	done := filepath.Join(dir, "complete-"+hex.EncodeToString(hash[:])[:12])
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	fmt.Fprintln(log, "installs Keystone", version, "into", dir)
	tool, err := installer(ctx, filepath.Join(cache, "openstack"))
	if err != nil {
		return "", err
	}
	install := append([]string{
		"pip", "install", "-q", "--compile-bytecode", "-p", filepath.Join(dir, "bin", "python"), "-c", constraints,
	}, wanted...)
	for _, args := range [][]string{{"venv", "-q", "--clear", "-p", python, dir}, install} {
		cmd := exec.CommandContext(ctx, tool, args...)
		cmd.Env = append(os.Environ(), "UV_PYTHON_DOWNLOADS=never", "UV_CACHE_DIR="+filepath.Join(cache, "openstack", "uv-cache"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("cannot install Keystone %s of release %s (uv %s): %w\n%s", version, r, args[0], err, tail(out))
		}
	}
	// Other users run it; nobody writes to it.
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

// lock waits until nobody else installs.
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
