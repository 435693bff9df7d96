package main

import (
	"bytes"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// previewExample returns the output of `cobaltcore preview` without flags: the example claim on the example platform.
func previewExample() (*preview.Result, error) {
	r, err := preview.Run(examples.Claim, examples.Platform, kinds.Runners())
	if err != nil {
		return nil, fmt.Errorf("cannot preview the example claim: %w", err)
	}
	return r, nil
}

// The terminal in the picture: columns and pixels.
const (
	terminalColumns = 112
	charWidth       = 7.8
	lineHeight      = 17
	margin          = 16
)

// terminal draws a command and its output as a terminal shows them, as SVG. Lines that are too long end in an ellipsis.
func terminal(command, output string) []byte {
	lines := append([]string{"$ " + command}, strings.Split(strings.TrimSuffix(output, "\n"), "\n")...)
	width, height := terminalColumns*charWidth+2*margin, len(lines)*lineHeight+2*margin
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" role="img" aria-label="%s">
<style>
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d0d7de; white-space: pre }
.prompt { fill: #7ee787; font-weight: bold }
.stage { fill: #8b949e }
.component { fill: #79c0ff }
</style>
<rect width="100%%" height="100%%" rx="8" fill="#161b22"/>
`, width, height, html.EscapeString("Output of "+command))
	for i, line := range lines {
		fmt.Fprintf(&out, "<text x=\"%d\" y=\"%d\" xml:space=\"preserve\">%s</text>\n", margin, margin+(i+1)*lineHeight-5, colored(cut(line)))
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// cut ends a line where the terminal does.
func cut(line string) string {
	if utf8.RuneCountInString(line) <= terminalColumns {
		return line
	}
	return string([]rune(line)[:terminalColumns-1]) + "…"
}

// colored marks up a line: the prompt, and in the preview's tree the stage and the component.
func colored(line string) string {
	if strings.HasPrefix(line, "$ ") {
		return span("prompt", line)
	}
	branch, rest, ok := strings.Cut(line, "─ ")
	if !ok {
		return html.EscapeString(line)
	}
	stage, rest, _ := strings.Cut(rest, " ")
	component, objects, _ := strings.Cut(rest, " ")
	return span("stage", branch+"─ "+stage) + " " + span("component", component) + html.EscapeString(" "+objects)
}

func span(class, text string) string {
	return fmt.Sprintf(`<tspan class="%s">%s</tspan>`, class, html.EscapeString(text))
}

// graph is the graph of components as a Mermaid flowchart, which GitHub renders: one box for each composite resource.
// A dotted edge leads from the component that composes a composite resource to that resource's own components.
func graph(r *preview.Result) string {
	var boxes, edges strings.Builder
	id := func(owner, component string) string { return owner + "." + component }
	var owners []string
	for _, c := range r.Components {
		if !slices.Contains(owners, c.Owner) {
			owners = append(owners, c.Owner)
		}
		for _, a := range c.After {
			fmt.Fprintf(&edges, "  %s --> %s\n", id(c.Owner, a), id(c.Owner, c.Name))
		}
	}
	for _, owner := range owners {
		fmt.Fprintf(&boxes, "  subgraph %s\n", owner)
		for _, c := range r.Components {
			if c.Owner == owner {
				fmt.Fprintf(&boxes, "    %s[%s]\n", id(owner, c.Name), c.Name)
			}
		}
		boxes.WriteString("  end\n")
	}
	composites := kinds.Runners()
	for _, o := range r.Objects {
		group, _, _ := strings.Cut(o.APIVersion, "/")
		if _, ok := composites[o.Kind+"."+group]; ok {
			fmt.Fprintf(&edges, "  %s -.-> %s\n", id(o.Owner, o.Component), o.Name)
		}
	}
	return "flowchart LR\n" + boxes.String() + edges.String()
}

// embed replaces the text between the markers of a block in a page: "<!-- begin generated: name -->" and "<!-- end generated: name -->".
func embed(page []byte, name, text string) ([]byte, error) {
	start, end := "<!-- begin generated: "+name+" -->\n", "<!-- end generated: "+name+" -->\n"
	before, rest, ok := strings.Cut(string(page), start)
	_, after, finished := strings.Cut(rest, end)
	if !ok || !finished {
		return nil, fmt.Errorf("cannot find %q and, after it, %q", strings.TrimSpace(start), strings.TrimSpace(end))
	}
	return []byte(before + start + text + end + after), nil
}
