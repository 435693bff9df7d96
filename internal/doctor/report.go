package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/terminal"
)

// JSONVersion is the version of the JSON output. Fields can be added to a version.
const JSONVersion = "doctor.cobaltcore.c5c3.io/v1"

// Ref identifies an object.
type Ref struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Cluster is the provider config of the object's cluster; empty for the management cluster.
	Cluster string `json:"cluster,omitempty"`
}

func (r Ref) String() string {
	text := r.Kind + " " + r.Name
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	if r.Cluster != "" {
		text += " of cluster " + r.Cluster
	}
	return text
}

// GroupVersionKind returns the kind of the object.
func (r Ref) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
}

// Report is the result of a diagnosis.
type Report struct {
	APIVersion string `json:"apiVersion"`
	// Claim is the diagnosed object; Ready reports whether it is ready.
	Claim Ref  `json:"claim"`
	Ready bool `json:"ready"`
	// Causes block the claim. The first is the most likely origin of the others.
	Causes []Cause `json:"causes"`
	// Conditions of the claim that are False without affecting readiness.
	Conditions []Condition `json:"conditions,omitempty"`
	// Notes are missing rights, and requests that failed: the diagnosis is incomplete.
	Notes []string `json:"notes,omitempty"`
}

// Cause is an object that blocks the claim.
type Cause struct {
	// Object is the object that blocks, and Chain the objects from the claim to it, without it.
	Object Ref   `json:"object"`
	Chain  []Ref `json:"chain"`
	// Reason is a CamelCase word, Message the object's own message, shortened and without secrets.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Runbook is an argument of cobaltcore explain; empty if no runbook exists.
	Runbook string `json:"runbook,omitempty"`
	// Next are the next commands or steps.
	Next []string `json:"next"`

	rank int
}

// Condition is a condition that is False.
type Condition struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Runbook string `json:"runbook,omitempty"`
}

// shownCauses is the number of causes in the text output.
const shownCauses = 3

// Print writes a report as text or json.
func (r *Report) Print(w io.Writer, format string) error {
	if format == "json" {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	_, err := io.WriteString(w, terminal.EscapeLines(r.text())) // with texts of tenants
	return err
}

// group is a cause, and the number of other objects of the same kind with the same parent, reason and message, such as the pods of a
// Deployment.
type group struct {
	Cause

	others int
}

// grouped returns causes in their order, in groups.
func grouped(causes []Cause) []group {
	type key struct {
		parent                Ref
		kind, reason, message string
	}
	var out []group
	at := map[key]int{}
	for _, c := range causes {
		k := key{kind: c.Object.Kind, reason: c.Reason, message: c.Message}
		if len(c.Chain) > 0 {
			k.parent = c.Chain[len(c.Chain)-1]
		}
		if i, ok := at[k]; ok {
			out[i].others++
			continue
		}
		at[k] = len(out)
		out = append(out, group{Cause: c})
	}
	return out
}

func (r *Report) text() string {
	var b strings.Builder
	switch {
	case r.Ready:
		fmt.Fprintf(&b, "%s is ready\n", r.Claim)
	case len(r.Causes) == 0:
		fmt.Fprintf(&b, "%s is not ready, and no object that blocks it was found\n", r.Claim)
	default:
		fmt.Fprintf(&b, "%s is not ready\n", r.Claim)
	}
	rest := len(r.Causes)
	for i, g := range grouped(r.Causes) {
		if i == shownCauses {
			fmt.Fprintf(&b, "\n%d more objects are not ready: -o json lists them\n", rest)
			break
		}
		c := g.Cause
		rest -= 1 + g.others
		b.WriteString("\n")
		for depth, step := range append(c.Chain[:len(c.Chain):len(c.Chain)], c.Object) {
			fmt.Fprintf(&b, "%s%s\n", strings.Repeat("  ", depth), step)
		}
		indent := strings.Repeat("  ", len(c.Chain)+1)
		fmt.Fprintf(&b, "%s%s: %s\n", indent, c.Reason, c.Message)
		if g.others > 0 {
			fmt.Fprintf(&b, "%sthe same message: %d more of this kind\n", indent, g.others)
		}
		for _, next := range c.Next {
			fmt.Fprintf(&b, "  next: %s\n", next)
		}
		if c.Runbook != "" {
			fmt.Fprintf(&b, "  runbook: cobaltcore explain %s\n", c.Runbook)
		}
	}
	if len(r.Conditions) > 0 {
		b.WriteString("\nOther conditions that are False:\n")
	}
	for _, c := range r.Conditions {
		fmt.Fprintf(&b, "  %s: %s: %s", c.Type, c.Reason, c.Message)
		if c.Runbook != "" {
			fmt.Fprintf(&b, " (cobaltcore explain %s)", c.Runbook)
		}
		b.WriteString("\n")
	}
	if len(r.Notes) > 0 {
		b.WriteString("\nThe diagnosis is incomplete:\n")
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "  %s\n", n)
	}
	return b.String()
}
