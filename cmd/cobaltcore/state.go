package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/terminal"
)

// stateCommand writes the state of a cloud, for plan --function-version of another version.
type stateCommand struct {
	claimFlags `embed:""`
}

// Run writes the state of the cloud that claims are composed into.
func (c *stateCommand) Run(in io.Reader, out io.Writer, errOut notes) error {
	if err := c.check(); err != nil {
		return err
	}
	claims, platform, err := c.read(in, errOut)
	if err != nil {
		return err
	}
	cloud, err := plan.Compose(planInput(claims, platform), kinds.Runners())
	if err != nil {
		return err
	}
	return cloud.Save(out)
}

// findProgram returns the file of the cobaltcore of a version. It returns a usage error if there is none.
func findProgram(version string) (string, error) {
	name := version
	if !strings.ContainsRune(version, '/') {
		name = "cobaltcore-" + version
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return "", errUsage(fmt.Sprintf("--function-version %s: found no program %s; download cobaltcore of this version, and give its path",
			version, name))
	}
	return program, nil
}

// composeWith composes claims with the functions of another program.
func composeWith(program string, claims plan.Input, errOut io.Writer) (*plan.Cloud, error) {
	var in, out, message bytes.Buffer
	for _, d := range append([]plan.Document{claims.Platform}, claims.Claims...) {
		fmt.Fprintf(&in, "---\n%s\n", d.Data)
	}
	state := exec.CommandContext(context.Background(), program, "state", "-f", "-")
	state.Stdin, state.Stdout, state.Stderr = &in, &out, &message
	if err := state.Run(); err != nil {
		reason := cmp.Or(strings.TrimSpace(message.String()), err.Error())
		exit := &exec.ExitError{}
		switch {
		case errors.As(err, &exit) && exit.ExitCode() == exitInvalid:
			fmt.Fprintf(errOut, "%s rejects the existing claims: %s\n", program, terminal.EscapeLines(reason))
			return nil, errReported
		case errors.As(err, &exit) && exit.ExitCode() == exitUsage:
			return nil, errUsage(fmt.Sprintf("--function-version: %s has no command state (%s); give the file of cobaltcore 0.1 or later",
				program, reason))
		}
		return nil, fmt.Errorf("%s failed: %s", program, reason)
	}
	cloud, err := plan.Load(&out, kinds.Runners())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	if _, err := io.Copy(errOut, &message); err != nil {
		return nil, err
	}
	return cloud, nil
}
