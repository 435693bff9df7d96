package cinder

import (
	_ "embed"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
)

// typesScript creates the volume types with the API.
//
//go:embed types.py
var typesScript string

// typesFile is its file name among the programs.
const typesFile = "volume-types.py"

// volumeType is the script's input for one type.
type volumeType struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	IsPublic    bool              `json:"is_public"`
	ExtraSpecs  map[string]string `json:"extra_specs"`
}

// volumeTypes are created by a Job, which runs again when they change. K-ORC's objects are not used because of their deletion: K-ORC
// queries Cinder before it releases one, even an unmanaged one, and Cinder's API is deleted at the same time as they are
// (https://github.com/k-orc/openstack-resource-controller/blob/v2.6.0/internal/controllers/generic/reconciler/resource_actions.go).
func volumeTypes(m *model) ([]compose.Stage, error) {
	types := make([]volumeType, len(m.spec.VolumeTypes))
	for i, t := range m.spec.VolumeTypes {
		types[i] = volumeType{Name: t.Name, Description: t.Description, IsPublic: !t.Private, ExtraSpecs: map[string]string{}}
		for key, value := range t.ExtraSpecs {
			types[i].ExtraSpecs[key] = string(value)
		}
		if t.Backend != "" {
			types[i].ExtraSpecs[volume.BackendSpec] = t.Backend
		}
		// Volumes of other types are created in the default zone unless they set one.
		if zone := volume.ZoneOf(&m.spec.Storage, t.Backend); t.Backend != "" && zone != volume.DefaultZone(&m.spec.Storage) {
			if _, ok := t.ExtraSpecs[volume.ZonesSpec]; !ok {
				types[i].ExtraSpecs[volume.ZonesSpec] = zone
			}
		}
	}
	list, err := json.Marshal(types)
	if err != nil {
		return nil, fmt.Errorf("cannot write down the volume types: %w", err)
	}
	keystone, err := service.ToKeystone(&m.Spec.Identity.KeystoneReference)
	if err != nil {
		return nil, err
	}
	const attempts = 10
	w := m.Workload.With(m.Sub(typesComponent), typesComponent)
	w.Resources = workload.Resources("50m", "128Mi", "256Mi")
	programs := m.programsVolume()
	pod := workload.Pod{
		UserID: service.UserID, RestartPolicy: corev1.RestartPolicyNever, Volumes: []corev1.Volume{programs.Volume},
		Containers: []corev1.Container{{
			Name: m.App, Image: m.Image, Command: []string{"/opt/openstack/bin/python", programsPath + "/" + typesFile},
			VolumeMounts: []corev1.VolumeMount{workload.Mount(programs.Name, programs.Folder)},
			Env: []corev1.EnvVar{
				{Name: "IDENTITY_URL", Value: string(m.Spec.Identity.InternalURL)},
				{Name: "IDENTITY_CA", Value: fmt.Sprint(m.AuthOptions()["cafile"])},
				{Name: "VOLUME_URL", Value: string(m.Spec.Endpoints.Internal)},
				{Name: "VOLUME_TYPES", Value: workload.Literal(string(list))},
			},
		}},
	}
	m.LogIn(&pod, serviceGroup)
	stages, err := service.Once(typesComponent, w, pod, attempts)
	if err != nil {
		return nil, err
	}
	policy := workload.NetworkPolicy(
		m.Meta(m.Sub(typesComponent)), metav1.LabelSelector{MatchLabels: w.Selector()}, nil,
		[]workload.Flow{keystone, {Pods: m.Workload.Selector(), Ports: []int32{cinderv1.Port}}},
	)
	stages[0] = append(stages[0], compose.Resource{Name: "jobs-network-policy", Object: policy})
	return stages, nil
}
