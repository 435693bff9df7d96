// Package keymanager is how OpenStack's programs find the control plane's Barbican: by castellan, the library that all of them ask for
// keys.
package keymanager

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// Group of the options by which a program logs in that asks for a user's key: beside the user's token, it shows one of its own, with which
// the user's holds for longer than it otherwise would.
const Group = "barbican_service_user"

// Options of a program that asks Keystone at an address, whose authority is in a file, as that has signed Barbican's certificate, too. The
// login is in the options of the Group. Nothing without a key manager: no user can have encrypted then.
// https://docs.openstack.org/castellan/latest/configuration/index.html
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

// Logins are the groups by which a program logs in on account of the key manager.
func Logins(k *common.KeyManager) []string {
	if k == nil {
		return nil
	}
	return []string{Group}
}

// Reached is where programs go on account of it.
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
