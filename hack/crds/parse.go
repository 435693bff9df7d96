package crds

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Parse reads the CRDs among the YAML documents of a file, without their descriptions. Other documents are passed over.
func Parse(data []byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return crds, nil
		} else if err != nil {
			return nil, fmt.Errorf("cannot read the YAML document: %w", err)
		}
		if !bytes.Contains(doc, []byte("CustomResourceDefinition")) {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(doc, crd); err != nil {
			return nil, fmt.Errorf("cannot parse the YAML document: %w", err)
		}
		if crd.Kind != "CustomResourceDefinition" || crd.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
			continue
		}
		for i := range crd.Spec.Versions {
			v := &crd.Spec.Versions[i]
			for j := range v.AdditionalPrinterColumns {
				v.AdditionalPrinterColumns[j].Description = ""
			}
			if v.Schema != nil {
				undescribe(v.Schema.OpenAPIV3Schema)
			}
		}
		crds = append(crds, crd)
	}
}

// undescribe drops the descriptions of a schema, which are most of its bytes and check nothing.
func undescribe(s *apiextensionsv1.JSONSchemaProps) {
	if s == nil {
		return
	}
	s.Description = ""
	undescribe(s.Not)
	if s.Items != nil {
		undescribe(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		undescribe(s.AdditionalProperties.Schema)
	}
	for name, property := range s.Properties {
		undescribe(&property)
		s.Properties[name] = property
	}
	for _, alternatives := range [][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range alternatives {
			undescribe(&alternatives[i])
		}
	}
}

// A slimCRD is a stored CRD: without a status, and with minimal metadata.
type slimCRD struct {
	metav1.TypeMeta `json:",inline"`

	Metadata slimMeta                                     `json:"metadata"`
	Spec     apiextensionsv1.CustomResourceDefinitionSpec `json:"spec"`
}

type slimMeta struct {
	Name string `json:"name"`
	// Annotations hold the approval that groups of k8s.io need.
	Annotations map[string]string `json:"annotations,omitempty"`
}

func slim(crd *apiextensionsv1.CustomResourceDefinition) slimCRD {
	return slimCRD{
		TypeMeta: crd.TypeMeta,
		Metadata: slimMeta{Name: crd.Name, Annotations: crd.Annotations},
		Spec:     crd.Spec,
	}
}

// Slim is the YAML of a CRD as committed/ keeps it.
func Slim(crd *apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	return yaml.Marshal(slim(crd))
}
