package invariants

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// A drawer draws values that a schema accepts, by types, enums, patterns and bounds. Constraints are the additional
// requirements of CEL rules and functions. Every optional field may be set, so that new fields of a schema are covered.
type drawer struct {
	t           *rapid.T
	constraints map[string]constraint
	// present draws whether an optional field is set.
	present *rapid.Generator[bool]
}

// A constraint applies to the values of some fields. Its key is the suffix of their path: "keystone.replicas",
// "tolerations[]".
type constraint struct {
	// instead draws the value in place of the schema.
	instead *rapid.Generator[any]
	// fix makes an object that was drawn keep a rule.
	fix func(object map[string]any)
}

const (
	// most is the maximum number of elements of a list or map, independent of its schema.
	most = 2
	// longest is the length of text without a pattern.
	longest = 20
)

func (d drawer) draw(path string, s *apiextensionsv1.JSONSchemaProps) any {
	w := d.constraint(path)
	if w.instead != nil {
		return w.instead.Draw(d.t, path)
	}
	if len(s.Enum) > 0 {
		return enumValue(d.t, path, rapid.SampledFrom(s.Enum).Draw(d.t, path).Raw)
	}
	switch s.Type {
	case "object":
		o := d.object(path, s)
		if w.fix != nil {
			w.fix(o)
		}
		return o
	case "array":
		return d.list(path, s)
	case "string":
		return pattern(s).Draw(d.t, path)
	case "boolean":
		return rapid.Bool().Draw(d.t, path)
	case "integer":
		low, high := int64(0), int64(math.MaxInt32)
		if s.Minimum != nil {
			low = int64(*s.Minimum)
		}
		if s.Maximum != nil {
			high = int64(*s.Maximum)
		}
		return rapid.Int64Range(low, high).Draw(d.t, path)
	}
	panic(fmt.Sprintf("%s: a schema of type %q needs a constraint", path, s.Type))
}

// enumValue returns a string or an integer of an enum.
func enumValue(t *rapid.T, path string, raw []byte) any {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		t.Fatalf("%s: an enum has a value that is no string and no integer: %s", path, raw)
	}
	return text
}

func (d drawer) object(path string, s *apiextensionsv1.JSONSchemaProps) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		at := strings.TrimPrefix(path+"."+name, ".")
		if slices.Contains(s.Required, name) || d.present.Draw(d.t, at+"?") {
			out[name] = d.draw(at, &p)
		}
	}
	if s.AdditionalProperties != nil {
		for range rapid.IntRange(int(ptr.Deref(s.MinProperties, 0)), most).Draw(d.t, "size of "+path) {
			key := rapid.SampledFrom(keys).Draw(d.t, "key of "+path)
			out[key] = d.draw(path+"{}", s.AdditionalProperties.Schema)
		}
	}
	return out
}

// keys of labels, node selectors and annotations.
var keys = []string{"app", "example.org/a", "example.org/zone.b_c"}

func (d drawer) list(path string, s *apiextensionsv1.JSONSchemaProps) []any {
	low := int64(0)
	if s.MinItems != nil {
		low = *s.MinItems
	}
	out := []any{}
	known := map[string]bool{}
	for range rapid.Int64Range(low, max(low, most)).Draw(d.t, "length of "+path) {
		e := d.draw(path+"[]", s.Items.Schema)
		key := fmt.Sprint(e)
		if o, ok := e.(map[string]any); ok && len(s.XListMapKeys) > 0 {
			key = ""
			for _, k := range s.XListMapKeys {
				key += fmt.Sprintf("%v,", o[k])
			}
		}
		if !known[key] { // Lists are sets or maps.
			out = append(out, e)
		}
		known[key] = true
	}
	return out
}

// constraint returns the constraint with the longest matching suffix of a path.
func (d drawer) constraint(path string) constraint {
	for {
		if w, ok := d.constraints[path]; ok {
			return w
		}
		_, rest, more := strings.Cut(path, ".")
		if !more {
			return constraint{}
		}
		path = rest
	}
}

// patterns are the generators of strings, by pattern.
var patterns sync.Map

// pattern generates strings that a schema accepts.
func pattern(s *apiextensionsv1.JSONSchemaProps) *rapid.Generator[string] {
	low, high := int64(0), int64(longest)
	if s.MinLength != nil {
		low = *s.MinLength
	}
	if s.MaxLength != nil {
		high = *s.MaxLength
	}
	key := fmt.Sprintf("%d %d %s", low, high, s.Pattern)
	if g, ok := patterns.Load(key); ok {
		return g.(*rapid.Generator[string])
	}
	expr := s.Pattern
	if expr == "" {
		expr = fmt.Sprintf("^[ -~äß€]{%d,%d}$", low, min(high, max(low, longest)))
	}
	g := rapid.StringMatching(expr).Filter(func(v string) bool {
		n := int64(len([]rune(v)))
		return low <= n && n <= high
	})
	patterns.Store(key, g)
	return g
}
