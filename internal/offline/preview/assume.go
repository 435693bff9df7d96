package preview

import "regexp"

// notChecked matches the message of WithoutReferences about a claim that is not checked, because of another one.
var notChecked = regexp.MustCompile(`^not checked, because (\S+ \S+), to which it refers, is invalid`)

// AssumeReferences returns the errors without those about references to claims that do not exist, without claims that are unchecked only
// for such a reference. Other checks of references require the claim.
func AssumeReferences(errs []*ValidationErrors) []*ValidationErrors {
	out := without(errs, missingClaim.MatchString)
	for {
		invalid := map[string]bool{}
		for _, e := range out {
			invalid[e.Input] = true
		}
		rest := without(out, func(sentence string) bool {
			m := notChecked.FindStringSubmatch(sentence)
			return m != nil && !invalid[m[1]]
		})
		if len(rest) == len(out) {
			return out
		}
		out = rest
	}
}

// without returns the errors without sentences that match.
func without(errs []*ValidationErrors, match func(sentence string) bool) []*ValidationErrors {
	var out []*ValidationErrors
	for _, e := range errs {
		rest := &ValidationErrors{Source: e.Source, File: e.File, Input: e.Input}
		for i, s := range e.Sentences {
			if match(s) {
				continue
			}
			rest.Sentences = append(rest.Sentences, s)
			rest.lines, rest.hints = appendAt(rest.lines, e.lines, i), appendAt(rest.hints, e.hints, i)
		}
		if len(rest.Sentences) > 0 {
			out = append(out, rest)
		}
	}
	return out
}
