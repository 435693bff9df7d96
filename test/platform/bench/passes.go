package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// Field managers of Crossplane's core: of a composite resource, and of what it composes.
// https://github.com/crossplane/crossplane/blob/v2.4.0/internal/controller/apiextensions/composite/composition_functions.go
const compositeManager, composedManager = "apiextensions.crossplane.io/composite", "apiextensions.crossplane.io/composed"

// explain writes where the writes between two samples come from: for each kind of composite resource how many passes there were and what
// they applied, and the kinds of requests that were most.
func (b *bench) explain(ctx context.Context, before, after sample) error {
	since := map[platform.Request]int{}
	for r, n := range after.requests {
		if n -= before.requests[r]; n > 0 && isWrite(r) {
			since[r] = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds.Runners())) {
		kind := schema.ParseGroupKind(name)
		all, err := b.p.List(ctx, kind.WithVersion("v1alpha1"), "")
		if err != nil {
			return err
		}
		managers := map[string]bool{}
		for _, xr := range all {
			managers[managerOf(xr.GetName(), kind)] = true
		}
		plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion("v1alpha1"))
		passes, composed, own := 0, 0, 0
		for r, n := range since {
			itself := r.User == "crossplane" && r.Resource == plural.Group+"/"+plural.Resource
			switch {
			case itself && r.Manager == compositeManager && r.Subresource == "":
				passes += n // a pass begins with the references
				own += n
			case itself && r.Subresource == "status":
				own += n
			case managers[r.Manager]:
				composed += n
			}
		}
		fmt.Fprintf(b.out, "  %s: %d passes applied %d composed resources; %d writes of references and status\n", kind.Kind, passes, composed, own)
	}
	type line struct {
		text string
		n    int
	}
	sums := map[string]int{}
	for r, n := range since {
		if !slices.Contains([]string{"crossplane", "provider-kubernetes"}, r.User) {
			continue
		}
		what := strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")
		if strings.HasPrefix(r.Manager, composedManager) {
			what += " (composed)"
		}
		sums[r.User+" "+r.Verb+" "+what] += n
	}
	var lines []line
	for text, n := range sums {
		lines = append(lines, line{text, n})
	}
	slices.SortFunc(lines, func(x, y line) int { return cmp.Or(cmp.Compare(y.n, x.n), cmp.Compare(x.text, y.text)) })
	const most = 20
	for _, l := range lines[:min(most, len(lines))] {
		fmt.Fprintf(b.out, "  %5d %s\n", l.n, l.text)
	}
	return nil
}

// managerOf is the field manager of what a composite resource composes.
func managerOf(name string, kind schema.GroupKind) string {
	return fmt.Sprintf("%s/%x", composedManager, sha256.Sum256([]byte(name+kind.String())))
}
