package rabbitmq

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/externalaccess"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Ports of a member (https://www.rabbitmq.com/docs/networking#ports). Tools in a pod connect only to their own node. Each replica of a
// stream listens at a random port of streamPorts until the leader has connected to it.
var (
	amqpPort       = []int32{common.QueuePort}
	memberPorts    = []int32{4369, 25672}
	managementPort = []int32{15671}
	metricsPort    = []int32{15691}
	streamPorts    = []workload.Range{{First: 6000, Last: 6500}}
)

// NetworkPolicy builds the policy of the members. clients lists the labels of client pods, one entry for each kind of pod.
func (c Cluster) NetworkPolicy(clients []map[string]string, monitored bool, n common.Neighbours) runtime.Object {
	in, out := c.flows(clients, monitored, n)
	return workload.NetworkPolicy(c.Meta(c.Name), metav1.LabelSelector{MatchLabels: Pods(c.Name)}, in, out)
}

// flows returns the traffic of the members.
func (c Cluster) flows(clients []map[string]string, monitored bool, n common.Neighbours) (in, out []workload.Flow) {
	in = append(workload.From(clients, amqpPort), workload.Flow{Namespaces: workload.Names(n.RabbitMQOperators), Ports: managementPort})
	in = append(in, externalaccess.ExternalClients(c.Exposure, common.QueuePort)...)
	if monitored {
		in = append(in, workload.Flow{Namespaces: workload.Names(n.Monitoring), Ports: metricsPort})
	}
	if c.Replicas > 1 {
		members := workload.Flow{Pods: Pods(c.Name), Ports: memberPorts, Ranges: streamPorts}
		in, out = append(in, members), append(out, members)
	}
	if c.queriesKubernetes() {
		out = append(out, workload.Flow{Anywhere: true, Ports: n.APIServerPorts})
	}
	return in, out
}
