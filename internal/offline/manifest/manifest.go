// Package manifest prints objects as YAML: deterministic, with keys in conventional order (apiVersion, kind, metadata, then
// alphabetical), and fast, because a preview prints hundreds.
package manifest

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
)

// YAML prints an object. It quotes every scalar that could be parsed as another type.
func YAML(o *structpb.Struct) []byte {
	p := printer{}
	if len(o.GetFields()) == 0 {
		return []byte("{}\n")
	}
	p.object(o, 0)
	return p.out
}

type printer struct{ out []byte }

func (p *printer) text(s string) { p.out = append(p.out, s...) }

func (p *printer) indent(n int) {
	for range n {
		p.out = append(p.out, ' ')
	}
}

const step = 2

// object prints a non-empty object. The first key is printed at the cursor.
func (p *printer) object(o *structpb.Struct, indent int) {
	for i, k := range keys(o) {
		if i > 0 {
			p.indent(indent)
		}
		p.key(k, indent)
		p.member(o.GetFields()[k], indent)
	}
}

// longestKey is the maximum length in bytes of a key without a leading question mark: YAML allows 1024.
const longestKey = 1000

// key prints a key up to its colon.
func (p *printer) key(k string, indent int) {
	start := len(p.out)
	if isPlain(k) {
		p.text(k)
	} else {
		p.out = quoted(p.out, k)
	}
	if len(p.out)-start > longestKey {
		p.out = slices.Insert(p.out, start, '?', ' ')
		p.text("\n")
		p.indent(indent)
	}
	p.text(":")
}

// member prints the value of a key.
func (p *printer) member(v *structpb.Value, indent int) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		if len(k.StructValue.GetFields()) == 0 {
			p.text(" {}\n")
			return
		}
		p.text("\n")
		p.indent(indent + step)
		p.object(k.StructValue, indent+step)
	case *structpb.Value_ListValue:
		if len(k.ListValue.GetValues()) == 0 {
			p.text(" []\n")
			return
		}
		p.text("\n")
		for _, item := range k.ListValue.GetValues() {
			p.indent(indent)
			p.text("-")
			p.item(item, indent)
		}
	default:
		p.text(" ")
		p.leaf(v, indent)
	}
}

// item prints the value of a list item.
func (p *printer) item(v *structpb.Value, indent int) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		if len(k.StructValue.GetFields()) > 0 {
			p.text(" ")
			p.object(k.StructValue, indent+step)
			return
		}
	case *structpb.Value_ListValue:
		if len(k.ListValue.GetValues()) > 0 {
			for i, inner := range k.ListValue.GetValues() {
				if i > 0 {
					p.indent(indent + step)
				} else {
					p.text(" ")
				}
				p.text("-")
				p.item(inner, indent+step)
			}
			return
		}
	}
	p.member(v, indent)
}

func (p *printer) leaf(v *structpb.Value, indent int) {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		p.scalar(k.StringValue, indent)
	case *structpb.Value_NumberValue:
		p.out = number(p.out, k.NumberValue)
	case *structpb.Value_BoolValue:
		p.out = strconv.AppendBool(p.out, k.BoolValue)
	default:
		p.text("null")
	}
	p.text("\n")
}

// scalar prints a string: plain if that is safe, as a block if it has several lines, and else in double quotes, as in
// JSON.
func (p *printer) scalar(s string, indent int) {
	switch {
	case isPlain(s):
		p.text(s)
	case block(s):
		p.text("|")
		if !strings.HasSuffix(s, "\n") {
			p.text("-")
		}
		lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
		for _, line := range lines {
			p.text("\n")
			if line != "" {
				p.indent(indent + step)
				p.text(line)
			}
		}
	default:
		p.out = quoted(p.out, s)
	}
}

func number(out []byte, f float64) []byte {
	const exact = 1 << 53
	if f == math.Trunc(f) && math.Abs(f) <= exact {
		return strconv.AppendInt(out, int64(f), 10)
	}
	return strconv.AppendFloat(out, f, 'g', -1, 64)
}

// keys returns the keys in conventional order.
func keys(o *structpb.Struct) []string {
	out := make([]string, 0, len(o.GetFields()))
	for k := range o.GetFields() {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b string) int {
		if ra, rb := rank(a), rank(b); ra != rb {
			return ra - rb
		}
		return strings.Compare(a, b)
	})
	return out
}

func rank(key string) int {
	switch key {
	case "apiVersion":
		return 0
	case "kind":
		return 1
	case "metadata":
		return 2
	case "name":
		return 3
	}
	return 4
}
