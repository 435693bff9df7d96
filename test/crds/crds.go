// Package crds lets a test check any object that we emit as the API server that gets it would: our own kinds and the
// third-party ones against their CRDs, Kubernetes' own kinds by strict decoding and a table of checks.
//
//	set := crds.Load(t)
//	if errs := set.Validate(obj); len(errs) > 0 { … }
//
// The third-party CRDs are fetched on first use (see hack/crds); validators are compiled when a kind is first met and
// shared by all tests of a process.
package crds

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	source "github.com/c5c3/crossplane-cobaltcore/hack/crds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
)

// A Set contains the kinds with which objects are validated. It is safe for concurrent use.
type Set struct {
	own        *kinds
	thirdParty *kinds
}

var thirdParty = sync.OnceValues(func() (*kinds, error) {
	dir, err := source.Fetch(context.Background())
	if err != nil {
		return nil, err
	}
	return newKinds(func(kind runtimeschema.GroupKind) (*apiextensionsv1.CustomResourceDefinition, error) {
		return readCRD(filepath.Join(dir, source.FileName(kind)))
	}), nil
})

// Load returns a set of all third-party kinds, to which a test can add. It fails the test if the CRDs are not in the cache
// and cannot be fetched.
func Load(tb testing.TB) *Set {
	tb.Helper()
	shared, err := thirdParty()
	if err != nil {
		tb.Fatal(err)
	}
	none := func(runtimeschema.GroupKind) (*apiextensionsv1.CustomResourceDefinition, error) { return nil, nil }
	return &Set{own: newKinds(none), thirdParty: shared}
}

// Add registers the kind of a CRD in this set. It replaces an earlier registration of that kind.
func (s *Set) Add(crd *apiextensionsv1.CustomResourceDefinition) { s.own.add(crd) }

// Has reports whether the set contains a kind in a version, including built-in kinds.
func (s *Set) Has(apiVersion, kind string) bool {
	gvk := runtimeschema.FromAPIVersionAndKind(apiVersion, kind)
	if builtin.Recognizes(gvk) {
		return true
	}
	for _, known := range []*kinds{s.own, s.thirdParty} {
		if crd, err := known.crd(gvk.GroupKind()); crd != nil && err == nil {
			return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
				return v.Name == gvk.Version && v.Served
			})
		}
	}
	return false
}

// HasField reports whether objects of a kind have a field, by the kind's CustomResourceDefinition.
func (s *Set) HasField(kind runtimeschema.GroupKind, path ...string) bool {
	for _, of := range []*kinds{s.own, s.thirdParty} {
		crd, err := of.crd(kind)
		if err != nil || crd == nil {
			continue
		}
		for _, v := range crd.Spec.Versions {
			at, ok := *v.Schema.OpenAPIV3Schema, true
			for _, field := range path {
				at, ok = at.Properties[field]
				if !ok {
					break
				}
			}
			if ok {
				return true
			}
		}
	}
	return false
}

// Validator returns the compiled CRD of a kind in a version, for checks that Validate does not make: updates and
// statuses. It is nil for a kind without a CRD. The error means that the CRD does not serve the version or does not
// compile.
func (s *Set) Validator(apiVersion, kind string) (*schema.Validator, error) {
	gvk := runtimeschema.FromAPIVersionAndKind(apiVersion, kind)
	for _, known := range []*kinds{s.own, s.thirdParty} {
		if v, err := known.validator(gvk); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}

// Validate returns the errors in an object to be created, sorted by field; none means that an API server accepts it. An
// unknown kind is an error. The manifest inside a provider-kubernetes Object is checked as well. The object may contain
// any Go numbers and is not changed.
func (s *Set) Validate(obj map[string]any) field.ErrorList {
	obj, err := schema.Normalize(obj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	gvk := runtimeschema.FromAPIVersionAndKind(apiVersion, kind)
	if builtin.Recognizes(gvk) {
		return append(clientsOnly(obj), validateBuiltin(obj, gvk)...)
	}

	v, err := s.Validator(apiVersion, kind)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("apiVersion"), apiVersion, err.Error())}
	}
	if v == nil {
		return field.ErrorList{field.Invalid(field.NewPath("kind"), kind,
			fmt.Sprintf("no kind %q of apiVersion %q: add its CRD to the set, or its module to hack/crds/modules.txt", kind, apiVersion))}
	}
	errs := append(clientsOnly(obj), v.Validate(obj)...)
	return append(errs, s.validateManifest(obj, gvk)...)
}

// kinds are CRDs and the validators compiled from them.
type kinds struct {
	// read finds the CRD of a kind that was not added; nil means that there is none.
	read readFunc

	mu         sync.Mutex
	crds       map[runtimeschema.GroupKind]*apiextensionsv1.CustomResourceDefinition
	validators map[runtimeschema.GroupVersionKind]*schema.Validator
}

type readFunc func(runtimeschema.GroupKind) (*apiextensionsv1.CustomResourceDefinition, error)

func newKinds(read readFunc) *kinds {
	return &kinds{
		read:       read,
		crds:       map[runtimeschema.GroupKind]*apiextensionsv1.CustomResourceDefinition{},
		validators: map[runtimeschema.GroupVersionKind]*schema.Validator{},
	}
}

func (k *kinds) add(crd *apiextensionsv1.CustomResourceDefinition) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.crds[runtimeschema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = crd
	clear(k.validators)
}

func (k *kinds) crd(kind runtimeschema.GroupKind) (*apiextensionsv1.CustomResourceDefinition, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.locked(kind)
}

func (k *kinds) locked(kind runtimeschema.GroupKind) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd, known := k.crds[kind]
	if known {
		return crd, nil
	}
	crd, err := k.read(kind)
	if err == nil {
		k.crds[kind] = crd
	}
	return crd, err
}

// validator returns nil if there is no CRD.
func (k *kinds) validator(gvk runtimeschema.GroupVersionKind) (*schema.Validator, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v := k.validators[gvk]; v != nil {
		return v, nil
	}
	crd, err := k.locked(gvk.GroupKind())
	if crd == nil || err != nil {
		return nil, err
	}
	v, err := schema.New(crd, gvk.Version)
	if err == nil {
		k.validators[gvk] = v
	}
	return v, err
}

func readCRD(path string) (*apiextensionsv1.CustomResourceDefinition, error) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(data, crd); err != nil {
		return nil, fmt.Errorf("cannot read the cached CRD %s, delete it: %w", path, err)
	}
	return crd, nil
}
