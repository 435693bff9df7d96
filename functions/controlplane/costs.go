package controlplane

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/minimum"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/schedule"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// parts returns all cost items, with the settings of the claim merged with the defaults of its size.
func (m *model) parts() []cost.Item {
	i := m.Spec.Infrastructure
	out := []cost.Item{
		{
			Field: "spec.infrastructure.mariadb", Replicas: m.DatabaseReplicas(),
			Resources: merge.Overlay(i.MariaDB.Resources, m.Size.DatabaseResources),
			Storage:   string(ptr.Deref(i.MariaDB.StorageSize, infrastructure.StorageSize(m.Size.DatabaseStorage))),
			Program:   minimum.MariaDB,
		},
		{Field: "spec.infrastructure.mariadb.maxScale", Replicas: m.MaxScaleReplicas()},
	}
	for _, c := range m.caches() {
		out = append(out, cost.Item{
			Field: "spec.infrastructure.memcached", Replicas: m.CacheReplicas(), Resources: m.CacheResources(c.Cache), Short: true,
		})
	}
	for _, s := range m.Services {
		out = append(out, costsOf(s)...)
	}
	out = append(append(out, m.testParts()...), m.jobs()...)
	if b := i.MariaDB.Backup; b != nil && b.StagingStorage != nil {
		const field = "spec.infrastructure.mariadb.backup.stagingStorage"
		databases := 1 // Each database is copied to a separate volume.
		for _, s := range m.Services {
			databases += len(s.Model.Databases())
		}
		out = append(out, cost.Item{
			Field: field, Replicas: 1, Times: int32(databases), Storage: string(b.StagingStorage.StorageSize),
			Program: minimum.DatabaseBackup,
		})
	}
	if m.RunsQueue() {
		out = append(out, cost.Item{
			Field: "spec.infrastructure.rabbitmq", Replicas: ptr.Deref(i.RabbitMQ.Replicas, m.Size.Messaging),
			Resources: merge.Overlay(i.RabbitMQ.Resources, m.Size.MessagingResources),
			Storage:   string(ptr.Deref(i.RabbitMQ.StorageSize, infrastructure.StorageSize(m.Size.MessagingStorage))),
			Program:   minimum.RabbitMQ,
		})
	}
	if m.Locks() {
		out = append(out, cost.Item{
			Field: "spec.infrastructure.valkey", Replicas: ptr.Deref(i.Valkey.Replicas, m.Size.Locks),
			Resources: merge.Overlay(i.Valkey.Resources, m.Size.LocksResources),
			Storage:   string(ptr.Deref(i.Valkey.StorageSize, infrastructure.StorageSize(m.Size.LocksStorage))),
			Program:   minimum.Valkey,
		})
	}
	return out
}

// jobs returns a cost item for each schedule of the claim. A schedule that is not valid has its own error.
func (m *model) jobs() []cost.Item {
	var out []cost.Item
	limit.Walk("spec", m.Spec, func(field string, value any) {
		text, ok := value.(common.Cron)
		if !ok {
			return
		}
		if s, err := schedule.Parse(string(text)); err == nil && s.Shortest() > 0 {
			runs := int32(max(time.Hour/s.Shortest(), 1)) //nolint:gosec // at most one run a minute
			out = append(out, cost.Item{Field: field, Exact: true, Runs: runs})
		}
	})
	return out
}

// checkResources returns an error for requests above limits. Admission compares the values of the claim only; here one may come from the
// claim and the other from its size.
func (m *model) checkResources() error {
	var errs []error
	for _, p := range m.parts() {
		if p.Resources == nil || p.Resources.Requests == nil || p.Resources.Limits == nil {
			continue
		}
		requests, limits := p.Resources.Requests, p.Resources.Limits
		for _, c := range []struct {
			name            string
			request, atMost *resource.Quantity
		}{
			{"cpu", requests.CPU, limits.CPU}, {"memory", requests.Memory, limits.Memory},
		} {
			if c.request != nil && c.atMost != nil && c.request.Cmp(*c.atMost) > 0 {
				errs = append(errs, invalid.Field(p.ResourcesField(), "requests.%[1]s of %[2]s is more than limits.%[1]s of %[3]s; "+
					"unset values come from size %[4]s; set both values", c.name, c.request, c.atMost, m.Spec.Size))
			}
		}
	}
	return errors.Join(errs...)
}

// costsOf returns the costs of a service.
func costsOf(s *services.State) []cost.Item {
	if s.ExternalURL != "" {
		return nil
	}
	return append(s.Model.Pods(), s.Model.Volumes()...)
}
