//go:build platform

package platform_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestChainsawSuitePasses runs the suite of test/chainsaw as users would run it against their cluster. Chainsaw takes longer to
// build than all other tools of a platform, so it is optional.
func TestChainsawSuitePasses(t *testing.T) {
	t.Parallel()
	tool := os.Getenv("CHAINSAW")
	if tool == "" {
		t.Skip("CHAINSAW names no program: make test-chainsaw builds it")
	}
	suite := "../chainsaw"
	run := exec.CommandContext(t.Context(), tool, "test", suite, "--config", filepath.Join(suite, ".chainsaw.yaml"), "--no-color")
	run.Env = append(os.Environ(), "KUBECONFIG="+cloud.Kubeconfig, "PATH="+filepath.Join(cloud.Dir, "bin")+":"+os.Getenv("PATH"))
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
