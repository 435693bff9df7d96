package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	xv1 "github.com/crossplane/crossplane/apis/v2/apiextensions/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/apis"
)

// kind is the content of the page of one kind.
type kind struct {
	name, apiVersion string
	// scope is the scope of objects of the kind, createdBy their creator.
	scope, createdBy string
	schema           apiextensionsv1.JSONSchemaProps
}

// kindsOf returns the kinds in the definition of a folder of apis.
func kindsOf(folder string) ([]kind, error) {
	data, err := apis.Definition(folder)
	if err != nil {
		return nil, err
	}
	kinds, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read the definition of %s: %w", folder, err)
	}
	return kinds, nil
}

// parse reads the documents of a definition: one kind each.
func parse(data []byte) ([]kind, error) {
	var kinds []kind
	for doc := range bytes.SplitSeq(data, []byte("\n---\n")) {
		if !bytes.Contains(doc, []byte("\nkind: ")) {
			continue // the header
		}
		k, err := parseKind(doc)
		if err != nil {
			return nil, err
		}
		if typ, ok := typesOf[k.name]; ok {
			k.schema = withTypes(k.schema, typ)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

func parseKind(doc []byte) (kind, error) {
	if bytes.Contains(doc, []byte("\nkind: CustomResourceDefinition\n")) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(doc, crd); err != nil {
			return kind{}, err
		}
		v := crd.Spec.Versions[0]
		k := kind{name: crd.Spec.Names.Kind, apiVersion: crd.Spec.Group + "/" + v.Name, schema: *v.Schema.OpenAPIV3Schema}
		k.scope, k.createdBy = "namespaced", "a function; the companion reconciles it"
		switch k.name { // No function composes them.
		case "OVNChassis": // It reports existing chassis.
			k.createdBy = "the companion"
		case "HypervisorRecovery", "NodeMaintenance":
			k.createdBy = "an operator; the companion reconciles it"
		}
		if crd.Spec.Scope == apiextensionsv1.ClusterScoped {
			k.scope, k.createdBy = "cluster-wide", "the platform team"
		}
		return k, nil
	}

	xrd := &xv1.CompositeResourceDefinition{}
	if err := yaml.UnmarshalStrict(doc, xrd); err != nil {
		return kind{}, err
	}
	v := xrd.Spec.Versions[0]
	k := kind{name: xrd.Spec.Names.Kind, apiVersion: xrd.Spec.Group + "/" + v.Name, scope: "namespaced", createdBy: "a ControlPlaneCluster"}
	if ptr.Deref(xrd.Spec.Scope, "") == xv1.CompositeResourceScopeCluster {
		k.scope, k.createdBy = "cluster-wide", "the platform team"
	}
	if claim := xrd.Spec.ClaimNames; claim != nil {
		k.name = claim.Kind
		k.scope = fmt.Sprintf("namespaced claim, which Crossplane turns into a cluster-wide %s with the same fields", xrd.Spec.Names.Kind)
		k.createdBy = "a tenant"
	}
	if err := json.Unmarshal(v.Schema.OpenAPIV3Schema.Raw, &k.schema); err != nil {
		return kind{}, err
	}
	return k, nil
}

// firstSentence ends at the first full stop or colon.
func firstSentence(text string) string {
	text = oneLine(text)
	if i := strings.IndexAny(text, ".:"); i >= 0 {
		return text[:i]
	}
	return text
}

// oneLine joins the lines of a comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
