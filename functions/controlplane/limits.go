package controlplane

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// allowList is a list of a Limit: the values of one kind that claims may set.
type allowList struct {
	// name of the field of the Limit.
	name string
	list func(*platformv1.Limit) []string
	// allows reports whether an entry of the list allows a value.
	allows func(entry, value string) bool
}

var (
	registries         = allowList{"registries", func(l *platformv1.Limit) []string { return limit.Texts(l.Registries) }, limit.Below}
	hostDomains        = allowList{"domains", func(l *platformv1.Limit) []string { return limit.Texts(l.Domains) }, limit.Domain}
	secretStores       = allowList{"secretStores", func(l *platformv1.Limit) []string { return limit.Texts(l.SecretStores) }, limit.Below}
	gateways           = allowList{"gateways", func(l *platformv1.Limit) []string { return limit.Texts(l.Gateways) }, limit.Below}
	ingressClasses     = allowList{"ingressClasses", func(l *platformv1.Limit) []string { return limit.Texts(l.IngressClasses) }, limit.Match}
	exposureNamespaces = allowList{
		"exposureNamespaces", func(l *platformv1.Limit) []string { return limit.Texts(l.ExposureNamespaces) }, limit.Match,
	}
	annotations      = allowList{"annotations", func(l *platformv1.Limit) []string { return limit.Texts(l.Annotations) }, limit.Term}
	issuers          = allowList{"issuers", func(l *platformv1.Limit) []string { return limit.Texts(l.Issuers) }, limit.Match}
	nodeSelectors    = allowList{"nodeSelectors", func(l *platformv1.Limit) []string { return limit.Texts(l.NodeSelectors) }, limit.Term}
	tolerations      = allowList{"tolerations", func(l *platformv1.Limit) []string { return limit.Texts(l.Tolerations) }, limit.Term}
	storageClasses   = allowList{"storageClasses", func(l *platformv1.Limit) []string { return limit.Texts(l.StorageClasses) }, limit.Match}
	monitoringLabels = allowList{
		"monitoringLabels", func(l *platformv1.Limit) []string { return limit.Texts(l.MonitoringLabels) }, limit.Term,
	}
	s3Endpoints     = allowList{"s3Endpoints", func(l *platformv1.Limit) []string { return limit.Texts(l.S3Endpoints) }, limit.Hosts}
	directoryHosts  = allowList{"directoryHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.DirectoryHosts) }, limit.Hosts}
	openIDHosts     = allowList{"openIDHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.OpenIDHosts) }, limit.Hosts}
	downloadHosts   = allowList{"downloadHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.DownloadHosts) }, hostsOrAny}
	storageNetworks = allowList{
		"storageNetworks", func(l *platformv1.Limit) []string { return limit.Texts(l.StorageNetworks) }, limit.Network,
	}
	nfsServers         = allowList{"nfsServers", func(l *platformv1.Limit) []string { return limit.Texts(l.NFSServers) }, limit.Hosts}
	vaultServers       = allowList{"vaultServers", func(l *platformv1.Limit) []string { return limit.Texts(l.VaultServers) }, limit.Hosts}
	hypervisorNetworks = allowList{
		"hypervisorNetworks", func(l *platformv1.Limit) []string { return limit.Texts(l.HypervisorNetworks) }, limit.Network,
	}
)

// externalReference is a reference of a spec to an external system.
type externalReference struct {
	row          *allowList
	field, value string
}

// externalReferences lists the external references of a value of the API, without nested values. It is the only list of types with external
// references: limits apply to every field of such a type, and a test covers all types.
func externalReferences(path string, value any) []externalReference {
	switch v := value.(type) {
	case common.Image:
		return []externalReference{{&registries, path + ".repository", v.Repository}}
	case common.InfrastructureImage:
		return []externalReference{{&registries, path + ".repository", v.Repository}}
	case common.Images:
		return []externalReference{{&registries, path + ".registry", v.Registry}}
	case common.Hostname:
		return []externalReference{{&hostDomains, path, string(v)}}
	case common.SecretStoreReference:
		return []externalReference{{&secretStores, path, joined(cmp.Or(v.Kind, "ClusterSecretStore"), string(v.Name), v.Prefix)}}
	case common.Gateway:
		return []externalReference{{&gateways, path, joined(string(v.Namespace), string(v.Name), string(v.SectionName))}}
	case common.IssuerReference:
		return []externalReference{{&issuers, path, joined(cmp.Or(v.Kind, "ClusterIssuer"), string(v.Name))}}
	case common.Exposure:
		return exposureReferences(path, v)
	case common.MemberExposure:
		return memberExposureReferences(path, v)
	case common.Placement:
		return placementReferences(path, v)
	case common.MonitoringSettings:
		return keyValueEntries(&monitoringLabels, path+".labels", v.Labels)
	case controlplanev1.StagingStorage:
		return []externalReference{{&storageClasses, path + ".storageClass", string(v.StorageClass)}}
	case controlplanev1.Storage:
		return []externalReference{{&storageClasses, path + ".storageClass", string(v.StorageClass)}}
	case controlplanev1.ExternalMariaDB:
		return databaseReferences(path, v)
	case controlplanev1.ExternalQueue:
		return externalQueueReferences(path, v)
	case controlplanev1.S3:
		return []externalReference{{&s3Endpoints, path + ".endpoint", v.Endpoint}}
	}
	for _, s := range services {
		if s.externalReferences == nil {
			continue
		}
		if out := s.externalReferences(path, value); out != nil {
			return out
		}
	}
	return nil
}

// defaultClass stands for the default class of an Ingress. It cannot be the name of a class.
const defaultClass = "the cluster's default class"

func exposureReferences(path string, e common.Exposure) []externalReference {
	class := string(e.IngressClassName)
	if e.Type == exposure.Ingress {
		class = cmp.Or(class, defaultClass)
	}
	out := []externalReference{{&ingressClasses, path + ".ingressClassName", class}}
	out = append(out, keyValueEntries(&annotations, path+".annotations", e.Annotations)...)
	for _, n := range e.AllowedNamespaces {
		out = append(out, externalReference{&exposureNamespaces, path + ".allowedNamespaces", string(n)})
	}
	return out
}

// memberExposureReferences lists the clients that may connect to external addresses, and the annotations for the controller that serves the
// Services.
func memberExposureReferences(path string, e common.MemberExposure) []externalReference {
	if e.Type == common.ExposureNone {
		return nil
	}
	out := keyValueEntries(&annotations, path+".annotations", e.Annotations)
	if len(e.Networks) == 0 {
		return append(out, externalReference{&hypervisorNetworks, path + ".networks", anyNetwork})
	}
	return append(out, listEntries(&hypervisorNetworks, path+".networks", e.Networks)...)
}

func placementReferences(path string, p common.Placement) []externalReference {
	out := keyValueEntries(&nodeSelectors, path+".nodeSelector", p.NodeSelector)
	for _, t := range p.Tolerations {
		out = append(out, externalReference{&tolerations, path + ".tolerations", limit.TolerationTerm(t.Key, t.Operator, t.Value, t.Effect)})
	}
	return out
}

// anyHost and anyNetwork stand for an unset list that permits everything. Only * allows them.
const (
	anyHost    = "any host"
	anyNetwork = "any network"
)

func hostsOrAny(entry, value string) bool {
	return limit.Hosts(entry, value) || value == anyHost && entry == "*"
}

// listEntries returns the entries of a list.
func listEntries[S ~string](r *allowList, field string, list []S) []externalReference {
	var out []externalReference
	for _, v := range list {
		out = append(out, externalReference{r, field, string(v)})
	}
	return out
}

// keyValueEntries returns the entries of a map as key=value.
func keyValueEntries[V ~string](r *allowList, field string, entries map[string]V) []externalReference {
	var out []externalReference
	for _, k := range slices.Sorted(maps.Keys(entries)) {
		out = append(out, externalReference{r, field, k + "=" + string(entries[k])})
	}
	return out
}

// allExternalReferences returns the external references of an object and all nested values.
func allExternalReferences(path string, object any) []externalReference {
	var out []externalReference
	limit.Walk(path, object, func(path string, value any) {
		for _, n := range externalReferences(path, value) {
			if n.value != "" {
				out = append(out, n)
			}
		}
	})
	return out
}

// platformDefaults returns a function that reports whether a reference repeats a default of the platform, which is always allowed. Of the
// platform's domain, claims may use only their own subdomain.
func (m *model) platformDefaults() func(externalReference) bool {
	p := m.platform
	own := map[externalReference]bool{}
	for _, n := range allExternalReferences("", struct {
		Global  controlplanev1.Global
		Storage controlplanev1.Storage
	}{
		controlplanev1.Global{Exposure: p.Exposure, TLS: p.TLS, Monitoring: p.Monitoring, SecretStore: p.SecretStore, Images: p.Images},
		controlplanev1.Storage{StorageClass: p.StorageClass},
	}) {
		own[externalReference{row: n.row, value: n.value}] = true
	}
	// A claim may restrict namespaces if the platform does not.
	open := p.Exposure == nil || len(p.Exposure.AllowedNamespaces) == 0
	return func(n externalReference) bool {
		return own[externalReference{row: n.row, value: n.value}] || open && n.row == &exposureNamespaces
	}
}

// limits returns the limits of the claim's namespace.
func (m *model) limits() []platformv1.Limit { return limit.In(m.platform.Limits, m.claim.Namespace) }

// checkLimits returns an error for settings that the platform does not allow in the claim's namespace.
func (m *model) checkLimits() error {
	limits := m.limits()
	var errs []error
	for _, l := range limits {
		if len(l.Sizes) > 0 && !slices.Contains(l.Sizes, platformv1.Size(m.spec.Size)) {
			errs = append(errs, invalid.Field("spec.size", "the platform's limit %q allows %s; choose one of these", l.Name, join(l.Sizes)))
		}
		if len(l.Releases) > 0 && !slices.Contains(l.Releases, platformv1.Release(m.spec.OpenStackRelease)) {
			errs = append(errs, invalid.Field("spec.openStackRelease", "the platform's limit %q allows %s; choose one of these",
				l.Name, join(l.Releases)))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...) // The costs of a size that is not allowed are irrelevant.
	}
	spec := m.spec
	spec.Global = m.settings
	isDefault := m.platformDefaults()
	for _, n := range allExternalReferences("spec", spec) {
		if !isDefault(n) {
			errs = append(errs, m.checkExternalReference(limits, n))
		}
	}
	return errors.Join(append(errs, m.checkCosts(limits))...)
}

// checkExternalReference returns an error for a reference that a limit does not allow, or that no limit covers.
func (m *model) checkExternalReference(limits []platformv1.Limit, n externalReference) error {
	if n.row.isHost() && n.value != anyHost {
		if _, ok := limit.ReadAddresses(n.value); !ok {
			return invalid.Field(n.field, "%q is not a host that all programs parse in the same way; "+
				"set a host name or an IP address, optionally with a port", n.value)
		}
	}
	requested := false
	for _, l := range limits {
		entries := n.row.list(&l)
		if entries == nil {
			continue
		}
		requested = true
		for i, entry := range entries {
			entries[i] = m.expand(entry)
		}
		if !n.row.allowsAny(entries, n.value) {
			return invalid.Field(n.field, "%q is not in %s of the platform limit %q: %s; "+
				"set one of these, or remove it to use the default of the platform",
				n.value, n.row.name, l.Name, cmp.Or(strings.Join(entries, ", "), "none"))
		}
	}
	switch {
	case requested:
		return nil
	case n.row != &hostDomains:
		return invalid.Field(n.field, "no limit of the platform allows %q in namespace %q; remove it to use the default of the platform, "+
			"or ask the platform team to add it to %s of a limit", n.value, m.claim.Namespace, n.row.name)
	}
	own := m.claimDomain()
	if limit.Domain(own, n.value) {
		return nil
	}
	return invalid.Field(n.field, "%q is not below %s, and no limit of the platform allows other domains in namespace %q; "+
		"set a host name in that domain, or ask the platform team to add the domain to domains of a limit", n.value, own, m.claim.Namespace)
}

// allowsAny reports whether any entry allows a value.
func (r *allowList) allowsAny(entries []string, value string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool { return r.allows(entry, value) })
}

func (r *allowList) isHost() bool {
	return slices.Contains([]*allowList{
		&s3Endpoints, &directoryHosts, &openIDHosts, &identityHosts, &databaseHosts, &externalQueueHosts, &downloadHosts, &nfsServers,
		&vaultServers,
	}, r)
}

// limitDomains returns the domains of the limits of the claim's namespace, without the pattern for all domains.
func (m *model) limitDomains() []string {
	var out []string
	for _, l := range m.limits() {
		for _, d := range l.Domains {
			if d != "*" {
				out = append(out, string(d))
			}
		}
	}
	return out
}

// allowsDomain reports whether every limit that has domains allows this one.
func (m *model) allowsDomain(domain string) bool {
	return !slices.ContainsFunc(m.limits(), func(l platformv1.Limit) bool {
		return l.Domains != nil && !slices.ContainsFunc(l.Domains, func(d platformv1.DomainPattern) bool {
			return limit.Domain(m.expand(string(d)), domain)
		})
	})
}

// joined joins the non-empty parts to a path.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
}
