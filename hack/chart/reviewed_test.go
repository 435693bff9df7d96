package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/hack/chart/reviewed"
)

// ruleOf matches a rule that stands in a template.
var ruleOf = regexp.MustCompile(`- apiGroups: \[(.*)\]\n\s*resources: \[(.*)\]\n((?:\s*resourceNames:.*\n(?:\s*(?:- [^a]|\{\{).*\n)*)?)\s*verbs: \[(.*)\]`)

// roleOf matches the name of a role, and namesOf the names in a rule.
var (
	roleOf  = regexp.MustCompile(`(?m)^  name: cobaltcore:([a-z-]+)$`)
	namesOf = regexp.MustCompile(`cobaltcore:([a-z-]+)|"([a-z0-9.]+/\*)"`)
)

// templates returns the templates without comments and empty lines, by file.
func templates(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%v, %v", paths, err)
	}
	out := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for line := range strings.Lines(string(data)) {
			if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
				text.WriteString(strings.TrimRight(line, " \n") + "\n")
			}
		}
		out[filepath.Base(path)] = text.String()
	}
	return out
}

// TestHandWrittenRights compares the manually written rules in templates with a table of the required permissions of each program. It does
// not require helm.
func TestHandWrittenRights(t *testing.T) {
	var want, got []string
	for _, h := range reviewed.Rules {
		want = append(want, fmt.Sprintf("%s may %s %s of %s [%s]", h.Role, h.Verbs, h.Resources, h.Groups, h.Names))
	}
	for file, text := range templates(t) {
		if rules, lines := len(ruleOf.FindAllString(text, -1)), strings.Count(text, "apiGroups: [")-strings.Count(text, "apiVersions:"); rules != lines {
			t.Errorf("%s: %d rules are read, of %d", file, rules, lines)
		}
		if strings.Contains(text, `"*"`) && strings.Count(text, `"*"`) != strings.Count(text, `apiVersions: ["*"]`) {
			t.Errorf("%s: a rule is about everything", file)
		}
		for doc := range strings.SplitSeq(text, "\n---\n") {
			for _, m := range ruleOf.FindAllStringSubmatch(doc, -1) {
				role := roleOf.FindStringSubmatch(doc)
				if role == nil {
					t.Fatalf("%s: %s is in no role", file, m[0])
				}
				var names []string
				for _, n := range namesOf.FindAllStringSubmatch(m[3], -1) {
					names = append(names, n[1]+n[2])
				}
				limit := strings.Join(names, " ")
				if strings.Contains(m[3], "range") {
					limit = "values"
				}
				got = append(got, fmt.Sprintf("%s may %s %s of %s [%s]", role[1], m[4], m[2], m[1], limit))
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPoliciesFailClosed checks the common properties of all admission policies: failurePolicy is Fail, the bindings deny, and each policy
// matches the right requests.
func TestPoliciesFailClosed(t *testing.T) {
	all := templates(t)
	policy := regexp.MustCompile(`"cobaltcore\.policyMetadata" \(list \. "([a-z-]+)"\)`)
	got := map[string][2]string{}
	for _, file := range []string{"admission.yaml", "admission-instances.yaml"} {
		for doc := range strings.SplitSeq(all[file], "\n---\n") {
			name := policy.FindStringSubmatch(doc)
			if name == nil {
				continue
			}
			found := func(field string) string {
				var values []string
				for _, m := range regexp.MustCompile(`(?m)^\s*`+field+`: (.*)$`).FindAllStringSubmatch(doc, -1) {
					values = append(values, m[1])
				}
				return strings.Join(slices.Compact(values), " and ")
			}
			got[name[1]] = [2]string{found("failurePolicy"), found("operations")}
		}
	}
	want := map[string][2]string{
		"cobaltcore-claims": {"Fail", "[CREATE, UPDATE]"}, "cobaltcore-composites": {"Fail", "[DELETE]"}, "cobaltcore-deletion": {"Fail", "[DELETE]"},
		"cobaltcore-companion": {"Fail", "[CREATE, UPDATE]"}, "cobaltcore-namespaces": {"Fail", "[CREATE, UPDATE]"},
		"cobaltcore-companion-objects": {"Fail", "[CREATE, UPDATE]"}, "cobaltcore-pod-labels": {"Fail", "[UPDATE]"},
		"cobaltcore-node-signers": {"Fail", "[UPDATE]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := strings.Count(all["_helpers.tpl"], "validationActions: [Deny]\n"); n != 1 || strings.Count(fmt.Sprint(all), "validationActions") != 1 {
		t.Errorf("%d bindings deny rejected requests", n)
	}
}
