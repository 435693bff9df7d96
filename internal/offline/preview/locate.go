package preview

import (
	"maps"
	"slices"
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

// locator finds fields in an input, which is parsed once.
type locator struct {
	root *yaml.Node
	// fields of the mappings that were searched.
	fields map[*yaml.Node]*fieldIndex
}

// fieldIndex contains the fields of a mapping, so that each of many errors in a large mapping is found without a search.
type fieldIndex struct {
	// positions of the keys in the content of the mapping, by each form in which a path may contain a key.
	positions map[string]int
	// lengths of the forms, longest first.
	lengths []int
}

// newLocator parses an input. The locator of an input that cannot be parsed finds nothing.
func newLocator(doc []byte) *locator {
	var root yaml.Node
	if yaml.Unmarshal(doc, &root) != nil || root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return &locator{}
	}
	return &locator{root: root.Content[0], fields: map[*yaml.Node]*fieldIndex{}}
}

// locate finds a field by its path in the notation of errors: spec.services.keystone.identityBackends[0].ldap.url.
func (l *locator) locate(path string) located {
	if l.root == nil {
		return located{}
	}
	node, line := l.root, l.root.Line
	for path != "" {
		next, rest, at := l.step(node, path)
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
func (l *locator) step(node *yaml.Node, path string) (next *yaml.Node, rest string, line int) {
	switch node.Kind { //nolint:exhaustive // the others have nothing in them
	case yaml.AliasNode:
		return l.step(node.Alias, path)
	case yaml.SequenceNode:
		digits, after, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(digits)
		if !ok || err != nil || !strings.HasPrefix(path, "[") || i < 0 || i >= len(node.Content) {
			return nil, "", 0
		}
		return node.Content[i], strings.TrimPrefix(after, "."), node.Content[i].Line
	case yaml.MappingNode:
		index := l.index(node)
		for _, n := range index.lengths {
			if n > len(path) || n < len(path) && path[n] != '.' && path[n] != '[' {
				continue
			}
			if i, ok := index.positions[path[:n]]; ok {
				return node.Content[i+1], strings.TrimPrefix(path[n:], "."), node.Content[i].Line
			}
		}
	}
	return nil, "", 0
}

// index returns the fields of a mapping.
func (l *locator) index(node *yaml.Node) *fieldIndex {
	if index, ok := l.fields[node]; ok {
		return index
	}
	index := &fieldIndex{positions: map[string]int{}}
	lengths := map[int]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i].Value
		for _, form := range []string{key, strconv.Quote(key), "[" + key + "]"} {
			if _, ok := index.positions[form]; !ok {
				index.positions[form], lengths[len(form)] = i, true
			}
		}
	}
	index.lengths = slices.Sorted(maps.Keys(lengths))
	slices.Reverse(index.lengths)
	l.fields[node] = index
	return index
}
