package cinder

import (
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
)

// Publish adds the locations of volumes. A backend whose pool is not known yet is skipped.
func (x model) Publish(to *controlplanev1.HypervisorAccess) {
	m, s := x.Cloud, x.State
	clients := m.StorageClients(s.Name)
	for _, b := range m.Spec.Services.Cinder.Backends {
		access := controlplanev1.VolumeAccess{Backend: b.Name}
		switch {
		case b.RBD != nil:
			access.User, access.SecretUUID = b.RBD.User, volume.SecretUUID(m.Instance, s.Name, b.Name)
		case b.Ceph != nil:
			c := openstack.FindStorageClient(clients, cinderv1.PlaceOf(b.Name))
			if c == nil {
				continue
			}
			access.User, access.SecretUUID = c.User, c.SecretUUID
		}
		if access.User != "" {
			access.SecretName = volume.ClientSecret(s.Name, b.Name)
		}
		to.Volumes = append(to.Volumes, access)
	}
}

// Report copies the state of the backends.
func (x model) Report(status *controlplanev1.ControlPlaneClusterStatus) {
	s := x.State
	for _, reported := range s.Observed.List("status", "backends") {
		b, _ := reported.(map[string]any)
		name, _ := b["name"].(string)
		phase, _ := b["phase"].(string)
		if name == "" || phase == "" {
			continue
		}
		status.Backends = append(status.Backends, cinderv1.BackendStatus{
			Name: name, Phase: phase, TotalGiB: gibibytes(b["totalGiB"]), AvailableGiB: gibibytes(b["availableGiB"]),
		})
	}
}

// gibibytes converts a reported number. It returns nil for any other value.
func gibibytes(reported any) *int64 {
	n, ok := reported.(float64)
	if !ok {
		return nil
	}
	return new(int64(n))
}

// cephConnected copies the condition of the block storage service on its Ceph clusters.
func cephConnected(m *services.Cloud) rules.Result {
	if c := m.Spec.Services.Cinder; c == nil || !c.Enabled {
		return rules.Result{}
	}
	observedState, _ := m.Observed.Get(cinderv1.ServiceName)
	c, ok := observedState.Condition(cinderv1.CephConnected)
	if !ok || c.Status == "Unknown" {
		return rules.Result{}
	}
	return m.CopiedCondition(observedState, c)
}
