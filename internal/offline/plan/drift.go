package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/terminal"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Drift is an object of a cluster that differs from the object that the installed functions compose, independent of the edit.
type Drift struct {
	// Action is the effect of the next call of the functions: ActionCreate, ActionChange, ActionDelete, or ActionNone if they cannot compose
	// the objects of a composite resource.
	Action Action
	// APIVersion, Kind, Namespace and Name of the object, and the provider config of its cluster; empty: the management cluster.
	APIVersion, Kind, Namespace, Name, Cluster string
	// Owner is the name of its composite resource.
	Owner string
	// Fields have the existing value as the old one, and the composed value as the new one.
	Fields []Field
	// Reason explains a difference without fields.
	Reason string
}

// Limits of the drift in the output.
const (
	maxDrift       = 50
	maxDriftFields = 10
)

// Reasons of drift.
const (
	reasonMissing  = "it does not exist"
	reasonExtra    = "the functions do not compose it any more"
	reasonComposed = "another version of the functions composed it, or Crossplane has not applied the last change"
)

// driftOf returns a Drift without a difference. The object inside a wrapper is the subject.
func driftOf(action Action, owner string, o encoded.Struct, reason string) Drift {
	inner := o
	if i, ok := wrapper.Desired(o); ok {
		inner = i
	}
	return Drift{
		Action: action, APIVersion: inner.At("apiVersion").Text(), Kind: inner.At("kind").Text(),
		Namespace: inner.At("metadata", "namespace").Text(), Name: inner.At("metadata", "name").Text(), Cluster: wrapper.ProviderConfig(o),
		Owner: owner, Reason: reason,
	}
}

// Missing returns the drift of an object that the functions compose and that does not exist.
func Missing(owner string, composed encoded.Struct) Drift {
	return driftOf(ActionCreate, owner, composed, reasonMissing)
}

// Extra returns the drift of an object that exists and that the functions do not compose.
func Extra(owner string, existing encoded.Struct) Drift {
	return driftOf(ActionDelete, owner, existing, reasonExtra)
}

// NotComposed returns the drift of a composite resource that the functions cannot compose, for a reason.
func NotComposed(owner string, composite encoded.Struct, reason string) Drift {
	return driftOf(ActionNone, owner, composite, reason)
}

// Compare returns the difference between an existing object and the composed one, and whether there is any. Fields that only the existing
// object has belong to API servers and other controllers, and are ignored.
func Compare(owner string, existing, composed encoded.Struct) (Drift, bool) {
	d := driftOf(ActionChange, owner, composed, "")
	if wrapper.IsObserveOnly(composed) {
		return d, false
	}
	a, b := existing, composed
	if inner, ok := wrapper.Desired(composed); ok {
		d.Fields = driftFields(d.Kind, existing.Map(), wrapper.WithoutDesired(composed))
		observed, exists := wrapper.Observed(existing)
		if !exists {
			d.Action, d.Reason = ActionCreate, reasonMissing
			return d, true
		}
		a, b = observed, inner
	}
	d.Fields = append(d.Fields, driftFields(d.Kind, a.Map(), b.Map())...)
	hash := func(o encoded.Struct) string { return o.At("metadata", "annotations", compose.HashAnnotation).Text() }
	if len(d.Fields) == 0 && hash(a) != hash(b) {
		d.Reason = reasonComposed
	}
	return d, len(d.Fields) > 0 || d.Reason != ""
}

// driftFields returns the fields of a composed object that the existing one does not have, or has with another value.
func driftFields(kind string, existing, composed map[string]any) []Field {
	d := differ{secret: kind == "Secret"}
	for _, key := range slices.Sorted(maps.Keys(composed)) {
		if key != "status" {
			d.owned(join("", key), existing[key], composed[key])
		}
	}
	return slices.DeleteFunc(d.fields, func(f Field) bool { return slices.Contains(ignored, f.Path) })
}

// owned compares the fields that the composed value has.
func (d *differ) owned(path string, existing, composed any) {
	if existing == nil && isUnset(composed) {
		return // API servers omit empty values.
	}
	switch c := composed.(type) {
	case map[string]any:
		e, ok := existing.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(c)) {
			d.owned(join(path, key), e[key], c[key])
		}
		return
	case []any:
		e, ok := existing.([]any)
		if !ok {
			break
		}
		if named(c) && named(e) {
			d.owned(path, byName(e), byName(c))
			return
		}
		if len(c) == len(e) {
			for i := range c {
				d.owned(fmt.Sprintf("%s[%d]", path, i), e[i], c[i])
			}
			return
		}
	case string:
		if e, ok := existing.(string); ok && sameAmount(e, c) {
			return
		}
	}
	d.value(path, existing, composed)
}

// isUnset reports whether a value is empty.
func isUnset(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return v == "" || v == false || v == 0.0
}

// sameAmount reports whether two texts are the same quantity or duration: API servers and operators write them in their canonical forms.
func sameAmount(a, b string) bool {
	if a == b {
		return true
	}
	if x, err := time.ParseDuration(a); err == nil {
		y, err := time.ParseDuration(b)
		return err == nil && x == y
	}
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(b)
	return err == nil && x.Cmp(y) == 0
}

// text returns the drift as lines: the object with the reason, and its fields.
func (d Drift) text() (title string, fields []string) {
	title = fmt.Sprintf("%s %s", terminal.Escape(d.Kind), terminal.Escape(d.Name))
	if d.Namespace != "" {
		title += " in namespace " + terminal.Escape(d.Namespace)
	}
	if d.Reason != "" {
		title += ": " + terminal.Escape(strings.Join(strings.Fields(d.Reason), " "))
	}
	for i, f := range d.Fields {
		if i == maxDriftFields {
			fields = append(fields, fmt.Sprintf("and %d other fields", len(d.Fields)-i))
			break
		}
		fields = append(fields, f.String())
	}
	return title, fields
}

// shownDrift returns the objects to show, and the number of others.
func (p *Plan) shownDrift() (shown []Drift, others int) {
	shown = p.Drift[:min(len(p.Drift), maxDrift)]
	return shown, len(p.Drift) - len(shown)
}

// driftTitle introduces the section.
func (p *Plan) driftTitle() string {
	objects := fmt.Sprintf("%d objects differ", len(p.Drift))
	if len(p.Drift) == 1 {
		objects = "1 object differs"
	}
	return "Drift, not a part of the edit: " + objects + " from the composed state."
}

// driftText returns the section for a terminal.
func (p *Plan) driftText(paint palette) string {
	if len(p.Drift) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n" + p.driftTitle() + "\n")
	shown, others := p.shownDrift()
	for _, d := range shown {
		title, fields := d.text()
		fmt.Fprintf(&b, "  %s %s\n", paint.paint(actionColors[d.Action], symbols[d.Action]), title)
		for _, f := range fields {
			fmt.Fprintf(&b, "      %s\n", f)
		}
	}
	if others > 0 {
		fmt.Fprintf(&b, "  and %d other objects\n", others)
	}
	return b.String()
}

// driftMarkdown returns the section for a comment of a pull request.
func (p *Plan) driftMarkdown() string {
	if len(p.Drift) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary>%s</summary>\n\n", p.driftTitle())
	shown, others := p.shownDrift()
	for _, d := range shown {
		title, fields := d.text()
		fmt.Fprintf(&b, "- `%s` %s\n", symbols[d.Action], cell(title))
		for _, f := range fields {
			fmt.Fprintf(&b, "  - %s\n", code(f))
		}
	}
	if others > 0 {
		fmt.Fprintf(&b, "- and %d other objects\n", others)
	}
	b.WriteString("\n</details>\n")
	return b.String()
}
