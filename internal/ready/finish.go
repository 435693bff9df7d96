package ready

// Helpers of Finish: they write into the JSON form of an object, in which whole numbers are int64 or float64.

const finishedAt = "2025-01-01T00:00:00Z"

func trueCondition(typ string, generation int64) map[string]any {
	return map[string]any{
		"type": typ, "status": "True", "reason": "Done", "message": "",
		"lastTransitionTime": finishedAt, "observedGeneration": generation,
	}
}

// Finished writes true conditions of the given types, at the object's generation.
func Finished(obj map[string]any, types ...string) { finishConditions(obj, types...) }

func finishConditions(obj map[string]any, types ...string) {
	var out []any
	for _, t := range types {
		out = append(out, trueCondition(t, generation(obj)))
	}
	set(obj, out, "status", "conditions")
}

func generation(obj map[string]any) int64 { return number(obj, "metadata", "generation") }

func set(obj map[string]any, value any, path ...string) {
	for _, p := range path[:len(path)-1] {
		next, ok := obj[p].(map[string]any)
		if !ok {
			next = map[string]any{}
			obj[p] = next
		}
		obj = next
	}
	obj[path[len(path)-1]] = value
}

func get(obj map[string]any, path ...string) any {
	for _, p := range path[:len(path)-1] {
		obj, _ = obj[p].(map[string]any)
	}
	return obj[path[len(path)-1]]
}

func number(obj map[string]any, path ...string) int64 {
	switch n := get(obj, path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

func text(obj map[string]any, path ...string) string {
	s, _ := get(obj, path...).(string)
	return s
}
