package node

import "strings"

// withoutRegistry returns the name of an image without its registry, as containerd requests it
// (https://github.com/distribution/reference/blob/main/normalize.go): a first part that looks like a host is one, and a
// single word belongs to library.
func withoutRegistry(name string) string {
	first, rest, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		return "library/" + name
	case first == "localhost" || strings.ContainsAny(first, ".:"):
		return rest
	}
	return name
}
