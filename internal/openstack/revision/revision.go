// Package revision maps the revisions of a service's database schema to the releases that support them.
// hack/registry/generate.py generates the data from the released packages.
package revision

import (
	"embed"
	"encoding/json"
	"fmt"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

//go:embed data/*.json
var data embed.FS

// Known returns the revisions of a schema, oldest release first. Schemas are named after their service; nova is the schema
// of the cells, nova-api the schema of the API database. It returns an error for an unknown schema.
func Known(schema string) ([]openstackv1.SchemaRevision, error) {
	text, err := data.ReadFile("data/" + schema + ".json")
	if err != nil {
		return nil, fmt.Errorf("the revisions of the schema %q are not known: %w", schema, err)
	}
	var out []openstackv1.SchemaRevision
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("cannot decode the revisions of the schema %s: %w", schema, err)
	}
	return out, nil
}
