// Command cobaltcore shows what a claim becomes.
//
// Exit codes: 0 all is well; 1 the claim or the PlatformConfig is refused; 2 the command line is wrong; 3 the command itself
// failed, such as by a full disk.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/preview"
)

// Exit codes.
const (
	exitRefused = 1
	exitUsage   = 2
	exitFailed  = 3
)

type cli struct {
	Preview previewCommand `cmd:"" help:"Show everything that a claim becomes: no cluster is needed."`
}

type previewCommand struct {
	File     string `default:"" help:"The claim; - reads standard input. Default: a small example." placeholder:"CLAIM" short:"f"`
	Platform string `help:"The PlatformConfig. Default: an example's." placeholder:"FILE" short:"e"`
	Out      string `help:"Directory to write every manifest to." placeholder:"DIR" short:"o"`
	Format   string `default:"tree" enum:"tree,yaml,json,dot" help:"What to print: tree, yaml, json or dot."`
	Stage    int    `help:"Show only what is there when this stage is open." placeholder:"N"`
}

func (c *previewCommand) Run(in io.Reader, out io.Writer) error {
	if c.Stage < 0 {
		return errUsage("--stage has to be 1 or more")
	}
	claim, err := read(c.File, in, examples.Claim)
	if err != nil {
		return err
	}
	platform, err := read(c.Platform, in, examples.Platform)
	if err != nil {
		return err
	}
	result, err := preview.Run(claim, platform, kinds.Runners())
	if err != nil {
		return err
	}
	result = result.Until(c.Stage)
	if c.Out != "" {
		if err := result.Write(c.Out); err != nil {
			return fmt.Errorf("cannot write the manifests: %w", err)
		}
	}
	return result.Print(out, c.Format)
}

type errUsage string

func (e errUsage) Error() string { return string(e) }

func read(file string, in io.Reader, fallback []byte) ([]byte, error) {
	switch file {
	case "":
		return fallback, nil
	case "-":
		return io.ReadAll(in)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, errUsage(err.Error())
	}
	return b, nil
}

// run is main with everything handed in. It returns the exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	code := -1
	c := cli{}
	parser, err := kong.New(&c,
		kong.Name("cobaltcore"), kong.Description("OpenStack, ordered with one claim."),
		kong.Writers(out, errOut), kong.Exit(func(n int) { code = n }),
		kong.BindTo(in, (*io.Reader)(nil)), kong.BindTo(out, (*io.Writer)(nil)),
	)
	if err != nil {
		fmt.Fprintln(errOut, err)
		return exitFailed
	}
	ctx, err := parser.Parse(args)
	if code >= 0 {
		return code // --help
	}
	if err != nil {
		fmt.Fprintf(errOut, "%s; see cobaltcore --help\n", err)
		return exitUsage
	}
	err = ctx.Run()
	if err == nil {
		return 0
	}
	fmt.Fprintln(errOut, err)
	refused, usage := &preview.Refused{}, errUsage("")
	switch {
	case errors.As(err, &refused):
		return exitRefused
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitFailed
}

// tuneMemory leaves garbage alone until there is much of it: a command ends before that. GOGC and GOMEMLIMIT have the say.
func tuneMemory() {
	const much = 256 << 20
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(much)
	}
}

func main() {
	tuneMemory()
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
