package cinder

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statusModule is a stub of cinder.cmd.status: it prints the calls, and exits as configured.
const statusModule = `import os, sys
class Checks:
    _upgrade_checks = (("Removed Drivers", None), ("Service UUIDs", None), ("Attachment specs", None))
def main():
    print(*sys.argv[1:], *(name for name, _ in Checks._upgrade_checks), sep=",")
    return int(os.environ["ENDS"])
`

// TestCheck verifies that all checks except the check of UUIDs are run, and that the exit code is Cinder's.
func TestCheck(t *testing.T) {
	folder := t.TempDir()
	module := filepath.Join(folder, "cinder", "cmd")
	if err := errors.Join(os.MkdirAll(module, 0o755), os.WriteFile(filepath.Join(module, "status.py"), []byte(statusModule), 0o600)); err != nil {
		t.Fatal(err)
	}
	for ends, want := range map[string]int{"0": 0, "1": 1, "2": 2} {
		c := exec.Command("python3", "-c", checkScript, "upgrade", "check")
		c.Env = append(os.Environ(), "PYTHONPATH="+folder, "ENDS="+ends)
		out, err := c.Output()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if diff := cmp.Diff("upgrade,check,Removed Drivers,Attachment specs\n", string(out)); diff != "" || c.ProcessState.ExitCode() != want {
			t.Errorf("it ends with %d, want %d (-want +got):\n%s", c.ProcessState.ExitCode(), want, diff)
		}
	}
}
