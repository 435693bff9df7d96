package service

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/capacity"
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
		Limits: s.limits(capacity.API),
	}
	return []compose.Stage{s.expose(s.Meta(s.Name), e, b, "")}, nil
}

// expose brings a backend to the outside. Its resources' names have a prefix.
func (s *Service) expose(meta object.Meta, e common.ServiceExposure, b exposure.Backend, prefix string) compose.Stage {
	objects := exposure.IngressFor
	if e.Type == exposure.GatewayAPI {
		objects = exposure.Route
	}
	var stage compose.Stage
	for _, o := range objects(meta, e, b) {
		stage = append(stage, compose.Resource{Name: prefix + exposureResources[o.GetObjectKind().GroupVersionKind().Kind], Object: o})
	}
	return stage
}

// exposureResources are the resource names of what an exposure consists of.
var exposureResources = map[string]string{
	"HTTPRoute":        "route",
	"BackendTLSPolicy": "route-tls",
	"Ingress":          "ingress",
	"Certificate":      "public-certificate",
}
