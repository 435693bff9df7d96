package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// removeFields removes fields from the schema of a CRD. In rules, has() of a removed field is replaced by false. A rule that requires its
// value, or that reports it as the invalid field, is removed with it.
func removeFields(crd *apiextensionsv1.CustomResourceDefinition, paths []string) error {
	for _, v := range crd.Spec.Versions {
		for _, path := range paths {
			if err := remove(v.Schema.OpenAPIV3Schema, strings.Split(path, ".")); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

// remove removes a field that lies below a schema. [] at the end of a name stands for the items of that list.
func remove(schema *apiextensionsv1.JSONSchemaProps, path []string) error {
	name, list := strings.CutSuffix(path[0], "[]")
	child, ok := schema.Properties[name]
	if !ok {
		return fmt.Errorf("there is no field %s", name)
	}
	if len(path) == 1 {
		delete(schema.Properties, name)
		schema.Required = slices.DeleteFunc(schema.Required, func(n string) bool { return n == name })
	} else {
		inner := &child
		if list {
			inner = child.Items.Schema
		}
		if err := remove(inner, path[1:]); err != nil {
			return err
		}
		schema.Properties[name] = child
	}
	schema.XValidations = removeFromRules(schema.XValidations, path)
	return nil
}

// removeFromRules takes a field out of the rules of a schema that it lies below.
func removeFromRules(rules apiextensionsv1.ValidationRules, path []string) apiextensionsv1.ValidationRules {
	joined := strings.ReplaceAll(strings.Join(path, "."), "[]", "")
	field := `\b(self|oldSelf)\.` + regexp.QuoteMeta(joined) + `\b`
	queried, used := regexp.MustCompile(`has\(`+field+`\)`), regexp.MustCompile(field)
	var out apiextensionsv1.ValidationRules
	for _, r := range rules {
		r.Rule = queried.ReplaceAllString(r.Rule, "false")
		if !used.MatchString(r.Rule) && r.FieldPath != "."+joined {
			out = append(out, r)
		}
	}
	return out
}
