package claim

import (
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// neighboursOf returns the namespaces of clients from outside of a control plane's namespace, from the PlatformConfig or, by default, from
// the upstream manifests.
func neighboursOf(n *platformv1.Network) common.Neighbours {
	requested := ptr.Deref(n, platformv1.Network{})
	out := common.Neighbours{
		MariaDBOperator:   namespaces(requested.MariaDBOperator, "mariadb-operator"),
		RabbitMQOperators: namespaces(requested.RabbitMQOperators, "rabbitmq-system"),
		Monitoring:        platform.Prometheus(n),
		APIServerPorts:    platform.APIServerPorts(n),
	}
	return out
}

func namespaces(requested []common.NamespaceName, fallback common.NamespaceName) []common.NamespaceName {
	if len(requested) == 0 {
		return []common.NamespaceName{fallback}
	}
	return requested
}
