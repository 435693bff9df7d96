package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Field is a changed field of an object.
type Field struct {
	// Path of the field. Elements of lists are named by their name, if they have one. Options of configuration files have the path
	// data[keystone.conf][DEFAULT].debug.
	Path string
	// Old and New are the values as text; nil if the field is not set. Secret values are replaced by Hidden.
	Old, New *string
	// Immutable means that Kubernetes rejects the change.
	Immutable bool
}

// Hidden replaces secret values.
const Hidden = "(hidden)"

// ignored are fields that do not describe the object: the hash of its desired state.
var ignored = []string{"metadata.annotations[crossplane.c5c3.io/hash]"}

// diff returns the changed fields of an object, sorted by path.
func diff(kind string, before, after map[string]any) []Field {
	d := differ{secret: kind == "Secret"}
	d.value("", before, after)
	d.fields = slices.DeleteFunc(d.fields, func(f Field) bool { return slices.Contains(ignored, f.Path) })
	for i := range d.fields {
		d.fields[i].Immutable = isImmutable(kind, d.fields[i].Path)
	}
	slices.SortStableFunc(d.fields, func(a, b Field) int { return cmp.Compare(a.Path, b.Path) })
	return d.fields
}

// mutable are the fields of a spec that Kubernetes allows to change, of kinds that allow only some changes; immutable are the fields that
// it does not allow to change.
var (
	mutable = map[string][]string{
		"StatefulSet": {
			"spec.replicas", "spec.template", "spec.updateStrategy", "spec.revisionHistoryLimit", "spec.persistentVolumeClaimRetentionPolicy",
			"spec.minReadySeconds", "spec.ordinals",
		},
		"PersistentVolumeClaim": {"spec.resources", "spec.volumeAttributesClassName"},
	}
	immutable = map[string][]string{
		"Deployment": {"spec.selector"}, "DaemonSet": {"spec.selector"}, "Job": {"spec.template", "spec.selector", "spec.completionMode"},
		"Service": {"spec.clusterIP"}, "RoleBinding": {"roleRef"}, "ClusterRoleBinding": {"roleRef"},
	}
)

// isImmutable reports whether Kubernetes rejects the change of a field of an existing object.
func isImmutable(kind, path string) bool {
	below := func(field string) bool {
		rest, ok := strings.CutPrefix(path, field)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	if fields, ok := mutable[kind]; ok && below("spec") {
		return !slices.ContainsFunc(fields, below)
	}
	return slices.ContainsFunc(immutable[kind], below)
}

type differ struct {
	secret bool // all data is secret
	fields []Field
}

// value compares two values of a field.
func (d *differ) value(path string, before, after any) {
	a, aMap := before.(map[string]any)
	b, bMap := after.(map[string]any)
	x, aList := before.([]any)
	y, bList := after.([]any)
	s, aText := before.(string)
	t, bText := after.(string)
	switch {
	case (aMap || before == nil) && (bMap || after == nil) && (aMap || bMap):
		d.maps(path, a, b)
	case aList && bList && named(x) && named(y):
		d.maps(path, byName(x), byName(y))
	case (aText || before == nil) && (bText || after == nil) && s != t && !d.secret && (isFile(s) || isFile(t)):
		d.file(path, s, t)
	case !equal(before, after):
		d.fields = append(d.fields, Field{Path: path, Old: d.text(path, before), New: d.text(path, after)})
	}
}

// maps compares each field of two objects.
func (d *differ) maps(path string, a, b map[string]any) {
	keys := map[string]bool{}
	for _, m := range []map[string]any{a, b} {
		for k := range m {
			keys[k] = true
		}
	}
	if len(keys) == 0 && (a == nil) != (b == nil) {
		d.fields = append(d.fields, Field{Path: path, Old: d.text(path, orNil(a)), New: d.text(path, orNil(b))})
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		d.value(join(path, k), a[k], b[k])
	}
}

func orNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// plain matches names of fields that need no brackets in a path.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

func join(path, name string) string {
	switch {
	case !plain.MatchString(name):
		return path + "[" + name + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// named reports whether all elements of a list are objects with different names.
func named(list []any) bool {
	names := map[string]bool{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		name, _ := m["name"].(string)
		if name == "" || names[name] {
			return false
		}
		names[name] = true
	}
	return true
}

// byName returns the elements of a list by their names, in a form whose paths have the names in brackets.
func byName(list []any) map[string]any {
	out := map[string]any{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		name, _ := m["name"].(string)
		out["name="+name] = m
	}
	return out
}

func equal(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// longestText is the maximum length of a value in the output, in characters.
const longestText = 200

// text returns a value as text, or nil if it is not set.
func (d *differ) text(path string, v any) *string {
	if v == nil {
		return nil
	}
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(redactTree(path, v))
		if err != nil {
			b = []byte("?")
		}
		text = string(b)
	}
	text = redact(path, text)
	if d.secret && (strings.HasPrefix(path, "data") || strings.HasPrefix(path, "stringData")) {
		text = Hidden
	}
	if r := []rune(text); len(r) > longestText {
		text = string(r[:longestText]) + "…"
	}
	return &text
}

// isFile reports whether a text is the content of a file.
func isFile(text string) bool { return strings.Contains(text, "\n") }

// file compares two files: by option, if both contain options, or else by the number of lines.
func (d *differ) file(path, before, after string) {
	a, okA := options(before)
	b, okB := options(after)
	if okA && okB {
		keys := map[string]bool{}
		for _, m := range []map[string]string{a, b} {
			for k := range m {
				keys[k] = true
			}
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			x, inA := a[k]
			y, inB := b[k]
			if inA == inB && x == y {
				continue
			}
			f := Field{Path: path + k}
			if inA {
				f.Old = d.text(f.Path, x)
			}
			if inB {
				f.New = d.text(f.Path, y)
			}
			d.fields = append(d.fields, f)
		}
		return
	}
	removed, added := lines(before, after), lines(after, before)
	old, now := fmt.Sprintf("%d other lines", removed), fmt.Sprintf("%d other lines", added)
	d.fields = append(d.fields, Field{Path: path, Old: &old, New: &now})
}

// lines returns the number of lines that only the first text contains.
func lines(text, other string) int {
	have := map[string]int{}
	for line := range strings.Lines(other) {
		have[line]++
	}
	n := 0
	for line := range strings.Lines(text) {
		if have[line]--; have[line] < 0 {
			n++
		}
	}
	return n
}

// section and option match the lines of configuration files of OpenStack, MariaDB and RabbitMQ.
var (
	section = regexp.MustCompile(`^\[([^\]]+)\]$`)
	option  = regexp.MustCompile(`^([A-Za-z0-9_.:/-]+)\s*=\s*(.*)$`)
)

// options returns the options of a configuration file by "[section].option". It returns false if the text has another form. A missing file
// has no options.
func options(text string) (map[string]string, bool) {
	out := map[string]string{}
	in := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if m := section.FindStringSubmatch(line); m != nil {
			in = "[" + m[1] + "]"
			continue
		}
		m := option.FindStringSubmatch(line)
		if m == nil {
			return nil, false
		}
		key := in + "." + m[1]
		if old, ok := out[key]; ok {
			out[key] = old + ", " + m[2]
		} else {
			out[key] = m[2]
		}
	}
	return out, len(out) > 0 || text == ""
}

// number returns a whole number of an object in its JSON form, or another number.
func number(v any, otherwise int64) int64 {
	switch n := v.(type) {
	case float64:
		return int64(n)
	case int64:
		return n
	case string:
		if i, err := strconv.ParseInt(n, 10, 64); err == nil {
			return i
		}
	}
	return otherwise
}

// at returns the value of a nested field; nil if it does not exist.
func at(object map[string]any, path ...string) any {
	for _, p := range path[:len(path)-1] {
		object, _ = object[p].(map[string]any)
	}
	return object[path[len(path)-1]]
}

func object(m map[string]any, path ...string) map[string]any {
	out, _ := at(m, path...).(map[string]any)
	return out
}

func text(m map[string]any, path ...string) string {
	out, _ := at(m, path...).(string)
	return out
}

func list(m map[string]any, path ...string) []any {
	out, _ := at(m, path...).([]any)
	return out
}
