package tempest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

var (
	//go:embed run.py
	runScript string
	//go:embed exclude.txt
	excluded string
)

// Files that the pod reads, and its folders.
const (
	confFile     = "tempest.conf"
	excludeFile  = "exclude.txt"
	settingsFile = "run.json"
	scriptFile   = "run.py"

	configFolder    = "/etc/tempest/config"
	authorityFolder = "/etc/tempest/identity-ca"
	workFolder      = "/tmp/tempest"
)

const (
	// prefix is the name prefix of everything that tests create, as far as they set names. Resources with it are removed.
	prefix = "c5c3-tempest"
	// adminUser is the administrator with which tests create their own users, adminProject its project.
	adminUser    = tempestv1.ServiceName
	adminProject = tempestv1.ServiceName
	// defaultDomainID is the ID of the domain that bootstrap creates.
	defaultDomainID = "default"
	// heatGroup is the section of tempest.conf with the login of Heat's tests.
	heatGroup = "heat_plugin"
)

// A testedService is a service that Tempest supports.
type testedService struct {
	// available is the option of [service_available], group the option group of its endpoint. Empty: the service has none.
	available, group string
	// modules are regular expressions of the prefixes of its tests' names. Empty: it has no tests.
	modules string
}

// subjects are the services that Tempest supports, including the tests of their plugins.
var subjects = map[tempestv1.Type]testedService{
	tempestv1.TypeIdentity:      {"", "", `tempest\.api\.identity\.|keystone_tempest_plugin\.`},
	tempestv1.TypeImage:         {"glance", "image", `tempest\.api\.image\.`},
	tempestv1.TypePlacement:     {"", "placement", ""},
	tempestv1.TypeCompute:       {"nova", "compute", `tempest\.api\.compute\.|tempest\.serial_tests\.api\.|tempest\.scenario\.`},
	tempestv1.TypeNetwork:       {"neutron", "network", `tempest\.api\.network\.|neutron_tempest_plugin\.`},
	tempestv1.TypeVolume:        {"cinder", "volume", `tempest\.api\.volume\.|cinder_tempest_plugin\.`},
	tempestv1.TypeKeyManager:    {"barbican", "key_manager", `barbican_tempest_plugin\.`},
	tempestv1.TypeOrchestration: {"heat", heatGroup, `heat_tempest_plugin\.`},
}

// scoped lists the services whose tests depend on the policies of oslo.policy, with their options of [enforce_scope].
var scoped = map[tempestv1.Type]string{
	tempestv1.TypeIdentity: "keystone", tempestv1.TypeImage: "glance", tempestv1.TypePlacement: "placement", tempestv1.TypeCompute: "nova",
	tempestv1.TypeNetwork: "neutron", tempestv1.TypeVolume: "cinder", tempestv1.TypeKeyManager: "barbican",
}

// smoke matches the tests that run by default, which have the attribute smoke.
const smoke = `\[.*\bsmoke\b.*\]`

// settings are the script's settings in addition to tempest.conf.
type settings struct {
	Concurrency int32  `json:"concurrency"`
	Include     string `json:"include"`
	Exclude     string `json:"exclude"`
}

// extraFiles returns the files that the pod reads.
func (m *model) extraFiles() (map[string]string, error) {
	conf, err := m.options().Render()
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", confFile, err)
	}
	include, err := m.include()
	if err != nil {
		return nil, err
	}
	requested, err := json.Marshal(settings{Concurrency: m.spec.Tests.Concurrency, Include: include, Exclude: m.spec.Tests.ExcludeRegex})
	if err != nil {
		return nil, err
	}
	return map[string]string{confFile: conf, excludeFile: excluded, scriptFile: runScript, settingsFile: string(requested) + "\n"}, nil
}

// hasService reports whether the cloud has a service.
func (m *model) hasService(t tempestv1.Type) bool {
	return slices.ContainsFunc(m.spec.Services, func(s tempestv1.Service) bool { return s.Type == t })
}

// options returns tempest.conf. Services are tested at their internal addresses, because pods need not be able to reach the public ones,
// which are served by the Gateway. https://docs.openstack.org/tempest/latest/configuration.html
func (m *model) options() oslo.Config {
	const internal = "internal"
	out := oslo.Config{
		oslo.DefaultGroup:  {"log_file": workFolder + "/tempest.log", "resource_name_prefix": prefix},
		"oslo_concurrency": {"lock_path": workFolder + "/locks"},
		"auth": {
			"use_dynamic_credentials": true, "create_isolated_networks": m.hasService(tempestv1.TypeNetwork),
			"admin_username": adminUser, "admin_project_name": adminProject,
			"admin_user_domain_name": common.DefaultDomain, "admin_project_domain_name": common.DefaultDomain,
		},
		"identity": {
			"uri_v3": string(m.spec.Identity.InternalURL), "region": m.spec.Region, "v3_endpoint_type": internal,
			"ca_certificates_file": authorityFolder + "/" + string(m.spec.Identity.CASecretRef.Key), "default_domain_id": defaultDomainID,
		},
		"identity-feature-enabled": {"security_compliance": false, "external_idp": false},
		"service_available":        {"swift": false, "horizon": false},
		// Logins to servers require a route from the pod to the external network, and an image with a known user.
		"validation": {"run_validation": false},
	}
	if p := m.spec.Passwords; p != nil {
		out["identity-feature-enabled"]["security_compliance"] = true
		out["identity"]["user_lockout_failure_attempts"] = p.LockoutAttempts
		out["identity"]["user_lockout_duration"] = p.LockoutSeconds
		out["identity"]["user_unique_last_password_count"] = p.Remembered
	}
	for t, s := range subjects {
		if s.available != "" {
			out["service_available"][s.available] = m.hasService(t)
		}
		if s.group != "" && m.hasService(t) {
			out[s.group] = oslo.Options{"endpoint_type": internal}
		}
	}
	m.features(out)
	return out
}

// features enables the tests of features that all our clouds have and Tempest disables by default. The script detects features that depend
// on nodes, images or storage.
func (m *model) features(out oslo.Config) {
	set := func(group string, o oslo.Options) {
		if out[group] == nil {
			out[group] = oslo.Options{}
		}
		maps.Copy(out[group], o)
	}
	// All our services enforce the scope of tokens and the current default policies, which is oslo.policy's default.
	for t, service := range scoped {
		if m.hasService(t) {
			set("enforce_scope", oslo.Options{service: true})
		}
	}
	// By default, Tempest only runs the tests of an API's first microversion.
	for _, t := range []tempestv1.Type{tempestv1.TypePlacement, tempestv1.TypeCompute, tempestv1.TypeVolume, tempestv1.TypeKeyManager} {
		if m.hasService(t) {
			set(subjects[t].group, oslo.Options{"max_microversion": "latest"})
		}
	}
	if m.hasService(tempestv1.TypeCompute) {
		set("compute-feature-enabled", oslo.Options{
			// Nova may also resize a server on its current node.
			"resize": true,
			// A shelved server has no disk on any node.
			"shelve_migrate": true, "stable_rescue": true,
			// Nova derives a valid host name from each server name.
			"hostname_fqdn_sanitization":   true,
			"volume_backed_live_migration": m.hasService(tempestv1.TypeVolume),
			"vnc_console":                  m.spec.Features.VNC,
			// Barbican stores the keys of encrypted volumes.
			"attach_encrypted_volume": m.hasService(tempestv1.TypeVolume) && m.hasService(tempestv1.TypeKeyManager),
		})
		if m.hasService(tempestv1.TypeVolume) {
			set("volume-feature-enabled", oslo.Options{
				"extend_attached_volume": true, "extend_attached_encrypted_volume": m.hasService(tempestv1.TypeKeyManager),
			})
		}
	}
	if m.hasService(tempestv1.TypeVolume) {
		// All our drivers support reverting a volume, or Cinder does it with a copy.
		set("volume-feature-enabled", oslo.Options{"volume_revert": true})
	}
	if m.hasService(tempestv1.TypeImage) {
		set("image", oslo.Options{"image_caching_enabled": m.spec.Features.ImageCache})
		set("image-feature-enabled", oslo.Options{"image_conversion": m.spec.Features.ConvertTo != ""})
	}
	if m.hasService(tempestv1.TypeNetwork) {
		set("network-feature-enabled", oslo.Options{"ipv6_subnet_attributes": true})
		// A test creates a network with a larger MTU than Neutron allows.
		set("neutron_plugin_options", oslo.Options{
			"available_type_drivers": m.spec.Features.NetworkTypes, "provider_vlans": m.spec.Features.VLANNetworks,
			"max_mtu": cmp.Or(ptr.Deref(m.spec.Features.MTU, 0), network.DefaultMTU),
		})
	}
	if m.hasService(tempestv1.TypeKeyManager) {
		set("key_manager", oslo.Options{"region": m.spec.Region})
		// Images need not be signed.
		set("image_signature_verification", oslo.Options{"enforced": false})
	}
	if m.hasService(tempestv1.TypeOrchestration) {
		// The plugin creates no users. Passwords are in the environment.
		set(heatGroup, oslo.Options{
			"auth_url": string(m.spec.Identity.InternalURL), "region": m.spec.Region,
			"username": adminUser, "project_name": adminProject, "admin_username": adminUser, "admin_project_name": adminProject,
			"user_domain_name": common.DefaultDomain, "project_domain_name": common.DefaultDomain,
			"ca_file": authorityFolder + "/" + string(m.spec.Identity.CASecretRef.Key),
		})
	}
}

// include returns a regular expression of the names of all tests that run: tests of the selected services that match the requested
// expression. Tempest would treat text after a space as another expression.
func (m *model) include() (string, error) {
	tested := m.spec.Tests.Services
	if tested == nil {
		for _, s := range m.spec.Services {
			tested = append(tested, tempestv1.TestedService(s.Type))
		}
	}
	var modules []string
	for i, t := range tested {
		if !m.hasService(tempestv1.Type(t)) {
			return "", invalid.Field(fmt.Sprintf("spec.tests.services[%d]", i), "service %s is not enabled in this cloud; remove it", t)
		}
		if s := subjects[tempestv1.Type(t)].modules; s != "" {
			modules = append(modules, s)
		}
	}
	named := m.spec.Tests.IncludeRegex
	if named == "" {
		named = smoke
	}
	return fmt.Sprintf("^(?=%s)(?=.*(?:%s))", strings.Join(modules, "|"), strings.ReplaceAll(named, " ", `\x20`)), nil
}

// servicesEgress returns egress to the services, by the ports of their internal addresses.
func (m *model) servicesEgress() (workload.Flow, error) {
	flow := workload.Flow{}
	for i, s := range m.spec.Services {
		port, err := workload.PortOf(string(s.InternalURL))
		if err != nil {
			return flow, invalid.Field(fmt.Sprintf("spec.services[%d].internalURL", i), "%s", err)
		}
		if !slices.Contains(flow.Ports, port) {
			flow.Ports = append(flow.Ports, port)
		}
	}
	flow.Pods = workload.ManagedPodLabels()
	return flow, nil
}

// configName returns the name of the ConfigMap, a hash of its contents.
func (m *model) configName() string { return m.sub("config-" + service.HashOf(m.files)) }

func (m *model) config() ([]compose.Stage, error) {
	return []compose.Stage{{{
		Name: m.configName()[len(m.name)+1:], Object: m.workload().ConfigMap(m.configName(), m.files), Revisions: "config",
	}}}, nil
}
