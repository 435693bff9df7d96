package tenantsecret

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
)

// PlatformPulls are the Secrets of the platform that images are pulled with, for an instance in the management cluster: the names of the
// copies, and how they come there. They outlive the claim, as what runs with them does.
func PlatformPulls(p *platformv1.PlatformConfigSpec, instance string, labels map[string]string) ([]common.ObjectName, Set) {
	set := Set{
		Name: "platform-pull-secrets", Prefix: "platform-pull-", Type: corev1.SecretTypeDockerConfigJson, Keep: true,
		From: cmp.Or(string(p.SecretsNamespace), "crossplane-system"), Instance: instance, Labels: labels,
	}
	var copies []common.ObjectName
	for _, n := range ptr.Deref(p.Images, common.Images{}).PullSecrets {
		set.Wanted = append(set.Wanted, Wanted{
			Name: string(n), Keys: []string{corev1.DockerConfigJsonKey}, Fields: []string{"images.pullSecrets of the PlatformConfig"},
		})
		copies = append(copies, common.ObjectName(set.Target(string(n))))
	}
	return copies, set
}
