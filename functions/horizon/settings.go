package horizon

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/cache"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/python"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Files of the configuration. Horizon reads its settings from the module local.local_settings in its own folder
// (https://opendev.org/openstack/horizon/src/branch/master/openstack_dashboard/settings.py): our module local is found first, and serves as
// the package of the settings.
const (
	settingsFile = "local_settings.py"
	packageFile  = "local.py"

	customizationFile = "customization.py"
)

// If a cache server is lost, only its sessions are lost: the other servers take over its keys.
const (
	cacheConnectTimeout = 1
	cacheReadTimeout    = 3
	retryAttempts       = 1
	cacheDeadTimeout    = 30
)

// protocol is the name of the federation protocol in Keystone.
const protocol = "openid"

// extraFiles returns the files that Horizon reads.
func (m *model) extraFiles() ([]service.ExtraFile, error) {
	settings, err := m.settings().Render()
	if err != nil {
		return nil, err
	}
	out := []service.ExtraFile{
		{Name: packageFile, Text: m.local()},
		{Name: settingsFile, Text: settings},
		{Name: typesFile, Text: contentTypes},
	}
	if m.hasServiceType(horizonv1.TypeVolume) {
		out = append(out, service.ExtraFile{Name: customizationFile, Text: customization})
	}
	modules := cache.DjangoModules()
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		out = append(out, service.ExtraFile{Name: name, Text: modules[name]})
	}
	for i, s := range m.spec.Services {
		if len(s.Policy) == 0 {
			continue
		}
		rules, err := yaml.Marshal(s.Policy)
		if err != nil {
			return nil, invalid.Field(fmt.Sprintf("spec.services[%d].policy", i), "cannot be written as a file: %s", err)
		}
		out = append(out, service.ExtraFile{Name: rulesFile(s.Type), Text: string(rules)})
	}
	return out, nil
}

// firstPage is the landing page of users without a compute service: Horizon's default is an overview of servers, which then fails to
// display. The setting is part of a dict that is not a literal.
const firstPage = `
from openstack_dashboard.settings import HORIZON_CONFIG

HORIZON_CONFIG["user_home"] = "/identity/"
`

// adminSnapshots names the module that Horizon runs when its panels are registered
// (https://docs.openstack.org/horizon/latest/configuration/customizing.html#modifying-existing-dashboards-and-panels).
const adminSnapshots = `
from openstack_dashboard.settings import HORIZON_CONFIG

HORIZON_CONFIG["customization_module"] = "local.customization"
`

// customization corrects the permission of Admin > Snapshots. Up to 25.x Horizon requires openstack.services/block-storage, which no user
// has, while the catalog lists Cinder as block-storage only. It has no effect on releases with the fix.
const customization = `import horizon

panel = horizon.get_dashboard("admin").get_panel("snapshots")
panel.permissions = tuple(tuple(p.replace("services/", "services.") for p in group) for group in panel.permissions)
`

// local returns the module that is the package of the settings.
func (m *model) local() string {
	text := "__path__ = [\"" + m.Path() + "\"]\n"
	if !m.hasServiceType(horizonv1.TypeCompute) {
		text += firstPage
	}
	if m.hasServiceType(horizonv1.TypeVolume) {
		text += adminSnapshots
	}
	if m.hasServiceType(horizonv1.TypeOrchestration) {
		text += stackPanels
	}
	if m.spec.HelpURL != "" {
		text += fmt.Sprintf(dashboardSetting, "help_url", m.spec.HelpURL)
	}
	if m.spec.PasswordAutocomplete {
		text += fmt.Sprintf(dashboardSetting, "password_autocomplete", "on")
	}
	return text
}

// dashboardSetting changes a member of a dict that is not a literal.
const dashboardSetting = `
from openstack_dashboard.settings import HORIZON_CONFIG

HORIZON_CONFIG[%q] = %q
`

// stackPanels adds the panels of Heat's plug-in, which Horizon looks for in its own folder, which is read-only. The default policies of
// Heat are files of the plug-in. An image without the plug-in has neither.
const stackPanels = `
from importlib.util import find_spec

import openstack_dashboard.local.enabled
from openstack_dashboard.settings import DEFAULT_POLICY_FILES

plugin = find_spec("heat_dashboard")
if plugin:
    folder = plugin.submodule_search_locations[0]
    openstack_dashboard.local.enabled.__path__.append(folder + "/enabled")
    DEFAULT_POLICY_FILES["orchestration"] = folder + "/conf/default_policies/heat.yaml"
`

func rulesFile(t horizonv1.Type) string { return "policy-" + string(t) + ".yaml" }

// sessionCookie returns the name of the cookie of a session. With the prefix __Host-, browsers accept the cookie only from the dashboard's
// own host, with TLS: a host below the same parent domain, such as another tenant's, cannot set the session of a user. Without TLS,
// browsers reject the prefix. Horizon's scripts read the cookie csrftoken by its name, so it keeps it; Django also compares the origin of
// requests.
// https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes
func sessionCookie(secure bool) string {
	if secure {
		return "__Host-sessionid"
	}
	return "sessionid"
}

// settings returns the settings that differ from Horizon's defaults.
// https://docs.openstack.org/horizon/latest/configuration/settings.html, https://docs.djangoproject.com/en/5.2/ref/settings/
func (m *model) settings() python.Module {
	hosts := python.List{m.InternalHost()}
	if m.Exposed() {
		hosts = append(hosts, string(m.spec.Exposure.Hostname))
	}
	secure := m.encrypted()
	out := python.Module{
		{Name: "DEBUG", Value: false},
		{Name: "ALLOWED_HOSTS", Value: hosts},
		{Name: "SECRET_KEY", Value: python.FileText(m.Path(keySecret, secret.PasswordKey))},
		{Name: "WEBROOT", Value: "/"},
		{Name: "LOGGING", Value: logging},

		{Name: "SESSION_ENGINE", Value: "django.contrib.sessions.backends.cache"},
		{Name: "SESSION_CACHE_ALIAS", Value: sessionCache},
		{Name: "SESSION_TIMEOUT", Value: m.spec.SessionSeconds},
		{Name: "SESSION_COOKIE_NAME", Value: sessionCookie(secure)},
		{Name: "SESSION_COOKIE_SECURE", Value: secure},
		{Name: "CSRF_COOKIE_SECURE", Value: secure},
		{Name: "LANGUAGE_COOKIE_SECURE", Value: secure},
		{Name: "CACHES", Value: m.caches()},

		{Name: "STATIC_ROOT", Value: assetsFolder},
		{Name: "COMPRESS_OFFLINE", Value: true},

		{Name: "OPENSTACK_KEYSTONE_URL", Value: string(m.spec.Identity.InternalURL)},
		{Name: "OPENSTACK_ENDPOINT_TYPE", Value: "internalURL"},
		{Name: "OPENSTACK_SSL_CACERT", Value: m.TrustedFile()},
		{Name: "OPENSTACK_KEYSTONE_MULTIDOMAIN_SUPPORT", Value: m.spec.MultiDomain},
		{Name: "DEFAULT_SERVICE_REGIONS", Value: python.Dict{"*": m.spec.Region}},
		{Name: "POLICY_FILES", Value: m.policyFiles()},
		// Uploads would pass through these pods; clients upload directly to Glance.
		{Name: "HORIZON_IMAGES_UPLOAD_MODE", Value: "off"},
	}
	if !secure {
		// The pods serve HTTPS to a Gateway, whose clients use HTTP.
		out = append(out, python.Setting{Name: "SECURE_PROXY_SSL_HEADER", Value: python.Tuple{"HTTP_X_FORWARDED_PROTO", "https"}})
	}
	if m.spec.Title != "" {
		out = append(out, python.Setting{Name: "SITE_BRANDING", Value: m.spec.Title})
	}
	if m.spec.DefaultTheme != "" {
		out = append(out, python.Setting{Name: "DEFAULT_THEME", Value: m.spec.DefaultTheme})
	}
	if m.spec.PageSize != 0 {
		out = append(out, python.Setting{Name: "API_RESULT_PAGE_SIZE", Value: m.spec.PageSize})
	}
	if m.backupsEnabled() {
		out = append(out, python.Setting{Name: "OPENSTACK_CINDER_FEATURES", Value: python.Dict{"enable_backup": true}})
	}
	switch choice := m.spec.BootFromVolume; {
	case !m.hasServiceType(horizonv1.TypeVolume):
		out = append(out, python.Setting{Name: "LAUNCH_INSTANCE_DEFAULTS", Value: launch(false, false)})
	case choice != nil:
		out = append(out, python.Setting{Name: "LAUNCH_INSTANCE_DEFAULTS", Value: launch(true, *choice)})
	}
	if m.hasServiceType(horizonv1.TypeOrchestration) {
		out = append(out, stacks...)
	}
	return append(out, m.webSSO()...)
}

// stacks are settings of Heat's plug-in, which has no defaults for the last two: the timeout in seconds of the template generator's API
// calls, and their concurrency. Heat uses trusts, so that users need not enter a password.
// https://docs.openstack.org/heat-dashboard/latest/configuration/
var stacks = python.Module{
	{Name: "OPENSTACK_HEAT_STACK", Value: python.Dict{"enable_user_pass": false}},
	{Name: "HEAT_TEMPLATE_GENERATOR_API_TIMEOUT", Value: 60},
	{Name: "HEAT_TEMPLATE_GENERATOR_API_PARALLEL", Value: 2},
}

// encrypted reports whether browsers use HTTPS.
func (m *model) encrypted() bool {
	return strings.HasPrefix(string(m.spec.Endpoints.Public), "https://")
}

// hasServiceType reports whether users see a service of a type.
func (m *model) hasServiceType(t horizonv1.Type) bool {
	for _, s := range m.spec.Services {
		if s.Type == t {
			return true
		}
	}
	return false
}

// backupsEnabled reports whether a backup service of volumes exists.
func (m *model) backupsEnabled() bool {
	return slices.ContainsFunc(m.spec.Services, func(s horizonv1.Shown) bool { return s.Type == horizonv1.TypeVolume && s.Backups })
}

// sessionCache is the cache of sessions.
const sessionCache = "sessions"

// caches returns the caches. Sessions are shared by all pods, on the servers that other services also use. All other data is cached per
// process: a shared cache would serve page fragments of one release to another, whose assets do not match them, and requests would fail
// with 500 (the tag cache in horizon/_scripts.html, https://docs.djangoproject.com/en/5.2/topics/cache/#template-fragment-caching).
func (m *model) caches() python.Dict {
	var servers python.List
	for _, s := range m.spec.Cache.Servers {
		servers = append(servers, string(s))
	}
	own := python.Dict{"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
	return python.Dict{"default": own, sessionCache: python.Dict{
		"BACKEND":    cache.Backend,
		"LOCATION":   servers,
		"KEY_PREFIX": m.App,
		// https://pymemcache.readthedocs.io/en/latest/apidoc/pymemcache.client.hash.html
		"OPTIONS": python.Dict{
			"ignore_exc": true, "no_delay": true, "use_pooling": true, "connect_timeout": cacheConnectTimeout, "timeout": cacheReadTimeout,
			"retry_attempts": retryAttempts, "dead_timeout": cacheDeadTimeout,
		},
	}}
}

// logging writes to standard error.
var logging = python.Dict{
	"version": 1, "disable_existing_loggers": false,
	"formatters": python.Dict{"plain": python.Dict{"format": "%(asctime)s %(process)d %(levelname)s %(name)s %(message)s"}},
	"handlers":   python.Dict{"console": python.Dict{"class": "logging.StreamHandler", "formatter": "plain"}},
	"root":       python.Dict{"handlers": python.List{"console"}, "level": "WARNING"},
	// Successful and failed logins.
	"loggers": python.Dict{"openstack_auth": python.Dict{"level": "INFO"}},
}

// launch returns the defaults of launching a server. Without block storage Horizon must not offer volumes, because it would request one.
func launch(volumes, create bool) python.Dict {
	return python.Dict{
		"config_drive": false, "create_volume": create, "hide_create_volume": !volumes, "disable_image": false,
		"disable_instance_snapshot": false,
		"disable_volume":            !volumes, "disable_volume_snapshot": !volumes, "enable_scheduler_hints": true, "enable_metadata": true,
		"enable_net_ports": true,
	}
}

// horizonPolicyFiles are Horizon's copies of services' default policies.
var horizonPolicyFiles = map[horizonv1.Type]string{
	horizonv1.TypeIdentity: "keystone_policy.yaml", horizonv1.TypeCompute: "nova_policy.yaml", horizonv1.TypeVolume: "cinder_policy.yaml",
	horizonv1.TypeImage: "glance_policy.yaml", horizonv1.TypeNetwork: "neutron_policy.yaml",
}

// stackRules is the file of Heat's plug-in, relative to the folder of the others.
const stackRules = "../../heat_dashboard/conf/heat_policy.yaml"

// policyFiles returns the policies of services, by which Horizon hides actions that users may not perform.
func (m *model) policyFiles() python.Dict {
	out := python.Dict{}
	for t, file := range horizonPolicyFiles {
		out[string(t)] = file
	}
	if m.hasServiceType(horizonv1.TypeOrchestration) {
		out[horizonv1.TypeOrchestration] = stackRules
	}
	for _, s := range m.spec.Services {
		if _, known := out[string(s.Type)]; known && len(s.Policy) > 0 {
			out[string(s.Type)] = m.Path(rulesFile(s.Type))
		}
	}
	return out
}

// webSSO configures the login at an identity provider: browsers are redirected to Keystone's public address, and return with a token, which
// Horizon validates at Keystone's internal address, and not at the address in the browser's request.
// https://docs.openstack.org/keystone/latest/admin/federation/configure_federation.html#configuring-horizon-as-a-websso-frontend
func (m *model) webSSO() python.Module {
	w := m.spec.WebSSO
	if w == nil {
		return nil
	}
	choices, mapping := python.Tuple{python.Tuple{horizonv1.ByPassword, "Password"}}, python.Dict{}
	for _, c := range w.Choices {
		choices = append(choices, python.Tuple{c.Name, c.Label})
		mapping[c.Name] = python.Tuple{c.Provider, protocol}
	}
	return python.Module{
		{Name: "WEBSSO_ENABLED", Value: true},
		{Name: "WEBSSO_KEYSTONE_URL", Value: string(m.spec.Identity.PublicURL)},
		{Name: "WEBSSO_USE_HTTP_REFERER", Value: false},
		{Name: "WEBSSO_CHOICES", Value: choices},
		{Name: "WEBSSO_IDP_MAPPING", Value: mapping},
		{Name: "WEBSSO_INITIAL_CHOICE", Value: cmp.Or(w.InitialChoice, horizonv1.ByPassword)},
	}
}
