package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/input"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

type previewCommand struct {
	claimFlags `embed:""`

	Current []string `help:"Claim as it exists in the cluster; changes of immutable fields are reported." placeholder:"CLAIM" sep:"none"`
	Out     string   `help:"Directory to write every manifest to, or an output format." placeholder:"DIR|FORMAT" short:"o"`
	Format  string   `default:"tree" enum:"tree,yaml,json,dot" help:"Output format: tree, yaml, json or dot."`
	Stage   int      `help:"Show only objects that exist when this stage is reached." placeholder:"N"`
}

// Run previews claims. It writes notes to errOut and, with --format json, validation errors also to out.
func (c *previewCommand) Run(in io.Reader, out io.Writer, errOut notes) error {
	if slices.Contains(preview.Formats, c.Out) {
		c.Format, c.Out = c.Out, "" // As for kubectl.
	}
	if err := c.check(); err != nil {
		return err
	}
	old, err := readOne(c.Current, in)
	if err != nil {
		return err
	}
	claims, platform, err := c.read(in, errOut)
	if err != nil {
		return c.report(err, out)
	}
	if len(claims) > 1 {
		return c.runAll(claims, platform, out)
	}
	result, err := preview.RunEdit(old, claims[0].Data, platform.Data, kinds.Runners())
	if err != nil {
		return c.report(inFile(err, map[preview.Source]string{
			preview.SourceClaim: claims[0].File, preview.SourceOldClaim: name(c.Current), preview.SourcePlatform: platform.File,
		}), out)
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

// runAll shows several claims.
func (c *previewCommand) runAll(claims []claimDocument, platform input.Document, out io.Writer) error {
	if len(c.Current) > 0 || c.Out != "" || c.Stage > 0 || c.Format == "dot" {
		return errUsage(fmt.Sprintf("--current, -o, --stage and --format dot require exactly one claim; -f has %d claims", len(claims)))
	}
	results, err := previewAll(claims, platform)
	if err != nil {
		return c.report(err, out)
	}
	return preview.PrintAll(out, c.Format, results)
}

// check returns an error for mistakes of the caller, before anything is read.
func (c *previewCommand) check() error {
	if c.Stage < 0 {
		return errUsage("--stage must be 1 or more")
	}
	return c.claimFlags.check(fileFlag{"--current", c.Current, false})
}

// report prints validation errors as JSON with --format json.
func (c *previewCommand) report(err error, out io.Writer) error {
	if errs := validationErrors(err); len(errs) > 0 && c.Format == "json" {
		if err := preview.PrintErrors(out, errs); err != nil {
			return err
		}
	}
	return err
}
