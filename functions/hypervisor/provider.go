package hypervisor

import (
	"strings"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// providerFile says what Placement is told of a node besides what Nova finds. Nova reads all files of its folder that end like this.
// https://docs.openstack.org/nova/latest/admin/managing-resource-providers.html
const providerFile = "provider.yaml"

// provider tells Nova where to look for the file, if there is one.
func provider(g *group) oslo.Config {
	if len(g.node.Traits) == 0 {
		return nil
	}
	return oslo.Config{"compute": {"provider_config_location": scripts}}
}

// providerConfig is the file. Nova stands for each node with one name: whoever it runs on.
func providerConfig(traits []hypervisorv1.Trait) string {
	var out strings.Builder
	out.WriteString("meta: {schema_version: \"1.0\"}\nproviders:\n- identification: {uuid: $COMPUTE_NODE}\n  traits:\n    additional:\n")
	for _, t := range traits {
		out.WriteString("    - " + string(t) + "\n")
	}
	return out.String()
}
