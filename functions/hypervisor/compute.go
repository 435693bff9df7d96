package hypervisor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/ceph"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/keymanager"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// libvirtURI is the address of libvirt on the node, for both libvirt modes.
const libvirtURI = "qemu+unix:///system?socket=" + libvirtRun + "/libvirt-sock"

// Folders of nova-compute. Logins are files instead of environment variables, because they change while the container runs.
const (
	loginsFolder  = "/etc/nova"
	queueCAFolder = loginsFolder + "/queue-authority"
)

// novaCompute starts and stops servers. Servers keep running while it is replaced.
func novaCompute(m *model) ([]compose.Stage, error) {
	configs, sets := compose.Stage{}, compose.Stage{}
	for _, component := range m.disabledAgents() { // The configuration of disabled agents stays until their pods are gone.
		configs = append(configs, compose.Resource{Revisions: component + "-config"})
	}
	known := map[string]bool{}
	for i := range m.groups {
		g := &m.groups[i]
		text, err := m.computeConfig(g).Render()
		if err != nil {
			return nil, err
		}
		config := files{computeComponent, map[string]string{
			"nova-compute.sh": computeScript, "login.sh": loginScript, "rpc-ping.py": pingScript, "address.sh": addressScript,
			diskTransferFile: diskTransferScript, certificateFile: certificateScript, "nova.conf": text,
		}}
		if c := m.disks.client; c != nil {
			config.data[cephFile] = ceph.ConfigOf(c, diskKeyFile)
		}
		if len(g.node.Traits) > 0 {
			config.data[providerFile] = providerConfig(g.node.Traits)
		}
		if r := m.revision(config); !known[r.Name] { // Slices may differ in labels only.
			r.After = m.disksFirst()
			configs, known[r.Name] = append(configs, r), true
		}
		set, err := m.on(g, m.computeDaemon(g, config))
		if err != nil {
			return nil, err
		}
		m.mountDiskKey(&set.Spec.Template.Spec)
		sets = append(sets, compose.Resource{Name: g.name(computeComponent), Object: set, After: m.disksFirst()})
	}
	return []compose.Stage{configs, sets}, nil
}

// computeConfig returns nova.conf for the nodes of a group. nova-compute uses the queue of its cell, and no database.
// https://docs.openstack.org/nova/latest/configuration/config.html
func (m *model) computeConfig(g *group) oslo.Config {
	a, cell, at := m.plane.access, m.plane.cell, "internal"
	if m.isSeparateCluster() {
		at = "public"
	}
	ca, _, _ := m.authority()
	login := oslo.Options{"auth_type": "v3applicationcredential", "auth_url": string(a.IdentityURL), "cafile": ca}
	peer := oslo.Options{"region_name": a.Region, "valid_interfaces": at, "cafile": ca}
	// The privsep helper reads its capabilities from the given file.
	privsep := oslo.Options{"helper_command": privsepHelper + " --config-file " + scripts + "/nova.conf"}
	c := oslo.Config{
		"DEFAULT": {
			"use_stderr": true, "state_path": instances, "instances_path": instances + "/instances", "compute_driver": "libvirt.LibvirtDriver",
		},
		"libvirt":          {"virt_type": m.spec.Virtualization.Driver, "connection_uri": libvirtURI},
		"oslo_concurrency": {"lock_path": instances + "/locks"},
		"os_vif_ovs":       {"ovsdb_connection": switchSocket},
		"service_user":     with(login, oslo.Options{"send_service_user_token": true}),
		"placement":        with(login, peer),
		"neutron":          with(login, peer),
		"cinder": with(login, oslo.Options{
			"catalog_info": "block-storage:cinder:" + at + "URL", "os_region_name": a.Region,
		}),
		"glance":   peer,
		"keystone": peer,
		"vnc":      {"enabled": cell.VNCURL != ""}, "spice": {"enabled": cell.SPICEURL != ""},
		"serial_console": {"enabled": cell.SerialURL != ""},
		"upgrade_levels": {"compute": "auto"},
		// Server groups are in the Nova API database, which a cell's conductor cannot access: the query by the destination of a server would fail
		// (https://docs.openstack.org/nova/latest/admin/cells.html#operations-requiring-upcalls).
		"workarounds": {"disable_group_policy_check_upcall": true},
		// Nova has a group of options for each privsep context. Its own context requests SYS_ADMIN (21) by default, for mounts that local disks
		// do not need: it gets CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER and NET_ADMIN.
		"nova_sys_admin":          with(privsep, oslo.Options{"capabilities": []string{"0", "1", "2", "3", "12"}}),
		"vif_plug_ovs_privileged": privsep,
		// os-brick requests SYS_ADMIN, too. Volumes in Ceph are attached by QEMU only.
		"privsep_osbrick": with(privsep, oslo.Options{"capabilities": []string{}}),
	}.Merge(
		service.QueueOptions(&cell.Queue, novav1.ServiceName, m.plane.release), m.processors(g), m.memory(g), m.migrationOptions(),
		m.diskOptions(), provider(g), devices(g), compute.NoUpcalls(), guestOptions(), m.secretSecurity(), m.options)
	if a.KeyManager != nil {
		// Keys are fetched with the token of the user who starts a server or attaches a volume. Both complete within the life of a token.
		c = c.Merge(
			keymanager.Options(a.KeyManager, a.Region, string(a.IdentityURL), ca), oslo.Config{"barbican": {
				"send_service_user_token": false, "barbican_endpoint_type": at,
			}})
	}
	if m.isSeparateCluster() { // The metadata API is unreachable.
		c["DEFAULT"]["force_config_drive"] = true
	}
	if cell.VNCURL != "" {
		c["vnc"]["novncproxy_base_url"] = string(cell.VNCURL)
	}
	if cell.SPICEURL != "" {
		c["spice"]["html5proxy_base_url"] = string(cell.SPICEURL)
	}
	if cell.SerialURL != "" {
		c["serial_console"]["base_url"] = cell.SerialURL
		c["serial_console"]["port_range"] = fmt.Sprintf("%d:%d", compute.FirstSerialPort, compute.LastSerialPort)
	}
	return c
}

// with merges options; the last value of a name wins.
func with(all ...oslo.Options) oslo.Options {
	out := oslo.Options{}
	for _, o := range all {
		maps.Copy(out, o)
	}
	return out
}

// processors returns the options of CPU models and shared CPUs.
func (m *model) processors(g *group) oslo.Config {
	p := g.node.CPU
	if p == nil {
		return nil
	}
	c := oslo.Config{"DEFAULT": {}, "libvirt": {}, "compute": {}}
	if p.Mode != "" {
		c["libvirt"]["cpu_mode"] = p.Mode
	}
	// A slice may set another mode than the pool. Nova rejects models with other modes.
	if p.Mode == "custom" {
		c["libvirt"]["cpu_models"] = service.Strings(p.Models)
	}
	if p.AllocationRatio != nil {
		c["DEFAULT"]["cpu_allocation_ratio"] = number(p.AllocationRatio)
	}
	if p.DedicatedSet != "" {
		c["compute"]["cpu_dedicated_set"] = string(p.DedicatedSet)
	}
	if p.SharedSet != "" {
		c["compute"]["cpu_shared_set"] = string(p.SharedSet)
	}
	return c
}

const mebibyte = 1 << 20

// memory returns the options of a node's memory. Nova's own default of 512 MiB is less than the pods on the node use.
func (m *model) memory(g *group) oslo.Config {
	c := oslo.Config{"DEFAULT": {"reserved_host_memory_mb": int((m.reservedMemory(g) + mebibyte - 1) / mebibyte)}}
	if p := g.node.Memory; p != nil && p.AllocationRatio != nil {
		c["DEFAULT"]["ram_allocation_ratio"] = number(p.AllocationRatio)
	}
	return c
}

// reserveDisk returns the variable by which nova-compute.sh reserves space on the node's disk, whose size is available on the node only. It
// is empty if the claim sets reserved_host_disk_mb, which is in nova.conf then, and if disks of servers are in Ceph: Nova then reports the
// capacity of Ceph, of which the node needs nothing.
func (m *model) reserveDisk() string {
	if _, set := m.options["DEFAULT"]["reserved_host_disk_mb"]; set || m.spec.Storage != nil {
		return ""
	}
	return "yes"
}

// vtpm returns the file by which the node's libvirt offers TPMs for servers, and "" if servers have no TPMs: Nova stores the passphrase of
// a TPM in Barbican, and does not start with TPMs if libvirt cannot emulate them. If the node's operating system runs libvirt, the user of
// its swtpm and the location of TPM state are unknown.
func (m *model) vtpm() string {
	if m.plane.access.KeyManager == nil || !m.libvirtManaged() {
		return ""
	}
	return vtpmMarker
}

// secretSecurity returns the allowed values of hw:tpm_secret_security, in releases that have the choice: who may read the passphrase of a
// TPM, the owner of the server or Nova. With "host" it would be on the node's disk. libvirt stores secrets in memory (libvirt.go), so that
// no server would keep the promise of "host" after its pod was replaced.
func (m *model) secretSecurity() oslo.Config {
	if m.vtpm() == "" || m.plane.release < "2026.1" {
		return nil
	}
	return oslo.Config{"libvirt": {"supported_tpm_secret_security": []string{"user", "deployment"}}}
}

// number returns a ratio that checkRatio has validated.
func number(ratio *intstr.IntOrString) float64 {
	f, err := strconv.ParseFloat(ratio.String(), 64)
	if err != nil {
		panic(err)
	}
	return f
}

func (m *model) computeDaemon(g *group, config files) daemon {
	cell, live := m.plane.cell, ""
	if m.libvirtManaged() {
		live = "yes"
	}
	set := func(group, option, value string) corev1.EnvVar {
		return corev1.EnvVar{Name: oslo.MustEnvName(group, option), Value: value}
	}
	address := "$(" + addressEnv + ")"
	c := corev1.Container{
		Name: computeComponent, Image: m.images.compute, Command: []string{"sh", scripts + "/nova-compute.sh"},
		VolumeMounts: []corev1.VolumeMount{
			workload.Mount("config", scripts),
			workload.Mount("queue", loginsFolder+"/queue"), workload.Mount("queue-authority", queueCAFolder),
			workload.Mount("credential", loginsFolder+"/credential"),
		},
		Env: append(append(nodeEnvVars(),
			corev1.EnvVar{Name: "QUEUE_HOST", Value: cell.Queue.Host},
			corev1.EnvVar{Name: "QUEUE_PORT", Value: strconv.Itoa(int(cell.Queue.Port))},
			corev1.EnvVar{Name: "QUEUE_VHOST", Value: cell.VirtualHost},
			corev1.EnvVar{Name: "QUEUE_CA", Value: queueCAFolder + "/" + string(cell.Queue.CASecretRef.Key)},
			corev1.EnvVar{Name: "INSTANCES", Value: instances + "/instances"},
			corev1.EnvVar{Name: "LOGINS", Value: loginsFolder}, corev1.EnvVar{Name: "STARTED", Value: "/tmp/logins"},
			corev1.EnvVar{Name: "QUEUE_USER", Value: m.targetCredential(cell.QueueSecretRef.Name)},
			corev1.EnvVar{Name: "CREDENTIAL", Value: m.targetCredential(m.mountedCredential())},
			corev1.EnvVar{Name: "TAKEN", Value: "/tmp/taken"}, corev1.EnvVar{Name: "AGENT", Value: "/tmp/agent"},
			corev1.EnvVar{Name: "RPC", Value: "/tmp/rpc"},
			corev1.EnvVar{Name: "HUGE_PAGES", Value: m.pages(g)}, corev1.EnvVar{Name: "CELLS", Value: "/sys/devices/system/node"},
			corev1.EnvVar{Name: "RESERVED", Value: "/tmp/reserved.conf"}, corev1.EnvVar{Name: "RESERVE_DISK", Value: m.reserveDisk()},
			corev1.EnvVar{Name: "INTERFACE", Value: g.migrationInterface()}, corev1.EnvVar{Name: "LIVE_MIGRATION", Value: live},
			corev1.EnvVar{Name: "PROGRAMS", Value: "/tmp/programs"},
			corev1.EnvVar{Name: "VTPM", Value: m.vtpm()}, corev1.EnvVar{Name: "VTPM_STARTED", Value: "/tmp/vtpm"},
			set("DEFAULT", "host", "$("+nodeEnv+")"), set("DEFAULT", "my_ip", address),
			set("DEFAULT", "graceful_shutdown_timeout", strconv.Itoa(int(compute.TerminationGracePeriod.Seconds()))),
			set("oslo_messaging_rabbit", "processname", computeComponent),
			// Consoles are reached by the console proxies at the node's address.
			set("vnc", "server_listen", address), set("vnc", "server_proxyclient_address", address),
			set("spice", "server_listen", address), set("spice", "server_proxyclient_address", address),
			set("serial_console", "proxyclient_address", address),
		), m.diskTransferEnv()...),
	}
	_, authority, mount := m.authority()
	c.VolumeMounts = slices.Insert(c.VolumeMounts, 1, mount...)
	paths := []workload.HostPath{
		folder("run", libvirtRun), folder("run-switch", switchRun), disks(), terminals(),
		tunDevice(), // With Neutron 2026.2, Nova creates the tap device of a server.
	}
	if m.vtpm() != "" { // The state of a TPM is copied to another node with a server that is resized or cold-migrated.
		paths = append(paths, workload.HostPath{
			Name: "vtpm", Path: nodeState + "/libvirt/swtpm", MountPath: vtpmState, Type: corev1.HostPathDirectoryOrCreate,
		})
	}
	workload.Readiness(&c, workload.LightExec("sh", scripts+"/nova-compute.sh", "ready"))
	workload.Liveness(&c, workload.Exec("sh", scripts+"/nova-compute.sh", "alive"))
	pod := workload.Pod{
		UserID: agentUser, Containers: []corev1.Container{c}, GraceSeconds: workload.Grace(compute.TerminationGracePeriod),
		Annotations: m.credentialAnnotations(cell.QueueSecretRef.Name, m.mountedCredential()),
		Volumes: slices.Insert([]corev1.Volume{
			workload.ConfigVolume("config", config.revision()),
			m.secretVolume("queue", cell.QueueSecretRef.Name, secret.UsernameKey, secret.PasswordKey),
			m.secretVolume("queue-authority", cell.Queue.CASecretRef.Name, string(cell.Queue.CASecretRef.Key)),
			m.secretVolume("credential", m.mountedCredential(), credentialID, credentialSecret),
		}, 1, authority...),
	}
	m.mountDiskTransfer(g, &pod)
	return daemon{
		app: "nova", component: computeComponent, pod: pod,
		privileges: []workload.Privilege{{
			Container: computeComponent, RunAsUser: root, HostNetwork: true,
			Reason: "libvirt's and the switch's sockets and the disks are root's, and screens are at the node's address; disks and " +
				"consoles, which are the node's terminals, belong to QEMU (CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER), " +
				"and ports are made and plugged with NET_ADMIN",
			Capabilities: []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "NET_ADMIN"},
			HostPaths:    paths,
		}},
		update: appsv1.RollingUpdateDaemonSetStrategyType,
	}
}
