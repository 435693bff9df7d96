package main

import (
	"fmt"
	"io"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/report"
)

type validateCommand struct {
	claimFlags `embed:""`

	Format string `default:"text" enum:"text,json,junit,sarif,github" help:"Output: text, json, junit, sarif, or github." short:"o"`

	AssumeReferences bool `help:"Assume that claims to which others refer exist, if they are not among the inputs."`
}

// Run reports all errors in claims, and in the PlatformConfig.
func (c *validateCommand) Run(in io.Reader, out io.Writer, errOut notes) error {
	if err := c.check(); err != nil {
		return err
	}
	claims, platform, err := c.read(in, errOut)
	if err == nil {
		err = previewEach(claims, platform, nil)
	}
	errs := validationErrors(err)
	if err != nil && len(errs) == 0 {
		return err
	}
	if c.AssumeReferences {
		errs = preview.AssumeReferences(errs)
	}
	var inputs []report.Input
	for _, claim := range claims {
		inputs = append(inputs, report.Input{File: claim.File, Name: claim.Kind + " " + claim.Name})
	}
	if err := report.Print(out, c.Format, version(), inputs, errs); err != nil {
		return err
	}
	fmt.Fprintf(errOut, "%s, %s\n", count(len(claims), "claim"), count(countErrors(errs), "error"))
	if len(errs) > 0 {
		return errReported
	}
	return nil
}

// countErrors returns the number of errors in all inputs.
func countErrors(errs []*preview.ValidationErrors) int {
	n := 0
	for _, e := range errs {
		n += len(e.Sentences)
	}
	return n
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
