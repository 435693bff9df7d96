// Package definition finds the CRD of every kind of this project: claims and composite resources as Crossplane generates
// them, and plain kinds.
package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// For returns the CRD of a kind, and the name of its version. The error lists the existing kinds.
func For(apiVersion, kind string) (*apiextensionsv1.CustomResourceDefinition, string, error) {
	group, version, _ := strings.Cut(apiVersion, "/")
	for _, k := range kindregistry.All() {
		if k.Group != group || k.Kind != kind && k.Composite().Kind != kind {
			continue
		}
		crds, err := in(k.Folder)
		if err != nil {
			return nil, "", err
		}
		for _, c := range crds {
			served := slices.ContainsFunc(c.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
			if c.Spec.Group == group && c.Spec.Names.Kind == kind && served {
				return c, version, nil
			}
		}
	}
	crds, err := All()
	if err != nil {
		return nil, "", err
	}
	var known []string
	for _, c := range crds {
		known = append(known, fmt.Sprintf("%s (%s/%s)", c.Spec.Names.Kind, c.Spec.Group, c.Spec.Versions[0].Name))
	}
	slices.Sort(known)
	return nil, "", fmt.Errorf("apiVersion %q and kind %q are unknown; use one of %s", apiVersion, kind, strings.Join(known, ", "))
}

// Validator returns the validator of a kind. It is compiled on first use, which takes long for a large schema, and then
// shared.
func Validator(apiVersion, kind string) (*schema.Validator, error) {
	crd, version, err := For(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	validators.Lock()
	key := crd.Name + "/" + version
	compile, ok := validators.by[key]
	if !ok {
		compile = sync.OnceValues(func() (*schema.Validator, error) { return schema.New(crd, version) })
		validators.by[key] = compile
	}
	validators.Unlock()
	return compile()
}

// validators contains the validators by CRD and version.
var validators = struct {
	sync.Mutex
	by map[string]func() (*schema.Validator, error)
}{by: map[string]func() (*schema.Validator, error){}}

// All returns the CRDs of all kinds: claims, composite resources and plain ones, without claims' namespaced forms.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, folder := range apis.Folders() {
		crds, err := in(folder)
		if err != nil {
			return nil, err
		}
		out = append(out, crds...)
	}
	return out, nil
}

// folders contains the CRDs by folder of apis: string to func() ([]*apiextensionsv1.CustomResourceDefinition, error).
var folders sync.Map

// in returns the CRDs of a folder of apis, which is read on first use.
func in(folder string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	read, _ := folders.LoadOrStore(folder, sync.OnceValues(func() ([]*apiextensionsv1.CustomResourceDefinition, error) {
		documents, err := apis.JSON(folder)
		if err != nil {
			return nil, err
		}
		crds, err := parse(documents)
		if err != nil {
			return nil, fmt.Errorf("cannot read the definition of %s: %w", folder, err)
		}
		return crds, nil
	}))
	return read.(func() ([]*apiextensionsv1.CustomResourceDefinition, error))() //nolint:forcetypeassert // Nothing else is stored.
}

func parse(documents []json.RawMessage) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, doc := range documents {
		if bytes.Contains(doc, []byte(`"kind":"CompositeResourceDefinition"`)) {
			crds, err := generated(doc)
			if err != nil {
				return nil, err
			}
			out = append(out, crds...)
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal(doc, crd); err != nil {
			return nil, err
		}
		out = append(out, crd)
	}
	return out, nil
}

// generated returns the CRDs that Crossplane generates from a definition: for the composite resource, and for the claim if it has one.
func generated(doc []byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	xrd, err := schema.ParseXRD(doc)
	if err != nil {
		return nil, err
	}
	crd, err := schema.CompositeCRD(xrd)
	if err != nil {
		return nil, err
	}
	out := []*apiextensionsv1.CustomResourceDefinition{crd}
	if xrd.Spec.ClaimNames != nil {
		claim, err := schema.ClaimCRD(xrd)
		if err != nil {
			return nil, err
		}
		out = append(out, claim)
	}
	return out, nil
}
