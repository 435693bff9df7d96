package service

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

// Exposure brings the API to the outside.
//
// A Gateway verifies the API's certificate by its authority, which a function cannot read: it is in a Secret, and Gateways take ConfigMaps.
// All certificates of a control plane are of one authority, so that the ConfigMap is Keystone's, which publishes what the companion has
// seen; the spec names it.
func Exposure[M Instance](m M) ([]compose.Stage, error) {
	s := m.Base()
	e := *s.Spec.Exposure
	b := exposure.Backend{
		Service: s.Workload.Name, Port: s.Port, Host: s.InternalHost(), CASecret: s.Sub(serverTLS), CAConfigMap: s.CAConfigMap,
		Uploads: s.Uploads,
	}
	objects := exposure.IngressFor
	if e.Type == exposure.GatewayAPI {
		objects = exposure.Route
	}
	var stage compose.Stage
	for _, o := range objects(s.Meta(s.Name), e, b) {
		stage = append(stage, compose.Resource{Name: exposureResources[o.GetObjectKind().GroupVersionKind().Kind], Object: o})
	}
	return []compose.Stage{stage}, nil
}

// exposureResources are the resource names of what an exposure consists of.
var exposureResources = map[string]string{
	"HTTPRoute":        "route",
	"BackendTLSPolicy": "route-tls",
	"Ingress":          "ingress",
	"Certificate":      "public-certificate",
}
