package hypervisor

import (
	_ "embed"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

var (
	//go:embed address.sh
	addressScript string
	//go:embed openvswitch.sh
	switchScript string
	//go:embed ovn-controller.sh
	controllerScript string
	//go:embed libvirt.sh
	libvirtScript string
	//go:embed volume-keys.sh
	volumeKeysScript string
	//go:embed nova-compute.sh
	computeScript string
	//go:embed metadata.sh
	metadataScript string
	//go:embed bridges.sh
	bridgesScript string
	//go:embed neutron-agent.sh
	neutronAgentScript string
	//go:embed outlive.sh
	detachScript string
	//go:embed disk-transfer.sh
	diskTransferWrapper string
	//go:embed disk-transfer.py
	diskTransferScript string
)

// Folders in containers and on nodes. Sockets are where every tool looks for them, on the node, too. What has to outlast a restart of the
// node is ours alone.
const (
	scripts       = "/etc/cobaltcore"
	switchRun     = "/run/openvswitch"
	controllerRun = "/run/ovn"
	libvirtRun    = "/run/libvirt"
	nodeState     = "/var/lib/cobaltcore"
)

// files of a component.
type files struct {
	component string
	data      map[string]string
}

// hash changes with what they say.
func (f files) hash() string {
	const digits = 10
	return names.HashOf(digits, f.data)
}

// revision is a ConfigMap that is named by what it says. Pods of before read theirs until all are replaced.
func (m *model) revision(f files) compose.Resource {
	name := f.revision()
	return compose.Resource{Name: name, Revisions: f.component + "-config", Object: m.workload(f.component, "").ConfigMap(name, f.data)}
}

func (f files) revision() string { return f.component + "-config-" + f.hash() }

// sharedConfigMap is a ConfigMap of one name, for pods that do not replace themselves: after a restart of the node, one of before would look for
// what is not there any more. Its hash is an annotation of the pods, by which one sees who started with an older one.
func (m *model) sharedConfigMap(f files) compose.Resource {
	name := f.component + "-config"
	return compose.Resource{Name: name, Object: workload.ConfigMap(m.meta(name), f.data)}
}

// configAnnotation of a pod is the hash of what it reads, where its ConfigMap's name does not say it.
const configAnnotation = "crossplane.c5c3.io/config"
