package hypervisor

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// privsepHelper is the program that runs privileged commands. It replaces sudo, which images do not contain.
const privsepHelper = "/opt/openstack/bin/privsep-helper"

// switchSocket is the socket of the node's Open vSwitch database.
const switchSocket = "unix:" + switchRun + "/db.sock"

// metadataAgent serves metadata to servers, with one haproxy in the namespace of each network. It signs requests and forwards them to Nova.
func metadataAgent(m *model) ([]compose.Stage, error) {
	if m.usesAgents() {
		return metadataProxy(m)
	}
	text, err := m.agentConfig().Render()
	if err != nil {
		return nil, err
	}
	config := files{metadataComponent, map[string]string{
		"metadata.sh": metadataScript, "neutron.conf": text, "certificate.sh": certificateScript,
	}}
	stage := compose.Stage{}
	for i := range m.groups {
		set, err := m.on(&m.groups[i], m.agentDaemon(config))
		if err != nil {
			return nil, err
		}
		stage = append(stage, compose.Resource{Name: m.groups[i].name(metadataComponent), Object: set})
	}
	return []compose.Stage{{m.revision(config)}, stage}, nil
}

// agentProgram returns the metadata agent of a release. Since 2025.2, Neutron prefers the agent with more functions than metadata
// (https://docs.openstack.org/releasenotes/neutron/2025.2.html).
func agentProgram(r release.Release) string {
	const last = "2025.1"
	if r <= last { // Releases sort by age.
		return "neutron-ovn-metadata-agent"
	}
	return "neutron-ovn-agent"
}

// privsepContexts are the privsep contexts of Neutron; privsepCommand starts the helper of one. The helper reads its capabilities from the
// given file.
var (
	privsepContexts = []string{
		"privsep", "privsep_dhcp_release", "privsep_ovs_vsctl", "privsep_namespace", "privsep_conntrack", "privsep_link",
	}
	privsepCommand = privsepHelper + " --config-file " + scripts + "/neutron.conf"
)

// novaMetadata returns the address of Nova's metadata API.
func (m *model) novaMetadata() oslo.Config {
	return oslo.Config{"DEFAULT": {
		"nova_metadata_host": m.plane.cell.MetadataHost, "nova_metadata_port": novav1.MetadataPort, "nova_metadata_protocol": "https",
		"auth_ca_cert": authorityFile(m.plane.access.CASecretRef),
	}}
}

// metadataSecret returns the secret by which Nova authenticates requests of an agent.
func (m *model) metadataSecret() corev1.EnvVar {
	return workload.SecretEnv(oslo.MustEnvName("DEFAULT", "metadata_proxy_shared_secret"),
		m.logins.Target(string(m.plane.access.MetadataSecretRef.Name)), secret.PasswordKey)
}

// agentConfig returns the configuration of the metadata agent. The agent uses no database and no message queue.
// https://docs.openstack.org/neutron/latest/configuration/ovn-agent.html
func (m *model) agentConfig() oslo.Config {
	southbound, _ := m.southbound()
	c := oslo.Config{
		"DEFAULT": {"use_stderr": true, "state_path": "/var/lib/neutron"},
		"agent":   {"root_helper": ""},
		"ovn": {
			"ovn_sb_connection": southbound, "ovn_sb_private_key": tlsFolder + "/" + certificate.KeyKey,
			"ovn_sb_certificate": tlsFolder + "/" + certificate.CertKey, "ovn_sb_ca_cert": tlsFolder + "/" + certificate.CAKey,
		},
		"ovs":              {"ovsdb_connection": switchSocket},
		"oslo_concurrency": {"lock_path": "/tmp"},
	}.Merge(m.novaMetadata())
	if access := m.plane.access.Networks; access.InactivityProbeSeconds > 0 {
		c["ovn"]["ovsdb_probe_interval"] = access.ProbeMilliseconds()
	}
	if agentProgram(m.plane.release) == "neutron-ovn-agent" {
		c["agent"]["extensions"] = "metadata"
	}
	// Each privsep context is a group of options, and uses sudo by default.
	for _, context := range privsepContexts {
		c[context] = oslo.Options{"helper_command": privsepCommand}
	}
	// The default context requests SYS_PTRACE (19), for processes of other pods: it gets DAC_OVERRIDE, DAC_READ_SEARCH, NET_BIND_SERVICE,
	// which its haproxies inherit, NET_ADMIN and SYS_ADMIN.
	c["privsep"]["capabilities"] = []string{"1", "2", "10", "12", "21"}
	return c
}

func (m *model) agentDaemon(config files) daemon {
	a := m.plane.access
	_, port := m.southbound()
	c := corev1.Container{
		Name: metadataComponent, Image: m.images.agent, Command: []string{"sh", scripts + "/metadata.sh"},
		VolumeMounts: []corev1.VolumeMount{
			workload.Mount("config", scripts), workload.Mount("authority", authorityFolder),
			{Name: "state", MountPath: "/var/lib/neutron"}, {Name: "netns", MountPath: "/run/netns"},
		},
		Env: append(nodeEnvVars(),
			corev1.EnvVar{Name: "PROGRAM", Value: agentProgram(m.plane.release)}, corev1.EnvVar{Name: "TLS", Value: tlsFolder},
			corev1.EnvVar{Name: oslo.MustEnvName("DEFAULT", "host"), Value: "$(" + nodeEnv + ")"},
			m.metadataSecret(),
		),
	}
	workload.Readiness(&c, workload.Exec("sh", scripts+"/metadata.sh", "ready", strconv.Itoa(int(port))))
	pod := workload.Pod{
		UserID: agentUser, Containers: []corev1.Container{c},
		Volumes: []corev1.Volume{
			workload.ConfigVolume("config", config.revision()), m.secretVolume("authority", a.CASecretRef.Name, string(a.CASecretRef.Key)),
			empty("state"), empty("netns"),
		},
	}
	m.mountCertificate(&pod)
	return daemon{
		app: "neutron", component: metadataComponent, pod: pod,
		privileges: []workload.Privilege{{
			Container: metadataComponent, RunAsUser: root, HostNetwork: true, Mounts: true,
			Reason: "SYS_ADMIN makes a network namespace for each network, which is a mount, and lets its sysctls be set; NET_ADMIN plugs it in; " +
				"DAC_OVERRIDE and DAC_READ_SEARCH are for files of haproxies, which others own, and NET_BIND_SERVICE " +
				"for their port 80",
			Capabilities: []corev1.Capability{"DAC_OVERRIDE", "DAC_READ_SEARCH", "NET_ADMIN", "NET_BIND_SERVICE", "SYS_ADMIN"},
			HostPaths:    []workload.HostPath{folder("run", switchRun)},
		}},
		update: appsv1.RollingUpdateDaemonSetStrategyType,
	}
}

// authorityFolder is the folder of the CA of the control plane's services in containers.
const authorityFolder = "/etc/authority"

func authorityFile(ref common.SecretKeyReference) string {
	return authorityFolder + "/" + string(ref.Key)
}

// empty returns a directory for small files: configurations and sockets of each network, and libvirt's cache of QEMU capabilities.
func empty(name string) corev1.Volume { return workload.Scratch(name, resource.MustParse("256Mi")) }
