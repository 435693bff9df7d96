package infrastructure

import (
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
)

// ValkeyName is the name of the Valkey object.
const ValkeyName = "valkey"

// ComposeLocks composes Valkey. Its operator creates the binding Secret with address and password, a disruption budget, and a preference
// for different nodes. Its API has fields neither for images nor for pull secrets
// (https://github.com/SAP/valkey-operator/blob/v0.1.10/api/v1alpha1/types.go).
func (inf *Infrastructure) ComposeLocks() ([]compose.Stage, error) {
	v := inf.Spec.Infrastructure.Valkey
	res := merge.Overlay(v.Resources, inf.Size.LocksResources)
	metrics := object.Map{"enabled": inf.Monitoring.Enabled}
	if inf.Monitoring.Enabled {
		metrics["monitor"] = object.WithOptional(object.Map{"enabled": true, "interval": "30s"},
			object.Map{"additionalLabels": labelsOf(inf.Monitoring.Labels)})
	}
	spec := object.WithOptional(object.Map{
		"replicas": int64(inf.Store.replicas),
		"sentinel": object.Map{"enabled": inf.Store.Sentinel},
		"tls": object.Map{"enabled": true, "certManager": object.Map{"issuer": object.Map{
			"group": "cert-manager.io", "kind": "Issuer", "name": claim.InternalCA,
		}}},
		"persistence": object.WithOptional(object.Map{"enabled": true, "size": inf.Store.storage},
			object.Map{"storageClass": inf.Store.class}),
		"metrics":           metrics,
		"binding":           object.Map{"secretName": ValkeyName + "-binding"},
		"resources":         object.Resources(res),
		"priorityClassName": workload.PriorityInfrastructure,
	}, object.Map{
		"nodeSelector": object.NodeSelector(v.NodeSelector),
		"tolerations":  object.Tolerations(v.Tolerations),
	})
	stage := compose.Stage{{
		Name: LocksResource, Object: object.New("cache.cs.sap.com/v1alpha1", "Valkey", inf.Meta(ValkeyName), spec), Retain: true,
	}}
	return []compose.Stage{stage}, nil
}
