package oslo_test

import (
	"errors"
	"strings"
	"unicode"
)

// read is a second implementation of oslo.config's parser, from its documentation and behavior: group → option → values as
// the service reads them, with `$` substituted. References to options are not resolved.
func read(text string) (map[string]map[string][]string, error) {
	out := map[string]map[string][]string{}
	var group, option string
	// All three end lines in Python's text mode.
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n") {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		switch {
		case line == "":
			option = ""
		case line[0] == ' ' || line[0] == '\t':
			return nil, errors.New("continues a line: " + option)
		case line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			if len(line) < 3 || line[len(line)-1] != ']' {
				return nil, errors.New("broken group: " + line)
			}
			group = line[1 : len(line)-1]
			if out[group] != nil {
				return nil, errors.New("duplicate group: " + group)
			}
			out[group] = map[string][]string{}
		default:
			i := strings.IndexAny(line, "=:")
			if i < 1 || group == "" {
				return nil, errors.New("broken option: " + line)
			}
			option = strings.TrimSpace(line[:i])
			value := strings.TrimSpace(line[i+1:])
			if n := len(value); n > 0 && strings.ContainsRune(`"'`, rune(value[0])) && value[0] == value[n-1] {
				value = value[1:max(1, n-1)]
			}
			out[group][option] = append(out[group][option], substitute(value))
		}
	}
	return out, nil
}

func substitute(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, `\$`, `$$`), "$$", "$")
}

// split parses the text of a list as oslo.config does.
func split(s string) []string {
	s = strings.TrimRight(strings.TrimSpace(s), ",")
	if s == "" {
		return []string{}
	}
	var out []string
	for item := range strings.SplitSeq(s, ",") {
		out = append(out, strings.TrimSpace(item))
	}
	return out
}

// kubernetes expands the value of an environment variable as Kubernetes does if no reference can be resolved.
func kubernetes(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		out.WriteByte(s[i])
		if s[i] == '$' && i+1 < len(s) && s[i+1] == '$' {
			i++
		}
	}
	return out.String()
}
