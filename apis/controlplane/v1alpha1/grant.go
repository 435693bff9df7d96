package v1alpha1

// Types returns all catalog types that the service may use, in order of preference.
func (g *KeystoneServiceGrant) Types() []string {
	var out []string
	if g.Type != "" {
		out = append(out, g.Type)
	}
	return append(out, g.AdditionalTypes...)
}
