package v1alpha1

// Types are all that the service may have in the catalog, the first one first.
func (g *KeystoneServiceGrant) Types() []string {
	var out []string
	if g.Type != "" {
		out = append(out, g.Type)
	}
	return append(out, g.AdditionalTypes...)
}
