package tenantsecret

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
)

// PlatformPulls returns the pull secrets of the platform for an instance in the management cluster: the names of the
// copies, and the set that creates them. They outlive the claim, as the workloads that use them do.
func PlatformPulls(p *platformv1.PlatformConfigSpec, instance string, labels map[string]string) ([]common.ObjectName, Set) {
	return Set{
		Name: "platform-pull-secrets", Prefix: "platform-pull-", From: string(p.SecretsNamespace),
		Instance: instance, Labels: labels,
	}.pulling(p.Images, "images.pullSecrets of the PlatformConfig")
}

// ClaimPulls returns the pull secrets that a claim references in a field, in its own namespace.
func ClaimPulls(i *common.Images, field, namespace, instance string, labels map[string]string) ([]common.ObjectName, Set) {
	return Set{
		Name: "claim-pull-secrets", Prefix: "claim-pull-", From: namespace, Instance: instance, Labels: labels,
	}.pulling(i, field)
}

// pulling returns the set with the pull secrets of images, and the names of the copies.
func (s Set) pulling(i *common.Images, field string) ([]common.ObjectName, Set) {
	s.Type, s.Keep = corev1.SecretTypeDockerConfigJson, true
	var copies []common.ObjectName
	for _, n := range ptr.Deref(i, common.Images{}).PullSecrets {
		s.Requests = append(s.Requests, Request{Name: string(n), Keys: []string{corev1.DockerConfigJsonKey}, Fields: []string{field}})
		copies = append(copies, common.ObjectName(s.Target(string(n))))
	}
	return copies, s
}
