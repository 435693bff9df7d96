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

// A row is a list of a Limit: what claims may name of one kind.
type row struct {
	// name is that of the list.
	name string
	list func(*platformv1.Limit) []string
	// allows reports whether an entry of the list allows a value.
	allows func(entry, value string) bool
}

var (
	registries         = row{"registries", func(l *platformv1.Limit) []string { return limit.Texts(l.Registries) }, limit.Below}
	hostDomains        = row{"domains", func(l *platformv1.Limit) []string { return limit.Texts(l.Domains) }, limit.Domain}
	secretStores       = row{"secretStores", func(l *platformv1.Limit) []string { return limit.Texts(l.SecretStores) }, limit.Below}
	gateways           = row{"gateways", func(l *platformv1.Limit) []string { return limit.Texts(l.Gateways) }, limit.Below}
	ingressClasses     = row{"ingressClasses", func(l *platformv1.Limit) []string { return limit.Texts(l.IngressClasses) }, limit.Match}
	exposureNamespaces = row{
		"exposureNamespaces", func(l *platformv1.Limit) []string { return limit.Texts(l.ExposureNamespaces) }, limit.Match,
	}
	annotations        = row{"annotations", func(l *platformv1.Limit) []string { return limit.Texts(l.Annotations) }, limit.Term}
	issuers            = row{"issuers", func(l *platformv1.Limit) []string { return limit.Texts(l.Issuers) }, limit.Match}
	nodeSelectors      = row{"nodeSelectors", func(l *platformv1.Limit) []string { return limit.Texts(l.NodeSelectors) }, limit.Term}
	tolerations        = row{"tolerations", func(l *platformv1.Limit) []string { return limit.Texts(l.Tolerations) }, limit.Term}
	storageClasses     = row{"storageClasses", func(l *platformv1.Limit) []string { return limit.Texts(l.StorageClasses) }, limit.Match}
	monitoringLabels   = row{"monitoringLabels", func(l *platformv1.Limit) []string { return limit.Texts(l.MonitoringLabels) }, limit.Term}
	s3Endpoints        = row{"s3Endpoints", func(l *platformv1.Limit) []string { return limit.Texts(l.S3Endpoints) }, limit.Hosts}
	directoryHosts     = row{"directoryHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.DirectoryHosts) }, limit.Hosts}
	openIDHosts        = row{"openIDHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.OpenIDHosts) }, limit.Hosts}
	downloadHosts      = row{"downloadHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.DownloadHosts) }, hostsOrAny}
	storageNetworks    = row{"storageNetworks", func(l *platformv1.Limit) []string { return limit.Texts(l.StorageNetworks) }, limit.Network}
	nfsServers         = row{"nfsServers", func(l *platformv1.Limit) []string { return limit.Texts(l.NFSServers) }, limit.Hosts}
	vaultServers       = row{"vaultServers", func(l *platformv1.Limit) []string { return limit.Texts(l.VaultServers) }, limit.Hosts}
	hypervisorNetworks = row{
		"hypervisorNetworks", func(l *platformv1.Limit) []string { return limit.Texts(l.HypervisorNetworks) }, limit.Network,
	}
)

// A mention is something outside that a spec names.
type mention struct {
	row          *row
	field, value string
}

// mentions are what a value of the API names outside, without what lies inside of it. This is all that is known of which types reach
// outside: a field of such a type is held to the limits wherever it stands, and a test knows every type.
func mentions(path string, value any) []mention {
	switch v := value.(type) {
	case common.Image:
		return []mention{{&registries, path + ".repository", v.Repository}}
	case common.InfrastructureImage:
		return []mention{{&registries, path + ".repository", v.Repository}}
	case common.Images:
		return []mention{{&registries, path + ".registry", v.Registry}}
	case common.Hostname:
		return []mention{{&hostDomains, path, string(v)}}
	case common.SecretStoreReference:
		return []mention{{&secretStores, path, joined(cmp.Or(v.Kind, "ClusterSecretStore"), string(v.Name), v.Prefix)}}
	case common.Gateway:
		return []mention{{&gateways, path, joined(string(v.Namespace), string(v.Name), string(v.SectionName))}}
	case common.IssuerReference:
		return []mention{{&issuers, path, joined(cmp.Or(v.Kind, "ClusterIssuer"), string(v.Name))}}
	case common.Exposure:
		return exposureMentions(path, v)
	case common.MemberExposure:
		return memberExposureMentions(path, v)
	case common.Placement:
		return placementMentions(path, v)
	case common.MonitoringSettings:
		return terms(&monitoringLabels, path+".labels", v.Labels)
	case controlplanev1.StagingStorage:
		return []mention{{&storageClasses, path + ".storageClass", string(v.StorageClass)}}
	case controlplanev1.Storage:
		return []mention{{&storageClasses, path + ".storageClass", string(v.StorageClass)}}
	case controlplanev1.ExternalMariaDB:
		return databaseMentions(path, v)
	case controlplanev1.ExternalQueue:
		return externalQueueMentions(path, v)
	case controlplanev1.S3:
		return []mention{{&s3Endpoints, path + ".endpoint", v.Endpoint}}
	}
	for _, s := range services {
		if s.mentions == nil {
			continue
		}
		if out := s.mentions(path, value); out != nil {
			return out
		}
	}
	return nil
}

// defaultClass is the class of an Ingress that names none. No class is called so.
const defaultClass = "the cluster's default class"

func exposureMentions(path string, e common.Exposure) []mention {
	class := string(e.IngressClassName)
	if e.Type == exposure.Ingress {
		class = cmp.Or(class, defaultClass)
	}
	out := []mention{{&ingressClasses, path + ".ingressClassName", class}}
	out = append(out, terms(&annotations, path+".annotations", e.Annotations)...)
	for _, n := range e.AllowedNamespaces {
		out = append(out, mention{&exposureNamespaces, path + ".allowedNamespaces", string(n)})
	}
	return out
}

// memberExposureMentions are those of addresses outside: whom they let in, and what is said to whoever serves the Services.
func memberExposureMentions(path string, e common.MemberExposure) []mention {
	if e.Type == common.ExposureNone {
		return nil
	}
	out := terms(&annotations, path+".annotations", e.Annotations)
	if len(e.Networks) == 0 {
		return append(out, mention{&hypervisorNetworks, path + ".networks", anyNetwork})
	}
	return append(out, each(&hypervisorNetworks, path+".networks", e.Networks)...)
}

func placementMentions(path string, p common.Placement) []mention {
	out := terms(&nodeSelectors, path+".nodeSelector", p.NodeSelector)
	for _, t := range p.Tolerations {
		out = append(out, mention{&tolerations, path + ".tolerations", limit.TolerationTerm(t.Key, t.Operator, t.Value, t.Effect)})
	}
	return out
}

// anyHost and anyNetwork stand for a list that the spec leaves out, and that is open without it. Only * allows them.
const (
	anyHost    = "any host"
	anyNetwork = "any network"
)

func hostsOrAny(entry, value string) bool {
	return limit.Hosts(entry, value) || value == anyHost && entry == "*"
}

// each are the entries of a list.
func each[S ~string](r *row, field string, list []S) []mention {
	var out []mention
	for _, v := range list {
		out = append(out, mention{r, field, string(v)})
	}
	return out
}

// terms are the entries of a map as key=value.
func terms[V ~string](r *row, field string, entries map[string]V) []mention {
	var out []mention
	for _, k := range slices.Sorted(maps.Keys(entries)) {
		out = append(out, mention{r, field, k + "=" + string(entries[k])})
	}
	return out
}

// mentioned is everything outside that an object names.
func mentioned(path string, object any) []mention {
	var out []mention
	limit.Walk(path, object, func(path string, value any) {
		for _, n := range mentions(path, value) {
			if n.value != "" {
				out = append(out, n)
			}
		}
	})
	return out
}

// offered is what the platform names by itself: a claim may repeat it. Of the platform's domain claims get their own part only.
func (m *model) offered() func(mention) bool {
	p := m.platform
	own := map[mention]bool{}
	for _, n := range mentioned("", struct {
		Global  controlplanev1.Global
		Storage controlplanev1.Storage
	}{
		controlplanev1.Global{Exposure: p.Exposure, TLS: p.TLS, Monitoring: p.Monitoring, SecretStore: p.SecretStore, Images: p.Images},
		controlplanev1.Storage{StorageClass: p.StorageClass},
	}) {
		own[mention{row: n.row, value: n.value}] = true
	}
	// What the platform leaves open to all a claim may close.
	open := p.Exposure == nil || len(p.Exposure.AllowedNamespaces) == 0
	return func(n mention) bool {
		return own[mention{row: n.row, value: n.value}] || open && n.row == &exposureNamespaces
	}
}

// limits are those that hold in the claim's namespace.
func (m *model) limits() []platformv1.Limit { return limit.In(m.platform.Limits, m.claim.Namespace) }

// checkLimits refuses what the platform does not allow in the claim's namespace.
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
		return errors.Join(errs...) // What another size costs is of no interest.
	}
	spec := m.spec
	spec.Global = m.settings
	offered := m.offered()
	for _, n := range mentioned("spec", spec) {
		if !offered(n) {
			errs = append(errs, m.checkMention(limits, n))
		}
	}
	return errors.Join(append(errs, m.checkCosts(limits))...)
}

// checkMention refuses what a limit does not allow, or no limit says anything of.
func (m *model) checkMention(limits []platformv1.Limit, n mention) error {
	if n.row.isHost() && n.value != anyHost {
		if _, ok := limit.ReadAddresses(n.value); !ok {
			return invalid.Field(n.field, "%q names no host that every program reads alike; "+
				"write a host name or an IP address, with a port if need be", n.value)
		}
	}
	said := false
	for _, l := range limits {
		entries := n.row.list(&l)
		if entries == nil {
			continue
		}
		said = true
		for i, entry := range entries {
			entries[i] = m.expand(entry)
		}
		if !n.row.allowsAny(entries, n.value) {
			return invalid.Field(n.field, "%q is not in the %s that the platform's limit %q allows: %s; "+
				"choose from these, or leave it to the platform",
				n.value, n.row.name, l.Name, cmp.Or(strings.Join(entries, ", "), "none"))
		}
	}
	switch {
	case said:
		return nil
	case n.row != &hostDomains:
		return invalid.Field(n.field, "no limit of the platform allows %q in namespace %q; leave it to the platform, "+
			"or ask the platform team to allow it in the %s of a limit", n.value, m.claim.Namespace, n.row.name)
	}
	own := m.ownDomain()
	if limit.Domain(own, n.value) {
		return nil
	}
	return invalid.Field(n.field, "%q does not lie below %s, and no limit of the platform allows other domains in namespace %q; "+
		"choose a name there, or ask the platform team to allow it in the domains of a limit", n.value, own, m.claim.Namespace)
}

// allowsAny reports whether one of the entries allows a value.
func (r *row) allowsAny(entries []string, value string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool { return r.allows(entry, value) })
}

func (r *row) isHost() bool {
	return slices.Contains([]*row{
		&s3Endpoints, &directoryHosts, &openIDHosts, &identityHosts, &databaseHosts, &externalQueueHosts, &downloadHosts, &nfsServers,
		&vaultServers,
	}, r)
}

// limitDomains are the domains of the limits that hold here, without the one that stands for all.
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

// allowsDomain reports whether every limit that has domains allows one.
func (m *model) allowsDomain(domain string) bool {
	return !slices.ContainsFunc(m.limits(), func(l platformv1.Limit) bool {
		return l.Domains != nil && !slices.ContainsFunc(l.Domains, func(d platformv1.DomainPattern) bool {
			return limit.Domain(m.expand(string(d)), domain)
		})
	})
}

// joined is a path of what is not empty.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "/")
}
