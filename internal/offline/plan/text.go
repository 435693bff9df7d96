package plan

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/terminal"
)

// Formats lists the output formats of Print.
var Formats = []string{"text", "json", "markdown"}

// Print writes the plan in a format of Formats; default: text. color adds the colors of a terminal to text.
func (p *Plan) Print(w io.Writer, format string, color bool) error {
	switch format {
	case "json":
		return p.json(w)
	case "markdown":
		_, err := io.WriteString(w, p.markdown())
		return err
	}
	_, err := io.WriteString(w, p.text(palette(color)))
	return err
}

// palette reports whether text has colors.
type palette bool

// Escape sequences of terminals (ECMA-48).
const (
	red, yellow, green, reset = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[0m"
)

// paint returns a text in the color of a level or an action.
func (p palette) paint(color, text string) string {
	if !p || color == "" {
		return text
	}
	return color + text + reset
}

var (
	levelColors = map[Level]string{
		NoInterruption: green, Degraded: yellow, Unknown: yellow, Interrupted: red, DataAtRisk: red,
	}
	actionColors = map[Action]string{ActionCreate: green, ActionChange: yellow, ActionReplace: yellow, ActionDelete: red}
	// symbols are the marks of actions in text.
	symbols = map[Action]string{
		ActionCreate: "+", ActionChange: "~", ActionReplace: "±", ActionDelete: "-", ActionRetain: "=", ActionNone: " ",
	}
)

const unchanged = "No changes. The cloud is as the claims describe it.\n"

// text returns the plan for a terminal.
func (p *Plan) text(paint palette) string {
	if !p.Changed() {
		return unchanged + p.driftText(paint)
	}
	var b strings.Builder
	b.WriteString("Verdicts\n")
	width := 0
	for _, v := range p.Verdicts {
		width = max(width, len(p.title(v)))
	}
	for _, v := range p.Verdicts {
		reasons, note := v.shown(), ""
		if len(reasons) == 0 {
			note = ", " + ruleUnchanged
		}
		fmt.Fprintf(&b, "  %-*s  %s%s\n", width, p.title(v), paint.paint(levelColors[v.Level], string(v.Level)), note)
		for _, r := range reasons {
			fmt.Fprintf(&b, "  %-*s    %s\n", width, "", r)
		}
	}
	for _, c := range p.Claims {
		c.text(&b, paint)
	}
	b.WriteString("\n" + strings.Join(p.summary(), "\n") + "\n")
	b.WriteString(p.driftText(paint))
	return b.String()
}

// title returns the subject of a verdict, with its claim if other claims have the same subject.
func (p *Plan) title(v Verdict) string {
	for _, other := range p.Verdicts {
		if other.Subject == v.Subject && other.Claim != v.Claim {
			return fmt.Sprintf("%s %s/%s", v.Subject, v.Claim.Namespace, v.Claim.Name)
		}
	}
	return v.Subject
}

// shown returns the reasons to show: of a service without interruption only the first, if anything changes, or else all that explain its
// level or unknown effects.
func (v Verdict) shown() []Reason {
	if v.Reasons[0].Rule == ruleUnchanged {
		return nil
	}
	if v.Level == NoInterruption {
		return v.Reasons[:1]
	}
	return slices.DeleteFunc(slices.Clone(v.Reasons), func(r Reason) bool { return r.Level == NoInterruption })
}

// String returns a reason as a line.
func (r Reason) String() string {
	out := r.Text
	if r.Object != "" {
		out = r.Object + ": " + out
	}
	if r.Duration != "" {
		out += " (" + r.Duration + ")"
	}
	if r.Source != "" {
		out += " [docs/" + r.Source + "]"
	}
	return out
}

// text writes the changes, restarts and capacity of a claim.
func (c Claim) text(b *strings.Builder, paint palette) {
	fmt.Fprintf(b, "\n%s %s %s/%s\n", paint.paint(actionColors[c.Action], symbols[c.Action]), c.Kind, c.Namespace, c.Name)
	if c.Action == ActionNone {
		b.WriteString("  no changes\n")
		return
	}
	for _, g := range c.groups() {
		fmt.Fprintf(b, "  %s %s\n", paint.paint(actionColors[g.action], symbols[g.action]), g.title)
		for _, f := range g.fields {
			fmt.Fprintf(b, "      %s\n", f)
		}
	}
	if len(c.Restarts) > 0 {
		b.WriteString("  Restarts, in this order:\n")
	}
	for _, r := range c.Restarts {
		fmt.Fprintf(b, "    %2d  %s\n", r.Stage, r)
	}
	for i, line := range c.capacity() {
		if i == 0 {
			b.WriteString("  Capacity:\n")
		}
		fmt.Fprintf(b, "    %s\n", line)
	}
}

// capacity returns a line for each amount that changes.
func (c Claim) capacity() []string {
	var out []string
	for _, x := range c.Capacity {
		if !x.Changed() {
			continue
		}
		line := fmt.Sprintf("%s: %s → %s", x.Resource, x.Before, x.After)
		if x.Limit != "" {
			line += ", limit " + x.Limit
		}
		out = append(out, line)
	}
	return out
}

// group is an object with its changed fields, or several objects of a component that have no fields to show.
type group struct {
	action Action
	title  string
	fields []string
}

// groups returns the changes of a claim without composite resources: changed objects one by one, others by component and kind.
func (c Claim) groups() []group {
	var out []group
	index := map[string]int{}
	for _, change := range c.Changes {
		if change.Composite {
			continue
		}
		if change.Action == ActionChange || change.Action == ActionReplace {
			g := group{action: change.Action, title: change.Kind + " " + change.Name}
			if change.Reason != "" {
				g.title += ": " + change.Reason
			}
			for _, f := range change.Fields {
				if f.Path != "metadata.name" {
					g.fields = append(g.fields, f.String())
				}
			}
			out = append(out, g)
			continue
		}
		key := string(change.Action) + "/" + change.Component + "/" + change.Kind
		if i, ok := index[key]; ok {
			out[i].title += " " + change.Name
			continue
		}
		index[key] = len(out)
		out = append(out, group{action: change.Action, title: change.Kind + " " + change.Name})
	}
	return out
}

// String returns the old and the new value of a field. Control characters are escaped, because values are text of tenants.
func (f Field) String() string {
	return fmt.Sprintf("%s: %s → %s", terminal.Escape(f.Path), show(f.Old), show(f.New))
}

func show(value *string) string {
	if value == nil {
		return "–"
	}
	return cmp.Or(terminal.Escape(*value), `""`)
}

// summary returns a line with the number of objects for each action, and of rollouts: for each changed claim, if there are several, and for
// all.
func (p *Plan) summary() []string {
	changed := slices.DeleteFunc(slices.Clone(p.Claims), func(c Claim) bool { return c.Action == ActionNone })
	var out []string
	if len(changed) > 1 {
		for _, c := range changed {
			out = append(out, fmt.Sprintf("%s %s/%s: %s", c.Kind, c.Namespace, c.Name, amounts(c)))
		}
	}
	return append(out, "Plan: "+amounts(p.Claims...))
}

// amounts returns the number of objects of claims for each action, and the number of rollouts.
func amounts(claims ...Claim) string {
	n, rollouts := counts(claims)
	return fmt.Sprintf("%d to create, %d to change, %d to replace, %d to delete, %d retained; %d rollouts.",
		n[ActionCreate], n[ActionChange], n[ActionReplace], n[ActionDelete], n[ActionRetain], rollouts)
}

// counts returns the number of objects, without composite resources, for each action, and the number of rollouts that start by themselves.
func counts(claims []Claim) (map[Action]int, int) {
	n, rollouts := map[Action]int{}, 0
	for _, c := range claims {
		for _, change := range c.Changes {
			if !change.Composite {
				n[change.Action]++
			}
		}
		for _, r := range c.Restarts {
			if r.Overlap != OverlapManual {
				rollouts++
			}
		}
	}
	return n, rollouts
}
