package controlplane

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// A cell may have its own database and queue, which its service composes. Their settings are merged with the settings of the control
// plane's own servers. They use the same issuers, so that all clients trust their certificates.

// databaseServer is a database server of a service in addition to the control plane's.
type databaseServer struct {
	server  string
	members int32
}

// databasesOf returns the database servers of a service.
func (m *model) databasesOf(s *serviceState) []databaseServer {
	if s.databases == nil {
		return nil
	}
	return s.databases(m, s)
}

// cellDatabase returns the database server of a cell for a number of connections. previous is the observed server, nil for a new one.
func (m *model) cellDatabase(
	part string, requested *controlplanev1.Members, previous *common.DatabaseServer, connections int64,
) *common.DatabaseServer {
	i := m.spec.Infrastructure.MariaDB
	provided := ptr.Deref(i.StorageSize, storageSize(m.size.databaseStorage))
	if previous != nil && bytes(storageSize(previous.StorageSize)) > bytes(provided) {
		provided = storageSize(previous.StorageSize)
	}
	res := merge.Overlay(openstack.Resources(requested.Process), m.databaseResources())
	out := &common.DatabaseServer{
		Members: m.cellMembers(requested, m.databaseReplicas(), string(provided), i.StorageClass, res, i.Placement, release.MariaDB),
		Config:  m.serverOptions.database,
		Metrics: m.databaseMetrics(),
	}
	if previous != nil {
		out.StorageClass = previous.StorageClass
	}
	out.Connections = mariadb.Connections(max(m.size.connections, connections), mariadb.Memory(res))
	if out.Metrics {
		out.ExporterImage = m.imageOf(release.MariaDBExporter)
	}
	if b := i.Backup; b != nil {
		out.Backup = &common.DatabaseBackup{
			Schedule: b.Schedule, RetentionDays: b.RetentionDays, Bucket: b.S3.Bucket, Endpoint: b.S3.Endpoint, Region: b.S3.Region,
			Prefix: joined(b.S3.Prefix, "cells", part), CredentialsSecretRef: b.S3.CredentialsSecretRef, PrivateCA: b.S3.PrivateCA,
		}
		if v := b.StagingStorage; v != nil {
			out.Backup.StagingSize, out.Backup.StagingClass = string(v.StorageSize), cmp.Or(v.StorageClass, m.platform.StorageClass)
		}
	}
	return out
}

// cellQueue returns the message queue of a cell, and an error for impossible changes.
func (m *model) cellQueue(field string, requested *controlplanev1.Members, previous *common.QueueServer) (*common.QueueServer, error) {
	r := m.spec.Infrastructure.RabbitMQ
	res := merge.Overlay(openstack.Resources(requested.Process), m.queueResources())
	out := &common.QueueServer{
		Members: m.cellMembers(requested, ptr.Deref(r.Replicas, m.size.messaging),
			string(ptr.Deref(r.StorageSize, storageSize(m.size.messagingStorage))),
			r.StorageClass, res, r.Placement, release.RabbitMQ),
		Config: m.serverOptions.queue, IssuerRef: m.queueIssuer(), ClusterDomain: common.Hostname(m.clusterDomain()),
	}
	if previous == nil {
		return out, nil
	}
	q, err := queueMembers{out.Replicas, out.StorageSize, string(out.StorageClass)}.keep(field, requested.Replicas, requested.Storage,
		queueMembers{previous.Replicas, previous.StorageSize, string(previous.StorageClass)})
	out.Replicas, out.StorageSize, out.StorageClass = q.replicas, q.storage, common.ObjectName(q.class)
	return out, err
}

// checkCellQueue returns an error for impossible changes of a queue, and for a cell's own queue with an external queue.
func (m *model) checkCellQueue(field string, requested *controlplanev1.Members, previous *common.QueueServer) error {
	if m.spec.Infrastructure.RabbitMQ.External != nil {
		return invalid.Field(field, "with an external queue, each cell uses its own virtual host of that queue; remove it")
	}
	_, err := m.cellQueue(field, requested, previous)
	return err
}

func (m *model) cellMembers(
	requested *controlplanev1.Members, replicas int32, storage string, class common.ObjectName, res *common.Resources,
	on common.Placement, image string,
) common.Members {
	return common.Members{
		Replicas:     ptr.Deref(requested.Replicas, replicas),
		StorageSize:  string(ptr.Deref(requested.StorageSize, storageSize(storage))),
		StorageClass: cmp.Or(requested.StorageClass, class, m.platform.StorageClass),
		Resources:    res,
		Placement:    on,
		Image:        m.imageOf(image),
	}
}

// imageOf returns the image that an operator runs. The same invalid image is reported for the control plane's own server.
func (m *model) imageOf(name string) string {
	image, _ := m.thirdPartyImage(name)
	return image
}

// checkCellDatabase returns an error for impossible changes of a database.
func checkCellDatabase(field string, want, previous *common.DatabaseServer, requested *controlplanev1.Members) error {
	if previous == nil {
		return nil
	}
	errs := []error{
		checkCluster(field+".replicas", previous.Replicas, want.Replicas, "add another cell"),
		checkVolumes(field+".storageSize", storageSize(previous.StorageSize), storageSize(want.StorageSize)),
	}
	if requested.StorageClass != "" && requested.StorageClass != previous.StorageClass {
		errs = append(errs, checkStorageClassUnchanged(field, string(previous.StorageClass)))
	}
	return errors.Join(errs...)
}

// cellServerName returns the name of a cell's own server. Operators do not use this prefix for objects of the control plane's own server,
// with any name of a cell: they use mariadb-primary, mariadb-metrics, rabbitmq-nodes and the like.
func cellServerName(server, cell string) string { return server + "-cell-" + cell }

// ownDatabaseAddress returns the address of a cell's own database.
func (m *model) ownDatabaseAddress(cell string, s *common.DatabaseServer) *common.Database {
	name := cellServerName(mariaDBName, cell)
	host := name
	if s.Replicas > 1 {
		host += "-primary"
	}
	return &common.Database{
		MariaDBRef: common.LocalReference{Name: common.ObjectName(name)}, Host: fmt.Sprintf("%s.%s.svc", host, m.instance), Port: mariaDBPort,
		CASecretRef: m.databaseCA(), Galera: s.Replicas > 1,
	}
}

// ownQueueAddress returns the address of a cell's own queue.
func (m *model) ownQueueAddress(cell string) *common.Queue {
	out, name := m.queueSpec(), cellServerName(rabbitMQName, cell)
	out.RabbitMQRef.Name, out.Host = common.ObjectName(name), rabbitmq.ClusterHost(name, m.instance)
	return &out
}

// databaseCA references the CA certificate of all databases.
func (m *model) databaseCA() common.SecretKeyReference {
	return common.SecretKeyReference{Name: mariaDBName + "-ca-bundle", Key: certificate.CAKey}
}
