package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
)

// Timeout is the maximum duration of a diagnosis.
const Timeout = time.Minute

// Kinds returns the kinds that can be diagnosed: claims and composite resources.
func Kinds() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, k := range kindregistry.Composites() {
		out = append(out, k.GroupVersionKind)
		if k.Form == kindregistry.Claimed {
			out = append(out, k.Composite())
		}
	}
	return out
}

// KindOf returns the kind with a name as for kubectl: in any case, as singular or plural, with or without the group.
func KindOf(name string) (schema.GroupVersionKind, bool) {
	name, group, hasGroup := strings.Cut(strings.ToLower(name), ".")
	for _, k := range Kinds() {
		kind := strings.ToLower(k.Kind)
		if name != kind && name != kind+"s" && name != plural(kind) {
			continue
		}
		if !hasGroup || group == k.Group {
			return k, true
		}
	}
	return schema.GroupVersionKind{}, false
}

// plural returns the plural of a kind that ends with y.
func plural(kind string) string {
	if rest, ok := strings.CutSuffix(kind, "y"); ok {
		return rest + "ies"
	}
	return kind
}

// Options change a diagnosis.
type Options struct {
	// CrossplaneNamespace is the namespace of Crossplane and its packages; empty: DefaultCrossplaneNamespace.
	CrossplaneNamespace string
}

// walk is a diagnosis.
type walk struct {
	*cache
	clock               freshness.Clock
	visited             map[Ref]bool
	crossplaneNamespace string
}

// Diagnose follows a claim or a composite resource to the objects that block it. It returns the report and everything that it has read. It
// returns an error only if the object itself cannot be read.
func Diagnose(ctx context.Context, r Reader, kind schema.GroupVersionKind, namespace, name string, options Options,
) (*Report, Recorded, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	w := &walk{
		cache: newCache(r), visited: map[Ref]bool{}, crossplaneNamespace: cmp.Or(options.CrossplaneNamespace, DefaultCrossplaneNamespace),
	}
	if now := r.Now(); !now.IsZero() {
		w.clock = freshness.At(now)
	}
	object, err := w.get(ctx, kind, namespace, name)
	if err != nil {
		return nil, w.recorded(), unreadable(err, kind, namespace, name)
	}
	o, err := observed(object.Object)
	if err != nil {
		return nil, w.recorded(), err
	}
	report := &Report{APIVersion: JSONVersion, Claim: refOf(object.Object)}
	report.Ready = isClaimReady(o)
	if !report.Ready {
		report.Causes = w.top(ctx, o)
		if ctx.Err() != nil {
			report.Notes = append(report.Notes, fmt.Sprintf("the diagnosis took longer than %s", Timeout))
		}
	}
	if report.Causes == nil {
		report.Causes = []Cause{}
	}
	slices.SortStableFunc(report.Causes, func(a, b Cause) int { return a.rank - b.rank })
	report.Causes = withoutDuplicates(report.Causes)
	for i := range report.Causes {
		report.Causes[i].complete()
		inCrossplaneNamespace(report.Causes[i].Next, w.crossplaneNamespace)
	}
	report.Conditions = otherConditions(o)
	report.Notes = append(report.Notes, w.notes()...)
	return report, w.recorded(), nil
}

// withoutDuplicates returns the first cause of each object: an object can be reached on several ways.
func withoutDuplicates(causes []Cause) []Cause {
	found := map[Ref]bool{}
	return slices.DeleteFunc(causes, func(c Cause) bool {
		duplicate := found[c.Object]
		found[c.Object] = true
		return duplicate
	})
}

// unreadable returns the error for a claim that cannot be read.
func unreadable(err error, kind schema.GroupVersionKind, namespace, name string) error {
	ref := Ref{Kind: kind.Kind, Namespace: namespace, Name: name}
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s does not exist; list the claims of all namespaces with kubectl get cobaltcore -A", ref)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("missing right: get %s in namespace %s; the ClusterRole view grants it", ResourceName(kind), namespace)
	case meta.IsNoMatchError(err):
		return fmt.Errorf("the cluster has no kind %s; check the kubeconfig's context, and that the Configuration is installed: "+
			"kubectl get configurations.pkg.crossplane.io", kind.Kind)
	}
	return fmt.Errorf("cannot read %s: %w; check the connection with kubectl cluster-info", ref, err)
}

// refOf returns the identity of an object.
func refOf(o map[string]any) Ref {
	u := unstructured.Unstructured{Object: o}
	return Ref{APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// IsClaim reports whether a kind is a claim.
func IsClaim(kind schema.GroupVersionKind) bool { return form(kind.GroupKind()) == claimForm }

// IsClusterScoped reports whether a kind has no namespace: the composite resource of a claim, or one that the platform team creates.
func IsClusterScoped(kind schema.GroupVersionKind) bool {
	for _, k := range kindregistry.WithForm(kindregistry.Platform) {
		if k.GroupKind() == kind.GroupKind() {
			return true
		}
	}
	for _, k := range kindregistry.WithForm(kindregistry.Claimed) {
		if k.Composite().GroupKind() == kind.GroupKind() {
			return true
		}
	}
	return false
}
