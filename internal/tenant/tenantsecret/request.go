package tenantsecret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// Request is a Secret that a spec references.
type Request struct {
	// Name of the Secret in its own namespace.
	Name string
	// Keys that are required.
	Keys []string
	// Fields that reference it. Empty: the tenant does not create it.
	Fields []string
	// As is the name of its copy, which begins with the prefix. Empty: the prefix and Name.
	As string
	// Renamed are keys with another name in the copy, if the workloads are in this cluster.
	Renamed map[string]string
	// Fixed are additional keys of the copy with values that are not secret, if the workloads are in this cluster.
	Fixed map[string]string
}

// Union returns one Request for each Secret, sorted by name, with all required keys and all fields.
func Union(all []Request) []Request {
	var out []Request
	for _, w := range all {
		i, found := slices.BinarySearchFunc(out, w.Name, func(o Request, name string) int { return strings.Compare(o.Name, name) })
		if !found {
			out = slices.Insert(out, i, Request{Name: w.Name})
		}
		out[i].Keys = union(out[i].Keys, w.Keys)
		out[i].Fields = union(out[i].Fields, w.Fields)
	}
	return out
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// sentence returns a message with the missing Secret and the required action.
func (w Request) sentence(namespace string) string {
	keys, verb := "the keys "+and(w.Keys), "name"
	if len(w.Keys) == 1 {
		keys = "the key " + w.Keys[0]
	}
	if len(w.Fields) == 1 {
		verb = "names"
	}
	if len(w.Fields) == 0 {
		return fmt.Sprintf("waits for Secret %s with %s in namespace %s, which is created there", w.Name, keys, namespace)
	}
	return fmt.Sprintf("waits for Secret %s with %s in namespace %s, which %s %s: create it there",
		w.Name, keys, namespace, and(w.Fields), verb)
}

// and joins a list as in a sentence.
func and(list []string) string {
	if n := len(list) - 1; n > 0 {
		return strings.Join(list[:n], ", ") + " and " + list[n]
	}
	return strings.Join(list, "")
}

// longest is the length of shortened names. All other names are shorter, so that they cannot collide.
const longest = 63

// target returns the name of a copy: the prefix and the name of the Secret. If it is too long, it is shortened and a hash
// is added.
func target(prefix, name string) string {
	full := prefix + name
	if len(full) < longest {
		return full
	}
	const readable = 40
	cut := strings.TrimRight(full[:readable], "-.") + "-"
	return cut + names.Hash(longest-len(cut), name)
}
