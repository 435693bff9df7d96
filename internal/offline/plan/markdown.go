package plan

import (
	"fmt"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/terminal"
)

// markdown returns the plan for a comment of a pull request: verdicts and restarts first, and all changes in a section that is closed.
func (p *Plan) markdown() string {
	if !p.Changed() {
		return unchanged + p.driftMarkdown()
	}
	var b strings.Builder
	b.WriteString("| Service | Verdict | Reason |\n|---|---|---|\n")
	for _, v := range p.Verdicts {
		var reasons []string
		for _, r := range v.shown() {
			reasons = append(reasons, cell(r.String()))
		}
		level := string(v.Level)
		if len(reasons) == 0 {
			reasons = []string{ruleUnchanged}
		}
		if v.Level != NoInterruption {
			level = "**" + level + "**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.title(v), level, strings.Join(reasons, "<br>"))
	}
	for _, c := range p.Claims {
		if c.Action == ActionNone {
			continue
		}
		fmt.Fprintf(&b, "\n### %s `%s/%s`: %s\n", c.Kind, c.Namespace, c.Name, c.Action)
		c.markdown(&b)
	}
	b.WriteString("\n" + strings.Join(p.summary(), "<br>\n") + "\n")
	b.WriteString(p.driftMarkdown())
	return b.String()
}

// markdown writes the restarts, capacity and changes of a claim.
func (c Claim) markdown(b *strings.Builder) {
	if len(c.Restarts) > 0 {
		b.WriteString("\n| Stage | Pods that restart | Replaced |\n|---|---|---|\n")
	}
	for _, r := range c.Restarts {
		workload, replaced, _ := strings.Cut(r.String(), ", ")
		fmt.Fprintf(b, "| %d | %s | %s |\n", r.Stage, cell(workload), cell(replaced))
	}
	if lines := c.capacity(); len(lines) > 0 {
		fmt.Fprintf(b, "\n- %s\n", strings.Join(lines, "\n- "))
	}
	groups := c.groups()
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "\n<details><summary>%d changes</summary>\n\n", len(groups))
	for _, g := range groups {
		fmt.Fprintf(b, "- `%s` %s\n", symbols[g.action], cell(g.title))
		for _, f := range g.fields {
			fmt.Fprintf(b, "  - %s\n", code(f))
		}
	}
	b.WriteString("\n</details>\n")
}

// cell returns a text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", ">", "&gt;", "`", "'").Replace(terminal.Escape(text))
}

// code returns a text as code. Values are text of tenants, which must not end the code.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }
