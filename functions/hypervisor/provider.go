package hypervisor

import (
	"strings"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// providerFile is the file of additional traits that Nova reports to Placement. Nova reads all files of its folder with this suffix.
// https://docs.openstack.org/nova/latest/admin/managing-resource-providers.html
const providerFile = "provider.yaml"

// provider returns the option with the folder of the file. Nil: the group has no traits.
func provider(g *group) oslo.Config {
	if len(g.node.Traits) == 0 {
		return nil
	}
	return oslo.Config{"compute": {"provider_config_location": scripts}}
}

// providerConfig returns the contents of the file. Nova replaces $COMPUTE_NODE by the node on which it runs.
func providerConfig(traits []hypervisorv1.Trait) string {
	var out strings.Builder
	out.WriteString("meta: {schema_version: \"1.0\"}\nproviders:\n- identification: {uuid: $COMPUTE_NODE}\n  traits:\n    additional:\n")
	for _, t := range traits {
		out.WriteString("    - " + string(t) + "\n")
	}
	return out.String()
}
