// Package bounds contains the forms in which limits of a platform apply to a claim: lists of allowed external references, and locations of
// data. It depends neither on claims nor on services.
package bounds

import (
	"slices"
	"strings"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// AllowList is a list of a Limit: the values of one kind that claims may set.
type AllowList struct {
	// Name of the field of the Limit.
	Name string
	List func(*platformv1.Limit) []string
	// allows reports whether an entry of the list allows a value.
	allows func(entry, value string) bool
	// hosts is true if the values are addresses of hosts.
	hosts bool
}

func newList(name string, list func(*platformv1.Limit) []string, allows func(entry, value string) bool) AllowList {
	return AllowList{Name: name, List: list, allows: allows}
}

// NewHostList returns a list of hosts, by the name of the field of the Limit.
func NewHostList(name string, list func(*platformv1.Limit) []string) AllowList {
	return newHostList(name, list, limit.Hosts)
}

func newHostList(name string, list func(*platformv1.Limit) []string, allows func(entry, value string) bool) AllowList {
	return AllowList{Name: name, List: list, allows: allows, hosts: true}
}

// Lists of limits that apply to more than one service or to the infrastructure.
var (
	Registries         = newList("registries", func(l *platformv1.Limit) []string { return limit.Texts(l.Registries) }, limit.Below)
	HostDomains        = newList("domains", func(l *platformv1.Limit) []string { return limit.Texts(l.Domains) }, limit.Domain)
	SecretStores       = newList("secretStores", func(l *platformv1.Limit) []string { return limit.Texts(l.SecretStores) }, limit.Below)
	Gateways           = newList("gateways", func(l *platformv1.Limit) []string { return limit.Texts(l.Gateways) }, limit.Below)
	IngressClasses     = newList("ingressClasses", func(l *platformv1.Limit) []string { return limit.Texts(l.IngressClasses) }, limit.Match)
	ExposureNamespaces = newList(
		"exposureNamespaces", func(l *platformv1.Limit) []string { return limit.Texts(l.ExposureNamespaces) }, limit.Match,
	)
	Annotations      = newList("annotations", func(l *platformv1.Limit) []string { return limit.Texts(l.Annotations) }, limit.Term)
	Issuers          = newList("issuers", func(l *platformv1.Limit) []string { return limit.Texts(l.Issuers) }, limit.Match)
	NodeSelectors    = newList("nodeSelectors", func(l *platformv1.Limit) []string { return limit.Texts(l.NodeSelectors) }, limit.Term)
	Tolerations      = newList("tolerations", func(l *platformv1.Limit) []string { return limit.Texts(l.Tolerations) }, limit.Term)
	StorageClasses   = newList("storageClasses", func(l *platformv1.Limit) []string { return limit.Texts(l.StorageClasses) }, limit.Match)
	MonitoringLabels = newList("monitoringLabels", func(l *platformv1.Limit) []string { return limit.Texts(l.MonitoringLabels) }, limit.Term)
	S3Endpoints      = NewHostList("s3Endpoints", func(l *platformv1.Limit) []string { return limit.Texts(l.S3Endpoints) })
	DirectoryHosts   = NewHostList("directoryHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.DirectoryHosts) })
	OpenIDHosts      = NewHostList("openIDHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.OpenIDHosts) })
	DownloadHosts    = newHostList("downloadHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.DownloadHosts) }, hostsOrAny)
	StorageNetworks  = newList(
		"storageNetworks", func(l *platformv1.Limit) []string { return limit.Texts(l.StorageNetworks) }, limit.Network,
	)
	NFSServers         = NewHostList("nfsServers", func(l *platformv1.Limit) []string { return limit.Texts(l.NFSServers) })
	VaultServers       = NewHostList("vaultServers", func(l *platformv1.Limit) []string { return limit.Texts(l.VaultServers) })
	HypervisorNetworks = newList(
		"hypervisorNetworks", func(l *platformv1.Limit) []string { return limit.Texts(l.HypervisorNetworks) }, limit.Network,
	)
	NodeHosts = NewHostList("nodeHosts", func(l *platformv1.Limit) []string { return limit.Texts(l.NodeHosts) })
)

// AnyHost and AnyNetwork stand for an unset list that permits everything. Only * allows them.
const (
	AnyHost    = "any host"
	AnyNetwork = "any network"
)

func hostsOrAny(entry, value string) bool {
	return limit.Hosts(entry, value) || value == AnyHost && entry == "*"
}

// AllowsAny reports whether any entry allows a value.
func (r *AllowList) AllowsAny(entries []string, value string) bool {
	return slices.ContainsFunc(entries, func(entry string) bool { return r.allows(entry, value) })
}

// IsHost reports whether the values of the list are addresses of hosts.
func (r *AllowList) IsHost() bool { return r.hosts }

// Join returns texts as a list with commas.
func Join[S ~string](in []S) string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}
