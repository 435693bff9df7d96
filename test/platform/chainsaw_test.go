//go:build platform

package platform_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestChainsaw runs the suite of test/chainsaw as its readers would run it against a cluster of theirs. Chainsaw takes longer to build than
// all else that a platform needs, so the test asks for it.
func TestChainsaw(t *testing.T) {
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
