package service

import (
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
)

// KeepServer is a MariaDB with what its operator's webhook refuses to change (the fields with the tag webhook:"inmutable" in
// https://github.com/mariadb-operator/mariadb-operator/tree/v25.10.4/api/v1alpha1) as it is observed, whatever is wanted by now: each of
// these fields would hold back every other change of the object. make test-webhooks asks the webhooks.
func KeepServer(s mariadb.Server, was *observe.Object) mariadb.Server {
	if !was.Exists() {
		return s
	}
	s.StorageClass = was.String("spec", "storage", "storageClassName") // volumes do not move
	if pulls := PullSecretsOf(was, s.PullSecrets); !slices.Equal(pulls, s.PullSecrets) {
		// The image of today may lie where only the pull secrets of today open.
		s.PullSecrets, s.Image = pulls, was.String("spec", "image")
		s.Exporter.Image = was.String("spec", "metrics", "exporter", "image")
	}
	if encrypted, _ := was.Bool("spec", "tls", "galeraSSTEnabled"); !encrypted {
		s.Transfer = nil
	}
	s.DefaultCollations = !mariadb.HasCollations(was.String("spec", "myCnf"))
	replicas, _ := was.Int("spec", "replicas")
	// The member that takes the writes is not removed before another one does.
	if primary, _ := was.Int("spec", "galera", "primary", "podIndex"); primary >= int64(s.Replicas) {
		s.Replicas, s.Primary = int32(replicas), new(int64(0)) //nolint:gosec // nine at most
	}
	return s
}

// PullSecretsOf are the pull secrets of a MariaDB or MaxScale that exists, or those that a new one gets.
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
