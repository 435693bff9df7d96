package controlplane

// thirdPartyImage is an image that is not OpenStack's, by its name. Empty: the one that its operator takes.
func (m *model) thirdPartyImage(_ string) (string, error) { return "", nil }
