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

// injectorComponent copies location labels of nodes to the pods of the pool: name, cluster and block of the machine
// (kubernetes.metal.cloud.sap/…), region and zone. The program is external:
// https://github.com/cobaltcore-dev/labels-injector/tree/v1.3.0
const injectorComponent = "labels-injector"

// ClusterRoles of the chart. The program caches and therefore reads all Nodes and Pods. It may change pods of the pool only, and logs an
// error for each other pod.
const (
	injectorReads  = "cobaltcore:labels-injector"
	injectorWrites = "cobaltcore:labels-injector-pods"
)

// Settings of the program, as in its upstream chart.
const (
	injectorUser        = 4200
	injectorPort        = 9443
	injectorHealth      = "health"
	injectorHealthPort  = 8081
	injectorPath        = "/admission--v1-pods-binding"
	injectorCertificate = injectorComponent + "-tls"
)

func (m *model) labelsInjected() bool { return ptr.Deref(m.agents().LabelsInjector.Enabled, false) }

// bindingWebhookEnabled reports whether pods are labeled when they are bound to a node.
func (m *model) bindingWebhookEnabled() bool {
	return ptr.Deref(m.platform.LabelsInjector, platformv1.LabelsInjector{}).Webhook
}

// labelsInjector checks all pods every five minutes and, with its webhook, each pod when it is bound to its node. Nothing depends on it:
// pods that it misses start without labels, and are labeled later.
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
		// Last, because a webhook without a server delays every binding until its timeout.
		{{Name: injectorComponent + "-webhook", Object: m.bindingWebhook(service.Name)}},
	}, nil
}

// injectorPod returns the program without its webhook. It runs once, so that it needs no leader election and no lease.
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

// bindingWebhook registers the webhook that is called for each pod of the pool that is bound to a node, and for no other pods. It rejects
// nothing, and its failures are ignored. cert-manager injects the CA bundle that verifies the server.
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
