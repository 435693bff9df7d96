package main

import apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

const (
	// quantityPattern is controller-gen's pattern of a quantity.
	quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	// amountPattern is a quantity without an exponent.
	amountPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$`
)

// rejectExponents replaces the pattern of all quantities: a parser computes all digits of 1e999999999, for hours.
func rejectExponents(schema *apiextensionsv1.JSONSchemaProps) {
	if schema == nil {
		return
	}
	if schema.Pattern == quantityPattern {
		schema.Pattern = amountPattern
	}
	for name, p := range schema.Properties {
		rejectExponents(&p)
		schema.Properties[name] = p
	}
	if schema.Items != nil {
		rejectExponents(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil {
		rejectExponents(schema.AdditionalProperties.Schema)
	}
}
