package install

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Tool returns a program of hack/tools, which is built if it is missing. Root is the folder of this project.
func Tool(ctx context.Context, root, name string, log io.Writer) (string, error) {
	out := &bytes.Buffer{}
	cmd := exec.CommandContext(ctx, filepath.Join(root, "hack", "tools", "build.sh"), name)
	cmd.Env, cmd.Stdout, cmd.Stderr = os.Environ(), out, log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot build %s: %w", name, err)
	}
	return strings.TrimSpace(out.String()), nil
}
