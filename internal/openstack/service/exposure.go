package service

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/capacity"
)

// buildExposure exposes the API outside of the cluster.
//
// A Gateway verifies the API's certificate with its CA. The CA is in a Secret, which a function cannot read, and Gateways
// require a ConfigMap. All certificates of a control plane have the same CA, so Keystone's ConfigMap is used: Keystone
// publishes the CA that the companion has read, and the spec contains the name.
func buildExposure[M Instance](m M) ([]compose.Stage, error) {
	s := m.Embedded()
	e := *s.Spec.Exposure
	b := exposure.Backend{
		Service: s.Workload.Name, Port: s.Port, Host: s.InternalHost(), CASecret: s.Sub(serverTLS), CAConfigMap: s.CAConfigMap,
		Limits: s.limits(capacity.API),
	}
	return []compose.Stage{s.expose(s.Meta(s.Name), e, b, "")}, nil
}

// expose exposes a backend outside of the cluster. prefix is added to the names of the composed resources.
func (b *Base) expose(meta object.Meta, e common.ServiceExposure, backend exposure.Backend, prefix string) compose.Stage {
	objects := exposure.IngressFor
	if e.Type == exposure.GatewayAPI {
		objects = exposure.Route
	}
	var stage compose.Stage
	for _, o := range objects(meta, e, backend) {
		stage = append(stage, compose.Resource{Name: prefix + exposureResources[o.GetObjectKind().GroupVersionKind().Kind], Object: o})
	}
	return stage
}

// exposureResources maps the kinds of the objects of an exposure to resource names.
var exposureResources = map[string]string{
	"HTTPRoute":        "route",
	"BackendTLSPolicy": "route-tls",
	"Ingress":          "ingress",
	"Certificate":      "public-certificate",
}
