package controlplane

// externalSouthbound returns the address of the southbound database for other clusters. Empty: not assigned yet.
func (m *model) externalSouthbound() string {
	part := southbound
	if m.ovnRelay() != nil {
		part = "relay"
	}
	return m.observedOVN().String("status", part, "externalEndpoint")
}
