package main

import (
	"path"
	"regexp"
	"strings"
)

// Messages of other files than Go: of shell scripts, of Python programs, and of templates of the Helm chart.
var (
	shellEcho      = regexp.MustCompile(`(?m)\becho (?:"((?:[^"\\]|\\.)*)"|'([^']*)')|^\s*say "((?:[^"\\]|\\.)*)"`)
	pythonText     = regexp.MustCompile(`(?:print|exit|Refused|Problem|Stopped)\(\s*(f?"(?:[^"\\]|\\.)*"(?:\s*f?"(?:[^"\\]|\\.)*")*)`)
	pythonQuote    = regexp.MustCompile(`"\s*f?"`)
	policyLine     = regexp.MustCompile(`(?m)^ *message: (?:>-\n((?: +.*\n)+?)(?: *(?:reason|messageExpression|- )|---|\{\{)|(.*))`)
	templateAction = regexp.MustCompile(`\{\{-? (?:if|end|else).*?\}\}`)
	templateCall   = regexp.MustCompile(`^\{\{ printf "(.*)" .*\}\}$`)
	chartFail      = regexp.MustCompile(`\bfail (?:\(printf )?"((?:[^"\\]|\\.)*)"`)
)

// fileMessages returns the messages of a file that is not Go.
func fileMessages(name, data string) []message {
	var out []message
	add := func(kind string, found [][]string) {
		for _, groups := range found {
			text := strings.Join(strings.Fields(strings.Join(groups[1:], " ")), " ")
			text = templateCall.ReplaceAllString(text, "$1")
			if kind == "rules" || prose.MatchString(text) {
				out = append(out, message{kind: kind, text: text})
			}
		}
	}
	switch path.Ext(name) {
	case ".sh":
		add("scripts", shellEcho.FindAllStringSubmatch(data, -1))
	case ".py":
		found := pythonText.FindAllStringSubmatch(data, -1)
		for i := range found {
			found[i][1] = strings.Trim(strings.TrimPrefix(pythonQuote.ReplaceAllString(found[i][1], ""), "f"), `"`)
		}
		add("scripts", found)
	case ".yaml", ".tpl":
		if strings.HasPrefix(name, "package/chart/templates/") {
			for _, groups := range policyLine.FindAllStringSubmatch(data, -1) {
				add("rules", [][]string{{"", groups[1], groups[2]}})
			}
			add("rules", chartFail.FindAllStringSubmatch(data, -1))
		}
	case ".txt":
		if path.Base(name) == "NOTES.txt" {
			for paragraph := range strings.SplitSeq(data, "\n\n") {
				add("help", [][]string{{"", templateAction.ReplaceAllString(paragraph, "")}})
			}
		}
	}
	return out
}
