package controlplane

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// externalReferences lists the external references of a value of the API, without nested values. It is the only list of types with external
// references: limits apply to every field of such a type, and a test covers all types.
func externalReferences(path string, value any) []bounds.ExternalReference {
	switch v := value.(type) {
	case common.Image:
		return []bounds.ExternalReference{{List: &bounds.Registries, Field: path + ".repository", Value: v.Repository}}
	case common.InfrastructureImage:
		return []bounds.ExternalReference{{List: &bounds.Registries, Field: path + ".repository", Value: v.Repository}}
	case common.Images:
		return []bounds.ExternalReference{{List: &bounds.Registries, Field: path + ".registry", Value: v.Registry}}
	case common.Hostname:
		return []bounds.ExternalReference{{List: &bounds.HostDomains, Field: path, Value: string(v)}}
	case common.SecretStoreReference:
		store := bounds.Joined(v.Kind, string(v.Name), v.Prefix)
		return []bounds.ExternalReference{{List: &bounds.SecretStores, Field: path, Value: store}}
	case common.Gateway:
		gateway := bounds.Joined(string(v.Namespace), string(v.Name), string(v.SectionName))
		return []bounds.ExternalReference{{List: &bounds.Gateways, Field: path, Value: gateway}}
	case common.IssuerReference:
		issuer := bounds.Joined(v.Kind, string(v.Name))
		return []bounds.ExternalReference{{List: &bounds.Issuers, Field: path, Value: issuer}}
	case common.Exposure:
		return bounds.ExposureReferences(path, v)
	case common.MemberExposure:
		return bounds.MemberExposureReferences(path, v)
	case common.Placement:
		return bounds.NodeReferences(path, v)
	case common.MonitoringSettings:
		return bounds.KeyValueEntries(&bounds.MonitoringLabels, path+".labels", v.Labels)
	case controlplanev1.StagingStorage:
		return []bounds.ExternalReference{{List: &bounds.StorageClasses, Field: path + ".storageClass", Value: string(v.StorageClass)}}
	case controlplanev1.Storage:
		return []bounds.ExternalReference{{List: &bounds.StorageClasses, Field: path + ".storageClass", Value: string(v.StorageClass)}}
	case controlplanev1.ExternalMariaDB:
		return infrastructure.DatabaseReferences(path, v)
	case controlplanev1.ExternalQueue:
		return infrastructure.ExternalQueueReferences(path, v)
	case controlplanev1.S3:
		return []bounds.ExternalReference{{List: &bounds.S3Endpoints, Field: path + ".endpoint", Value: v.Endpoint}}
	}
	for _, s := range serviceTable {
		if out := s.ExternalReferences(path, value); out != nil {
			return out
		}
	}
	return nil
}

// allExternalReferences returns the external references of an object and all nested values.
func allExternalReferences(path string, object any) []bounds.ExternalReference {
	var out []bounds.ExternalReference
	limit.Walk(path, object, func(path string, value any) {
		for _, n := range externalReferences(path, value) {
			if n.Value != "" {
				out = append(out, n)
			}
		}
	})
	return out
}

// platformDefaults returns a function that reports whether a reference repeats a default of the platform, which is always allowed. Of the
// platform's domain, claims may use only their own subdomain.
func (m *model) platformDefaults() func(bounds.ExternalReference) bool {
	p := m.Platform
	own := map[bounds.ExternalReference]bool{}
	for _, n := range allExternalReferences("", struct {
		Global  controlplanev1.Global
		Storage controlplanev1.Storage
	}{
		controlplanev1.Global{Exposure: p.Exposure, TLS: p.TLS, Monitoring: p.Monitoring, SecretStore: p.SecretStore, Images: p.Images},
		controlplanev1.Storage{StorageClass: p.StorageClass},
	}) {
		own[bounds.ExternalReference{List: n.List, Value: n.Value}] = true
	}
	// A claim may restrict namespaces if the platform does not.
	open := p.Exposure == nil || len(p.Exposure.AllowedNamespaces) == 0
	return func(n bounds.ExternalReference) bool {
		return own[bounds.ExternalReference{List: n.List, Value: n.Value}] || open && n.List == &bounds.ExposureNamespaces
	}
}

// checkLimits returns an error for settings that the platform does not allow in the claim's namespace.
func (m *model) checkLimits() error {
	limits := m.Limits()
	var errs []error
	for _, l := range limits {
		if len(l.Sizes) > 0 && !slices.Contains(l.Sizes, platformv1.Size(m.Spec.Size)) {
			errs = append(errs, invalid.Field("spec.size", "the platform's limit %q allows %s; choose one of these", l.Name, bounds.Join(l.Sizes)))
		}
		if len(l.Releases) > 0 && !slices.Contains(l.Releases, platformv1.Release(m.Spec.OpenStackRelease)) {
			errs = append(errs, invalid.Field("spec.openStackRelease", "the platform's limit %q allows %s; choose one of these",
				l.Name, bounds.Join(l.Releases)))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...) // The costs of a size that is not allowed are irrelevant.
	}
	spec := m.Spec
	spec.Global = m.Settings
	isDefault := m.platformDefaults()
	for _, n := range allExternalReferences("spec", spec) {
		if !isDefault(n) {
			errs = append(errs, m.checkExternalReference(limits, n))
		}
	}
	return errors.Join(append(errs, cost.Check(limits, m.parts()))...)
}

// checkExternalReference returns an error for a reference that a limit does not allow, or that no limit covers.
func (m *model) checkExternalReference(limits []platformv1.Limit, n bounds.ExternalReference) error {
	if n.List.IsHost() && n.Value != bounds.AnyHost {
		if _, ok := limit.ReadAddresses(n.Value); !ok {
			return invalid.Field(n.Field, "%q is not a host that all programs parse in the same way; "+
				"set a host name or an IP address, optionally with a port", n.Value)
		}
	}
	requested := false
	for _, l := range limits {
		entries := n.List.List(&l)
		if entries == nil {
			continue
		}
		requested = true
		for i, entry := range entries {
			entries[i] = m.Expand(entry)
		}
		if !n.List.AllowsAny(entries, n.Value) {
			return invalid.Field(n.Field, "%q is not in %s of the platform limit %q: %s; "+
				"set one of these, or remove it to use the default of the platform",
				n.Value, n.List.Name, l.Name, cmp.Or(strings.Join(entries, ", "), "none"))
		}
	}
	switch {
	case requested:
		return nil
	case n.List != &bounds.HostDomains:
		return invalid.Field(n.Field, "no limit of the platform allows %q in namespace %q; remove it to use the default of the platform, "+
			"or ask the platform team to add it to %s of a limit", n.Value, m.Ref.Namespace, n.List.Name)
	}
	own := m.ClaimDomain()
	if limit.Domain(own, n.Value) {
		return nil
	}
	return invalid.Field(n.Field, "%q is not below %s, and no limit of the platform allows other domains in namespace %q; "+
		"set a host name in that domain, or ask the platform team to add the domain to domains of a limit", n.Value, own, m.Ref.Namespace)
}
