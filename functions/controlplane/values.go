package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/syntax"
)

// checkValues returns everything with which a part of the cloud would not start, or would ignore what the claim sets, after the defaults of
// the schema, of the size and of the platform. The schema compares only what a claim sets. What concerns one service is in its check.
func (m *model) checkValues() error {
	return errors.Join(
		syntax.Check("spec", &m.spec), m.checkMinima(), m.checkLocations(), m.checkUnexposed(), m.checkExternalPorts(), m.checkForms(),
	)
}

// checkMinima returns an error for memory and volumes with which a program does not start.
func (m *model) checkMinima() error {
	var errs []error
	for _, p := range m.parts() {
		if p.program == "" || p.replicas == 0 {
			continue
		}
		if p.short {
			limits := ptr.Deref(ptr.Deref(p.resources, common.Resources{}).Limits, common.ResourceAmounts{})
			errs = append(errs, minimum.CheckMemory(p.field+".memory", p.program, limits.Memory))
		} else {
			errs = append(errs, minimum.CheckLimits(p.field+".resources", p.program, p.resources))
		}
		errs = append(errs, minimum.CheckStorage(p.field+".storageSize", p.program, p.storage))
	}
	items := m.cacheMemory()
	return errors.Join(append(errs, minimum.CheckMemory("spec.infrastructure.memcached.memory", minimum.Memcached, &items))...)
}

// A location is where data is kept, under a name by which two locations can be compared.
type location struct{ field, name string }

// checkLocations returns an error for a location that two parts of the cloud keep their data in: one would delete or overwrite what the
// other has. A backup to restore from is read only.
func (m *model) checkLocations() error {
	var all []location
	for _, s := range m.services {
		if s.locations != nil {
			all = append(all, s.locations(m, s)...)
		}
	}
	if b := m.spec.Infrastructure.MariaDB.Backup; b != nil {
		all = append(all, bucketLocation("spec.infrastructure.mariadb.backup.s3", b.S3.Endpoint, b.S3.Bucket, b.S3.Prefix))
	}
	var errs []error
	taken := map[string]string{}
	for _, l := range all {
		if other, ok := taken[l.name]; ok {
			errs = append(errs, invalid.Field(l.field, "%s is where %s keeps its data already; set another one for one of them", l.name, other))
			continue
		}
		taken[l.name] = l.field
	}
	return errors.Join(errs...)
}

// bucketLocation is a bucket of an object store, or a prefix in it. The endpoint has a scheme or none.
func bucketLocation(field, endpoint, bucket, prefix string) location {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix = ", prefix " + prefix
	}
	return location{field, fmt.Sprintf("bucket %s at %s%s", bucket, hostOf(endpoint), prefix)}
}

// poolLocation is a pool of a StorageCluster.
func poolLocation(field string, p *common.StoragePool) location {
	return location{field, fmt.Sprintf("pool %s of StorageCluster %s/%s", p.Pool, p.ClusterRef.Namespace, p.ClusterRef.Name)}
}

// cephLocation is a pool of a Ceph cluster whose configuration is in a Secret.
func cephLocation(field, pool, otherwise string, secret common.SecretReference) location {
	return location{field, fmt.Sprintf("pool %s of the Ceph of Secret %s", cmp.Or(pool, otherwise), secret.Name)}
}

// shareLocation is a share of an NFS server.
func shareLocation(field, share string) location {
	return location{field, "share " + limit.CleanShare(share)}
}

// hostOf returns host:port of an address with or without a scheme, in one form: https is where no scheme is, and ports are written.
func hostOf(address string) string {
	port := "443"
	host, plain := strings.CutPrefix(address, "http://")
	if plain {
		port = "80"
	}
	host = strings.TrimPrefix(host, "https://")
	host, _, _ = strings.Cut(host, "/")
	host = strings.ToLower(host)
	if i := strings.LastIndex(host, ":"); i >= 0 && !strings.HasSuffix(host, "]") {
		return host
	}
	return host + ":" + port
}

// checkUnexposed returns an error for public host names of a cloud that is not exposed: neither by the claim nor by the platform.
func (m *model) checkUnexposed() error {
	var errs []error
	for _, s := range m.services {
		errs = append(errs, m.unexposed(s.field(".hostname"), s.basics.Hostname))
	}
	return errors.Join(errs...)
}

// unexposed returns an error for one host name.
func (m *model) unexposed(field string, name common.Hostname) error {
	if name == "" || m.exposure.Type != exposure.None {
		return nil
	}
	return invalid.Field(field, "requires an exposure, and global.exposure of the claim and of the platform have none; set "+
		"global.exposure, or "+
		"remove the host name")
}

// checkExternalPorts returns an error for one port of an external queue with two uses.
func (m *model) checkExternalPorts() error {
	q := m.spec.Infrastructure.RabbitMQ.External
	if q == nil {
		return nil
	}
	amqp, management := cmp.Or(q.Port, common.QueuePort), cmp.Or(q.ManagementPort, controlplanev1.QueueManagementPort)
	if amqp != management {
		return nil
	}
	return invalid.Field("spec.infrastructure.rabbitmq.external.managementPort",
		"cannot be the port of AMQP, which is %d too; set the port of the "+
			"management API", amqp)
}

// takenName reports whether a service logs in to the identity service by a user of a name. Names are compared without regard to case.
func (m *model) takenName(user string) bool {
	return slices.ContainsFunc(m.services[1:], func(s *serviceState) bool { return strings.EqualFold(s.name, user) })
}
