package registry

// Lookup gives the options that a name stands for, current or deprecated: none if it is not known, several if a deprecated
// name was split. They are not to be changed.
func (r *Registry) Lookup(group, option string) []*Option {
	if current, ok := r.groups[normal(group)][option]; ok {
		return []*Option{current}
	}
	return r.renamed[normal(group)][option]
}
