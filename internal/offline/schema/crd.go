package schema

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// CheckCRD reports what an API server would say to creating the CRD: names, structural schema, defaults that do not validate, CEL rules
// that do not compile, and rules whose estimated cost is over the budget (which is what missing maxLength, maxItems and maxProperties
// lead to). All errors are joined, one per field.
func CheckCRD(crd *apiextensionsv1.CustomResourceDefinition) error {
	c := crd.DeepCopy()
	c.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(c)

	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(c, internal, nil); err != nil {
		return fmt.Errorf("cannot read CRD %s: %w", crd.Name, err)
	}
	if errs := sortErrors(validation.ValidateCustomResourceDefinition(context.Background(), internal)); len(errs) > 0 {
		return fmt.Errorf("an API server would refuse CRD %s: %w", crd.Name, errs.ToAggregate())
	}
	return nil
}
