package novacell

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// Environment variables with Nova's accounts. Nova's queue user changes together with its password.
const (
	novaPassword      = "NOVA_DATABASE_PASSWORD"
	novaQueueUser     = "NOVA_QUEUE_USERNAME"
	novaQueuePassword = "NOVA_QUEUE_PASSWORD" //nolint:gosec // the name of a variable
)

// jobs lets Jobs of the cell use Nova's accounts: nova-manage fills the credentials of its environment into cell addresses, and reads the
// API database. The CAs of the cell's own servers are at the same paths as in all pods of Nova.
func (m *model) jobs() service.Jobs {
	nova, volumes := m.spec.NovaDatabase, slices.Clone(m.authorities)
	// The CA of Nova's own server is at the path that it has in Nova's pods, at which the cell's pods have the CA of the cell's server.
	apiCA := m.Path("database-ca", string(nova.CASecretRef.Key))
	if len(volumes) > 0 {
		v := m.SecretVolume("nova-database-ca", string(nova.CASecretRef.Name), string(nova.CASecretRef.Key))
		volumes, apiCA = append(volumes, v), v.Folder+"/"+string(nova.CASecretRef.Key)
	}
	api := mariadb.URL(nova.NameOf(compute.App), novaPassword, nova.Host, nova.Port, nova.NameOf(compute.APIDatabase), apiCA)
	db := m.spec.Database
	own := mariadb.URL(db.NameOf(compute.App), novaPassword, db.Host, db.Port, db.NameOf(compute.CellName(m.spec.Cell)), m.address.DatabaseCA)
	queue := rabbitmq.Transport{
		UserVar: novaQueueUser, PasswordVar: novaQueuePassword, Hosts: []string{m.spec.Queue.Host}, Port: m.spec.Queue.Port,
		Vhost: m.spec.Queue.VirtualHost(compute.CellName(m.spec.Cell)), CAFile: m.address.QueueCA,
	}.URL()
	return service.Jobs{Resources: service.Resources(m.spec.Conductor), Queue: true, Volumes: volumes, Env: []corev1.EnvVar{
		workload.SecretEnv(novaPassword, compute.Secret(m.nova, compute.DatabaseSecret), secret.PasswordKey),
		workload.SecretEnv(novaQueueUser, compute.Secret(m.nova, compute.QueueSecret), secret.UsernameKey),
		workload.SecretEnv(novaQueuePassword, compute.Secret(m.nova, compute.QueueSecret), secret.PasswordKey),
		{Name: oslo.MustEnvName("api_database", "connection"), Value: api},
		{Name: oslo.MustEnvName("database", "connection"), Value: own},
		{Name: oslo.MustEnvName("DEFAULT", "transport_url"), Value: queue},
	}}
}
