package tenantsecret

import (
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// Request is a Secret that a spec names.
type Request struct {
	// Name of the Secret in its own namespace.
	Name string
	// Keys that are needed.
	Keys []string
	// Fields that name it. None: it is not for a tenant to make.
	Fields []string
	// As is the name of its copy, which begins with the prefix. Empty: the prefix and its own.
	As string
	// Renamed are the keys that have another name in the copy, where the workloads are in this cluster.
	Renamed map[string]string
	// Fixed are keys that the copy has besides, with what is no secret, where the workloads are in this cluster.
	Fixed map[string]string
}

// Union is one Wanted for each Secret, by name, with all that is wanted of it.
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

// sentence says what is missing and what to do.
func (w Request) sentence(namespace string) string {
	keys, verb := "the keys "+and(w.Keys), "name"
	if len(w.Keys) == 1 {
		keys = "the key " + w.Keys[0]
	}
	if len(w.Fields) == 1 {
		verb = "names"
	}
	if len(w.Fields) == 0 {
		return fmt.Sprintf("waits for Secret %s with %s in namespace %s, which is made there", w.Name, keys, namespace)
	}
	return fmt.Sprintf("waits for Secret %s with %s in namespace %s, which %s %s: create it there",
		w.Name, keys, namespace, and(w.Fields), verb)
}

// and is a list as one says it.
func and(list []string) string {
	if n := len(list) - 1; n > 0 {
		return strings.Join(list[:n], ", ") + " and " + list[n]
	}
	return strings.Join(list, "")
}

// longest is the length of a target that had to be cut; all others are shorter, so that none of them is called like one.
const longest = 63

// target is the name of the copy: the Secret's own behind a prefix, and where that is too long, its beginning and a hash.
func target(prefix, name string) string {
	full := prefix + name
	if len(full) < longest {
		return full
	}
	const readable = 40
	cut := strings.TrimRight(full[:readable], "-.") + "-"
	return cut + names.Hash(longest-len(cut), name)
}
