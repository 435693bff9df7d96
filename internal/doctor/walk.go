package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// Ranks of causes: a smaller rank is shown first.
const (
	rankBlocking  = iota // Nothing else can change before this does: a pause, a package, a namespace that is being deleted.
	rankInvalid          // The spec is rejected, or Crossplane cannot reconcile.
	rankSpecific         // A pod, a volume or an error of an API server.
	rankFailed           // An object that cannot become ready without intervention.
	rankMissing          // An object that does not exist.
	rankNotReady         // An object that is not ready yet.
	rankComponent        // A component whose objects cannot be read, or that waits.
)

// top returns the causes for a claim or a composite resource.
func (w *walk) top(ctx context.Context, o object) []Cause {
	if form(o.ref().groupKind()) == claimForm {
		return w.claim(ctx, nil, o)
	}
	return w.withPackages(ctx, nil, w.composite(ctx, nil, o))
}

// claim returns the causes for a claim.
func (w *walk) claim(ctx context.Context, chain []Ref, o object) []Cause {
	self := o.ref()
	if o.paused() {
		return []Cause{pausedCause(chain, self)}
	}
	name := o.String("spec", "resourceRef", "name")
	if cause, rejected := rejectedCause(chain, self, o); rejected && cause.Reason == reasonInvalidSpec {
		return []Cause{cause}
	}
	if name == "" {
		reason := "Crossplane has not created the composite resource"
		if c, ok := o.Condition("Synced"); ok && c.Status == "False" {
			reason = c.Message
		}
		causes := append(w.crossplane(ctx, appended(chain, self)),
			w.packages(ctx, appended(chain, self), functionPackage, providerPackage, configurationPackage)...)
		return append(causes, Cause{
			Object: self, Chain: chain, Reason: "NotReconciled", Message: reason, rank: rankInvalid, Runbook: "Composed",
			Next: []string{describe(self), "kubectl get compositeresourcedefinitions.apiextensions.crossplane.io",
				crossplaneLogs},
		})
	}
	kind := schema.FromAPIVersionAndKind(o.String("spec", "resourceRef", "apiVersion"), o.String("spec", "resourceRef", "kind"))
	xr := Ref{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: name}
	live, err := w.get(ctx, kind, "", name)
	if err != nil {
		out := w.components(appended(chain, self), o, nil, true)
		switch {
		case apierrors.IsNotFound(err) && o.Deleting():
			return append([]Cause{notReadyCause(chain, self, o.check())}, out...)
		case apierrors.IsNotFound(err):
			out = append([]Cause{missingCause(appended(chain, self), xr)}, out...)
		}
		return w.withPackages(ctx, appended(chain, self), out)
	}
	composite, err := observed(live.Object)
	if err != nil {
		return nil
	}
	causes := w.withPackages(ctx, appended(chain, self), w.composite(ctx, appended(chain, self), composite))
	if cause, rejected := rejectedCause(chain, self, o); rejected && len(causes) == 0 {
		causes = append(causes, cause)
	}
	if o.outdated() && !hasSpecific(causes) {
		causes = append(append(w.crossplane(ctx, appended(chain, self)), outdatedCause(chain, self)), causes...)
	}
	return causes
}

func hasSpecific(causes []Cause) bool {
	return slices.ContainsFunc(causes, func(c Cause) bool { return c.rank <= rankFailed })
}

// composite returns the causes for a composite resource.
func (w *walk) composite(ctx context.Context, chain []Ref, o object) []Cause {
	self := o.ref()
	if w.visited[self] {
		return nil
	}
	w.visited[self] = true
	if o.paused() {
		return []Cause{pausedCause(chain, self)}
	}
	var causes []Cause
	if cause, rejected := rejectedCause(chain, self, o); rejected {
		causes = append(causes, w.withEvent(ctx, cause))
	}
	refs := ComposedRefs(o.raw)
	w.prefetch(ctx, refs)
	for _, r := range refs {
		causes = append(causes, w.composed(ctx, appended(chain, self), r)...)
	}
	if o.Deleting() {
		return w.blockDeletion(ctx, appended(chain, self), refs, o, causes)
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(a.rank-b.rank, componentOf(o, a, len(chain))-componentOf(o, b, len(chain)))
	})
	return append(causes, w.components(appended(chain, self), o, causes, len(causes) == 0)...)
}

// ComposedRefs returns the composed objects of a composite resource, in the forms of both scopes.
// https://docs.crossplane.io/latest/composition/composite-resources/
func ComposedRefs(composite map[string]any) []Ref {
	list, found, _ := unstructured.NestedSlice(composite, "spec", "crossplane", "resourceRefs")
	if !found {
		list, _, _ = unstructured.NestedSlice(composite, "spec", "resourceRefs")
	}
	own, _, _ := unstructured.NestedString(composite, "metadata", "namespace")
	var out []Ref
	for _, e := range list {
		u := unstructured.Unstructured{Object: map[string]any{}}
		if m, ok := e.(map[string]any); ok {
			u.Object = m
		}
		name, _, _ := unstructured.NestedString(u.Object, "name")
		namespace, _, _ := unstructured.NestedString(u.Object, "namespace")
		r := Ref{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Name: name, Namespace: cmp.Or(namespace, own)}
		if r.Name == "" {
			continue // Crossplane has not created it yet.
		}
		if rule, ok := readiness.Rules.For(r.groupKind()); ok && rule.ClusterScoped {
			r.Namespace = ""
		}
		out = append(out, r)
	}
	return out
}

// prefetch reads objects in parallel.
func (w *walk) prefetch(ctx context.Context, refs []Ref) {
	var all sync.WaitGroup
	for _, r := range refs {
		all.Go(func() { _, _ = w.get(ctx, r.GroupVersionKind(), r.Namespace, r.Name) })
	}
	all.Wait()
}

// composed returns the causes for a composed object.
func (w *walk) composed(ctx context.Context, chain []Ref, r Ref) []Cause {
	live, err := w.get(ctx, r.GroupVersionKind(), r.Namespace, r.Name)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return []Cause{missingCause(chain, r)}
	case err != nil:
		return nil // The report has a note, and the component's message.
	}
	o, err := observed(live.Object)
	if err != nil {
		return nil
	}
	if o.Wrapped() {
		return w.wrapped(ctx, chain, r, o)
	}
	return w.evaluate(ctx, chain, r, o)
}

// wrapped returns the causes for an Object of provider-kubernetes, whose object is in this or in another cluster.
func (w *walk) wrapped(ctx context.Context, chain []Ref, self Ref, o object) []Cause {
	outer := o.Wrapper()
	if outer.Annotation(pausedAnnotation) == "true" {
		return []Cause{pausedCause(chain, self)}
	}
	config := providerConfigOf(outer)
	if c, ok := outer.Condition("Synced"); ok && c.Status == "False" {
		return []Cause{w.notAppliedCause(ctx, chain, self, config, c)}
	}
	inner := o.ref()
	if !o.Exists() {
		return []Cause{{
			Object: inner, Chain: appended(chain, self), Reason: reasonNotObserved, Message: "provider-kubernetes has not observed the object yet",
			rank: rankMissing, Next: []string{describe(self), "kubectl get providers.pkg.crossplane.io"},
		}}
	}
	if !w.isLocal(ctx, config) {
		inner.Cluster = config.Name
		if result := o.check(); !result.Ready {
			return []Cause{notReadyCause(appended(chain, self), inner, result)}
		}
		return nil
	}
	if live, err := w.get(ctx, inner.GroupVersionKind(), inner.Namespace, inner.Name); err == nil {
		if current, err := observed(live.Object); err == nil {
			o = current
		}
	} else if apierrors.IsNotFound(err) {
		return []Cause{missingCause(appended(chain, self), inner)}
	}
	return w.evaluate(ctx, appended(chain, self), inner, o)
}

// evaluate returns the causes for an object of the management cluster.
func (w *walk) evaluate(ctx context.Context, chain []Ref, self Ref, o object) []Cause {
	result := o.check()
	kind := form(self.groupKind())
	if cause, old := w.oldStatus(chain, self, o); old {
		causes := w.companion(ctx, appended(chain, self), self.Namespace)
		if kind == compositeForm {
			causes = w.composite(ctx, chain, o) // The old status is one of its objects.
		}
		if kind == companionForm || len(causes) == 0 {
			causes = append(causes, cause)
		}
		return causes
	}
	if result.Ready {
		return nil
	}
	if kind == compositeForm {
		return w.composite(ctx, chain, o)
	}
	if kind == claimForm {
		return w.claim(ctx, chain, o)
	}
	var causes []Cause
	if isWorkload(self.groupKind()) {
		causes = w.workload(ctx, chain, self, o.raw)
	} else {
		causes = append(w.owned(ctx, appended(chain, self), o), w.dependencies(ctx, appended(chain, self), o)...)
	}
	own := notReadyCause(chain, self, result)
	if len(causes) > 0 {
		if isWorkload(self.groupKind()) {
			return causes // The number of pods adds nothing.
		}
		own.rank = rankNotReady
		return append(causes, own)
	}
	if kind == companionForm {
		causes = w.companion(ctx, appended(chain, self), self.Namespace)
		own.Next = append(own.Next, companionLogs(self.Namespace))
	} else if operator := operators[self.groupKind().Group]; operator != "" && o.Map("status") == nil {
		own.Reason, own.Message = "NoStatus", "its operator has not written a status: check that "+operator+" runs"
		own.rank = rankFailed
		own.Next = append(own.Next, "kubectl get deployments -A | grep "+word(operator))
	}
	return append(causes, own)
}

// oldStatus returns the cause for an object whose status the companion has not renewed.
func (w *walk) oldStatus(chain []Ref, self Ref, o object) (Cause, bool) {
	subject := freshness.Subject{Kind: self.Kind, Namespace: self.Namespace, Name: self.Name}
	reason := w.clock.StaleReason(subject, o.LastObservation(), freshness.ComponentLimit)
	return Cause{
		Object: self, Chain: chain, Reason: "StatusOld", Message: message(reason), Runbook: "CompanionStatusOld", rank: rankFailed,
		Next: []string{describe(self), companionLogs(self.Namespace)},
	}, reason != ""
}

// operators contains the operators that write the status of objects, by API group.
var operators = map[string]string{
	"k8s.mariadb.com":       "mariadb-operator",
	"rabbitmq.com":          "rabbitmq",
	"cache.cs.sap.com":      "valkey-operator",
	"external-secrets.io":   "external-secrets",
	"ceph.rook.io":          "rook-ceph-operator",
	"cert-manager.io":       "cert-manager",
	"openstack.k-orc.cloud": "orc",
}

// components returns the causes that only the status of a composite resource or of its claim shows. With all, it returns the first failed
// component, or else the first one that is not ready. Without, it returns failed components whose objects are not among the causes.
func (w *walk) components(chain []Ref, o object, causes []Cause, all bool) []Cause {
	var first *Cause
	var failed, awaiting []Cause
	for _, e := range o.List("status", "components") {
		m, _ := e.(map[string]any)
		name, _ := m["name"].(string)
		phase, _ := m["phase"].(string)
		text, _ := m["message"].(string)
		reason, _ := m["reason"].(string)
		if phase == common.ComponentReady || text == "" {
			continue
		}
		if secret, ok := awaitedSecret(text); ok {
			awaiting = append(awaiting, Cause{
				Object: secret, Chain: chain, Reason: reasonMissingObject, Message: message(name + ": " + text), Runbook: conditionName(name),
				rank: rankSpecific, Next: []string{describe(secret)},
			})
			continue
		}
		c := Cause{
			Object: o.ref(), Chain: chain[:len(chain)-1], Reason: cmp.Or(reason, "NotReady"), Message: message(name + ": " + text),
			Runbook: conditionName(name), rank: rankComponent, Next: o.componentSteps(),
		}
		if phase == common.ComponentFailed {
			if !slices.ContainsFunc(causes, func(c Cause) bool { return names(text, c) }) {
				failed = append(failed, c)
			}
			continue
		}
		if first == nil {
			first = &c
		}
	}
	switch {
	case len(failed)+len(awaiting) > 0:
		return append(awaiting, failed...)
	case all && first != nil:
		return []Cause{*first}
	case all && len(o.List("status", "components")) == 0:
		return w.withoutComponents(chain, o)
	}
	return nil
}

// withoutComponents returns the cause for a composite resource or a claim that has not been composed.
func (w *walk) withoutComponents(chain []Ref, o object) []Cause {
	if _, rejected := rejectedCause(nil, o.ref(), o); rejected {
		return nil
	}
	result := o.check()
	if result.Ready {
		return nil
	}
	c := notReadyCause(chain[:len(chain)-1], o.ref(), result)
	c.rank = rankComponent
	return []Cause{c}
}

// componentSteps returns the next steps for a component whose objects cannot be read.
func (o object) componentSteps() []string {
	self := o.ref()
	if form(self.groupKind()) != claimForm {
		return []string{describe(self)}
	}
	return []string{
		"kubectl get " + target(self) + " -o yaml",
		"ask the platform team to run: cobaltcore doctor " + strings.ToLower(word(self.Kind)) + "/" + word(self.Name) + inNamespace(self),
	}
}

// names reports whether the message of a component names an object of a cause's chain, or has the cause's message.
func names(text string, c Cause) bool {
	return slices.ContainsFunc(append(c.Chain[:len(c.Chain):len(c.Chain)], c.Object), func(r Ref) bool {
		return strings.Contains(text, r.Kind+" "+r.Name)
	})
}

// componentOf returns the position of a cause's component in the order in which components need each other. at is the position of the
// composed object in the chain of the cause.
func componentOf(o object, c Cause, at int) int {
	path := slices.Concat(c.Chain, []Ref{c.Object})
	components := o.List("status", "components")
	if len(path) <= at+1 {
		return -1
	}
	for i, e := range components {
		m, _ := e.(map[string]any)
		text, _ := m["message"].(string)
		name, _ := m["name"].(string)
		for _, r := range path[at+1 : min(at+3, len(path))] {
			if strings.Contains(text, r.Kind+" "+r.Name) || name == r.Name && strings.EqualFold(r.Kind, name) {
				return i
			}
		}
	}
	return len(components)
}

// conditionName returns the condition of a component, such as DatabaseReady of database.
func conditionName(component string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(component, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String() + "Ready"
}
