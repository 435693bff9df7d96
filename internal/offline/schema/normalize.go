package schema

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/json"
)

// Normalize copies an object into the form that an API server's JSON decoder produces: whole numbers are int64, others float64, and
// every other Go type becomes its JSON form. Protocol buffers and YAML make every number a float64, which CEL rejects where a rule
// expects an integer. It returns an error for a value that cannot be represented in JSON.
func Normalize(obj map[string]any) (map[string]any, error) {
	if obj == nil {
		return map[string]any{}, nil
	}
	out, err := normalMap(obj)
	if err != nil {
		return nil, fmt.Errorf("cannot represent the object as JSON: %w", err)
	}
	return out, nil
}

func normal(v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool, int64:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float64:
		return normalFloat(v)
	case map[string]any:
		if v == nil {
			return nil, nil
		}
		return normalMap(v)
	case []any:
		if v == nil {
			return nil, nil
		}
		return normalSlice(v)
	default:
		return viaJSON(v)
	}
}

// normalFloat converts a whole number in the range of int64 to int64, because JSON does not distinguish both.
func normalFloat(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%v is not a valid number in JSON", f)
	}
	// -2^63 is a float64, and so is 2^63, the first value beyond the range.
	if f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f), nil
	}
	return f, nil
}

func normalMap(m map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(m))
	for k, v := range m {
		n, err := normal(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = n
	}
	return out, nil
}

func normalSlice(s []any) ([]any, error) {
	out := make([]any, len(s))
	for i, v := range s {
		n, err := normal(v)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		out[i] = n
	}
	return out, nil
}

func viaJSON(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	return normal(out)
}
