package cinder

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// coordination is the volume with the CA of Valkey's certificate.
const coordination = "coordination"

// Environment variables with the address that Valkey's operator publishes.
const (
	storeHost     = "COORDINATION_HOST"
	storePort     = "COORDINATION_PORT"
	storePassword = "COORDINATION_PASSWORD"
	storePrimary  = "COORDINATION_PRIMARY"
)

// coordinationEnv returns the URL of the store of locks across pods: the primary of a Valkey, which sentinels resolve if they are enabled.
// https://docs.openstack.org/tooz/latest/user/drivers.html#redis
func (m *model) coordinationEnv() []corev1.EnvVar {
	c := m.spec.Coordination
	if c == nil {
		return nil
	}
	secret := string(c.BindingSecretRef.Name)
	host, port := cinderv1.BindingHostKey, cinderv1.BindingPortKey
	if c.Sentinel {
		host, port = cinderv1.BindingSentinelHostKey, cinderv1.BindingSentinelPortKey
	}
	env := []corev1.EnvVar{
		workload.SecretEnv(storeHost, secret, host),
		workload.SecretEnv(storePort, secret, port),
		workload.SecretEnv(storePassword, secret, cinderv1.BindingPasswordKey),
	}
	query := []string{"ssl=true", "ssl_ca_certs=" + m.Path(coordination, cinderv1.BindingCAKey)}
	if c.Sentinel {
		env = append(env, workload.SecretEnv(storePrimary, secret, cinderv1.BindingPrimaryKey))
		query = append(query, "sentinel=$("+storePrimary+")", "sentinel_ssl=true", "sentinel_password=$("+storePassword+")")
	}
	url := fmt.Sprintf("redis://:$(%s)@$(%s):$(%s)?%s", storePassword, storeHost, storePort, strings.Join(query, "&"))
	return append(env, corev1.EnvVar{Name: oslo.MustEnvName("coordination", "backend_url"), Value: url})
}

// Ports of Valkey and of its sentinels.
const (
	valkeyPort   = 6379
	sentinelPort = 26379
)

// storePorts returns the ports of a Valkey that pods use.
func storePorts(c *cinderv1.Coordination) []int32 {
	if c.Sentinel {
		return []int32{valkeyPort, sentinelPort}
	}
	return []int32{valkeyPort}
}
