package hypervisor

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// diskTransferComponent copies disks between the nodes of the pool, for resize and cold migration.
const diskTransferComponent = "disk-transfer"

const (
	// diskTransferPort is the port of the server on each node.
	diskTransferPort = 16515
	// diskTransferSecret has the certificate that all nodes share if they have no separate ones.
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
		certificateFile: certificateScript,
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

// mountDiskTransfer gives a pod the certificate of the node, in diskTransferTLS of its first container.
func (m *model) mountDiskTransfer(g *group, p *workload.Pod) {
	if m.separatePeerCertificates(diskTransferComponent) {
		m.requestPeerCertificate(g, p, diskTransferComponent, diskTransferComponent, diskTransferTLS)
		return
	}
	p.Containers[0].VolumeMounts = append(p.Containers[0].VolumeMounts, workload.Mount(diskTransferComponent, diskTransferTLS))
	p.Volumes = append(p.Volumes,
		workload.SecretVolume(diskTransferComponent, diskTransferSecret, certificate.CAKey, certificate.CertKey, certificate.KeyKey))
}

func (m *model) diskTransferDaemon(g *group, config files) daemon {
	// An interrupted transfer leaves a server in ERROR. A pod without transfers stops immediately.
	const longestTransfer = 3600
	c := corev1.Container{
		Name: diskTransferComponent, Image: m.images.compute, Command: []string{"sh", scripts + "/disk-transfer.sh"},
		VolumeMounts: []corev1.VolumeMount{workload.Mount("config", scripts)},
		Env: append(append(nodeEnvVars(),
			corev1.EnvVar{Name: "INTERFACE", Value: g.migrationInterface()},
			corev1.EnvVar{Name: "INSTANCES", Value: instances + "/instances"},
		), m.diskTransferEnv()...),
		Ports: []corev1.ContainerPort{{Name: "tls", ContainerPort: diskTransferPort, Protocol: corev1.ProtocolTCP}},
	}
	workload.Readiness(&c, workload.Exec("sh", scripts+"/disk-transfer.sh", "ready"))
	pod := workload.Pod{
		UserID: agentUser, Containers: []corev1.Container{c}, GraceSeconds: new(int64(longestTransfer)),
		Volumes: []corev1.Volume{workload.ConfigVolume("config", config.revision())},
	}
	m.mountDiskTransfer(g, &pod)
	return daemon{
		app: "nova", component: diskTransferComponent, pod: pod,
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
