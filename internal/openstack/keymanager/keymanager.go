// Package keymanager configures OpenStack programs to use the control plane's Barbican through castellan, their common key
// library.
package keymanager

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// Group is the option group with which a program logs in to retrieve a user's key. It sends its own token in addition to
// the user's token, which then remains valid for longer.
const Group = "barbican_service_user"

// Options returns the options of a program that connects to Keystone at identityURL. authority is the path of Keystone's CA
// file, which also verifies Barbican's certificate. Group contains the login. Without a key manager, it returns nil: users
// cannot have encrypted data then. https://docs.openstack.org/castellan/latest/configuration/index.html
func Options(k *common.KeyManager, region, identityURL, authority string) oslo.Config {
	if k == nil {
		return nil
	}
	return oslo.Config{
		"key_manager": {"backend": "barbican"},
		"barbican": {
			"auth_endpoint":           identityURL,
			"barbican_api_version":    "v1",
			"barbican_endpoint_type":  "internal",
			"barbican_region_name":    region,
			"send_service_user_token": true,
			"verify_ssl_path":         authority,
		},
	}
}

// Logins returns the option groups with which a program logs in to use the key manager.
func Logins(k *common.KeyManager) []string {
	if k == nil {
		return nil
	}
	return []string{Group}
}

// Reached returns the egress that a program needs for the key manager.
func Reached(k *common.KeyManager) ([]workload.Flow, error) {
	if k == nil {
		return nil, nil
	}
	port, err := workload.PortOf(string(k.InternalURL))
	if err != nil {
		return nil, invalid.Field("spec.keyManager.internalURL", "%s", err)
	}
	return []workload.Flow{{Ports: []int32{port}}}, nil
}
