package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/input"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/suggest"
	"github.com/c5c3/crossplane-cobaltcore/internal/terminal"
)

// claimFlags are the flags of commands that read claims.
type claimFlags struct {
	File []string `help:"File or folder with claims, or -, standard input. Repeat it for more." placeholder:"CLAIM" sep:"none" short:"f"`

	PlatformConfig []string `help:"PlatformConfig. Default: the one among the claims, or an example." placeholder:"FILE" sep:"none" short:"e"`
}

// fileFlag is a flag with one file, or with many.
type fileFlag struct {
	flag  string
	files []string
	many  bool
}

// claimDocument is a claim of the command line.
type claimDocument struct {
	input.Document
	preview.Identity
}

// referencedKinds are the kinds of claims that others refer to, each before the kinds that refer to it. WorkloadClusters, which are no
// claims, are before all of them.
var referencedKinds = []string{
	storagev1.GroupVersionKind.Kind, controlplanev1.GroupVersionKind.Kind, hypervisorv1.GroupVersionKind.Kind,
	cloudv1.GroupVersionKind.Kind, keystoneservicev1.GroupVersionKind.Kind,
}

// check returns an error for mistakes of the caller, before anything is read. others are flags of the command.
func (c *claimFlags) check(others ...fileFlag) error {
	standard := 0
	for _, f := range append([]fileFlag{{"-f", c.File, true}, {"-e", c.PlatformConfig, false}}, others...) {
		switch {
		case len(f.files) > 1 && !f.many:
			return errUsage(fmt.Sprintf("%s is given %d times; give one file, and call once for each claim", f.flag, len(f.files)))
		case slices.Contains(f.files, ""):
			return errUsage(f.flag + " names no file; is a variable empty?")
		}
		for _, file := range f.files {
			if file == input.Standard {
				standard++
			}
		}
	}
	if standard > 1 {
		return errUsage("standard input can be read once; name a file for all but one of -f, --current and -e")
	}
	return nil
}

// read returns the claims in the order of references, independent of the order of the arguments, and the PlatformConfig. Other objects of
// files with several ones, such as Secrets, are ignored with a note.
func (c *claimFlags) read(in io.Reader, errOut io.Writer) ([]claimDocument, input.Document, error) {
	docs := []input.Document{{Data: examples.Claim}}
	if len(c.File) > 0 {
		var err error
		if docs, err = input.Read(c.File, in); err != nil {
			return nil, input.Document{}, errUsage(err.Error())
		}
	}
	platforms, err := c.platform(in)
	if err != nil {
		return nil, input.Document{}, err
	}
	claims, more := sortDocuments(docs, errOut)
	platforms = append(platforms, more...)
	if len(claims) == 0 && len(platforms) <= 1 {
		return nil, input.Document{}, errUsage("the input contains no claim; use one of the kinds " + strings.Join(referencedKinds, ", "))
	}
	platform, err := onePlatform(platforms, errOut)
	if err != nil {
		return nil, input.Document{}, err
	}
	return claims, platform, duplicate(claims)
}

// sortDocuments returns the claims in the order of references, and the PlatformConfigs of files with several objects.
func sortDocuments(docs []input.Document, errOut io.Writer) (claims []claimDocument, platforms []input.Document) {
	for _, d := range docs {
		requested := struct{ APIVersion, Kind string }{}
		_ = yaml.Unmarshal(d.Data, &requested) // Invalid YAML is rejected by the preview.
		claim := claimDocument{d, preview.IdentityOf(d.Data)}
		switch {
		case requested.Kind == platformv1.GroupVersionKind.Kind && len(docs) > 1:
			platforms = append(platforms, d)
		case len(docs) > 1 && requested.Kind == "" && requested.APIVersion == "" && readable(d.Data):
			fmt.Fprintf(errOut, "note: %s has no object of Kubernetes and is ignored\n", file(d))
		case len(docs) > 1 && requested.Kind != "" && !isClaim(requested.Kind):
			fmt.Fprintf(errOut, "note: %s: %s %s is not a claim and is ignored\n",
				file(d), terminal.Escape(requested.Kind), terminal.Escape(claim.Name))
		default:
			claims = append(claims, claim)
			for _, sentence := range preview.Disabled(d.Data) {
				fmt.Fprintf(errOut, "note: %s: %s\n", file(d), sentence)
			}
		}
	}
	slices.SortStableFunc(claims, func(a, b claimDocument) int {
		return cmp.Compare(slices.Index(referencedKinds, a.Kind), slices.Index(referencedKinds, b.Kind))
	})
	return claims, platforms
}

// onePlatform returns the PlatformConfig, or an example.
func onePlatform(platforms []input.Document, errOut io.Writer) (input.Document, error) {
	switch len(platforms) {
	case 0:
		fmt.Fprintln(errOut, "note: no PlatformConfig given (-e); using an example platform")
		return input.Document{Data: examples.Platform}, nil
	case 1:
		return platforms[0], nil
	}
	return input.Document{}, errUsage("several PlatformConfigs are given, and a platform has one; remove all but one")
}

// platform returns the PlatformConfig of the flag, if it is set.
func (c *claimFlags) platform(in io.Reader) ([]input.Document, error) {
	if len(c.PlatformConfig) == 0 {
		return nil, nil
	}
	data, err := readOne(c.PlatformConfig, in)
	return []input.Document{{File: name(c.PlatformConfig), Data: data}}, err
}

// readable reports whether a document is YAML.
func readable(doc []byte) bool {
	var v any
	return yaml.Unmarshal(doc, &v) == nil
}

// isClaim reports whether a kind is the kind of a claim or of a cluster that claims select, or similar to it: a misspelled claim is not
// ignored.
func isClaim(kind string) bool {
	return kind == workloadclusterv1.GroupVersionKind.Kind ||
		slices.Contains(referencedKinds, kind) || suggest.Closest(kind, slices.Values(referencedKinds)) != ""
}

// duplicate returns an error if two documents have a claim of the same kind, namespace and name: a cluster has one of them.
func duplicate(claims []claimDocument) error {
	var errs []error
	for i, claim := range claims {
		first := slices.IndexFunc(claims[:i], func(c claimDocument) bool { return c.Identity == claim.Identity })
		if first >= 0 && claim.Known() {
			errs = append(errs, inFile(preview.Duplicate(claim.Identity, file(claims[first].Document)),
				map[preview.Source]string{preview.SourceClaim: claim.File}))
		}
	}
	return errors.Join(errs...)
}

// previewAll previews claims, which are in the order of references, as if all of them were created. It returns the errors of all claims. A
// claim that refers to an invalid one has no error about the reference.
func previewAll(claims []claimDocument, platform input.Document) ([]*preview.Result, error) {
	var results []*preview.Result
	err := previewEach(claims, platform, func(r *preview.Result) { results = append(results, r) })
	return results, err
}

// previewEach is previewAll for callers that do not keep all results: with many claims, they are the largest part of the memory. It calls
// valid with the result of each valid claim; nil: the caller needs errors only.
func previewEach(claims []claimDocument, platform input.Document, valid func(*preview.Result)) error {
	var existing []*structpb.Struct
	var used []preview.Usage
	var invalid []preview.Identity
	var errs []error
	for batch := range batches(claims) {
		for i, composed := range composeAll(existing, batch, platform, valid != nil) {
			claim, err := batch[i], composed.err
			if err == nil {
				err = preview.Shared(used, composed.usage, claim.Data)
			}
			if err == nil {
				existing, used = append(existing, composed.existing...), append(used, composed.usage)
				if valid != nil {
					valid(composed.result)
				}
				continue
			}
			sources := map[preview.Source]string{preview.SourceClaim: claim.File, preview.SourcePlatform: platform.File}
			if err = inFile(err, sources); len(validationErrors(err)) == 0 {
				return err
			}
			invalid = append(invalid, claim.Identity)
			errs = append(errs, preview.WithoutReferences(err, invalid))
			if validationErrors(err)[0].Source == preview.SourcePlatform {
				return errors.Join(errs...) // Every claim would have the same errors.
			}
		}
	}
	return errors.Join(errs...)
}

// batches returns claims of one kind that are composed at the same time: they never refer to each other. A batch is small, because all its
// results are in memory.
func batches(claims []claimDocument) iter.Seq[[]claimDocument] {
	return func(yield func([]claimDocument) bool) {
		for len(claims) > 0 {
			n := 1
			for n < min(len(claims), maxBatch) && claims[n].Kind == claims[0].Kind {
				n++
			}
			if !yield(claims[:n]) {
				return
			}
			claims = claims[n:]
		}
	}
}

// maxBatch is large enough to keep all cores of a common machine busy, and small enough for 256 MiB of memory.
const maxBatch = 16

// composedClaim contains the parts of a result that other claims need, the result itself if it is kept, or the error of the claim.
type composedClaim struct {
	existing []*structpb.Struct
	usage    preview.Usage
	result   *preview.Result
	err      error
}

// composeAll previews claims that do not refer to each other, on all cores.
func composeAll(existing []*structpb.Struct, claims []claimDocument, platform input.Document, keep bool) []composedClaim {
	out := make([]composedClaim, len(claims))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, claim := range claims {
		group.Go(func() error {
			out[i] = composeOne(existing, claim, platform, keep)
			return nil
		})
	}
	_ = group.Wait() // Errors are in the results.
	return out
}

// composeOne previews a claim.
func composeOne(existing []*structpb.Struct, claim claimDocument, platform input.Document, keep bool) composedClaim {
	result, err := preview.RunWithClaims(existing, claim.Data, platform.Data, kinds.Runners())
	if err != nil {
		return composedClaim{err: err}
	}
	out := composedClaim{existing: result.Existing, usage: result.Usage()}
	if keep {
		out.result = result
	}
	return out
}

// inFile adds the name of the file to a validation error.
func inFile(err error, files map[preview.Source]string) error {
	for _, r := range validationErrors(err) {
		r.File = files[r.Source]
	}
	return err
}

// validationErrors returns the validation errors in an error.
func validationErrors(err error) []*preview.ValidationErrors {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*preview.ValidationErrors
		for _, e := range joined.Unwrap() {
			out = append(out, validationErrors(e)...)
		}
		return out
	}
	r := &preview.ValidationErrors{}
	if errors.As(err, &r) {
		return []*preview.ValidationErrors{r}
	}
	return nil
}

// file is the name of a document's file in a message.
func file(d input.Document) string { return cmp.Or(d.File, "standard input") }

// name is the name of a file in a message; empty for the example and for standard input.
func name(files []string) string {
	if len(files) == 0 || files[0] == input.Standard {
		return ""
	}
	return files[0]
}

// readOne reads the file of a flag that names at most one.
func readOne(files []string, in io.Reader) ([]byte, error) {
	switch {
	case len(files) == 0:
		return nil, nil
	case files[0] == input.Standard:
		return io.ReadAll(in)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		return nil, errUsage(err.Error())
	}
	return b, nil
}
