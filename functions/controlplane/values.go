package controlplane

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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

// checkValues returns an error for each value that prevents a part of the cloud from starting, or that would be ignored, after applying the
// defaults of the schema, of the size and of the platform. The schema compares only values of the claim. Values of a single service are
// checked by its own check.
func (m *model) checkValues() error {
	return errors.Join(
		syntax.Check("spec", &m.spec), m.checkMinima(), m.checkLocations(), m.checkUnexposed(), m.checkExternalPorts(), m.checkForms(),
		m.checkNotExposed(), m.checkQueueRequest(),
	)
}

// checkMinima returns an error for memory and volumes below the minimum of a program.
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

// location is a place where data is stored, with a name that allows comparing two locations.
type location struct{ field, name string }

// checkLocations returns an error for a location that two parts of the cloud use: one would delete or overwrite data of the other. A backup
// to restore from is only read.
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
	fields := map[string]string{}
	for _, l := range all {
		if other, ok := fields[l.name]; ok {
			errs = append(errs, invalid.Field(l.field, "%s already stores data of %s; set another location for one of them", l.name, other))
			continue
		}
		fields[l.name] = l.field
	}
	return errors.Join(errs...)
}

// bucketLocation returns the location of a bucket of an object store, or of a prefix in it. The scheme of the endpoint is optional.
func bucketLocation(field, endpoint, bucket, prefix string) location {
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix = ", prefix " + prefix
	}
	return location{field, fmt.Sprintf("bucket %s at %s%s", bucket, hostOf(endpoint), prefix)}
}

// poolLocation returns the location of a pool of a StorageCluster.
func poolLocation(field string, p *common.StoragePool) location {
	return location{field, fmt.Sprintf("pool %s of StorageCluster %s/%s", p.Pool, p.ClusterRef.Namespace, p.ClusterRef.Name)}
}

// cephLocation returns the location of a pool of a Ceph cluster whose configuration is in a Secret.
func cephLocation(field, pool, otherwise string, secret common.SecretReference) location {
	return location{field, fmt.Sprintf("pool %s of the Ceph of Secret %s", cmp.Or(pool, otherwise), secret.Name)}
}

// shareLocation returns the location of a share of an NFS server.
func shareLocation(field, share string) location {
	return location{field, "share " + limit.CleanShare(share)}
}

// hostOf returns host:port of an address with an optional scheme in a normal form: https is the default scheme, and the port is always
// included.
func hostOf(address string) string {
	port := "443"
	host, isHTTP := strings.CutPrefix(address, "http://")
	if isHTTP {
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

// checkUnexposed returns an error for public host names if neither the claim nor the platform sets an exposure.
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
		"global.exposure, or remove the host name")
}

// checkExternalPorts returns an error if both ports of an external queue are the same.
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
		"cannot be the port of AMQP, which is %d too; set the port of the management API", amqp)
}

// isServiceUser reports whether a user name belongs to a service in the identity service. Names are compared case-insensitively.
func (m *model) isServiceUser(user string) bool {
	return slices.ContainsFunc(m.services[1:], func(s *serviceState) bool { return strings.EqualFold(s.name, user) })
}

// checkNotExposed returns an error for fields of an exposure of type None, which have no effect.
func (m *model) checkNotExposed() error {
	var errs []error
	if e := m.spec.Global.Exposure; e != nil && e.Type == exposure.None {
		errs = append(errs, unread("spec.global.exposure", map[string]bool{
			"gateway": e.Gateway != nil, "ingressClassName": e.IngressClassName != "", "ingressController": e.IngressController != "",
			"allowedNamespaces": len(e.AllowedNamespaces) > 0, "annotations": len(e.Annotations) > 0, "routing": e.Routing != "",
		}))
	}
	return errors.Join(append(errs, membersNotExposed("spec.infrastructure.rabbitmq.exposure", m.spec.Infrastructure.RabbitMQ.Exposure))...)
}

// membersNotExposed is checkNotExposed for the members of a server.
func membersNotExposed(field string, e *common.MemberExposure) error {
	if e == nil || e.Type != common.ExposureNone {
		return nil
	}
	return unread(field, map[string]bool{"annotations": len(e.Annotations) > 0, "networks": len(e.Networks) > 0})
}

// unread returns an error for each field that is set in addition to type None.
func unread(field string, set map[string]bool) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if set[name] {
			errs = append(errs, invalid.Field(field+"."+name, "has no effect with type None, which exposes nothing; remove it, or set another type"))
		}
	}
	return errors.Join(errs...)
}

// checkQueueRequest returns an error for a memory request of RabbitMQ that is not its limit: RabbitMQ sizes itself by the limit, which the
// pod requests.
func (m *model) checkQueueRequest() error {
	requests := ptr.Deref(m.spec.Infrastructure.RabbitMQ.Resources, common.Resources{}).Requests
	limits := ptr.Deref(m.queueResources(), common.Resources{}).Limits
	if requests == nil || requests.Memory == nil || limits == nil || limits.Memory == nil || requests.Memory.Cmp(*limits.Memory) == 0 {
		return nil
	}
	return invalid.Field("spec.infrastructure.rabbitmq.resources.requests.memory",
		"must equal the memory limit, which is %s: RabbitMQ uses memory by its limit; remove it, or set limits.memory", limits.Memory)
}
