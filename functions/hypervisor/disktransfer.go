package hypervisor

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// diskTransferComponent copies disks between the nodes of the pool, for resize and cold migration.
const diskTransferComponent = "disk-transfer"

const (
	// diskTransferPort is the port of the server on each node.
	diskTransferPort = 16515
	// diskTransferSecret has the certificate of the nodes.
	diskTransferSecret = diskTransferComponent + "-tls"
	// diskTransferFile is the program in ConfigMaps: the server, and in nova-compute the client.
	diskTransferFile = diskTransferComponent + ".py"
	// diskTransferTLS is the folder of the certificate in containers.
	diskTransferTLS = "/etc/disk-transfer"
)

// diskTransfer builds the authority, the certificate, and the server on each node. The authority differs from the one of live migration:
// the key of a disk transfer opens no libvirt.
func diskTransfer(m *model) ([]compose.Stage, error) {
	config := files{diskTransferComponent, map[string]string{
		diskTransferFile: diskTransferScript, "disk-transfer.sh": diskTransferWrapper, "address.sh": addressScript,
	}}
	sets := compose.Stage{}
	for i := range m.groups {
		g := &m.groups[i]
		set, err := m.on(g, m.diskTransferDaemon(g, config))
		if err != nil {
			return nil, err
		}
		sets = append(sets, compose.Resource{Name: g.name(diskTransferComponent), Object: set})
	}
	return append(m.nodeAuthority(diskTransferComponent),
		compose.Stage{m.revision(config), {Name: diskTransferComponent + "-nodes", Object: m.diskTransferService()}}, sets), nil
}

// diskTransferService lists the addresses of all nodes by one name. Nova names a node by its address for a resize, and by its name in
// Kubernetes for a cached image that Glance no longer has; cluster DNS does not resolve names of nodes.
func (m *model) diskTransferService() *corev1.Service {
	s := m.workload(diskTransferComponent, "").HeadlessService(corev1.ServicePort{Name: "tls", Port: diskTransferPort,
		Protocol: corev1.ProtocolTCP})
	s.Spec.Selector = map[string]string{agentLabel: diskTransferComponent}
	return s
}

// diskTransferEnv returns the variables of the server and of the client.
func (m *model) diskTransferEnv() []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "TLS", Value: diskTransferTLS}, {Name: "PEER", Value: m.instance}, {Name: "DOMAIN", Value: m.nodeDomain()},
		{Name: "PORT", Value: strconv.Itoa(diskTransferPort)}, {Name: "SERVICE", Value: diskTransferComponent + "." + m.instance + ".svc"},
	}
}

func diskTransferVolume() corev1.Volume {
	return workload.SecretVolume(diskTransferComponent, diskTransferSecret, certificate.CAKey, certificate.CertKey, certificate.KeyKey)
}

func (m *model) diskTransferDaemon(g *group, config files) daemon {
	// An interrupted transfer leaves a server in ERROR. A pod without transfers stops immediately.
	const longestTransfer = 3600
	c := corev1.Container{
		Name: diskTransferComponent, Image: m.images.compute, Command: []string{"sh", scripts + "/disk-transfer.sh"},
		VolumeMounts: []corev1.VolumeMount{
			workload.Mount("config", scripts), workload.Mount(diskTransferComponent, diskTransferTLS),
		},
		Env: append(append(nodeEnvVars(),
			corev1.EnvVar{Name: "INTERFACE", Value: g.migrationInterface()},
			corev1.EnvVar{Name: "INSTANCES", Value: instances + "/instances"},
		), m.diskTransferEnv()...),
		Ports: []corev1.ContainerPort{{Name: "tls", ContainerPort: diskTransferPort, Protocol: corev1.ProtocolTCP}},
	}
	workload.Readiness(&c, workload.Exec("sh", scripts+"/disk-transfer.sh", "ready"))
	return daemon{
		app: "nova", component: diskTransferComponent,
		pod: workload.Pod{
			UserID: agentUser, Containers: []corev1.Container{c}, GraceSeconds: new(int64(longestTransfer)),
			Volumes: []corev1.Volume{workload.ConfigVolume("config", config.revision()), diskTransferVolume()},
		},
		privileges: []workload.Privilege{{
			Container: diskTransferComponent, RunAsUser: root, HostNetwork: true,
			Reason: "disks of servers are root's, and nodes reach each other at their own addresses; it has no capability",
			HostPaths: []workload.HostPath{{
				Name: "instances", Path: nodeState + "/nova/instances", MountPath: instances + "/instances",
				Type: corev1.HostPathDirectoryOrCreate,
			}},
		}},
		update: appsv1.RollingUpdateDaemonSetStrategyType,
	}
}

// nodeAuthority builds an authority of the pool and the certificate of its nodes, in the Secret <component>-tls. All nodes share one
// certificate: a client that may connect to one node may connect to all, so that a key per node would not separate anything. The authority
// signs nothing else, and its common name is the only one that nodes accept.
func (m *model) nodeAuthority(component string) []compose.Stage {
	selfSigned, ca, tls := component+"-self-signed", component+"-ca", component+"-tls"
	issuer := common.IssuerReference{Name: common.ObjectName(ca), Kind: "Issuer"}
	return []compose.Stage{
		{{Name: selfSigned, Object: certificate.SelfSigned(m.meta(selfSigned))}},
		{{Name: ca, Object: certificate.Authority(m.meta(ca), selfSigned)}},
		{{Name: component + "-issuer", Object: certificate.CAIssuer(m.meta(ca), ca)}},
		{{Name: component + "-certificate", Object: certificate.Peer(m.meta(tls), issuer, m.instance, "*."+m.nodeDomain())}},
	}
}
