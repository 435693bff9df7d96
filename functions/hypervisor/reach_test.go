package hypervisor

import (
	"reflect"
	"strings"
	"testing"

	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// limited are text fields that a limit has to allow, with a value that a platform without limits rejects, and the field of the error.
var limited = map[string]limittest.Text{
	"HypervisorClusterSpec.NodeSelector": {Spec: "nodeSelector: {a: b}", Field: "spec.nodeSelector"},
	"Toleration.Key":                     {Spec: "tolerations: [{key: a, operator: Exists}]", Field: "spec.tolerations"},
	"Toleration.Operator":                {Spec: "tolerations: [{operator: Exists}]", Field: "spec.tolerations"},
	"Toleration.Value":                   {Spec: "tolerations: [{key: a, value: b}]", Field: "spec.tolerations"},
	"Toleration.Effect":                  {Spec: "tolerations: [{operator: Exists, effect: NoExecute}]", Field: "spec.tolerations"},
	"Image.Repository":                   {Spec: "agents: {novaCompute: {image: {repository: a.b/c}}}", Field: "spec.agents.novaCompute.image.repository"},
	"InfrastructureImage.Repository":     {Spec: "agents: {openvswitch: {image: {repository: a.b/c}}}", Field: "spec.agents.openvswitch.image.repository"},
	"Images.Registry":                    {Spec: "images: {registry: a.b}", Field: "spec.images.registry"},
}

// internal lists the text fields that need no limit, by the reason.
var internal = map[string][]string{
	"its owner grants access":                           {"ClaimReference.Name", "ClaimReference.Namespace", "StoragePool.Pool"},
	"the platform lists the clusters of each namespace": {"ClusterReference.Name"},
	"it only selects fewer nodes of the pool: TestNodesStayInPool": {
		"HypervisorClusterSpec.Region", "Slice.NodeSelector", "Gateway.NodeSelector",
	},
	"the pods of the pool control the node, and the platform allowed the node": {
		"BridgeMapping.Bridge", "BridgeMapping.Interface", "Encapsulation.Interface", "LiveMigrationNetwork.Interface", "PCIDevice.Interface",
		"PCIDevice.Address", "PCIDevice.VendorID", "PCIDevice.ProductID", "PCIDevice.DeviceType", "PCIDevice.NUMAPolicy", "Networks.Datapath",
		"Encapsulation.Type", "CPU.DedicatedSet", "CPU.SharedSet", "CPU.Mode", "CPU.Models", "HugePages.Size", "Virtualization.Driver", "Libvirt.Mode",
		"LiveMigration.TimeoutAction", "IntOrString.StrVal",
	},
	"it is a name within the cloud": {
		"HypervisorClusterSpec.Cell", "HypervisorClusterSpec.AvailabilityZone", "Slice.AvailabilityZone", "Slice.Name", "Node.Aggregates", "Node.Traits",
		"BridgeMapping.PhysicalNetwork", "PCIDevice.PhysicalNetwork", "PCIDevice.Name", "PCIDevice.ResourceClass", "Lifecycle.UserDomain",
		"Lifecycle.Project", "Lifecycle.ProjectDomain",
	},
	"the registry determines the publisher of images":                        {"Image.Tag", "Image.Digest", "InfrastructureImage.Tag", "InfrastructureImage.Digest"},
	"the Secret is read in the namespace of the claim":                       {"SecretReference.Name", "Images.PullSecrets"},
	"options that reach outside are rejected by internal/openstack/override": {"NovaCompute.Config"},
	"it is an amount": {"HypervisorClusterSpec.MaxUnavailable"},
}

// TestEveryTextIsLimited checks that each text of a claim is subject to a limit, or needs none.
func TestEveryTextIsLimited(t *testing.T) {
	withoutLimits := strings.Replace(open, "limits: ["+limittest.Everything+"], ", "", 1)
	apply := func(_, spec string) error {
		c := newCluster(more(spec), "tenant-a", objects(planeClaim, withCards)...)
		c.Required["platform"] = objects("{metadata: {name: default}, spec: " + withoutLimits + "}")
		return makeReady(c)
	}
	limittest.CheckTexts(t, reflect.TypeFor[hypervisorv1.HypervisorClusterSpec](), limited, internal, apply)
}
