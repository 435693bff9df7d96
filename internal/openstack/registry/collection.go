package registry

import "strings"

// anything is the default type of items.
var anything = &Type{Kind: kindString}

func (t *Type) item() *Type {
	if t.Item == nil {
		return anything
	}
	return t.Item
}

// unwrap removes the brackets of a bounded list or dict.
func (t *Type) unwrap(text, first, last string) (string, bool) {
	if !t.Bounded {
		return text, true
	}
	inner, begins := strings.CutPrefix(text, first)
	inner, ends := strings.CutSuffix(inner, last)
	return inner, begins && ends
}

func (t *Type) acceptsList(text string) (bad string, ok bool) {
	inner, ok := t.unwrap(strings.TrimRight(strings.TrimSpace(text), ","), "[", "]")
	if !ok || inner == "" {
		return text, ok
	}
	return split(inner, t.item(), func(part string) (string, bool) { return t.item().accepts(strings.TrimSpace(part)) })
}

func (t *Type) acceptsDict(text string) (bad string, ok bool) {
	inner, ok := t.unwrap(strings.TrimSpace(text), "{", "}")
	if !ok || inner == "" {
		return text, ok
	}
	keys := map[string]bool{}
	return split(inner, t.item(), func(part string) (string, bool) {
		key, value, ok := strings.Cut(part, t.separator())
		key = strings.TrimSpace(key)
		if !ok || key == "" || keys[key] {
			return part, false
		}
		if bad, ok := t.item().accepts(strings.TrimSpace(value)); !ok {
			return bad, false
		}
		keys[key] = true
		return "", true
	})
}

// closes reports whether a part ends like an item in brackets.
func closes(part string) bool {
	part = strings.TrimRight(part, " ")
	return strings.HasSuffix(part, "]") || strings.HasSuffix(part, "}")
}

// split validates a text in parts separated by commas. If items are in brackets, a rejected part may be incomplete because
// the item contains a comma: it is tried again together with the following parts, up to the next few closing brackets.
// Other items contain no commas.
func split(text string, item *Type, accept func(part string) (string, bool)) (bad string, ok bool) {
	tries, first := 0, ""
	for start, end := 0, 0; end <= len(text); end++ {
		if end < len(text) && text[end] != ',' {
			continue
		}
		last := end == len(text)
		if item.Bounded && !last && !closes(text[start:end]) {
			continue
		}
		if bad, ok = accept(text[start:end]); ok {
			start, tries = end+1, 0
			continue
		}
		if tries++; tries == 1 {
			first = bad
		}
		if !item.Bounded || last || tries == 8 {
			return first, false
		}
	}
	return "", true
}
