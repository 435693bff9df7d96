package keystone

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/capacity"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

const (
	httpdConf = "httpd.conf"
	// ssoPage is Keystone's default name of the page.
	ssoPage         = "sso_callback_template.html"
	providerCA      = "provider-ca"
	federationIssue = "HTTP_OIDC_ISS"
	// localPort is the port of uWSGI behind the proxy.
	localPort = keystonev1.Port + 1
	// proxyHealth is the name of the port of the proxy's probes, and proxyHealthPort its number.
	proxyHealth     = "proxy-health"
	proxyHealthPort = workload.HealthPort + 1
	// clientSecret is the key of the client's Secret.
	clientSecret = "client-secret"
	// Environment variables of the proxy with its client's secret and its sessions' passphrase.
	clientSecretEnv = "OIDC_CLIENT_SECRET"     //nolint:gosec // the name of a variable, not a secret
	passphraseEnv   = "OIDC_CRYPTO_PASSPHRASE" //nolint:gosec // the name of a variable, not a secret
)

// ssoForm is the page by which a user's browser passes a token to a dashboard; Keystone substitutes $host and $token. The login of a
// dashboard ends at it: https://docs.openstack.org/keystone/latest/admin/federation/configure_federation.html#configuring-keystone
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

// proxyResources are sufficient for the proxy's hundred concurrent requests.
var proxyResources = workload.Resources("50m", "64Mi", "256Mi")

// addFederation adds the settings of federation.
func (m *model) addFederation(x *service.Extension, observed observe.State) error {
	if m.spec.Federation == nil {
		return nil
	}
	var err error
	m.proxyImage, err = m.ImageOf(release.FederationProxy, m.Effective, m.spec.Federation.ProxyImage, "spec.federation.proxyImage")
	x.Access.Accounts = append(x.Access.Accounts, service.Account{Resource: "federation", Secret: m.Sub("federation"), User: "proxy"})
	x.Pods.Content = append(x.Pods.Content, compose.Resource{Name: clientResource, Object: m.federationClient()})
	x.Config.Files = []service.ExtraFile{{Name: ssoPage, Text: ssoForm}, {Name: httpdConf, Text: m.httpd(), External: true}}
	server := m.Server
	server.Listen, server.CertFile, server.KeyFile = fmt.Sprintf("127.0.0.1:%d", localPort), "", ""
	x.API.Server = &server
	x.Pods.Annotate(m.StartupAnnotations(observed,
		// Apache reads a certificate at startup only; uWSGI reloads a renewed one automatically.
		// https://cert-manager.io/docs/reference/api-docs/#cert-manager.io/v1.CertificateStatus
		service.StartupInput{
			Resource: service.CertificateResource, Path: []string{"status", "revision"}, Annotation: keystonev1.Group + "/certificate",
		},
		service.StartupInput{
			Resource: clientResource, Path: []string{"status", "contentHash"}, Annotation: keystonev1.Group + "/federation-client",
		}))
	return err
}

// federationClient returns the Secret of the federation's client for the proxy: a copy whose versions the companion tracks, unlike those of
// the Secret that the claim references.
func (m *model) federationClient() runtime.Object {
	ref := m.spec.Federation.ClientSecretRef
	source := service.Source("secret", string(ref.Name), string(ref.Key))
	source.Escape = "Apache"
	return c5c3.SecretAggregate(m.Meta(m.Sub(clientResource)), c5c3v1.SecretAggregateSpec{
		TargetSecretName: common.ObjectName(m.Sub(clientResource)),
		Sources:          []c5c3v1.SecretSource{source},
		Template:         map[string]c5c3v1.SecretTemplate{clientSecret: "{{ .secret }}"}, //nolint:gosec // a template, not a secret
	})
}

// APIPod returns the pod of uWSGI with HTTPS, or of uWSGI behind a proxy that logs users in at an OpenID Connect provider: Apache with
// mod_auth_openidc (https://docs.openstack.org/keystone/latest/admin/federation/).
func (m *model) APIPod() workload.Pod {
	f := m.spec.Federation
	if f == nil {
		return m.Service.APIPod()
	}
	p := m.ServerPod()
	proxy := corev1.Container{
		Name:    "federation-proxy",
		Image:   m.proxyImage,
		Command: []string{"apache2", "-DFOREGROUND", "-f", m.Path(httpdConf)},
		Env: []corev1.EnvVar{
			workload.SecretEnv(clientSecretEnv, m.Sub(clientResource), clientSecret),
			workload.SecretEnv(passphraseEnv, m.Sub("federation"), secret.PasswordKey),
		},
		Resources:    workload.MergeRequirements(f.ProxyResources, proxyResources),
		VolumeMounts: []corev1.VolumeMount{workload.MountFile("config", m.Path(httpdConf), httpdConf)},
	}
	if ref := f.CASecretRef; ref != nil {
		proxy.VolumeMounts = append(proxy.VolumeMounts, workload.Mount(providerCA, m.Path(providerCA)))
		p.Volumes = append(p.Volumes, workload.SecretVolume(providerCA, string(ref.Name), string(ref.Key)))
	}
	m.ServeFromContainer(&proxy)
	proxy.Ports = append(proxy.Ports, corev1.ContainerPort{Name: proxyHealth, ContainerPort: proxyHealthPort})
	health := workload.HTTP(proxyHealth, "/")
	workload.ServerProbes(&proxy, m.Answers(), health, health)
	back := &p.Containers[0]
	workload.Drain(back)
	// uWSGI listens on localhost for the proxy only, so that the startup probe goes through the proxy.
	workload.Health(back, m.Answers())
	back.StartupProbe.HTTPGet.Port = intstr.FromInt32(m.Port)
	p.Containers = append(p.Containers, proxy)
	return p
}

// httpd returns the configuration of the proxy: it logs users in on the paths of Keystone's federation, and forwards every request. It
// removes identity headers from requests, so that only the proxy can set them.
func (m *model) httpd() string {
	return workload.HTTPD{
		Name: m.InternalHost(), Port: m.Port, Backend: localPort, TerminationGracePeriod: terminationGracePeriod,
		CertFile: m.Path("tls", certificate.CertKey), KeyFile: m.Path("tls", certificate.KeyKey),
		Health: proxyHealthPort, Request: m.ProxyTimeout(), HeaderBytes: capacity.HeaderBytes, Queue: capacity.Backlog,
		KeepAlive: capacity.KeepAlive,
		Modules:   []string{"auth_openidc"}, Directives: m.openID(), Locations: m.locations(),
	}.Config()
}

// openID returns the directives for access to the provider.
func (m *model) openID() []string {
	f := m.spec.Federation
	scopes := []string{"openid", "email", "profile"}
	if len(f.Scopes) > 0 {
		scopes = service.Strings(f.Scopes)
	}
	id, password := fmt.Sprintf("%q", f.ClientID), `"${`+clientSecretEnv+`}"`
	lines := []string{
		"OIDCProviderMetadataURL " + string(f.MetadataURL),
		"OIDCClientID " + id,
		"OIDCClientSecret " + password,
	}
	if f.IntrospectionURL != "" {
		lines = append(lines,
			// The endpoint is set here and not read from the metadata: with several threads the module mixes up the memory of the metadata, up to
			// 2.4.12.3 at least (https://github.com/OpenIDC/mod_auth_openidc/blob/v2.4.12.3/src/metadata.c, oidc_oauth_metadata_provider_parse).
			"OIDCOAuthIntrospectionEndpoint "+string(f.IntrospectionURL),
			"OIDCOAuthClientID "+id,
			"OIDCOAuthClientSecret "+password,
			"OIDCOAuthAcceptTokenAs header",
			// Logins are rare, and a login with a revoked token must not succeed.
			"OIDCOAuthTokenIntrospectionInterval -1")
	}
	if f.CASecretRef != nil {
		lines = append(lines, "OIDCCABundlePath "+m.Path(providerCA, string(f.CASecretRef.Key)))
	}
	return append(lines,
		`OIDCCryptoPassphrase "${`+passphraseEnv+`}"`,
		fmt.Sprintf("OIDCScope %q", strings.Join(scopes, " ")),
		"OIDCRedirectURI "+strings.TrimSuffix(string(m.spec.Endpoints.Public), "/v3")+"/v3/OS-FEDERATION/redirect",
		"OIDCClaimPrefix OIDC-",
		"OIDCSessionType client-cookie",
		"OIDCPassClaimsAs headers",
		// Users connect with HTTPS through any load balancer, to the port in their request or to the default one: without this header the module
		// redirects them to the pod's own port after the login. Early: before the module evaluates it.
		"OIDCXForwardedHeaders X-Forwarded-Proto",
		"RequestHeader set X-Forwarded-Proto https early")
}

// locations returns the paths of logins.
func (m *model) locations() []workload.Location {
	f := m.spec.Federation
	at := func(path, auth, action string, admitted ...string) workload.Location {
		return workload.Location{Path: path, Directives: append([]string{"AuthType " + auth, "OIDCUnAuthAction " + action}, admitted...)}
	}
	const browser, authenticated = "openid-connect", "Require valid-user"
	// On the path of command line clients, a token of the provider is sufficient; its claims are checked more strictly there.
	auth, admitted := browser, []string{authenticated}
	if f.IntrospectionURL != "" {
		auth, admitted = "auth-openidc", m.allowedOrigins()
	}
	return []workload.Location{
		// On other paths, the module only removes such headers from requests. Keystone trusts them on every path: the token API maps the user in
		// the headers as well.
		at("/", browser, "pass", authenticated),
		at(fmt.Sprintf("/v3/OS-FEDERATION/identity_providers/%s/protocols/openid/auth", f.Provider), auth, "auth", admitted...),
		at(fmt.Sprintf("/v3/auth/OS-FEDERATION/identity_providers/%s/protocols/openid/websso", f.Provider), browser, "auth", authenticated),
		at("/v3/auth/OS-FEDERATION/websso/openid", browser, "auth", authenticated),
		at("/v3/OS-FEDERATION/redirect", browser, "auth", authenticated),
	}
}

// allowedOrigins returns the rules for logins with a token: it must be from this issuer, and issued to or for this client. A provider also
// reports a token as valid that another application received and might replay here
// (https://www.rfc-editor.org/rfc/rfc9700.html#name-access-token-privilege-restr). Browser logins satisfy the same rules: their ID token
// was issued for this client.
func (m *model) allowedOrigins() []string {
	f := m.spec.Federation
	return []string{
		"<RequireAll>",
		fmt.Sprintf("  Require claim iss:%s", f.Issuer),
		"  <RequireAny>",
		fmt.Sprintf("    Require claim aud:%s", f.ClientID),
		fmt.Sprintf("    Require claim azp:%s", f.ClientID),
		fmt.Sprintf("    Require claim client_id:%s", f.ClientID),
		"  </RequireAny>",
		"</RequireAll>",
	}
}
