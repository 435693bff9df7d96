package controlplane

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/outside"
)

// queueService is the composed resource of the Service for access to the queue from other clusters.
const queueService = "messaging-external-service"

// queueExposed reports whether the queue is exposed to hypervisors of other clusters.
func (m *model) queueExposed() bool {
	return m.runsQueue() && outside.IsExposed(m.spec.Infrastructure.RabbitMQ.Exposure)
}

// queueExposure composes that Service. The queue does not depend on it: its certificate is reissued once there is an address.
func queueExposure(m *model) ([]compose.Stage, error) {
	exposure := m.spec.Infrastructure.RabbitMQ.Exposure
	return []compose.Stage{{{
		Name: queueService, Object: m.cluster("").ExternalService(),
		Ready: func(o *observe.Object) rules.Result {
			if !outside.HasAddress(o, exposure) {
				return rules.Wait("NoAddress", "waiting for a load balancer to assign an address to Service %s", o.String("metadata", "name"))
			}
			return rules.Yes
		},
	}}}, nil
}

// externalQueue returns the address of the queue for other clusters. Nil: not assigned yet.
func (m *model) externalQueue() *controlplanev1.ExternalAddress {
	if q := m.spec.Infrastructure.RabbitMQ.External; q != nil {
		return &controlplanev1.ExternalAddress{Host: q.Host, Port: queuePort(q)} // The control plane's own cluster uses the same address.
	}
	observedState, ok := m.observed.Get(queueService)
	if !ok || !m.queueExposed() {
		return nil
	}
	host, port := outside.Address(observedState, m.spec.Infrastructure.RabbitMQ.Exposure, common.QueuePort)
	if host == "" {
		return nil
	}
	return &controlplanev1.ExternalAddress{Host: host, Port: port}
}

// queueHosts returns the host names of that address.
func (m *model) queueHosts() []string {
	if at := m.externalQueue(); at != nil {
		return []string{at.Host}
	}
	return nil
}

// externalSouthbound returns the address of the southbound database for other clusters. Empty: not assigned yet.
func (m *model) externalSouthbound() string {
	part := southbound
	if m.ovnRelay() != nil {
		part = "relay"
	}
	return m.observedOVN().String("status", part, "externalEndpoint")
}

// checkQueueExposure repeats the validation of the schema.
func (m *model) checkQueueExposure() error {
	return outside.Check("spec.infrastructure.rabbitmq.exposure", m.spec.Infrastructure.RabbitMQ.Exposure)
}
