package keystone

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/workload"
)

const (
	httpdPath = configDir + "/" + httpdConf
	// The variables that the proxy reads its client's secret and its sessions' passphrase from.
	clientSecretEnv = "OIDC_CLIENT_SECRET"     //nolint:gosec // the name of a variable, not a secret
	passphraseEnv   = "OIDC_CRYPTO_PASSPHRASE" //nolint:gosec // the name of a variable, not a secret
	// modules is where Debian keeps Apache's modules.
	modules = "/usr/lib/apache2/modules"
)

// ssoForm is the page by which a user's browser brings a token to a dashboard; Keystone puts in $host and $token. The login of
// a dashboard ends at it: https://docs.openstack.org/keystone/latest/admin/federation/configure_federation.html#configuring-keystone
const ssoForm = `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Login</title></head>
<body onload="document.forms[0].submit()">
<form method="post" action="$host">
<input type="hidden" name="token" value="$token">
<button>Continue to the dashboard</button>
</form>
</body>
</html>
`

// proxy is Apache with mod_auth_openidc before uWSGI (https://docs.openstack.org/keystone/latest/admin/federation/).
func (m *model) proxy() corev1.Container {
	ref := m.spec.Federation.ClientSecretRef
	return corev1.Container{
		Name:    "federation-proxy",
		Image:   m.proxyImage,
		Command: []string{"apache2", "-DFOREGROUND", "-f", httpdPath},
		Env: []corev1.EnvVar{
			workload.SecretEnv(clientSecretEnv, string(ref.Name), string(ref.Key)),
			workload.SecretEnv(passphraseEnv, m.sub("federation"), secret.PasswordKey),
		},
		VolumeMounts: []corev1.VolumeMount{workload.MountFile("config", httpdPath, httpdConf)},
	}
}

// httpd is the proxy's configuration: it serves https, logs users in where Keystone's federation asks for it, and hands
// every request on. Headers that tell who a user is are removed from requests, so that only the proxy can set them.
func (m *model) httpd() string {
	f := m.spec.Federation
	scopes := []string{"openid", "email", "profile"}
	if len(f.Scopes) > 0 {
		scopes = asStrings(f.Scopes)
	}
	public := strings.TrimSuffix(string(m.spec.Endpoints.Public), "/v3")
	login := fmt.Sprintf("/v3/OS-FEDERATION/identity_providers/%s/protocols/openid/auth", f.Provider)
	sso := fmt.Sprintf("/v3/auth/OS-FEDERATION/identity_providers/%s/protocols/openid/websso", f.Provider)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("ServerRoot /etc/apache2")
	line("ServerName %s", m.internalHost())
	line("PidFile /tmp/apache2.pid")
	line("DefaultRuntimeDir /tmp")
	line("Mutex file:/tmp default")
	line("ErrorLog /dev/stderr")
	line("Listen %d", apiPort)
	for _, mod := range []string{
		"mpm_event", "authn_core", "authz_core", "authz_user", "headers", "proxy", "proxy_http", "setenvif", "socache_shmcb", "ssl",
		"auth_openidc",
	} {
		line("LoadModule %s_module %s/mod_%s.so", mod, modules, mod)
	}
	line("LogFormat %q combined", `%h %l %u %t "%r" %>s %b`)
	line("SSLSessionCache shmcb:/tmp/ssl(512000)")
	line("<VirtualHost *:%d>", apiPort)
	line("  SSLEngine on")
	line("  SSLCertificateFile %s", certFile)
	line("  SSLCertificateKeyFile %s", keyFile)
	line("  OIDCProviderMetadataURL %s", f.MetadataURL)
	line("  OIDCClientID %q", f.ClientID)
	line("  OIDCClientSecret \"${%s}\"", clientSecretEnv)
	line("  OIDCCryptoPassphrase \"${%s}\"", passphraseEnv)
	line("  OIDCScope %q", strings.Join(scopes, " "))
	line("  OIDCRedirectURI %s/v3/OS-FEDERATION/redirect", public)
	line("  OIDCClaimPrefix OIDC-")
	line("  OIDCSessionType client-cookie")
	line("  OIDCPassClaimsAs headers")
	// Whatever stands before the pods, users come by https, and to the port that their request names or the default one: without
	// this the module takes the pod's own port for theirs, and sends them there after the login. Early: before it looks.
	line("  OIDCXForwardedHeaders X-Forwarded-Proto")
	line("  RequestHeader set X-Forwarded-Proto https early")
	for _, l := range []struct{ path, auth, action string }{
		// Everywhere else the module only takes such headers out of requests. Keystone believes them on every path: also where it
		// gives tokens, it maps whoever they name to a user.
		{"/", "openid-connect", "pass"},
		{login, "auth-openidc", "auth"},
		{sso, "auth-openidc", "auth"},
		{"/v3/auth/OS-FEDERATION/websso/openid", "auth-openidc", "auth"},
		{"/v3/OS-FEDERATION/redirect", "auth-openidc", "auth"},
	} {
		line("  <Location %s>", l.path)
		line("    AuthType %s", l.auth)
		line("    OIDCUnAuthAction %s", l.action)
		line("    Require valid-user")
		line("  </Location>")
	}
	line("  ProxyPreserveHost On")
	line("  ProxyPass / http://127.0.0.1:%d/", localPort)
	line("  ProxyPassReverse / http://127.0.0.1:%d/", localPort)
	line("</VirtualHost>")
	return b.String()
}
