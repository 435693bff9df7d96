package rabbitmq

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/outside"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// ExternalService is the Service by which other clusters reach a cluster: at the port of AMQP alone, of whichever member. A client may
// speak to any of them. The operator's own Service stays as it is: management and metrics are not for others.
func (c Cluster) ExternalService() *corev1.Service {
	meta, port := c.Meta(c.Name+"-external"), workload.Port("amqps", common.QueuePort)
	port.TargetPort = intstr.FromInt32(common.QueuePort) // What the operator calls its ports is its own business.
	return outside.Open(&corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels},
		Spec:       corev1.ServiceSpec{Selector: Pods(c.Name), Ports: []corev1.ServicePort{port}},
	}, c.Exposure)
}
