package main

import (
	"bytes"
	"io"
	"os"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/input"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

type planCommand struct {
	claimFlags `embed:""`

	Current []string `help:"File or folder with the existing claims, or -. Repeat it for more." placeholder:"CLAIM" sep:"none"`
	// FunctionVersion selects a program, because the functions of a version are part of its program.
	FunctionVersion string `help:"${functionVersionHelp}" name:"function-version" placeholder:"VERSION|FILE"`
	Format          string `default:"text" enum:"text,json,markdown" help:"Output format: text, json, or markdown (pull requests)." short:"o"`
	// Main reads the flag itself, because errors of the command line have exit code 1 with it, too.
	DetailedExitcode bool `help:"Exit codes: 0 no changes, 1 error, 2 changes." name:"detailed-exitcode"`

	Cluster    bool   `help:"Read the existing claims and objects from a cluster. Nothing is written, and no Secret is read."`
	Namespace  string `help:"With --cluster: read the claims of a namespace. Default: of the whole cluster." placeholder:"NAMESPACE" short:"n"`
	Drift      bool   `default:"true" help:"With --cluster: compare the existing objects with the composed ones." negatable:""`
	Kubeconfig string `help:"Kubeconfig file. Default: as for kubectl." placeholder:"FILE"`
	Context    string `help:"Context of the kubeconfig." placeholder:"NAME"`
}

// functionVersionHelp describes --function-version.
const functionVersionHelp = "Version of the functions in the cluster: the file of its cobaltcore, or v0.1.0 for a program " +
	"cobaltcore-v0.1.0 in PATH. The plan includes the upgrade to this version. Without -f, claims stay as they are."

// errChanged means that a plan with --detailed-exitcode has changes.
type errChanged struct{}

func (errChanged) Error() string { return "the plan has changes" }

// Run predicts the effect of edited claims.
func (c *planCommand) Run(in io.Reader, out io.Writer, errOut notes) error {
	if err := c.checkFlags(); err != nil {
		return err
	}
	e, err := c.read(in, errOut)
	if err != nil {
		return c.report(err, out)
	}
	cloud, err := c.cloud(e.before, errOut)
	if err != nil {
		return c.report(err, out)
	}
	p, err := cloud.Plan(e.after)
	if err != nil {
		return c.report(err, out)
	}
	if p.Drift, err = e.drift(); err != nil {
		return err
	}
	if err := p.Print(out, c.Format, isTerminal(out)); err != nil {
		return err
	}
	if c.DetailedExitcode && p.Changed() {
		return errChanged{}
	}
	return nil
}

// checkFlags returns an error for mistakes of the caller, before anything is read.
func (c *planCommand) checkFlags() error {
	switch {
	case c.Cluster && len(c.Current) > 0:
		return errUsage("--current and --cluster are both the existing claims; set one of them")
	case !c.Cluster && len(c.Current) == 0:
		return errUsage("the existing claims are required; set --current, or --cluster to read them from a cluster")
	case !c.Cluster && (c.Namespace != "" || c.Kubeconfig != "" || c.Context != "" || !c.Drift):
		return errUsage("-n, --kubeconfig, --context and --no-drift require --cluster")
	case len(c.File) == 0 && c.FunctionVersion == "" && (!c.Cluster || len(c.PlatformConfig) == 0):
		return errUsage("-f is required: it names the claims after the edit")
	}
	return c.check(fileFlag{"--current", c.Current, true})
}

// edition is the input of a plan.
type edition struct {
	before, after plan.Input
	// drift returns the drift of the cluster; nil without a cluster.
	drift func() ([]plan.Drift, error)
}

// read reads the claims and the PlatformConfigs of both sides.
func (c *planCommand) read(in io.Reader, errOut io.Writer) (edition, error) {
	if c.Cluster {
		return c.readCluster(in, errOut)
	}
	oldClaims, oldPlatforms, err := c.side(c.Current, in, errOut)
	if err != nil {
		return edition{}, err
	}
	claims, platforms := oldClaims, oldPlatforms
	if len(c.File) > 0 {
		if claims, platforms, err = c.side(c.File, in, errOut); err != nil {
			return edition{}, err
		}
	}
	given, err := c.platform(in)
	if err != nil {
		return edition{}, err
	}
	platforms = append(platforms, given...)
	if len(oldPlatforms) == 0 {
		oldPlatforms = platforms
	}
	if len(platforms) == 0 {
		platforms = oldPlatforms
	}
	platform, err := onePlatform(platforms, errOut)
	if err != nil {
		return edition{}, err
	}
	oldPlatform, err := onePlatform(oldPlatforms, io.Discard)
	if err != nil {
		return edition{}, err
	}
	none := func() ([]plan.Drift, error) { return nil, nil }
	return edition{planInput(oldClaims, oldPlatform), planInput(claims, platform), none}, nil
}

// cloud returns the cloud before the edit, composed by the functions in the cluster.
func (c *planCommand) cloud(old plan.Input, errOut io.Writer) (*plan.Cloud, error) {
	if c.FunctionVersion == "" {
		return plan.Compose(old, kinds.Runners())
	}
	program, err := findProgram(c.FunctionVersion)
	if err != nil {
		return nil, err
	}
	return composeWith(program, old, errOut)
}

// side returns the claims and PlatformConfigs of one side. Files without objects are ignored: a claim that exists on one side only is
// created or deleted.
func (c *planCommand) side(paths []string, in io.Reader, errOut io.Writer) ([]claimDocument, []input.Document, error) {
	docs, err := input.Read(paths, in)
	if err != nil {
		return nil, nil, errUsage(err.Error())
	}
	docs = slices.DeleteFunc(docs, func(d input.Document) bool { return len(bytes.TrimSpace(d.Data)) == 0 })
	claims, platforms := sortDocuments(docs, errOut)
	return claims, platforms, duplicate(claims)
}

// planInput returns the claims of one side.
func planInput(claims []claimDocument, platform input.Document) plan.Input {
	out := plan.Input{Platform: plan.Document{File: platform.File, Data: platform.Data}}
	for _, c := range claims {
		out.Claims = append(out.Claims, plan.Document{Identity: c.Identity, File: c.File, Data: c.Data})
	}
	return out
}

// report prints validation errors as JSON with --format json.
func (c *planCommand) report(err error, out io.Writer) error {
	if errs := validationErrors(err); len(errs) > 0 && c.Format == "json" {
		if err := preview.PrintErrors(out, errs); err != nil {
			return err
		}
	}
	return err
}

// isTerminal reports whether an output is a terminal that shows colors (https://no-color.org).
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
