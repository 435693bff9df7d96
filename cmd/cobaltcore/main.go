// Command cobaltcore validates claims, shows the objects and images that they are composed into, and finds the objects that block a claim.
//
// Exit codes: 0 success; 1 the claim or the PlatformConfig is invalid, the claim of doctor is not ready, or the cluster of plan cannot be
// read; 2 the command line is invalid; 3 the command failed, for example because the disk is full. With plan --detailed-exitcode: 0 no
// changes; 1 any error; 2 changes.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/c5c3/crossplane-cobaltcore/internal/livecloud"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/terminal"
)

// Exit codes.
const (
	exitInvalid = 1
	exitUsage   = 2
	exitFailed  = 3

	exitChanged = 2 // with --detailed-exitcode
)

const description = `OpenStack, ordered with one claim.

Exit codes: 0 success; 1 the claim or the PlatformConfig is invalid, the claim of doctor is not ready, or the cluster of plan cannot be
read; 2 the command line is invalid; 3 the command failed. With plan --detailed-exitcode: 0 no changes; 1 any error; 2 changes.

  cobaltcore preview -f claim.yaml -e platformconfig.yaml
  cobaltcore preview -f storage.yaml -f control-plane.yaml -f hypervisors.yaml
  cobaltcore plan --current merged/ -f claims/ -e platformconfig.yaml
  cobaltcore plan -f claims/ --cluster
  cobaltcore validate -f claims/ -e platformconfig.yaml --format sarif
  cobaltcore images -f claims/
  cobaltcore explain spec.services.nova.cells
  cobaltcore doctor controlplanecluster/prod -n team-a
  cobaltcore preview -f claim.yaml --current merged.yaml -e platformconfig.yaml --format json`

type cli struct {
	Preview     previewCommand    `cmd:"" help:"Show all objects that a claim is composed into; no cluster is required."`
	Plan        planCommand       `cmd:"" help:"Predict the effect of edited claims on a running cloud, of files or of a cluster."`
	Validate    validateCommand   `cmd:"" help:"Report all errors in claims; no cluster is required."`
	Explain     explainCommand    `cmd:"" help:"Describe a field of a claim, a condition or an alert."`
	Doctor      doctorCommand     `cmd:"" help:"Find the objects that block a claim of a cluster."`
	Images      imagesCommand     `cmd:"" help:"List the images that claims are composed into."`
	State       stateCommand      `cmd:"" help:"Write the state of a cloud, for plan --function-version." hidden:""`
	Completion  completionCommand `cmd:"" help:"Print the completion script of a shell."`
	Version     versionCommand    `cmd:"" help:"Show the version."`
	VersionFlag kong.VersionFlag  `help:"Show the version." name:"version"`
}

type versionCommand struct{}

// Run writes the version.
func (versionCommand) Run(out io.Writer) error {
	_, err := fmt.Fprintln(out, version())
	return err
}

// version returns the name of the program and the version of the module that it was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return "cobaltcore " + info.Main.Version
	}
	return "cobaltcore (devel)"
}

// notes is the output for messages that are neither the result nor an error.
type notes io.Writer

// errReported means that a command has written all mistakes to its output.
var errReported = errors.New("the input is invalid")

type errUsage string

func (e errUsage) Error() string { return string(e) }

// run is main with everything handed in. It returns the exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	code, err := execute(args, in, out, errOut)
	switch {
	case errors.As(err, new(errChanged)):
		return exitChanged
	case code != 0 && slices.Contains(args, "--detailed-exitcode"):
		return exitInvalid // 2 means changes, and must not be an error of the command line.
	}
	return code
}

// execute parses the command line and runs a command. It returns the exit code, and the error that it has written.
func execute(args []string, in io.Reader, out, errOut io.Writer) (int, error) {
	code := -1
	c := cli{}
	parser, err := kong.New(&c,
		kong.Name(programName(os.Args[0])), kong.Description(description),
		kong.Vars{"version": version(), "functionVersionHelp": functionVersionHelp},
		kong.Writers(out, errOut), kong.Exit(func(n int) { code = n }),
		kong.BindTo(in, (*io.Reader)(nil)), kong.BindTo(out, (*io.Writer)(nil)), kong.BindTo(errOut, (*notes)(nil)),
	)
	if err != nil {
		fmt.Fprintln(errOut, err)
		return exitFailed, err
	}
	if len(args) == 1 && args[0] == "help" {
		args = []string{"--help"}
	}
	if isCompletion(args) {
		return handleCompletion(parser, args, out, errOut), nil
	}
	ctx, err := parser.Parse(args)
	if code >= 0 {
		return code, nil // --help
	}
	if err != nil {
		fmt.Fprintf(errOut, "%s; see %s --help\n", err, parser.Model.Name)
		return exitUsage, err
	}
	err = ctx.Run()
	if err == nil || errors.As(err, new(errChanged)) {
		return 0, err
	}
	rejected, usage, unread := &preview.ValidationErrors{}, errUsage(""), &livecloud.ReadError{}
	if !errors.Is(err, errReported) {
		fmt.Fprintln(errOut, terminal.EscapeLines(err.Error())) // with texts of claims and clusters
	}
	switch {
	case errors.As(err, &rejected) || errors.Is(err, errReported) || errors.As(err, &unread):
		return exitInvalid, err
	case errors.As(err, &usage):
		return exitUsage, err
	}
	return exitFailed, err
}

// programName returns the name of the program in messages: as a plugin of kubectl, its file is named kubectl-cobaltcore.
func programName(file string) string {
	if strings.HasPrefix(filepath.Base(file), "kubectl-") {
		return "kubectl cobaltcore"
	}
	return "cobaltcore"
}

// tuneMemory disables garbage collection up to a memory limit that commands do not reach, unless GOGC or GOMEMLIMIT is set.
func tuneMemory() {
	const memoryLimit = 256 << 20
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(memoryLimit)
	}
}

func main() {
	tuneMemory()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
