package v1alpha1

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// IdentityBackend is a domain with users and groups in a directory. Its options are the options of Keystone's domain-specific
// configuration file (keystone.<domain>.conf).
// +kubebuilder:validation:XValidation:rule="self.domain.lowerAscii() != 'default'",message="the domain Default must keep its users in the database: it contains the administrator and the service users"
type IdentityBackend struct {
	// Name of the domain.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9_-]*$`
	// +kubebuilder:example="employees"
	Domain string `json:"domain"`
	// Directory.
	LDAP LDAP `json:"ldap"`
}

// LDAP is a directory server.
// +kubebuilder:validation:XValidation:rule="has(self.user) == has(self.passwordSecretRef)",message="set user and passwordSecretRef together, or neither to log in anonymously"
type LDAP struct {
	// Address: ldaps://ldap.example.com.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^ldaps?://[A-Za-z0-9.\[\]:-]+$`
	// +kubebuilder:example="ldaps://ldap.example.com"
	URL string `json:"url"`
	// Distinguished name with which Keystone logs in. Defaults to an anonymous login.
	// +kubebuilder:example="cn=keystone,dc=example,dc=com"
	// +optional
	User DN `json:"user,omitempty"`
	// Secret key with the password, in the claim's namespace.
	// +optional
	PasswordSecretRef *common.SecretKeyReference `json:"passwordSecretRef,omitempty"`
	// Base of the directory.
	// +kubebuilder:example="dc=example,dc=com"
	Suffix DN `json:"suffix"`
	// Base of users.
	// +kubebuilder:example="ou=people,dc=example,dc=com"
	UserTreeDN DN `json:"userTreeDN"`
	// Base of groups.
	// +kubebuilder:example="ou=groups,dc=example,dc=com"
	// +optional
	GroupTreeDN DN `json:"groupTreeDN,omitempty"`
	// Secret key with the authority of the server's certificate, in the claim's namespace.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
	// Send passwords to the directory without TLS, if url begins with ldap:// and options do not set use_tls: true (StartTLS).
	// +optional
	AllowUnencrypted bool `json:"allowUnencrypted,omitempty"`
	// Other options of the group [ldap], such as user_objectclass or user_filter.
	// +optional
	Options common.Options `json:"options,omitempty"`
}

// DN is a distinguished name of a directory entry.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^[^\x00-\x1f]+$`
type DN string

// Federation lets users log in through an OpenID Connect provider such as Keycloak. A proxy in each pod connects to the provider, because
// uWSGI does not support this.
type Federation struct {
	// Name of the identity provider in Keystone.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+$`
	// +kubebuilder:example="keycloak"
	Provider string `json:"provider"`
	// Address of the provider's metadata: https://keycloak.example.com/realms/x/.well-known/openid-configuration.
	// +kubebuilder:example="https://keycloak.example.com/realms/cloud/.well-known/openid-configuration"
	MetadataURL common.HTTPSURL `json:"metadataURL"`
	// Issuer identifier of the provider (the claim iss).
	// +kubebuilder:example="https://keycloak.example.com/realms/cloud"
	Issuer common.HTTPSURL `json:"issuer"`
	// Name of the client that is registered at the provider.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._:/-]+$`
	// +kubebuilder:example="openstack"
	ClientID string `json:"clientID"`
	// Secret key with the client's secret, in the claim's namespace.
	ClientSecretRef common.SecretKeyReference `json:"clientSecretRef"`
	// Scopes of login requests. Defaults to openid, email and profile.
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || 'openid' in self",message="scopes must contain openid"
	// +kubebuilder:validation:MaxItems=16
	// +listType=set
	// +optional
	Scopes []Scope `json:"scopes,omitempty"`
	// Address of the provider for checks whether an access token is valid (RFC 7662). With it, users can also log in with such a token, for
	// example on a command line (v3oidcaccesstoken, v3oidcpassword), if it was issued to the client clientID or for it. If unset, only
	// browsers can log in.
	// +optional
	IntrospectionURL common.HTTPSURL `json:"introspectionURL,omitempty"`
	// Secret key with the authority of the provider's certificate, in the control plane's namespace. Defaults to public authorities.
	// +optional
	CASecretRef *common.SecretKeyReference `json:"caSecretRef,omitempty"`
	// Dashboards that may receive a token by web single sign-on.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	TrustedDashboards []common.URL `json:"trustedDashboards,omitempty"`
	// Image of the proxy.
	// +optional
	ProxyImage *common.Image `json:"proxyImage,omitempty"`
	// Resources of the proxy in each pod. Defaults to 50m of CPU and 64Mi of memory, with a limit of 256Mi.
	// +optional
	ProxyResources *common.Resources `json:"proxyResources,omitempty"`
}

// Scope is an OpenID Connect scope.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._:-]+$`
type Scope string
