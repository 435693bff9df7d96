package hypervisor

import (
	_ "embed"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

var (
	//go:embed certificate.sh
	certificateScript string
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
	//go:embed login.sh
	loginScript string
	//go:embed rpc-ping.py
	pingScript string
	//go:embed outlive.sh
	detachScript string
	//go:embed disk-transfer.sh
	diskTransferWrapper string
	//go:embed disk-transfer.py
	diskTransferScript string
)

// Folders in containers and on nodes. Sockets are at their default locations, on the node as well. Data that must survive a restart of the
// node is in our own folder.
const (
	scripts       = "/etc/cobaltcore"
	switchRun     = "/run/openvswitch"
	controllerRun = "/run/ovn"
	libvirtRun    = "/run/libvirt"
	nodeState     = "/var/lib/cobaltcore"
)

// files is the configuration of a component.
type files struct {
	component string
	data      map[string]string
}

// hash returns a hash of the contents.
func (f files) hash() string {
	const digits = 10
	return names.HashOf(digits, f.data)
}

// revision returns a ConfigMap that is named by the hash of its contents. Old pods read the previous one until all are replaced.
func (m *model) revision(f files) compose.Resource {
	name := f.revision()
	return compose.Resource{Name: name, Revisions: f.component + "-config", Object: m.workload(f.component, "").ConfigMap(name, f.data)}
}

func (f files) revision() string { return f.component + "-config-" + f.hash() }

// sharedConfigMap returns a ConfigMap with a constant name, for pods that are not replaced automatically: after a restart of the node, an
// old pod would look for a ConfigMap that no longer exists. Its hash is an annotation of the pods, which shows the pods that started with
// older contents.
func (m *model) sharedConfigMap(f files) compose.Resource {
	name := f.component + "-config"
	return compose.Resource{Name: name, Object: workload.ConfigMap(m.meta(name), f.data)}
}

// configAnnotation of a pod is the hash of its configuration, if the name of the ConfigMap does not contain it.
const configAnnotation = "crossplane.c5c3.io/config"
