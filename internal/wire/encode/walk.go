package encode

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const (
	// maxDepth terminates the walk of a cyclic value. It is far below the nesting that protobuf decoders accept.
	maxDepth = 1000
	// maxExactInt is the largest integer up to which a float64 represents every integer.
	maxExactInt = 1 << 53
)

// writer writes values from their ends to their beginnings, so the last element is written first.
type writer struct{ *encoded.Writer }

// tree encodes the common types in a map[string]any without reflection, and other types with typed.
func (w writer) tree(v any, depth int) error {
	switch v := v.(type) {
	case nil:
		w.Null()
	case string:
		return w.str(v)
	case bool:
		w.Bool(v)
	case int64:
		return w.integer(v)
	case int:
		return w.integer(int64(v))
	case float64:
		return w.number(v)
	case json.Number:
		return w.literal(v)
	case map[string]any:
		return mapping(w, v, depth, writer.tree)
	case map[string]string:
		return mapping(w, v, depth, func(w writer, s string, _ int) error { return w.str(s) })
	case []any:
		return w.sequence(len(v), depth, func(i, depth int) error { return w.tree(v[i], depth) })
	case encoded.Struct:
		end := w.Written()
		w.Raw(v)
		w.WriteStructHeader(end)
	default:
		return w.typed(reflect.ValueOf(v), depth)
	}
	return nil
}

// typed encodes a value according to its type.
func (w writer) typed(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested more than %d levels deep, or contains itself", maxDepth)
	}
	p := planOf(v.Type())
	if p.own != nil {
		return p.own(w, v, depth)
	}
	switch kind := v.Kind(); {
	case nillable(kind) && v.IsNil():
		w.Null()
		return nil
	case kind == reflect.Pointer:
		return w.typed(v.Elem(), depth+1)
	case kind == reflect.Interface:
		return w.tree(v.Elem().Interface(), depth)
	case kind == reflect.Struct:
		return w.structure(v, p.fields, depth)
	case kind == reflect.Map:
		return w.keyed(v, depth)
	case kind == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		w.String(base64.StdEncoding.EncodeToString(v.Bytes()))
		return nil
	case kind == reflect.Slice, kind == reflect.Array:
		return w.sequence(v.Len(), depth, func(i, depth int) error { return w.typed(v.Index(i), depth) })
	default:
		return w.scalar(v)
	}
}

func nillable(k reflect.Kind) bool {
	return k == reflect.Pointer || k == reflect.Map || k == reflect.Slice || k == reflect.Interface
}

func (w writer) scalar(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		return w.str(v.String())
	case reflect.Bool:
		w.Bool(v.Bool())
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return w.integer(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if v.Uint() > maxExactInt {
			return tooLarge(strconv.FormatUint(v.Uint(), 10))
		}
		w.Number(float64(v.Uint()))
		return nil
	case reflect.Float64:
		return w.number(v.Float())
	case reflect.Float32:
		// The shortest decimal of the float32, as in JSON: 0.1, not 0.10000000149.
		return w.literal(json.Number(strconv.FormatFloat(v.Float(), 'g', -1, 32)))
	default:
		return fmt.Errorf("the Go type %s has no JSON representation", v.Type())
	}
}

func (w writer) structure(v reflect.Value, fields []field, depth int) error {
	end := w.Written()
	for _, f := range slices.Backward(fields) {
		fv, ok := f.of(v)
		if !ok || unset(fv) {
			continue
		}
		entry := w.Written()
		if err := w.typed(fv, depth+1); err != nil {
			return withPathSegment("."+f.name, err)
		}
		if fv.Kind() == reflect.Struct && bytes.Equal(w.Since(entry), encoded.Null) {
			w.Truncate(entry) // It is encoded as null, such as a zero time with a time zone.
			continue
		}
		w.Entry(f.name, entry)
	}
	w.WriteStructHeader(end)
	return nil
}

// unset reports whether a struct field was not set: without a pointer, 0 cannot be distinguished from an unset field.
func unset(v reflect.Value) bool {
	if nillable(v.Kind()) {
		return v.IsNil()
	}
	return v.IsZero()
}

// keyed encodes a map that is not nil, with string keys and elements of any type.
func (w writer) keyed(v reflect.Value, depth int) error {
	switch t := v.Type(); {
	case t.Key().Kind() != reflect.String:
		return fmt.Errorf("the keys of a map must be strings, not %s", t.Key())
	case t == stringMap, t == anyMap:
		return w.tree(v.Interface(), depth)
	}
	m := make(map[string]reflect.Value, v.Len())
	for it := v.MapRange(); it.Next(); {
		m[it.Key().String()] = it.Value()
	}
	return mapping(w, m, depth, writer.typed)
}

// mapping encodes a map.
func mapping[V any](w writer, m map[string]V, depth int, each func(writer, V, int) error) error {
	switch {
	case depth > maxDepth:
		return fmt.Errorf("it is nested more than %d levels deep, or contains itself", maxDepth)
	case m == nil:
		w.Null()
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	end := w.Written()
	for _, k := range slices.Backward(keys) {
		entry := w.Written()
		err := each(w, m[k], depth+1)
		if err == nil && !utf8.ValidString(k) {
			err = errors.New("the key is not valid UTF-8")
		}
		if err != nil {
			return withKeySegment(k, err)
		}
		w.Entry(k, entry)
	}
	w.WriteStructHeader(end)
	return nil
}

// sequence encodes a list of n elements.
func (w writer) sequence(n, depth int, each func(i, depth int) error) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested more than %d levels deep, or contains itself", maxDepth)
	}
	end := w.Written()
	for i := n - 1; i >= 0; i-- {
		element := w.Written()
		if err := each(i, depth+1); err != nil {
			return withPathSegment("["+strconv.Itoa(i)+"]", err)
		}
		w.Element(element)
	}
	w.WriteListHeader(end)
	return nil
}

func (w writer) str(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("the text is not valid UTF-8: use bytes instead")
	}
	w.String(s)
	return nil
}

func (w writer) integer(n int64) error {
	if n > maxExactInt || n < -maxExactInt {
		return tooLarge(strconv.FormatInt(n, 10))
	}
	w.Number(float64(n))
	return nil
}

func (w writer) number(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%v is not a number that JSON can represent", f)
	}
	w.Number(f)
	return nil
}

// literal encodes a number in JSON notation.
func (w writer) literal(n json.Number) error {
	if i, err := n.Int64(); err == nil {
		return w.integer(i)
	}
	f, err := n.Float64()
	if err != nil {
		return fmt.Errorf("%q is not a number that JSON can represent", n)
	}
	if !math.IsInf(f, 0) && math.Abs(f) > maxExactInt && !strings.ContainsAny(string(n), ".eE") {
		return tooLarge(string(n))
	}
	return w.number(f)
}

func tooLarge(n string) error {
	return fmt.Errorf("%s is beyond ±2^53, where integers lose precision: use a string instead", n)
}

// Types with special encodings. Quantities and ports are frequent, so they are not encoded through JSON text.

func (w writer) quantity(v reflect.Value, _ int) error {
	q := v.Interface().(resource.Quantity) //nolint:forcetypeassert // planOf calls it for this type only.
	w.String(q.String())
	return nil
}

func (w writer) intOrString(v reflect.Value, _ int) error {
	i := v.Interface().(intstr.IntOrString) //nolint:forcetypeassert // planOf calls it for this type only.
	if i.Type == intstr.String {
		return w.str(i.StrVal)
	}
	return w.integer(int64(i.IntVal))
}

// extension encodes an embedded object with the rules of this package, which its MarshalJSON would not apply.
func (w writer) extension(v reflect.Value, depth int) error {
	e := v.Interface().(runtime.RawExtension) //nolint:forcetypeassert // planOf calls it for this type only.
	if e.Raw == nil && e.Object != nil {
		if u, ok := e.Object.(runtime.Unstructured); ok {
			return w.tree(u.UnstructuredContent(), depth+1)
		}
		return w.typed(reflect.ValueOf(e.Object), depth+1)
	}
	return w.viaJSON(v, depth)
}

// viaJSON encodes a type with its MarshalJSON.
func (w writer) viaJSON(v reflect.Value, depth int) error {
	m, ok := addressable(v).Interface().(json.Marshaler)
	if !ok {
		return fmt.Errorf("a %s has no MarshalJSON", v.Type())
	}
	raw, err := m.MarshalJSON()
	if err != nil {
		return err
	}
	var t any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&t); err != nil {
		return fmt.Errorf("it is not valid JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it is not valid JSON: something follows its end")
	}
	return w.tree(t, depth)
}

// viaText encodes a type with its MarshalText.
func (w writer) viaText(v reflect.Value, _ int) error {
	m, ok := addressable(v).Interface().(encoding.TextMarshaler)
	if !ok {
		return fmt.Errorf("a %s has no MarshalText", v.Type())
	}
	raw, err := m.MarshalText()
	if err != nil {
		return err
	}
	return w.str(string(raw))
}

// addressable returns a pointer to v, or to a copy of it, so that methods of both the value and the pointer can be called.
func addressable(v reflect.Value) reflect.Value {
	if !v.CanAddr() {
		c := reflect.New(v.Type())
		c.Elem().Set(v)
		return c
	}
	return v.Addr()
}
