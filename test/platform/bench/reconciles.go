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

// Field managers of Crossplane's core: for a composite resource, and for its composed resources.
// https://github.com/crossplane/crossplane/blob/v2.4.0/internal/controller/apiextensions/composite/composition_functions.go
const compositeManager, composedManager = "apiextensions.crossplane.io/composite", "apiextensions.crossplane.io/composed"

// explain prints the sources of writes between two samples: for each kind of composite resource the number of passes
// and of applied objects, and the most frequent kinds of requests.
func (b *bench) explain(ctx context.Context, before, after sample) error {
	since := map[platform.Request]int{}
	for r, n := range after.requests {
		if n -= before.requests[r]; n > 0 && isWrite(r) {
			since[r] = n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds.Runners())) {
		if err := b.reconcileN(ctx, schema.ParseGroupKind(name), since); err != nil {
			return err
		}
	}
	b.most(since)
	return nil
}

// reconcileN prints the number of passes over composite resources of a kind. Each starts with the references.
func (b *bench) reconcileN(ctx context.Context, kind schema.GroupKind, since map[platform.Request]int) error {
	all, err := b.p.List(ctx, kind.WithVersion("v1alpha1"), "")
	if err != nil {
		return err
	}
	managers := map[string]bool{}
	for _, xr := range all {
		managers[managerOf(xr.GetName(), kind)] = true
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion("v1alpha1"))
	passes, composed, statuses := 0, 0, 0
	for r, n := range since {
		itself := r.User == "crossplane" && r.Resource == plural.Group+"/"+plural.Resource
		switch {
		case itself && r.Manager == compositeManager && r.Subresource == "":
			passes += n
		case itself && r.Subresource == "status":
			statuses += n
		case managers[r.Manager]:
			composed += n
		}
	}
	fmt.Fprintf(b.out, "  %s: %d passes applied %d composed resources, %d times a status\n", kind.Kind, passes, composed, statuses)
	return nil
}

// most prints the most frequent kinds of requests.
func (b *bench) most(since map[platform.Request]int) {
	sums := map[string]int{}
	for r, n := range since {
		if !slices.Contains([]string{"crossplane", "provider-kubernetes"}, r.User) {
			continue
		}
		name := strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")
		if strings.HasPrefix(r.Manager, composedManager) {
			name += " (composed)"
		}
		sums[r.User+" "+r.Verb+" "+name] += n
	}
	const lines = 20
	names := slices.SortedFunc(maps.Keys(sums), func(x, y string) int { return cmp.Or(cmp.Compare(sums[y], sums[x]), cmp.Compare(x, y)) })
	for _, name := range names[:min(lines, len(names))] {
		fmt.Fprintf(b.out, "  %5d %s\n", sums[name], name)
	}
}

// managerOf returns the field manager of a composite resource's composed resources.
func managerOf(name string, kind schema.GroupKind) string {
	return fmt.Sprintf("%s/%x", composedManager, sha256.Sum256([]byte(name+kind.String())))
}
