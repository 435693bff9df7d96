package infrastructure

import (
	"errors"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/externalaccess"
)

// queueService is the composed resource of the Service for access to the queue from other clusters.
const queueService = "messaging-external-service"

// QueueExposed reports whether the queue is exposed to hypervisors of other clusters.
func (inf *Infrastructure) QueueExposed() bool {
	return inf.RunsQueue() && externalaccess.IsExposed(inf.Spec.Infrastructure.RabbitMQ.Exposure)
}

// ComposeQueueExposure composes that Service. The queue does not depend on it: its certificate is reissued once there is an address.
func (inf *Infrastructure) ComposeQueueExposure() ([]compose.Stage, error) {
	exposure := inf.Spec.Infrastructure.RabbitMQ.Exposure
	return []compose.Stage{{{
		Name: queueService, Object: inf.Cluster("").ExternalService(),
		Ready: func(o *observe.Object) rules.Result {
			if !externalaccess.HasAddress(o, exposure) {
				return rules.Wait("NoAddress", "waiting for a load balancer to assign an address to Service %s", o.String("metadata", "name"))
			}
			return rules.Yes
		},
	}}}, nil
}

// ExternalQueue returns the address of the queue for other clusters. Nil: not assigned yet.
func (inf *Infrastructure) ExternalQueue() *controlplanev1.ExternalAddress {
	if q := inf.Spec.Infrastructure.RabbitMQ.External; q != nil {
		return &controlplanev1.ExternalAddress{Host: q.Host, Port: q.Port} // The control plane's own cluster uses the same address.
	}
	observedState, ok := inf.Observed.Get(queueService)
	if !ok || !inf.QueueExposed() {
		return nil
	}
	host, port := externalaccess.Address(observedState, inf.Spec.Infrastructure.RabbitMQ.Exposure, common.QueuePort)
	if host == "" {
		return nil
	}
	return &controlplanev1.ExternalAddress{Host: host, Port: port}
}

// queueHosts returns the host names of that address.
func (inf *Infrastructure) queueHosts() []string {
	if at := inf.ExternalQueue(); at != nil {
		return []string{at.Host}
	}
	return nil
}

// checkQueueExposure repeats the validation of the schema.
func checkQueueExposure(c *claim.Claim) error {
	return externalaccess.Check("spec.infrastructure.rabbitmq.exposure", c.Spec.Infrastructure.RabbitMQ.Exposure)
}

// CheckNotExposed returns an error for fields of an exposure of type None, which have no effect.
func CheckNotExposed(field string, e *common.MemberExposure) error {
	if e == nil || e.Type != common.ExposureNone {
		return nil
	}
	var errs []error
	for _, f := range []struct {
		name string
		set  bool
	}{{"annotations", len(e.Annotations) > 0}, {"networks", len(e.Networks) > 0}} {
		if f.set {
			errs = append(errs, invalid.Field(field+"."+f.name, "has no effect with type None, which exposes nothing; remove it, or set "+
				"another type"))
		}
	}
	return errors.Join(errs...)
}
