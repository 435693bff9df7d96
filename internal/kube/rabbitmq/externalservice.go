package rabbitmq

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/externalaccess"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// ExternalService builds the Service for other clusters: only the AMQP port, of any member, because a client may connect to each of
// them. The operator's own Service is unchanged, because management and metrics are not for other clusters.
func (c Cluster) ExternalService() *corev1.Service {
	meta, port := c.Meta(c.Name+"-external"), workload.Port("amqps", common.QueuePort)
	port.TargetPort = intstr.FromInt32(common.QueuePort) // By number, independent of the operator's port names.
	return externalaccess.Open(&corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Labels: meta.Labels},
		Spec:       corev1.ServiceSpec{Selector: Pods(c.Name), Ports: []corev1.ServicePort{port}},
	}, c.Exposure)
}
