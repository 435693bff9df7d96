package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
)

// largest prints the largest stored object of a control plane, and the size of the function's responses. An API server
// accepts 1.5 MiB, Crossplane 4 MiB.
func (b *bench) largest(ctx context.Context) error {
	for _, kind := range []schema.GroupVersionKind{
		{Group: "kubernetes.crossplane.io", Version: "v1alpha2", Kind: "Object"},
		{Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: "Object"},
		controlplanev1.CompositeGroupVersionKind, keystonev1.GroupVersionKind,
	} {
		all, err := b.p.List(ctx, kind, "")
		if err != nil {
			return err
		}
		size, name := 0, ""
		for _, o := range all {
			data, err := o.MarshalJSON()
			if err != nil {
				return err
			}
			if len(data) > size {
				size, name = len(data), o.GetName()
			}
		}
		fmt.Fprintf(b.out, "largest of %d %s: %s, %.1f kB\n", len(all), kind.GroupKind(), name, float64(size)/1000)
	}
	full, err := examples.Files.ReadFile("controlplane/full.yaml")
	if err != nil {
		return err
	}
	for name, claim := range map[string][]byte{"claim.yaml": examples.Claim, "full.yaml": full} {
		w, err := preview.NewCluster(claim, examples.Platform, kinds.Runners())
		if err != nil {
			return err
		}
		size := map[string]int{}
		if err := w.Run(func(s simulate.Step) {
			if data, err := wire.MarshalResponse(s.Response.Message()); err == nil {
				size[s.Owner] = max(size[s.Owner], len(data))
			}
		}); err != nil {
			return err
		}
		fmt.Fprintf(b.out, "largest responses for %s, in bytes: %v\n", name, size)
	}
	return nil
}
