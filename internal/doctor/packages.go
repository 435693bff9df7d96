package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds of Crossplane's packages.
// https://docs.crossplane.io/latest/packages/
const (
	functionPackage      = "Function"
	providerPackage      = "Provider"
	configurationPackage = "Configuration"
)

func packageKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: kind}
}

// withPackages returns the causes for a claim or a composite resource with those for packages. Packages are the origin if Crossplane cannot
// call the function, or if provider-kubernetes has not observed an Object; without other causes, all packages are checked.
func (w *walk) withPackages(ctx context.Context, chain []Ref, causes []Cause) []Cause {
	has := func(reason string) bool {
		return slices.ContainsFunc(causes, func(c Cause) bool { return c.Reason == reason })
	}
	switch {
	case has(reasonNoFunction):
		return append(blocking(w.packages(ctx, chain, functionPackage)), causes...)
	case has(reasonNotObserved):
		return append(blocking(w.packages(ctx, chain, providerPackage)), causes...)
	case !hasSpecific(causes):
		return append(causes, w.packages(ctx, chain, functionPackage, providerPackage, configurationPackage)...)
	}
	return causes
}

// blocking returns causes that are shown first.
func blocking(causes []Cause) []Cause {
	for i := range causes {
		causes[i].rank = rankBlocking
	}
	return causes
}

// packages returns the causes for packages of some kinds that are not installed or not healthy: their pods, or else the packages.
func (w *walk) packages(ctx context.Context, chain []Ref, kinds ...string) []Cause {
	var causes []Cause
	for _, kind := range kinds {
		for _, u := range w.list(ctx, packageKind(kind), "") {
			o, err := observed(u.Object)
			if err != nil || !isUsed(o) {
				continue
			}
			self := o.ref()
			if pods := w.packagePods(ctx, appended(chain, self), kind, o); len(pods) > 0 {
				causes = append(causes, pods...)
			} else if c, bad := packageCause(chain, self, o); bad {
				causes = append(causes, c)
			}
		}
	}
	return causes
}

// isUsed reports whether claims depend on a package: the packages of this project, and provider-kubernetes, from any registry. Other
// packages are not the origin of a claim's state.
func isUsed(o object) bool {
	return slices.ContainsFunc([]string{o.ref().Name, o.String("spec", "package")}, func(name string) bool {
		return strings.Contains(name, "cobaltcore") || strings.Contains(name, "provider-kubernetes")
	})
}

// packageCause returns the cause for a package that is not installed or not healthy.
func packageCause(chain []Ref, self Ref, o object) (Cause, bool) {
	for _, typ := range []string{"Installed", "Healthy"} {
		c, ok := o.Condition(typ)
		if ok && c.Status == "True" {
			continue
		}
		return Cause{
			Object: self, Chain: chain, Reason: cmp.Or(c.Reason, "PackageNot"+typ), rank: rankInvalid,
			Message: message(cmp.Or(c.Message, fmt.Sprintf("%s is %s", typ, cmp.Or(c.Status, "not reported")))), Runbook: "Composed",
			Next: []string{describe(self), "kubectl get " + word(ResourceName(packageKind(self.Kind+"Revision"))), crossplanePods},
		}, true
	}
	return Cause{}, false
}

// packagePods returns the causes for the pods of a package, which the Deployment of its revision runs.
func (w *walk) packagePods(ctx context.Context, chain []Ref, kind string, o object) []Cause {
	name := o.String("status", "currentRevision")
	if kind == configurationPackage || name == "" {
		return nil
	}
	revision, err := w.get(ctx, packageKind(kind+"Revision"), "", name)
	if err != nil {
		return nil
	}
	var causes []Cause
	for _, u := range w.list(ctx, deploymentKind, w.crossplaneNamespace) {
		d, err := observed(u.Object)
		if err == nil && isOwner(revision.Object, u) {
			causes = append(causes, w.programPods(ctx, appended(chain, refOf(revision.Object)), d)...)
		}
	}
	return causes
}

// crossplane returns the causes for the pods of Crossplane, without which no claim is reconciled.
func (w *walk) crossplane(ctx context.Context, chain []Ref) []Cause {
	u, err := w.get(ctx, deploymentKind, w.crossplaneNamespace, "crossplane")
	if err != nil {
		return nil
	}
	d, err := observed(u.Object)
	if err != nil {
		return nil
	}
	return blocking(w.programPods(ctx, chain, d))
}

// programPods returns the causes for the pods of a Deployment of Crossplane or of a package.
func (w *walk) programPods(ctx context.Context, chain []Ref, deployment object) []Cause {
	self := deployment.ref()
	if replicas, ok := deployment.Int("spec", "replicas"); ok && replicas == 0 {
		return []Cause{{
			Object: self, Chain: chain, Reason: "ScaledToZero", Message: "its spec.replicas is 0: it has no pods", rank: rankSpecific,
			Next: []string{"kubectl scale " + target(self) + " --replicas=1"},
		}}
	}
	if deployment.check().Ready {
		return nil
	}
	return w.workload(ctx, chain, self, deployment.raw)
}
