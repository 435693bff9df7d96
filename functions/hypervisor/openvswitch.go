package hypervisor

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// switchDatabase is the container of Open vSwitch's database server.
const switchDatabase = "ovsdb-server"

// userspace is the datapath in the ovs-vswitchd process.
const userspace = "Userspace"

// root is the user of containers that open files and devices of the node that belong to root.
var root = new(int64(0))

// agentUser is the user of containers that do not run as root.
const agentUser = 42424

// folder returns a folder of the node at the same path in a container. It is created if missing.
func folder(name, path string) workload.HostPath {
	return workload.HostPath{Name: name, Path: path, Type: corev1.HostPathDirectoryOrCreate}
}

// persistentFolder returns a folder of the node that survives restarts, at another path in a container.
func persistentFolder(name, mountPath string) workload.HostPath {
	return workload.HostPath{Name: name, Path: nodeState + "/" + name, MountPath: mountPath, Type: corev1.HostPathDirectoryOrCreate}
}

// device returns a device of the node.
func device(name, path string) workload.HostPath {
	return workload.HostPath{Name: name, Path: path, Type: corev1.HostPathCharDev}
}

// tunDevice returns the device that creates tap devices.
func tunDevice() workload.HostPath { return device("tun", "/dev/net/tun") }

// openVSwitch builds the switch and its database on each node. Their pods are replaced only after they are deleted manually: with the
// datapath in userspace, packets of all servers are delayed by some seconds until the new daemon runs.
func openVSwitch(m *model) ([]compose.Stage, error) {
	config := files{switchComponent, map[string]string{"openvswitch.sh": switchScript}}
	first, second := compose.Stage{m.sharedConfigMap(config)}, compose.Stage{}
	for i := range m.groups {
		set, err := m.on(&m.groups[i], m.switchDaemon(&m.groups[i], config))
		if err != nil {
			return nil, err
		}
		second = append(second, compose.Resource{Name: m.groups[i].name(switchComponent), Object: set})
	}
	return []compose.Stage{first, second}, nil
}

func (m *model) switchDaemon(g *group, config files) daemon {
	script := func(container string) corev1.Container {
		c := corev1.Container{
			Name: container, Image: m.images.openvswitch, Command: []string{"sh", scripts + "/openvswitch.sh", container},
			VolumeMounts: []corev1.VolumeMount{workload.Mount("config", scripts)},
		}
		// The switch has no liveness probe: one that fails under load would disconnect servers.
		workload.Readiness(&c, workload.Exec("sh", scripts+"/openvswitch.sh", container+"-ready"))
		return c
	}
	vswitchd := workload.Privilege{
		Container: "ovs-vswitchd", RunAsUser: root, HostNetwork: true, HostPaths: []workload.HostPath{folder("run", switchRun)},
		Reason:       "NET_ADMIN makes devices and flows in the node's network, NET_RAW opens the sockets that devices are read by",
		Capabilities: []corev1.Capability{"NET_ADMIN", "NET_RAW"},
	}
	if g.network.Datapath == userspace {
		// The daemon creates a tap device for each bridge.
		vswitchd.HostPaths = append(vswitchd.HostPaths, tunDevice())
	}
	return daemon{
		app: "openvswitch", component: switchComponent,
		pod: workload.Pod{
			UserID: agentUser, Containers: []corev1.Container{script("ovs-vswitchd"), script(switchDatabase)},
			Volumes:     []corev1.Volume{workload.ConfigVolume("config", switchComponent+"-config")},
			Annotations: map[string]string{configAnnotation: config.hash()},
		},
		privileges: []workload.Privilege{vswitchd, {
			Container: switchDatabase, RunAsUser: root, Reason: "its socket and its file are in folders of the node, which are root's",
			HostPaths: []workload.HostPath{folder("run", switchRun), persistentFolder("openvswitch", "/etc/openvswitch")},
		}},
		update: appsv1.OnDeleteDaemonSetStrategyType,
	}
}
