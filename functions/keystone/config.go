package keystone

import (
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// options returns the options of Keystone in addition to the common ones.
// https://docs.openstack.org/keystone/latest/configuration/config-options.html
func (m *model) options() oslo.Config {
	c := oslo.Config{
		"cache": m.CacheOptions(),
		"token": {
			"provider":             "fernet",
			"expiration":           int(m.spec.Fernet.TokenExpirationSeconds),
			"allow_expired_window": int(*m.spec.Fernet.AllowExpiredWindowSeconds),
		},
		"fernet_tokens": {"key_repository": m.Path(fernetKeys)},
		// The repository of receipts is loaded even if receipts are not used.
		"fernet_receipts": {"key_repository": m.Path(fernetKeys)},
		"credential":      {"key_repository": m.Path(credentialKeys)},
	}
	if m.spec.Exposure != nil && m.spec.Exposure.Path != "" {
		// The Gateway strips the path, so that Keystone cannot derive the URL from requests.
		c["DEFAULT"] = oslo.Options{"public_endpoint": strings.TrimSuffix(string(m.spec.Endpoints.Public), "/v3")}
	}
	if len(m.spec.IdentityBackends) > 0 {
		c["identity"] = oslo.Options{"domain_specific_drivers_enabled": true, "domain_config_dir": m.Path(domainsResource)}
	}
	if f := m.spec.Federation; f != nil {
		c["auth"] = oslo.Options{"methods": []string{"password", "token", "application_credential", "openid", "mapped"}}
		c["openid"] = oslo.Options{"remote_id_attribute": federationIssue}
		if len(f.TrustedDashboards) > 0 {
			c["federation"] = oslo.Options{"trusted_dashboard": oslo.Multi(service.Strings(f.TrustedDashboards))}
		}
	}
	return c
}
