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
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// maxDepth ends a walk round a cycle, and stays far below the nesting that protobuf decoders accept.
	maxDepth = 1000
	// maxWhole is the largest whole number up to which a float64 holds every one.
	maxWhole = 1 << 53
)

// tree encodes what commonly stands in a map[string]any without reflection, and anything else by its type.
func tree(v any, depth int) (*structpb.Value, error) {
	switch v := v.(type) {
	case nil:
		return structpb.NewNullValue(), nil
	case string:
		return str(v)
	case bool:
		return structpb.NewBoolValue(v), nil
	case int64:
		return whole(v)
	case int:
		return whole(int64(v))
	case float64:
		return number(v)
	case json.Number:
		return literal(v)
	case map[string]any:
		return mapping(v, depth, tree)
	case map[string]string:
		return mapping(v, depth, func(s string, _ int) (*structpb.Value, error) { return str(s) })
	case []any:
		return sequence(len(v), depth, func(i, depth int) (*structpb.Value, error) { return tree(v[i], depth) })
	default:
		return typed(reflect.ValueOf(v), depth)
	}
}

// typed encodes a value by its type.
func typed(v reflect.Value, depth int) (*structpb.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep, or contains itself", maxDepth)
	}
	p := planOf(v.Type())
	if p.own != nil {
		return p.own(v, depth)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return structpb.NewNullValue(), nil
		}
		return typed(v.Elem(), depth+1)
	case reflect.Interface:
		if v.IsNil() {
			return structpb.NewNullValue(), nil
		}
		return tree(v.Elem().Interface(), depth)
	case reflect.Struct:
		return structure(v, p.fields, depth)
	case reflect.Map:
		return keyed(v, depth)
	case reflect.Slice:
		if v.IsNil() {
			return structpb.NewNullValue(), nil
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return structpb.NewStringValue(base64.StdEncoding.EncodeToString(v.Bytes())), nil
		}
		return sequence(v.Len(), depth, func(i, depth int) (*structpb.Value, error) { return typed(v.Index(i), depth) })
	case reflect.Array:
		return sequence(v.Len(), depth, func(i, depth int) (*structpb.Value, error) { return typed(v.Index(i), depth) })
	default:
		return scalar(v)
	}
}

func scalar(v reflect.Value) (*structpb.Value, error) {
	switch v.Kind() {
	case reflect.String:
		return str(v.String())
	case reflect.Bool:
		return structpb.NewBoolValue(v.Bool()), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return whole(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if v.Uint() > maxWhole {
			return nil, tooLarge(strconv.FormatUint(v.Uint(), 10))
		}
		return structpb.NewNumberValue(float64(v.Uint())), nil
	case reflect.Float64:
		return number(v.Float())
	case reflect.Float32:
		// The shortest decimal of the float32, as in JSON: 0.1, not 0.10000000149.
		return literal(json.Number(strconv.FormatFloat(v.Float(), 'g', -1, 32)))
	default:
		return nil, fmt.Errorf("JSON has no form for the Go type %s", v.Type())
	}
}

func structure(v reflect.Value, fields []field, depth int) (*structpb.Value, error) {
	out := map[string]*structpb.Value{}
	for _, f := range fields {
		fv, ok := f.of(v)
		if !ok || unset(fv) {
			continue
		}
		e, err := typed(fv, depth+1)
		if err != nil {
			return nil, under("."+f.name, err)
		}
		if _, null := e.GetKind().(*structpb.Value_NullValue); null && fv.Kind() == reflect.Struct {
			continue // A zero by its own account, such as the zero time in a time zone.
		}
		out[f.name] = e
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: out}), nil
}

// unset tells whether a field of a struct was left alone: a builder cannot tell 0 from nothing without a pointer.
func unset(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return v.IsNil()
	default:
		return v.IsZero()
	}
}

// keyed encodes a map of any type with string keys.
func keyed(v reflect.Value, depth int) (*structpb.Value, error) {
	switch t := v.Type(); {
	case v.IsNil():
		return structpb.NewNullValue(), nil
	case t.Key().Kind() != reflect.String:
		return nil, fmt.Errorf("the keys of a map must be strings, not %s", t.Key())
	case t == stringMap, t == anyMap:
		return tree(v.Interface(), depth)
	}
	m := make(map[string]reflect.Value, v.Len())
	for it := v.MapRange(); it.Next(); {
		m[it.Key().String()] = it.Value()
	}
	return mapping(m, depth, typed)
}

// mapping encodes a map. Of several errors it gives that of the first key: a message must not change with map order.
func mapping[V any](m map[string]V, depth int, each func(V, int) (*structpb.Value, error)) (*structpb.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep, or contains itself", maxDepth)
	}
	if m == nil {
		return structpb.NewNullValue(), nil
	}
	out := make(map[string]*structpb.Value, len(m))
	var (
		bad    string
		badErr error
	)
	for k, v := range m {
		e, err := each(v, depth+1)
		if err == nil && !utf8.ValidString(k) {
			err = errors.New("the key is not valid UTF-8")
		}
		if err != nil && (badErr == nil || k < bad) {
			bad, badErr = k, err
		}
		out[k] = e
	}
	if badErr != nil {
		return nil, underKey(bad, badErr)
	}
	return structpb.NewStructValue(&structpb.Struct{Fields: out}), nil
}

// sequence encodes a list of n elements.
func sequence(n, depth int, each func(i, depth int) (*structpb.Value, error)) (*structpb.Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d levels deep, or contains itself", maxDepth)
	}
	out := make([]*structpb.Value, n)
	for i := range out {
		e, err := each(i, depth+1)
		if err != nil {
			return nil, under("["+strconv.Itoa(i)+"]", err)
		}
		out[i] = e
	}
	return structpb.NewListValue(&structpb.ListValue{Values: out}), nil
}

func str(s string) (*structpb.Value, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("the text is not valid UTF-8: carry it as bytes")
	}
	return structpb.NewStringValue(s), nil
}

func whole(n int64) (*structpb.Value, error) {
	if n > maxWhole || n < -maxWhole {
		return nil, tooLarge(strconv.FormatInt(n, 10))
	}
	return structpb.NewNumberValue(float64(n)), nil
}

func number(f float64) (*structpb.Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not a number that JSON can carry", f)
	}
	return structpb.NewNumberValue(f), nil
}

// literal encodes a number by its JSON text.
func literal(n json.Number) (*structpb.Value, error) {
	if i, err := n.Int64(); err == nil {
		return whole(i)
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("%q is not a number that JSON can carry", n)
	}
	if !math.IsInf(f, 0) && math.Abs(f) > maxWhole && !strings.ContainsAny(string(n), ".eE") {
		return nil, tooLarge(string(n))
	}
	return number(f)
}

func tooLarge(n string) error {
	return fmt.Errorf("%s is beyond ±2^53, where whole numbers lose digits: carry it as a string", n)
}

// Types with a form of their own. Quantities and ports are frequent enough to be spared the way through JSON text.

func quantity(v reflect.Value, _ int) (*structpb.Value, error) {
	q := v.Interface().(resource.Quantity) //nolint:forcetypeassert // planOf calls it for this type only.
	return structpb.NewStringValue(q.String()), nil
}

func intOrString(v reflect.Value, _ int) (*structpb.Value, error) {
	i := v.Interface().(intstr.IntOrString) //nolint:forcetypeassert // planOf calls it for this type only.
	if i.Type == intstr.String {
		return str(i.StrVal)
	}
	return whole(int64(i.IntVal))
}

// extension encodes an embedded object by the rules of this package, which its own MarshalJSON does not know.
func extension(v reflect.Value, depth int) (*structpb.Value, error) {
	e := v.Interface().(runtime.RawExtension) //nolint:forcetypeassert // planOf calls it for this type only.
	if e.Raw == nil && e.Object != nil {
		if u, ok := e.Object.(runtime.Unstructured); ok {
			return tree(u.UnstructuredContent(), depth+1)
		}
		return typed(reflect.ValueOf(e.Object), depth+1)
	}
	return viaJSON(v, depth)
}

// viaJSON encodes a type by its MarshalJSON.
func viaJSON(v reflect.Value, depth int) (*structpb.Value, error) {
	m, ok := addressable(v).Interface().(json.Marshaler)
	if !ok {
		return nil, fmt.Errorf("a %s has no JSON of its own", v.Type())
	}
	raw, err := m.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var t any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&t); err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is not valid JSON: something follows its end")
	}
	return tree(t, depth)
}

// viaText encodes a type by its MarshalText.
func viaText(v reflect.Value, _ int) (*structpb.Value, error) {
	m, ok := addressable(v).Interface().(encoding.TextMarshaler)
	if !ok {
		return nil, fmt.Errorf("a %s has no text of its own", v.Type())
	}
	raw, err := m.MarshalText()
	if err != nil {
		return nil, err
	}
	return str(string(raw))
}

// addressable is a pointer to v, or to a copy of it, so that methods of the value and of the pointer can be called.
func addressable(v reflect.Value) reflect.Value {
	if !v.CanAddr() {
		c := reflect.New(v.Type())
		c.Elem().Set(v)
		return c
	}
	return v.Addr()
}
