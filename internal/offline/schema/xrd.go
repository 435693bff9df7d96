package schema

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xcrd"
	xrdv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	xrdv2 "github.com/crossplane/crossplane/apis/v2/apiextensions/v2"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// ParseXRD parses a CompositeResourceDefinition of apiextensions.crossplane.io/v1 or v2 from YAML or JSON and sets the
// defaults of the API server: the scope (LegacyCluster in v1, Namespaced in v2) and the policies. The versions have the
// same fields, so both are returned as the v1 type. Unknown fields are an error, and so is a claim in v2, which does not support claims.
func ParseXRD(data []byte) (*xrdv1.CompositeResourceDefinition, error) {
	xrd := &xrdv1.CompositeResourceDefinition{}
	if err := unmarshalStrict(data, xrd); err != nil {
		return nil, fmt.Errorf("cannot parse the CompositeResourceDefinition: %w", err)
	}
	if xrd.Kind != xrdv1.CompositeResourceDefinitionKind {
		return nil, fmt.Errorf("cannot use kind %q: must be %s", xrd.Kind, xrdv1.CompositeResourceDefinitionKind)
	}
	switch xrd.APIVersion {
	case xrdv1.SchemeGroupVersion.String():
		orDefault(&xrd.Spec.Scope, xrdv1.CompositeResourceScopeLegacyCluster)
		orDefault(&xrd.Spec.DefaultCompositeDeletePolicy, xpv2.CompositeDeleteBackground)
	case xrdv2.SchemeGroupVersion.String():
		orDefault(&xrd.Spec.Scope, xrdv1.CompositeResourceScopeNamespaced)
		if *xrd.Spec.Scope == xrdv1.CompositeResourceScopeLegacyCluster || xrd.Spec.ClaimNames != nil {
			return nil, fmt.Errorf("cannot use %s: only %s has claims and the scope LegacyCluster", xrd.Name, xrdv1.SchemeGroupVersion)
		}
	default:
		return nil, fmt.Errorf("cannot use %s: unknown apiVersion %q", xrd.Name, xrd.APIVersion)
	}
	orDefault(&xrd.Spec.DefaultCompositionUpdatePolicy, xpv2.UpdateAutomatic)
	return xrd, nil
}

// unmarshalStrict decodes YAML or JSON without unknown fields. JSON is YAML, but its own decoder is many times as fast.
func unmarshalStrict(data []byte, v any) error {
	if !bytes.HasPrefix(data, []byte("{")) {
		return yaml.UnmarshalStrict(data, v)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func orDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// CompositeCRD returns the CRD of the composite resource that Crossplane generates from an XRD of any scope.
func CompositeCRD(xrd *xrdv1.CompositeResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	return free(xcrd.ForCompositeResource(xrd.DeepCopy()))
}

// ClaimCRD returns the CRD of the claim that Crossplane generates from an XRD. It returns an error without claimNames. Crossplane drops
// parts of the XRD's schema: title, default and allOf of the spec itself and patterns on metadata.name.
func ClaimCRD(xrd *xrdv1.CompositeResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	return free(xcrd.ForCompositeResourceClaim(xrd.DeepCopy()))
}

// free removes the owner reference, because it requires the uid that the XRD has only in a cluster.
func free(crd *apiextensionsv1.CustomResourceDefinition, err error) (*apiextensionsv1.CustomResourceDefinition, error) {
	if err != nil {
		return nil, fmt.Errorf("cannot generate a CRD from the XRD: %w", err)
	}
	crd.APIVersion, crd.Kind = apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition"
	crd.OwnerReferences = nil
	return crd, nil
}
