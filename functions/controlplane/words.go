package controlplane

import "strings"

func join[S ~string](in []S) string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}
