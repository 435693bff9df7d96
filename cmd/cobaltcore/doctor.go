package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/dump"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/live"
)

type doctorCommand struct {
	Claim string `arg:"" help:"The claim or composite resource, such as controlplanecluster/prod." name:"kind/name" optional:""`

	Namespace  string `help:"Namespace of the claim. Default: the namespace of the kubeconfig's context." placeholder:"NAMESPACE" short:"n"`
	Output     string `default:"text" enum:"text,json" help:"Output format: text or json." short:"o"`
	From       string `help:"Archive, file or folder with objects to read in place of a cluster." placeholder:"FILE|DIR"`
	Capture    string `help:"Write everything that was read, without secrets, to an archive for a bug report." placeholder:"FILE.tar.gz"`
	Kubeconfig string `help:"Kubeconfig file. Default: as for kubectl." placeholder:"FILE"`
	Context    string `help:"Context of the kubeconfig." placeholder:"NAME"`

	CrossplaneNamespace string `default:"crossplane-system" help:"Namespace of Crossplane. Default: crossplane-system." placeholder:"NAME"`
}

// Run reports why a claim is not ready.
func (c *doctorCommand) Run(in io.Reader, out io.Writer, errOut notes) error {
	reader, namespace, err := c.reader(in)
	if err != nil {
		return err
	}
	kind, namespace, name, err := c.subject(reader, namespace)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	report, recorded, err := doctor.Diagnose(ctx, reader, kind, namespace, name, doctor.Options{CrossplaneNamespace: c.CrossplaneNamespace})
	if err != nil {
		return err
	}
	if c.Capture != "" {
		if err := c.capture(errOut, reader, report, recorded); err != nil {
			return err
		}
	}
	if err := report.Print(out, c.Output); err != nil {
		return err
	}
	if !report.Ready {
		return errReported
	}
	return nil
}

// reader returns the reader of a dump or of a cluster, and the namespace.
func (c *doctorCommand) reader(in io.Reader) (doctor.Reader, string, error) {
	if c.From == "" {
		return live.Connect(live.Options{
			Kubeconfig: c.Kubeconfig, Context: c.Context, Namespace: c.Namespace, Alternative: "--from", Now: time.Now,
		})
	}
	r, err := dump.Open(c.From, in)
	if err != nil {
		return nil, "", errUsage(err.Error())
	}
	return r, c.Namespace, nil
}

// subject returns the object to diagnose.
func (c *doctorCommand) subject(r doctor.Reader, namespace string) (kind schema.GroupVersionKind, in, name string, err error) {
	if c.Claim == "" {
		if d, ok := r.(*dump.Reader); ok {
			if claim, ok := d.Claim(); ok {
				return schema.FromAPIVersionAndKind(claim.APIVersion, claim.Kind), claim.Namespace, claim.Name, nil
			}
		}
		return kind, "", "", errUsage("name the claim as KIND/NAME, such as controlplanecluster/prod")
	}
	word, name, ok := strings.Cut(c.Claim, "/")
	if !ok || name == "" {
		return kind, "", "", errUsage(fmt.Sprintf("%s: must have the form KIND/NAME, such as controlplanecluster/prod", c.Claim))
	}
	kind, ok = doctor.KindOf(word)
	if !ok {
		var kinds []string
		for _, k := range doctor.Kinds() {
			kinds = append(kinds, strings.ToLower(k.Kind))
		}
		return kind, "", "", errUsage(fmt.Sprintf("%s: not a claim or composite resource; use one of %s", word, strings.Join(kinds, ", ")))
	}
	if doctor.IsClusterScoped(kind) {
		namespace = ""
	} else if namespace == "" {
		return kind, "", "", errUsage("set the namespace of the claim with -n")
	}
	return kind, namespace, name, nil
}

// capture writes the archive, and lists its contents.
func (c *doctorCommand) capture(w io.Writer, r doctor.Reader, report *doctor.Report, recorded doctor.Recorded) error {
	var archive bytes.Buffer
	files, err := dump.Write(&archive, version(), r.Now(), report, recorded)
	if err != nil {
		return fmt.Errorf("cannot write the archive: %w", err)
	}
	if err := os.WriteFile(c.Capture, archive.Bytes(), 0o600); err != nil {
		return fmt.Errorf("cannot write the archive: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s contains, without secrets:\n", c.Capture); err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(w, "  %s\n", f); err != nil {
			return err
		}
	}
	return nil
}
