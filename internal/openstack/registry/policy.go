package registry

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/c5c3/crossplane-cobaltcore/internal/suggest"
)

// CheckPolicy validates one policy rule of a tenant.
func (r *Registry) CheckPolicy(rule, check string) error {
	return errors.Join(r.CheckPolicies(map[string]string{rule: check}, false)...)
}

// CheckPolicies validates all policy rules of a tenant: rule → check. A rule that the service does not have is accepted if
// another of these rules refers to it. With allowUnknown, all rule names are accepted; checks are still validated.
//
// It returns at most one error for each rule, sorted by rule. Each error is a sentence that contains the name of the rule.
func (r *Registry) CheckPolicies(overrides map[string]string, allowUnknown bool) []error {
	names := slices.Sorted(maps.Keys(overrides))
	checks := make(map[string]expression, len(overrides))
	failed := map[string]error{}
	used := map[string]bool{}
	for _, name := range names {
		parsed, err := parseOverride(overrides[name])
		if err != nil {
			failed[name] = fmt.Errorf("policy rule %s: %w", displayName(name), err)
		}
		checks[name] = parsed
		for _, reference := range parsed.rules {
			if reference != name {
				used[reference] = true
			}
		}
	}
	known := func(name string) bool {
		_, registered := r.policies[name]
		return allowUnknown || registered || r.renamedPolicies[name]
	}
	for _, name := range names {
		switch missing := slices.IndexFunc(checks[name].rules, func(rule string) bool {
			_, overridden := overrides[rule]
			return !overridden && !known(rule)
		}); {
		case failed[name] != nil:
		case !known(name) && !used[name]:
			failed[name] = r.unknownRule(name)
		case missing >= 0:
			failed[name] = fmt.Errorf("policy rule %s: it refers to a missing rule: %w", displayName(name),
				r.unknownRule(checks[name].rules[missing]))
		}
	}
	for name, loop := range r.loops(checks) {
		if failed[name] == nil {
			failed[name] = fmt.Errorf("policy rule %s: it refers to itself: %s", displayName(name), strings.Join(loop, " → "))
		}
	}
	errs := make([]error, 0, len(failed))
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		errs = append(errs, failed[name])
	}
	return errs
}

func (r *Registry) unknownRule(name string) error {
	subject := fmt.Sprintf("%s %s has no policy rule %s", r.Service, r.Release, displayName(name))
	where := r.otherReleases(func(other *Registry) bool { _, ok := other.policies[name]; return ok })
	if where != "" {
		return fmt.Errorf("%s: %s", subject, where)
	}
	if closest := suggest.Closest(name, maps.Keys(r.policies)); closest != "" {
		return fmt.Errorf("%s: did you mean %s?", subject, closest)
	}
	return fmt.Errorf("%s: give a rule of %s, or a rule to which another of your rules refers", subject, r.Service)
}

// loops finds rules that refer to themselves, which oslo.policy would follow until the request fails. For each cycle, it
// returns an overridden rule → the path back to it.
func (r *Registry) loops(overrides map[string]expression) map[string][]string {
	const open, done = 1, 2
	state := map[string]int{}
	found := map[string][]string{}
	var path []string
	var visit func(string)
	visit = func(name string) {
		switch state[name] {
		case done:
			return
		case open:
			loop := path[slices.Index(path, name):]
			for i, member := range loop {
				if _, managed := overrides[member]; managed {
					found[member] = slices.Concat(loop[i+1:], loop[:i+1])
					return
				}
			}
			return
		}
		state[name] = open
		path = append(path, name)
		check, managed := overrides[name]
		if !managed {
			check, _ = parse(r.policies[name].Check)
		}
		for _, reference := range check.rules {
			visit(reference)
		}
		path = path[:len(path)-1]
		state[name] = done
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		visit(name)
	}
	return found
}

// parseOverride parses the check of a tenant's rule. An empty check is rejected; to allow everyone, a tenant must write @.
// oslo.policy treats an empty check as allowed, and services use that for operations that any authenticated user may
// perform. In a tenant's rule, it is likely a value that was lost
// (https://docs.openstack.org/oslo.policy/latest/reference/api/oslo_policy.policy.html#policy-rule-expressions).
func parseOverride(check string) (expression, error) {
	if check == "" {
		return expression{}, errors.New("its check is empty, which would allow everyone: set @ to allow everyone, or ! to deny everyone")
	}
	return parse(check)
}

// expression contains the relevant parts of a parsed check.
type expression struct {
	// rules are the referenced rules, in the order of the text.
	rules []string
}

// parse parses a check: terms with and, or, not and parentheses. An empty check is always true.
func parse(check string) (expression, error) {
	if check == "" {
		return expression{}, nil
	}
	if strings.ContainsFunc(check, unicode.IsControl) {
		return expression{}, errors.New("its check holds a control character, such as a line break: write it on one line, with spaces")
	}
	p := parser{wantTerm: true}
	for _, token := range tokens(check) {
		step := p.operator
		if p.wantTerm {
			step = p.operand
		}
		if err := step(token); err != nil {
			return expression{}, err
		}
	}
	switch {
	case p.wantTerm:
		return expression{}, errors.New("its check ends without a term; to allow everyone, set @")
	case p.depth > 0:
		return expression{}, errors.New("its check opens a parenthesis that it does not close")
	}
	return p.read, nil
}

// parser is the state while parsing a check. Apart from the parentheses, the language is regular, so the state is the
// number of open parentheses and whether a term or an operator is next.
type parser struct {
	depth    int
	wantTerm bool
	read     expression
}

// operand parses a token where a term is expected.
func (p *parser) operand(token string) error {
	switch strings.ToLower(token) {
	case "(":
		p.depth++
		return nil
	case "not":
		return nil
	case ")", "and", "or":
		return fmt.Errorf("its check lacks a term before %s", shorten(token))
	}
	rule, err := term(token)
	if err != nil {
		return fmt.Errorf("its check holds %s: %w", shorten(token), err)
	}
	if rule != "" {
		p.read.rules = append(p.read.rules, rule)
	}
	p.wantTerm = false
	return nil
}

// operator parses a token after a term.
func (p *parser) operator(token string) error {
	switch strings.ToLower(token) {
	case ")":
		if p.depth--; p.depth < 0 {
			return errors.New("its check closes a parenthesis that it does not open")
		}
		return nil
	case "and", "or":
		p.wantTerm = true
		return nil
	}
	return fmt.Errorf("its check lacks an operator before %s", shorten(token))
}

// tokens splits a check at spaces and separates the parentheses around words. Inner parentheses, as in %(user_id)s, belong
// to the word.
func tokens(check string) []string {
	var out []string
	for word := range strings.FieldsSeq(check) {
		inner := strings.TrimLeft(word, "(")
		for range len(word) - len(inner) {
			out = append(out, "(")
		}
		bare := strings.TrimRight(inner, ")")
		if bare != "" {
			out = append(out, bare)
		}
		for range len(inner) - len(bare) {
			out = append(out, ")")
		}
	}
	return out
}

// Valid texts before and after the first colon of a term: an attribute of the caller or a literal, and a text with
// attributes of the target as %(name)s. %(name).0s inserts no characters of the attribute and only tests whether the
// target has the attribute: a term with an attribute that the target lacks is false.
var (
	attribute = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	literal   = regexp.MustCompile(`^('[^'\\]*'|"[^"\\]*"|-?(0|[1-9][0-9]*)(\.[0-9]+)?)$`)
	template  = regexp.MustCompile(`^([^%]|%%|%\([^()%]+\)(\.0)?s)+$`)
)

// term parses an atomic check and returns the rule to which it refers, if any.
func term(token string) (rule string, err error) {
	if token == "@" || token == "!" {
		return "", nil
	}
	kind, match, ok := strings.Cut(token, ":")
	switch {
	case !ok:
		return "", errors.New("a term is kind:value, such as role:admin or user_id:%(user_id)s, or one of @ and ! alone")
	case kind == "http" || kind == "https":
		return "", errors.New("a check that calls a server over HTTP is not allowed, because the request would leave the cluster")
	case match == "":
		return "", errors.New("the value after the colon is missing, so it is never true")
	case kind == "rule":
		return match, nil
	case !attribute.MatchString(kind) && !literal.MatchString(kind):
		return "", errors.New("the kind before the colon must be role, rule, an attribute of the caller's token such as project_id, " +
			"or a literal such as True or 'member'")
	case !template.MatchString(match):
		return "", errors.New("a percent sign is only valid in %(name)s and %(name).0s, or as %%")
	}
	return "", nil
}
