// Package revision knows which releases each revision of a service's database schema serves. The data are of the released packages:
// hack/registry/generate.py writes them.
package revision

import (
	"embed"
	"encoding/json"
	"fmt"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

//go:embed data/*.json
var data embed.FS

// Known are the revisions of a schema, those of the oldest release first. A schema is named as its service, and so is that of Nova's cells;
// nova-api is the one above them. It fails for a schema that is not known.
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
