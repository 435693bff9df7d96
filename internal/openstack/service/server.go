package service

import (
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
)

// KeepServer returns s with the observed values of the fields that the MariaDB webhook does not allow to change (the fields
// with the tag webhook:"inmutable" in https://github.com/mariadb-operator/mariadb-operator/tree/v25.10.4/api/v1alpha1): a
// change of one of these fields would block all other changes of the object. make test-webhooks verifies this with the
// webhooks.
func KeepServer(s mariadb.Server, observed *observe.Object) mariadb.Server {
	if !observed.Exists() {
		return s
	}
	s.StorageClass = observed.String("spec", "storage", "storageClassName") // volumes do not move
	if pulls := PullSecretsOf(observed, s.PullSecrets); !slices.Equal(pulls, s.PullSecrets) {
		// The current image may only be accessible with the current pull secrets.
		s.PullSecrets, s.Image = pulls, observed.String("spec", "image")
		s.Exporter.Image = observed.String("spec", "metrics", "exporter", "image")
	}
	if encrypted, _ := observed.Bool("spec", "tls", "galeraSSTEnabled"); !encrypted {
		s.Transfer = nil
	}
	s.DefaultCollations = !mariadb.HasCollations(observed.String("spec", "myCnf"))
	replicas, _ := observed.Int("spec", "replicas")
	// The member that takes the writes is not removed before another one does.
	if primary, _ := observed.Int("spec", "galera", "primary", "podIndex"); primary >= int64(s.Replicas) {
		s.Replicas, s.Primary = int32(replicas), new(int64(0)) //nolint:gosec // nine at most
	}
	return s
}

// PullSecretsOf returns the pull secrets of an existing MariaDB or MaxScale, or the desired ones for a new object.
func PullSecretsOf(o *observe.Object, desired []common.ObjectName) []common.ObjectName {
	if !o.Exists() {
		return desired
	}
	var out []common.ObjectName
	for _, s := range o.List("spec", "imagePullSecrets") {
		m, _ := s.(map[string]any)
		name, _ := m["name"].(string)
		out = append(out, common.ObjectName(name))
	}
	return out
}
