package node

import "strings"

// withoutRegistry is the name of an image without its registry, as containerd asks for it
// (https://github.com/distribution/reference/blob/main/normalize.go): what looks like a host is one, and a single word is library's.
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
