package doctor

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// packageKinds are the kinds of Crossplane's packages.
// https://docs.crossplane.io/latest/packages/
var packageKinds = []schema.GroupVersionKind{
	{Group: "pkg.crossplane.io", Version: "v1", Kind: "Function"},
	{Group: "pkg.crossplane.io", Version: "v1", Kind: "Provider"},
	{Group: "pkg.crossplane.io", Version: "v1", Kind: "Configuration"},
}

// packages returns the causes for functions, providers and configurations that are not installed or not healthy.
func (w *walk) packages(ctx context.Context, chain []Ref) []Cause {
	var causes []Cause
	for _, kind := range packageKinds {
		for _, u := range w.list(ctx, kind, "") {
			o, err := observed(u.Object)
			if err != nil {
				continue
			}
			for _, typ := range []string{"Installed", "Healthy"} {
				c, ok := o.Condition(typ)
				if ok && c.Status == "True" {
					continue
				}
				self := o.ref()
				causes = append(causes, Cause{
					Object: self, Chain: chain, Reason: cmp.Or(c.Reason, "PackageNot"+typ), rank: rankInvalid,
					Message: message(cmp.Or(c.Message, fmt.Sprintf("%s is %s", typ, cmp.Or(c.Status, "not reported")))), Runbook: "Composed",
					Next: []string{describe(self), "kubectl get pods -n crossplane-system"},
				})
				break
			}
		}
	}
	return causes
}
