package mariadb

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Proxy is a MaxScale in front of a Galera cluster.
type Proxy struct {
	Meta object.Meta
	// Server is the name of the MariaDB object.
	Server string
	// Replicas is the number of proxies, Port their listener port.
	Replicas, Port int32
	// Issuer (in the namespace) of the certificates of listener and REST API.
	Issuer      string
	Image       string
	Resources   *common.Resources
	Placement   common.Placement
	Exporter    Exporter
	PullSecrets []common.ObjectName
	// IPFamily is the first address family of the pods. Empty: IPv4.
	IPFamily common.IPFamily
	// Priority is the PriorityClass of the pods. Empty for a proxy that was created without one, because the field is immutable.
	Priority string
}

// Object builds the MaxScale: it routes all connections of services to the one member for writes, because a schema change that is
// split over two members creates incomplete tables.
//
// The listener has the default name of the operator
// (https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/api/v1alpha1/maxscale_types.go): services are one atomic list of
// their field manager, and a default name would be added and removed with every apply.
func (p Proxy) Object() *unstructured.Unstructured {
	const service = "primary"
	issuer := object.Map{"name": p.Issuer, "kind": "Issuer"}
	return object.New(apiVersion, "MaxScale", p.Meta, object.WithOptional(object.Map{
		"replicas":   int64(p.Replicas),
		"mariaDbRef": object.Map{"name": p.Server},
		"services": object.List{object.Map{
			"name":     service,
			"router":   "readconnroute",
			"params":   object.Map{"router_options": "master"},
			"listener": object.Map{"name": service + "-listener", "port": int64(p.Port), "protocol": "MariaDBProtocol"},
		}},
		// The default of the operator is a separate authority for the proxy, which clients do not trust. MaxScale gets its connection to
		// the members from the MariaDB object.
		"tls":                       object.Map{"enabled": true, "listenerCertIssuerRef": issuer, "adminCertIssuerRef": issuer},
		"metrics":                   p.Exporter.object(),
		"podDisruptionBudget":       object.Map{"maxUnavailable": int64(1)},
		"topologySpreadConstraints": spreadOverNodes("maxscale", p.Meta.Name),
	}, object.Map{
		"config":            p.config(),
		"image":             p.Image,
		"resources":         object.Resources(p.Resources),
		"nodeSelector":      object.NodeSelector(p.Placement.NodeSelector),
		"tolerations":       object.Tolerations(p.Placement.Tolerations),
		"priorityClassName": p.Priority,
		"imagePullSecrets":  pullSecrets(p.PullSecrets),
	}))
}

// config returns options of MaxScale. By default, the operator sets an IPv4 address for the REST API by which it configures MaxScale
// (https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/pkg/maxscale/config/config.go).
func (p Proxy) config() object.Map {
	if p.IPFamily != common.IPv6 {
		return nil
	}
	return object.Map{"params": object.Map{"admin_host": "::"}}
}
