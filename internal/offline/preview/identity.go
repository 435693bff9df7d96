package preview

import "sigs.k8s.io/yaml"

// Identity is what tells one claim from all others of a cluster.
type Identity struct {
	Kind, Namespace, Name string
}

// IdentityOf returns the identity of a claim. What cannot be read is empty, and reported by Run.
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

// Duplicate returns the refusal of a claim that was read from another place already.
func Duplicate(id Identity, first string) error {
	return newError(id.Kind+" "+id.Name, "metadata.name: namespace %s has a claim of this kind and name in %s already, and a cluster keeps "+
		"one of them; "+
		"remove one file, or rename the claim", id.Namespace, first)
}
