package mariadb

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Proxy is MaxScale before a Galera cluster.
type Proxy struct {
	Meta object.Meta
	// Server is the name of the MariaDB object.
	Server string
	// Replicas is the number of proxies, Port where they listen.
	Replicas, Port int32
	// Issuer (of the namespace) of the certificates of listener and REST API.
	Issuer      string
	Image       string
	Resources   *common.Resources
	Placement   common.Placement
	Exporter    Exporter
	PullSecrets []common.ObjectName
	// Priority is the name of the pods' PriorityClass, empty where a proxy was created without one: the operator does not allow to change it.
	Priority string
}

// Object makes the MaxScale object: all of a service's connections go to the one member that takes writes, because a schema change that is
// split over two half-creates tables.
//
// A listener is named as the operator would name it
// (https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/api/v1alpha1/maxscale_types.go): services are one list that
// belongs to whoever applies it, and a name that the operator adds would come and go with every apply.
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
		// What the operator takes by itself: an authority of the proxy's own, which no client knows. How MaxScale reaches the members it
		// takes from the MariaDB object.
		"tls":                       object.Map{"enabled": true, "listenerCertIssuerRef": issuer, "adminCertIssuerRef": issuer},
		"metrics":                   p.Exporter.object(),
		"podDisruptionBudget":       object.Map{"maxUnavailable": int64(1)},
		"topologySpreadConstraints": apart("maxscale", p.Meta.Name),
	}, object.Map{
		"image":             p.Image,
		"resources":         object.Resources(p.Resources),
		"nodeSelector":      object.NodeSelector(p.Placement.NodeSelector),
		"tolerations":       object.Tolerations(p.Placement.Tolerations),
		"priorityClassName": p.Priority,
		"imagePullSecrets":  pullSecrets(p.PullSecrets),
	}))
}
