package preview

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// located is the position of a field in an input.
type located struct {
	// line of the field, from 1, or of its nearest existing parent; 0 if the input cannot be parsed.
	line int
	// text of the field as written; empty if it is not a scalar or does not exist.
	text string
	// quoted reports whether it is in quotes.
	quoted bool
}

// locate finds a field by its path in the notation of errors: spec.services.keystone.identityBackends[0].ldap.url.
func locate(doc []byte, path string) located {
	var root yaml.Node
	if yaml.Unmarshal(doc, &root) != nil || root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return located{}
	}
	node, line := root.Content[0], root.Content[0].Line
	for path != "" {
		next, rest, at := step(node, path)
		if next == nil {
			return located{line: line}
		}
		node, path, line = next, rest, at
	}
	if node.Kind != yaml.ScalarNode {
		return located{line: line}
	}
	return located{line: line, text: node.Value, quoted: node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0}
}

// step follows the first part of a path. It returns the node, the remaining path, and the line of the part. Field names may contain dots,
// so the longest match is used.
func step(node *yaml.Node, path string) (next *yaml.Node, rest string, line int) {
	switch node.Kind { //nolint:exhaustive // the others have nothing in them
	case yaml.AliasNode:
		return step(node.Alias, path)
	case yaml.SequenceNode:
		digits, after, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(digits)
		if !ok || err != nil || !strings.HasPrefix(path, "[") || i < 0 || i >= len(node.Content) {
			return nil, "", 0
		}
		return node.Content[i], strings.TrimPrefix(after, "."), node.Content[i].Line
	case yaml.MappingNode:
		longest := -1
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i].Value
			for _, form := range []string{key, strconv.Quote(key), "[" + key + "]"} {
				if remaining, ok := strings.CutPrefix(path, form); ok && len(form) > longest && (remaining == "" || remaining[0] == '.' ||
					remaining[0] == '[') {
					longest, next, rest, line = len(form), node.Content[i+1], strings.TrimPrefix(remaining, "."), node.Content[i].Line
				}
			}
		}
	}
	return next, rest, line
}
