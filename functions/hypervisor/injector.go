package hypervisor

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// injectorComponent gives pods of the pool the labels of their nodes that say where these are: name, cluster and block of the machine
// (kubernetes.metal.cloud.sap/…), region and zone. The program is somebody else's:
// https://github.com/cobaltcore-dev/labels-injector/tree/v1.3.0
const injectorComponent = "labels-injector"

// ClusterRoles of the chart. The program reads all Nodes and Pods, because it keeps a copy of both; it may change pods of the pool alone,
// and logs that it may not change the others.
const (
	injectorReads  = "cobaltcore:labels-injector"
	injectorWrites = "cobaltcore:labels-injector-pods"
)

// Parts of the program, as its own chart has them.
const (
	injectorUser        = 4200
	injectorPort        = 9443
	injectorHealth      = "health"
	injectorHealthPort  = 8081
	injectorPath        = "/admission--v1-pods-binding"
	injectorCertificate = injectorComponent + "-tls"
)

func (m *model) labelsInjected() bool { return ptr.Deref(m.agents().LabelsInjector.Enabled, false) }

// bindingWebhookEnabled says that pods get their labels as they are bound.
func (m *model) bindingWebhookEnabled() bool {
	return ptr.Deref(m.platform.LabelsInjector, platformv1.LabelsInjector{}).Webhook
}

// labelsInjector looks at all pods every five minutes and, with its webhook, at each one as it is bound to its node. Nothing waits for it:
// pods that it does not see start without labels, and get them later.
func labelsInjector(m *model) ([]compose.Stage, error) {
	image := ptr.Deref(ptr.Deref(m.platform.ThirdPartyImages, platformv1.ThirdPartyImages{}).LabelsInjector, common.InfrastructureImage{})
	reference, err := release.ImageFor(release.LabelsInjector, "", release.Override{
		Registry: m.platformImages().Registry, Repository: image.Repository, Tag: image.Tag, Digest: image.Digest,
	})
	if err != nil {
		return nil, err
	}
	w := m.workload(injectorComponent, "")
	w.PullSecrets, w.Replicas, w.Placement.Tolerations = m.platformPulls, 1, m.spec.Tolerations
	w.Resources = m.agents().LabelsInjector.Resources
	if w.Resources == nil {
		w.Resources = workload.Resources("10m", "128Mi", "256Mi")
	}
	server := []workload.Flow{{Anywhere: true, Ports: platform.APIServerPorts(m.platform.Network)}}
	reads, writes := m.nodeBindings(w, injectorReads, injectorWrites)
	rights := compose.Stage{{Name: injectorComponent + "-account", Object: w.ServiceAccount()}, reads, writes}
	pod := injectorPod(reference)
	policy, deployment := injectorComponent+"-network-policy", compose.Resource{Name: injectorComponent, Object: w.Deployment(pod)}
	if !m.bindingWebhookEnabled() {
		rights = append(rights, compose.Resource{Name: policy, Object: w.NetworkPolicy(nil, server)})
		return []compose.Stage{rights, {deployment}}, nil
	}
	c := &pod.Containers[0]
	c.Env, c.Args = nil, append(c.Args, "--webhook-cert-path=/certificate")
	c.Ports = append(c.Ports, corev1.ContainerPort{Name: "webhook", ContainerPort: injectorPort})
	c.VolumeMounts = []corev1.VolumeMount{workload.Mount("certificate", "/certificate")}
	pod.Volumes = []corev1.Volume{workload.SecretVolume("certificate", injectorCertificate, certificate.CertKey, certificate.KeyKey)}
	deployment.Object = w.Deployment(pod)
	service := w.Service(workload.Port("webhook", injectorPort))
	in := []workload.Flow{{Anywhere: true, Ports: []int32{injectorPort}}} // The API server is a process of a node.
	return []compose.Stage{
		append(rights,
			compose.Resource{Name: policy, Object: w.NetworkPolicy(in, server)},
			compose.Resource{Name: injectorComponent + "-service", Object: service},
			compose.Resource{Name: injectorComponent + "-issuer", Object: certificate.SelfSigned(w.Meta())}),
		{{
			Name: injectorComponent + "-certificate",
			Object: certificate.Server(m.meta(injectorCertificate), common.IssuerReference{Name: injectorComponent, Kind: "Issuer"},
				service.Name+"."+m.instance+".svc"),
		}},
		{deployment},
		// Last, since whoever asks a webhook that nobody serves waits for nothing.
		{{Name: injectorComponent + "-webhook", Object: m.bindingWebhook(service.Name)}},
	}, nil
}

// injectorPod is the program without its webhook. One of it is enough, so that none leads and none needs a lease.
func injectorPod(image string) workload.Pod {
	c := corev1.Container{
		Name: injectorComponent, Image: image, Args: []string{"--health-probe-bind-address=:8081"},
		Env:   []corev1.EnvVar{{Name: "ENABLE_WEBHOOKS", Value: "false"}},
		Ports: []corev1.ContainerPort{{Name: injectorHealth, ContainerPort: injectorHealthPort}},
	}
	workload.Readiness(&c, workload.HTTP(injectorHealth, "/readyz"))
	workload.Liveness(&c, workload.HTTP(injectorHealth, "/healthz"))
	return workload.Pod{
		UserID: injectorUser, ServiceAccount: injectorComponent, APIAccess: true, Containers: []corev1.Container{c},
	}
}

// bindingWebhook has the API server tell of each pod of the pool that is bound to a node. It refuses nothing, and whatever becomes of it,
// pods are bound. Nobody else's pods are told of. cert-manager writes by which authority the server is verified.
func (m *model) bindingWebhook(service string) *unstructured.Unstructured {
	const seconds = int64(2)
	out := object.New("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", object.Meta{
		Name: m.instance + "-" + injectorComponent, Labels: m.workload(injectorComponent, "").Labels(),
		Annotations: map[string]string{"cert-manager.io/inject-ca-from": m.instance + "/" + injectorCertificate},
	}, nil)
	out.Object["webhooks"] = object.List{object.Map{
		"name":                    "labels-injector.kvm.cloud.sap",
		"admissionReviewVersions": object.Array("v1"), "sideEffects": "None", "failurePolicy": "Ignore", "timeoutSeconds": seconds,
		"clientConfig": object.Map{"service": object.Map{
			"namespace": m.instance, "name": service, "path": injectorPath, "port": int64(injectorPort),
		}},
		"namespaceSelector": object.Map{"matchLabels": object.Map{corev1.LabelMetadataName: m.instance}},
		"rules": object.List{object.Map{
			"apiGroups": object.Array(""), "apiVersions": object.Array("v1"), "operations": object.Array("CREATE", "UPDATE"),
			"resources": object.Array("pods/binding"), "scope": "Namespaced",
		}},
	}}
	return out
}
