package preview

import "sigs.k8s.io/yaml"

// Identity is the unique key of a claim in a cluster.
type Identity struct {
	Kind, Namespace, Name string
}

// IdentityOf returns the identity of a claim. Unreadable fields are empty; Run reports them.
func IdentityOf(claim []byte) Identity {
	object := struct {
		Kind     string
		Metadata struct{ Namespace, Name string }
	}{}
	if yaml.Unmarshal(claim, &object) != nil {
		return Identity{}
	}
	return Identity{object.Kind, object.Metadata.Namespace, object.Metadata.Name}
}

// Known reports whether the identity is complete.
func (i Identity) Known() bool { return i.Kind != "" && i.Namespace != "" && i.Name != "" }

// Duplicate returns the error for a claim whose identity was already read from another file.
func Duplicate(id Identity, first string) error {
	return newError(id.Kind+" "+id.Name, "metadata.name: must be unique among claims of one kind in namespace %s, and %s has the same name; "+
		"remove or rename one of them, or remove the claim if the other one is its namespaced form", id.Namespace, first)
}
