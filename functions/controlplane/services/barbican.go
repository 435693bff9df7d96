package services

import (
	barbicanv1 "github.com/c5c3/crossplane-cobaltcore/apis/barbican/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// KeyManager returns the key manager settings of services that encrypt data, nil without a key manager.
func (c *Cloud) KeyManager() *common.KeyManager {
	if b := c.Spec.Services.Barbican; b == nil || !b.Enabled {
		return nil
	}
	return &common.KeyManager{InternalURL: common.URL(barbicanv1.InternalURL(barbicanv1.ServiceName, c.Instance))}
}
