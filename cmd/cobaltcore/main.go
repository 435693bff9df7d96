// Command cobaltcore shows the objects that a claim is composed into.
//
// Exit codes: 0 success; 1 the claim or the PlatformConfig is invalid; 2 the command line is invalid; 3 the command failed, for example
// because the disk is full.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"

	"github.com/alecthomas/kong"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// Exit codes.
const (
	exitInvalid = 1
	exitUsage   = 2
	exitFailed  = 3
)

const description = `OpenStack, ordered with one claim.

Exit codes: 0 success; 1 the claim or the PlatformConfig is invalid; 2 the command line is invalid; 3 the command failed.

  cobaltcore preview -f claim.yaml -e platformconfig.yaml
  cobaltcore preview -f storage.yaml -f control-plane.yaml -f hypervisors.yaml
  cobaltcore preview -f claim.yaml --old merged.yaml -e platformconfig.yaml --format json`

type cli struct {
	Preview previewCommand `cmd:"" help:"Show all objects that a claim is composed into; no cluster is required."`
	Version versionCommand `cmd:"" help:"Show the version."`
}

type versionCommand struct{}

// Run writes the version of the module that the program was built from.
func (versionCommand) Run(out io.Writer) error {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	_, err := fmt.Fprintln(out, "cobaltcore", version)
	return err
}

type previewCommand struct {
	File     []string `help:"Claim file, or - for standard input. Repeat it for several claims." placeholder:"CLAIM" sep:"none" short:"f"`
	Old      []string `help:"Claim as it exists in the cluster; changes of immutable fields are reported." placeholder:"CLAIM" sep:"none"`
	Platform []string `help:"PlatformConfig file. Default: an example." placeholder:"FILE" sep:"none" short:"e"`
	Out      string   `help:"Directory to write every manifest to." placeholder:"DIR" short:"o"`
	Format   string   `default:"tree" enum:"tree,yaml,json,dot" help:"Output format: tree, yaml, json or dot."`
	Stage    int      `help:"Show only objects that exist when this stage is reached." placeholder:"N"`
}

// Run previews a claim. It writes notes to errOut and, with --format json, validation errors also to out.
func (c *previewCommand) Run(in io.Reader, out io.Writer, errOut notes) error {
	if err := c.check(); err != nil {
		return err
	}
	old, err := read(c.Old, in, nil)
	if err != nil {
		return err
	}
	platform, err := read(c.Platform, in, examples.Platform)
	if err != nil {
		return err
	}
	if len(c.Platform) == 0 {
		fmt.Fprintln(errOut, "note: no PlatformConfig given (-e); using an example platform")
	}
	if len(c.File) > 1 {
		return c.runAll(platform, in, out)
	}
	claim, err := read(c.File, in, examples.Claim)
	if err != nil {
		return err
	}
	result, err := preview.RunEdit(old, claim, platform, kinds.Runners())
	if err != nil {
		return c.validationError(err, c.File, out)
	}
	if c.Stage > result.Stages {
		return errUsage(fmt.Sprintf("--stage %d: there are %d stages", c.Stage, result.Stages))
	}
	result = result.Until(c.Stage)
	if c.Out != "" {
		if err := result.Write(c.Out); err != nil {
			return fmt.Errorf("cannot write the manifests: %w", err)
		}
	}
	return result.Print(out, c.Format)
}

// referencedKinds are the kinds of claims that others refer to, each before the kinds that refer to it.
var referencedKinds = []string{
	storagev1.GroupVersionKind.Kind, controlplanev1.GroupVersionKind.Kind, hypervisorv1.GroupVersionKind.Kind,
	keystoneservicev1.GroupVersionKind.Kind,
}

// runAll previews claims one after the other, in the order of references, independent of the order of the arguments.
func (c *previewCommand) runAll(platform []byte, in io.Reader, out io.Writer) error {
	type inputClaim struct {
		file  string
		claim []byte
		order int
	}
	var claims []inputClaim
	var identities []preview.Identity
	for i, file := range c.File {
		claim, err := read(c.File[i:i+1], in, nil)
		if err != nil {
			return err
		}
		requested := struct{ Kind string }{}
		_ = yaml.Unmarshal(claim, &requested) // Invalid YAML is rejected below.
		claims = append(claims, inputClaim{file, claim, slices.Index(referencedKinds, requested.Kind)})
		identities = append(identities, preview.IdentityOf(claim))
	}
	if err := c.duplicate(c.File, identities, out); err != nil {
		return err
	}
	slices.SortStableFunc(claims, func(a, b inputClaim) int { return cmp.Compare(a.order, b.order) })
	var existing []*structpb.Struct
	var results []*preview.Result
	for i, g := range claims {
		result, err := preview.RunWithClaims(existing, g.claim, platform, kinds.Runners())
		if err == nil {
			err = preview.Shared(results, result, g.claim)
		}
		if err != nil {
			return c.validationError(err, []string{g.file}, out)
		}
		existing, results = append(existing, result.Existing...), append(results, result)
		if c.Format == "tree" && i > 0 {
			fmt.Fprintln(out)
		}
		if err := result.Print(out, c.Format); err != nil {
			return err
		}
	}
	return nil
}

// duplicate returns an error if two files have a claim of the same kind, namespace and name: a cluster has one of them.
func (c *previewCommand) duplicate(files []string, identities []preview.Identity, out io.Writer) error {
	for i, id := range identities {
		if first := slices.Index(identities[:i], id); first >= 0 && id.Known() {
			return c.validationError(preview.Duplicate(id, cmp.Or(name(files[first:first+1]), "standard input")), files[i:i+1], out)
		}
	}
	return nil
}

// check refuses mistakes of the caller, before anything is read.
func (c *previewCommand) check() error {
	if c.Stage < 0 {
		return errUsage("--stage has to be 1 or more")
	}
	stdin := 0
	for _, f := range []struct {
		flag  string
		files []string
	}{{"-f", c.File}, {"--old", c.Old}, {"-e", c.Platform}} {
		switch {
		case len(f.files) > 1 && f.flag != "-f":
			return errUsage(fmt.Sprintf("%s is given %d times; give one file, and call once for each claim", f.flag, len(f.files)))
		case slices.Contains(f.files, ""):
			return errUsage(f.flag + " names no file; is a variable empty?")
		case slices.Contains(f.files, "-"):
			stdin++
		}
	}
	switch {
	case len(c.File) > 1 && (len(c.Old) > 0 || c.Out != "" || c.Stage > 0 || c.Format == "json" || c.Format == "dot"):
		return errUsage("several claims are shown whole, as tree or yaml: give one -f with --old, -o, --stage and the other formats")
	case stdin > 1:
		return errUsage("standard input can be read once; name a file for all but one of -f, --old and -e")
	case slices.Contains(preview.Formats, c.Out):
		return errUsage(fmt.Sprintf("-o requires a directory; use --format %[1]s to print %[1]s, or -o ./%[1]s for a directory of that "+
			"name", c.Out))
	}
	return nil
}

// validationError adds the name of the file to a validation error, and prints the error as JSON with --format json.
func (c *previewCommand) validationError(err error, claim []string, out io.Writer) error {
	r := &preview.ValidationErrors{}
	if !errors.As(err, &r) {
		return err
	}
	r.File = name(map[preview.Source][]string{
		preview.SourceClaim: claim, preview.SourceOldClaim: c.Old, preview.SourcePlatform: c.Platform,
	}[r.Source])
	if c.Format == "json" {
		if err := r.PrintJSON(out); err != nil {
			return err
		}
	}
	return r
}

// name is the name of a file in a message; empty for the example and for standard input.
func name(files []string) string {
	if len(files) == 0 || files[0] == "-" {
		return ""
	}
	return files[0]
}

// notes is the output for messages that are neither the result nor an error.
type notes io.Writer

type errUsage string

func (e errUsage) Error() string { return string(e) }

func read(files []string, in io.Reader, fallback []byte) ([]byte, error) {
	switch {
	case len(files) == 0:
		return fallback, nil
	case files[0] == "-":
		return io.ReadAll(in)
	}
	b, err := os.ReadFile(files[0])
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
		kong.Name("cobaltcore"), kong.Description(description),
		kong.Writers(out, errOut), kong.Exit(func(n int) { code = n }),
		kong.BindTo(in, (*io.Reader)(nil)), kong.BindTo(out, (*io.Writer)(nil)), kong.BindTo(errOut, (*notes)(nil)),
	)
	if err != nil {
		fmt.Fprintln(errOut, err)
		return exitFailed
	}
	if len(args) == 1 && args[0] == "help" {
		args = []string{"--help"}
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
	rejected, usage := &preview.ValidationErrors{}, errUsage("")
	switch {
	case errors.As(err, &rejected):
		return exitInvalid
	case errors.As(err, &usage):
		return exitUsage
	}
	return exitFailed
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
