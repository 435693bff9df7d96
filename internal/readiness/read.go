package readiness

// Helpers that read the JSON form of an object, in which whole numbers are int64 or float64.

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
