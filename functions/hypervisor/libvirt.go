package hypervisor

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
)

// Drivers of virtualization, and the mode in which libvirt is part of the pool.
const (
	kvm     = "kvm"
	managed = "Managed"
)

// instances is the folder of Nova's disks, at the same path for libvirt and nova-compute, which exchange paths.
const instances = "/var/lib/nova"

// Files of TPMs. The state of each is in libvirt's folder.
const (
	// vtpmMarker exists while libvirt on the node emulates TPMs (libvirt.sh).
	vtpmMarker = libvirtRun + "/vtpm"
	// vtpmState has a folder for each server with a TPM.
	vtpmState = "/var/lib/libvirt/swtpm"
)

// emulatorUser is the user and the group of QEMU, by number: names differ between images. No other process on the node has it, so that QEMU
// cannot send signals to others, trace them or read their files. All servers of a node share it.
const emulatorUser = 42427

// Configuration of the daemon and of its driver. It listens at its socket, which belongs to root, and for other nodes of the pool at the
// address that libvirt.sh adds, with TLS: only clients with a certificate of that common name are accepted, which is the name of the pool
// in the certificates of all its nodes. The host UUID is the node's machine ID, because hardware UUIDs are not unique if nodes are virtual
// machines.
const (
	libvirtdConf = `listen_tls = 1
listen_tcp = 0
tls_allowed_dn_list = ["CN=%s"]
auth_unix_rw = "none"
auth_unix_ro = "none"
unix_sock_rw_perms = "0700"
unix_sock_ro_perms = "0700"
host_uuid_source = "machine-id"
`
	// Servers outlive the pod, so that they must not use its resources: no control group, no mounts. virtlogd receives their output and
	// outlives the pod as well (libvirt.sh): without it, a server can fill the node's disk through its serial console. Without ownership
	// labels, a disk can be passed to another daemon. Memory and disks are migrated with TLS only, and both ends are authenticated.
	//
	// max_files and max_processes stay unset. libvirtd and QEMU raise their limits of open files to the container's hard limit, which is
	// 524288 or more by default, and libvirt starts no server whose max_files is above that. The limit of processes of QEMU's user is the
	// container's, too: container runtimes set none.
	//
	// QEMU runs as a user without rights, to which libvirt gives the disks and devices of a server when it starts, and takes them back when it
	// stops. This user cannot open libvirt's socket. Emulators of TPMs have another user, which owns their authority.
	//
	// QEMU filters its system calls. libvirt omits the filter if QEMU is built without seccomp, so that libvirt.sh does not start with such a
	// QEMU (qemuBuildSeccompSandboxCommandLine of libvirt 11.3).
	qemuConf = `user = "+%[3]d"
group = "+%[3]d"
security_driver = "none"
namespaces = []
cgroup_controllers = []
seccomp_sandbox = 1
stdio_handler = "logd"
remember_owner = 0
migrate_tls_x509_cert_dir = "/run/libvirt/pki"
migrate_tls_x509_verify = 1
migrate_tls_force = 1
remote_display_port_max = %[2]d
swtpm_user = "+%[1]d"
swtpm_group = "+%[1]d"
`
	// virtlogd keeps four files of 1 MiB for a server's console and as many for the messages of its QEMU; the files in libvirt's folder are
	// deleted 30 days after their last line. Nova shows the last 100 KiB of a console, and finds rotated files by name.
	virtlogdConf = `max_size = 1048576
max_backups = 3
max_age_days = 30
`
)

// libvirt builds the daemon of each node. Its pods are replaced only after they are deleted manually. Meanwhile servers keep running,
// provided the node lets the daemon leave the pod's control group (libvirt.sh); a rolling update must not be the way to find out that a
// node does not.
func libvirt(m *model) ([]compose.Stage, error) {
	qemu := fmt.Sprintf(qemuConf, agentUser, compute.LastConsolePort, emulatorUser)
	config := files{libvirtComponent, map[string]string{
		"libvirt.sh": libvirtScript, "address.sh": addressScript, certificateFile: certificateScript,
		"libvirtd.conf": fmt.Sprintf(libvirtdConf, m.instance),
		qemuFile:        qemu, qemuVNCFile: qemu + vncConf, "virtlogd.conf": virtlogdConf,
	}}
	first, second := compose.Stage{m.sharedConfigMap(config)}, compose.Stage{}
	for i := range m.groups {
		g := &m.groups[i]
		set, err := m.on(g, m.libvirtDaemon(g, config))
		if err != nil {
			return nil, err
		}
		mountHugePages(&set.Spec.Template.Spec, g.node.HugePages)
		second = append(second, compose.Resource{Name: g.name(libvirtComponent), Object: set})
	}
	return []compose.Stage{first, second}, nil
}

func (m *model) libvirtDaemon(g *group, config files) daemon {
	file := qemuFile
	if m.vncTLS() {
		file = qemuVNCFile
	}
	c := corev1.Container{
		Name: libvirtComponent, Image: m.images.libvirt, Command: []string{"sh", scripts + "/libvirt.sh"},
		VolumeMounts: []corev1.VolumeMount{
			workload.Mount("config", scripts), workload.MountFile("config", "/etc/libvirt/qemu.conf", file),
			{Name: "cache", MountPath: "/var/cache/libvirt"},
			{Name: "secrets", MountPath: "/etc/libvirt/secrets"},
		},
		Env: append(nodeEnvVars(),
			corev1.EnvVar{Name: "INTERFACE", Value: g.migrationInterface()}, corev1.EnvVar{Name: "URI", Value: libvirtURI},
			corev1.EnvVar{Name: "SWTPM_USER", Value: strconv.Itoa(agentUser)},
		),
	}
	workload.Readiness(&c, workload.Exec("sh", scripts+"/libvirt.sh", "ready"))
	workload.Liveness(&c, workload.Exec("sh", scripts+"/libvirt.sh", "alive"))
	p := workload.Privilege{
		Container: libvirtComponent, RunAsUser: root, HostNetwork: true, HostPID: true,
		// Determined on a real node: QEMU runs as another user without capabilities, which requires SETUID, SETGID, SETPCAP and
		// DAC_OVERRIDE; NET_ADMIN creates the tap devices of servers; CHOWN and FOWNER give this user disks and devices, and KILL ends it.
		// SYS_NICE pins threads of another user's process to processors (sched_setaffinity), for servers with dedicated ones.
		Capabilities: []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "NET_ADMIN", "SETGID", "SETPCAP", "SETUID", "SYS_NICE"},
		Reason: "virtual machines outlive the pod: they are processes of the node, outside of the pod's control group, with devices in the " +
			"node's network and consoles that are the node's terminals; the capabilities start, plug and end them",
		HostPaths: []workload.HostPath{
			// The recorded state of processes is valid until the node restarts, and so is this folder.
			folder("run", libvirtRun),
			{Name: "cgroup", Path: "/sys/fs/cgroup", Type: corev1.HostPathDirectory}, tunDevice(),
			{Name: "machine-id", Path: "/etc/machine-id", Type: corev1.HostPathFile, ReadOnly: true}, terminals(),
			persistentFolder("libvirt", "/var/lib/libvirt"), persistentFolder("libvirt-log", "/var/log/libvirt"),
			persistentFolder("libvirt-domains", "/etc/libvirt/qemu"), disks(),
			persistentFolder("swtpm-localca", "/var/lib/swtpm-localca"), persistentFolder("swtpm-log", "/var/log/swtpm"),
		},
	}
	if m.spec.Virtualization.Driver == kvm {
		p.HostPaths = append(p.HostPaths, device("kvm", "/dev/kvm"))
	}
	if m.liveMigration().AllowPostCopy {
		// The userfaultfd system call is denied to unprivileged processes, and by container runtimes to all.
		p.HostPaths = append(p.HostPaths, device("userfaultfd", "/dev/userfaultfd"))
	}
	pod := workload.Pod{
		UserID: agentUser, Containers: []corev1.Container{c}, Annotations: map[string]string{configAnnotation: config.hash()},
		Volumes: []corev1.Volume{
			workload.ConfigVolume("config", libvirtComponent+"-config"), empty("cache"),
			// Secrets that libvirt does not itself hold in memory only, such as passphrases that Nova passes for encrypted volumes, are in memory,
			// too.
			workload.MemoryScratch("secrets", resource.MustParse("64Mi")),
		},
	}
	m.mountMigration(g, &pod)
	if m.vncTLS() {
		m.mountVNC(&pod)
	}
	return daemon{
		app: "libvirt", component: libvirtComponent, pod: pod,
		privileges: []workload.Privilege{passThrough(p, g.node.PCIDevices)}, update: appsv1.OnDeleteDaemonSetStrategyType,
	}
}

// terminals returns the pseudoterminals of the node. Each serial console of a server is one of them: nova-compute has no console output if
// it cannot open the terminal (https://opendev.org/openstack/nova/src/branch/stable/2025.2/nova/virt/libvirt/driver.py,
// get_console_output).
func terminals() workload.HostPath {
	return workload.HostPath{Name: "terminals", Path: "/dev/pts", Type: corev1.HostPathDirectory}
}

// disks returns the folder of servers' disks. Mounts that are added later, such as volumes, propagate to containers.
func disks() workload.HostPath {
	h := persistentFolder("nova", instances)
	h.Propagation = corev1.MountPropagationHostToContainer
	return h
}
