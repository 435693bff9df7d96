package schema

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// CheckCRD returns the errors of an API server when the CRD is created: names, structural schema, invalid defaults, CEL rules that do not
// compile, and rules whose estimated cost exceeds the budget (because of missing maxLength, maxItems and maxProperties). All errors are
// joined, one for each field.
func CheckCRD(crd *apiextensionsv1.CustomResourceDefinition) error {
	c := crd.DeepCopy()
	c.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(c)

	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(c, internal, nil); err != nil {
		return fmt.Errorf("cannot read CRD %s: %w", crd.Name, err)
	}
	if errs := sortErrors(validation.ValidateCustomResourceDefinition(context.Background(), internal)); len(errs) > 0 {
		return fmt.Errorf("an API server would reject CRD %s: %w", crd.Name, errs.ToAggregate())
	}
	return nil
}
