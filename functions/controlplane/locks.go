package controlplane

import (
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
)

const valkeyName = "valkey"

// locks composes Valkey. Its operator creates the binding Secret with address and password, a disruption budget, and a preference for
// different nodes. Its API has fields neither for images nor for pull secrets
// (https://github.com/SAP/valkey-operator/blob/v0.1.10/api/v1alpha1/types.go).
func locks(m *model) ([]compose.Stage, error) {
	v := m.spec.Infrastructure.Valkey
	res := merge.Overlay(v.Resources, m.size.locksResources)
	metrics := object.Map{"enabled": m.monitoring.Enabled}
	if m.monitoring.Enabled {
		metrics["monitor"] = object.WithOptional(object.Map{"enabled": true, "interval": "30s"},
			object.Map{"additionalLabels": labelsOf(m.monitoring.Labels)})
	}
	spec := object.WithOptional(object.Map{
		"replicas": int64(m.store.replicas),
		"sentinel": object.Map{"enabled": m.store.sentinel},
		"tls": object.Map{"enabled": true, "certManager": object.Map{"issuer": object.Map{
			"group": "cert-manager.io", "kind": "Issuer", "name": internalCA,
		}}},
		"persistence":       object.WithOptional(object.Map{"enabled": true, "size": m.store.storage}, object.Map{"storageClass": m.store.class}),
		"metrics":           metrics,
		"binding":           object.Map{"secretName": valkeyName + "-binding"},
		"resources":         object.Resources(res),
		"priorityClassName": workload.PriorityInfrastructure,
	}, object.Map{
		"nodeSelector": object.NodeSelector(v.NodeSelector),
		"tolerations":  object.Tolerations(v.Tolerations),
	})
	stage := compose.Stage{{
		Name: locksResource, Object: object.New("cache.cs.sap.com/v1alpha1", "Valkey", m.meta(valkeyName), spec), Retain: true,
	}}
	return []compose.Stage{stage}, nil
}
