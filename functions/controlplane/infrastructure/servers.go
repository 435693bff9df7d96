package infrastructure

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/mariadb"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	openstack "github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// DatabaseServer is a database server of a service in addition to the control plane's.
type DatabaseServer struct {
	// Name of the MariaDB object.
	Name    string
	Members int32
}

// CellDatabase returns the database server of a cell for a number of connections. previous is the observed server, nil for a new one. The
// error is about the image of the server.
func (inf *Infrastructure) CellDatabase(
	part string, requested *controlplanev1.Members, previous *common.DatabaseServer, connections int64,
) (*common.DatabaseServer, error) {
	i := inf.Spec.Infrastructure.MariaDB
	provided := ptr.Deref(i.StorageSize, StorageSize(inf.Size.DatabaseStorage))
	if previous != nil && isLarger(StorageSize(previous.StorageSize), provided) {
		provided = StorageSize(previous.StorageSize)
	}
	res := merge.Overlay(openstack.Resources(requested.Process), inf.DatabaseResources())
	members, err := inf.cellMembers(requested, inf.DatabaseReplicas(), string(provided), i.StorageClass, res, i.Placement, release.MariaDB)
	out := &common.DatabaseServer{Members: members, Config: inf.serverOptions.Database, Metrics: inf.databaseMetrics()}
	if previous != nil {
		out.StorageClass = previous.StorageClass
	}
	out.Connections = mariadb.Connections(max(inf.Size.Connections, connections), mariadb.Memory(res))
	if out.Metrics {
		var imageErr error
		out.ExporterImage, imageErr = inf.thirdPartyImage(release.MariaDBExporter)
		err = errors.Join(err, imageErr)
	}
	if b := i.Backup; b != nil {
		out.Backup = &common.DatabaseBackup{
			Schedule: b.Schedule, RetentionDays: b.RetentionDays, Bucket: b.S3.Bucket, Endpoint: b.S3.Endpoint, Region: b.S3.Region,
			Prefix: bounds.Joined(b.S3.Prefix, "cells", part), CredentialsSecretRef: b.S3.CredentialsSecretRef, PrivateCA: b.S3.PrivateCA,
		}
		if v := b.StagingStorage; v != nil {
			out.Backup.StagingSize, out.Backup.StagingClass = string(v.StorageSize), cmp.Or(v.StorageClass, inf.Platform.StorageClass)
		}
	}
	return out, err
}

// CellQueue returns the message queue of a cell, and an error for impossible changes or an invalid image.
func (inf *Infrastructure) CellQueue(
	field string, requested *controlplanev1.Members, previous *common.QueueServer,
) (*common.QueueServer, error) {
	r := inf.Spec.Infrastructure.RabbitMQ
	res := merge.Overlay(openstack.Resources(requested.Process), inf.queueResources())
	members, imageErr := inf.cellMembers(requested, ptr.Deref(r.Replicas, inf.Size.Messaging),
		string(ptr.Deref(r.StorageSize, StorageSize(inf.Size.MessagingStorage))), r.StorageClass, res, r.Placement, release.RabbitMQ)
	var family common.IPFamily
	if previous != nil {
		family = previous.IPFamily
	}
	out := &common.QueueServer{
		Members: members, IPFamily: memberFamily(inf.OtherFamily(), previous != nil, family),
		Config: inf.serverOptions.queue, IssuerRef: inf.queueIssuer(), ClusterDomain: common.Hostname(inf.ClusterDomain()),
		MemberTLS: memberTLS(r.MemberTLS, previous != nil, previous != nil && previous.MemberTLS),
	}
	if previous == nil {
		return out, imageErr
	}
	q, err := queueMembers{replicas: out.Replicas, storage: out.StorageSize, class: string(out.StorageClass)}.keep(
		field, requested.Replicas, requested.Storage,
		queueMembers{replicas: previous.Replicas, storage: previous.StorageSize, class: string(previous.StorageClass)},
	)
	out.Replicas, out.StorageSize, out.StorageClass = q.replicas, q.storage, common.ObjectName(q.class)
	return out, errors.Join(imageErr, err)
}

// CheckCellExternalQueue returns an error for a cell's own queue with an external queue.
func (inf *Infrastructure) CheckCellExternalQueue(field string, requested *controlplanev1.CellInfrastructure) error {
	if inf.Spec.Infrastructure.RabbitMQ.External == nil || requested == nil || requested.RabbitMQ == nil {
		return nil
	}
	return invalid.Field(field+".rabbitmq", "with an external queue, each cell uses its own virtual host of that queue; remove it")
}

func (inf *Infrastructure) cellMembers(
	requested *controlplanev1.Members, replicas int32, storage string, class common.ObjectName, res *common.Resources,
	on common.Placement, image string,
) (common.Members, error) {
	name, err := inf.thirdPartyImage(image)
	return common.Members{
		Replicas:     ptr.Deref(requested.Replicas, replicas),
		StorageSize:  string(ptr.Deref(requested.StorageSize, StorageSize(storage))),
		StorageClass: cmp.Or(requested.StorageClass, class, inf.Platform.StorageClass),
		Resources:    res,
		Placement:    on,
		Image:        name,
	}, err
}

// CheckCellDatabase returns an error for impossible changes of a database.
func CheckCellDatabase(field string, want, previous *common.DatabaseServer, requested *controlplanev1.Members) error {
	if previous == nil {
		return nil
	}
	errs := []error{
		checkCluster(field+".replicas", previous.Replicas, want.Replicas, "add another cell"),
		checkVolumes(field+".storageSize", StorageSize(previous.StorageSize), StorageSize(want.StorageSize)),
	}
	if requested.StorageClass != "" && requested.StorageClass != previous.StorageClass {
		errs = append(errs, CheckStorageClassUnchanged(field, string(previous.StorageClass)))
	}
	return errors.Join(errs...)
}

// cellServerName returns the name of a cell's own server. Operators do not use this prefix for objects of the control plane's own server,
// with any name of a cell: they use mariadb-primary, mariadb-metrics, rabbitmq-nodes and the like.
func cellServerName(server, cell string) string { return server + "-cell-" + cell }

// OwnDatabaseAddress returns the address of a cell's own database.
func (inf *Infrastructure) OwnDatabaseAddress(cell string, s *common.DatabaseServer) *common.Database {
	name := cellServerName(mariaDBName, cell)
	host := name
	if s.Replicas > 1 {
		host += "-primary"
	}
	return &common.Database{
		MariaDBRef: common.LocalReference{Name: common.ObjectName(name)}, Host: fmt.Sprintf("%s.%s.svc", host, inf.Instance), Port: mariaDBPort,
		CASecretRef: inf.databaseCA(), Galera: s.Replicas > 1,
	}
}

// OwnQueueAddress returns the address of a cell's own queue.
func (inf *Infrastructure) OwnQueueAddress(cell string) *common.Queue {
	out, name := inf.QueueSpec(), cellServerName(rabbitMQName, cell)
	out.RabbitMQRef.Name, out.Host = common.ObjectName(name), rabbitmq.ClusterHost(name, inf.Instance)
	return &out
}

// databaseCA references the CA certificate of all databases.
func (inf *Infrastructure) databaseCA() common.SecretKeyReference {
	return common.SecretKeyReference{Name: mariaDBName + "-ca-bundle", Key: certificate.CAKey}
}
