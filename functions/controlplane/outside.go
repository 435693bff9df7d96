package controlplane

import (
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	rules "github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/outside"
)

// queueService is the composed resource of the Service by which other clusters reach the queue.
const queueService = "messaging-external-service"

// queueExposed reports whether hypervisors of other clusters are to reach the queue.
func (m *model) queueExposed() bool {
	return m.runsQueue() && outside.IsExposed(m.spec.Infrastructure.RabbitMQ.Exposure)
}

// queueExposure is that Service. The queue does not wait for it: its certificate is made anew when there is an address.
func queueExposure(m *model) ([]compose.Stage, error) {
	exposure := m.spec.Infrastructure.RabbitMQ.Exposure
	return []compose.Stage{{{
		Name: queueService, Object: m.cluster("").ExternalService(),
		Ready: func(o *observe.Object) rules.Result {
			if !outside.HasAddress(o, exposure) {
				return rules.Wait("NoAddress", "no load balancer has given Service %s an address yet", o.String("metadata", "name"))
			}
			return rules.Yes
		},
	}}}, nil
}

// externalQueue is where other clusters reach the queue. Nil: nowhere yet.
func (m *model) externalQueue() *controlplanev1.ExternalAddress {
	if q := m.spec.Infrastructure.RabbitMQ.External; q != nil {
		return &controlplanev1.ExternalAddress{Host: q.Host, Port: queuePort(q)} // Where it is for the control plane's own cluster, too.
	}
	observedState, ok := m.seen.Get(queueService)
	if !ok || !m.queueExposed() {
		return nil
	}
	host, port := outside.Address(observedState, m.spec.Infrastructure.RabbitMQ.Exposure, common.QueuePort)
	if host == "" {
		return nil
	}
	return &controlplanev1.ExternalAddress{Host: host, Port: port}
}

// queueHosts are the names by which they do.
func (m *model) queueHosts() []string {
	if at := m.externalQueue(); at != nil {
		return []string{at.Host}
	}
	return nil
}

// externalSouthbound is where other clusters find out which virtual networks their nodes have. Empty: nowhere yet.
func (m *model) externalSouthbound() string {
	part := southbound
	if m.ovnRelay() != nil {
		part = "relay"
	}
	return m.observedOVN().String("status", part, "externalEndpoint")
}

// checkQueueExposure refuses what the schema refuses, too.
func (m *model) checkQueueExposure() error {
	return outside.Check("spec.infrastructure.rabbitmq.exposure", m.spec.Infrastructure.RabbitMQ.Exposure)
}
