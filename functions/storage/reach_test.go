package storage

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// limited are text fields that a limit has to allow, with a claim that a platform without limits rejects, and the field of the error.
var limited = map[string]limittest.Text{
	"Node.Name":                      {with("deviceClass: ssd"), "spec.nodes[0].name"},
	"Device.Name":                    {with("deviceClass: ssd"), "spec.nodes[0].devices[0].name"},
	"Placement.NodeSelector":         {"{deviceSelector: {all: true}, nodeSelector: {a: b}}", "spec.nodeSelector"},
	"DeviceSelector.Filter":          {"{deviceSelector: {filter: sda}}", "spec.deviceSelector.filter"},
	"DeviceSelector.PathFilter":      {"{deviceSelector: {pathFilter: sda}}", "spec.deviceSelector.pathFilter"},
	"Toleration.Key":                 {with("tolerations: [{key: a, operator: Exists}]"), "spec.tolerations"},
	"Toleration.Operator":            {with("tolerations: [{operator: Exists}]"), "spec.tolerations"},
	"Toleration.Value":               {with("tolerations: [{key: a, value: b}]"), "spec.tolerations"},
	"Toleration.Effect":              {with("tolerations: [{operator: Exists, effect: NoExecute}]"), "spec.tolerations"},
	"Network.PublicCIDRs":            {with("network: {host: true, publicCIDRs: [10.0.0.0/24]}"), "spec.network.publicCIDRs"},
	"Network.ClusterCIDRs":           {with("network: {host: true, clusterCIDRs: [10.0.0.0/24]}"), "spec.network.clusterCIDRs"},
	"External.PublicCIDRs":           {"{external: {fsid: a, monitors: ['10.0.0.1:6789'], publicCIDRs: [10.0.0.0/24], clients: []}}", "spec.external.publicCIDRs"},
	"MonitoringSettings.Labels":      {with("monitoring: {labels: {a: b}}"), "spec.monitoring.labels"},
	"Arbiter.Zone":                   {with("stretched: {zones: [a, b], arbiter: {zone: c}}"), "spec.stretched.arbiter.zone"},
	"InfrastructureImage.Repository": {with("image: {repository: a.b/c}"), "spec.image"},
	"InfrastructureImage.Tag":        {with("image: {tag: v19.2.4}"), "spec.image"},
	"InfrastructureImage.Digest":     {with("image: {digest: 'sha256:0000000000000000000000000000000000000000000000000000000000000000'}"), "spec.image"},
	"Images.Registry":                {with("images: {registry: a.b}"), "spec.images.registry"},
	"ObjectStore.Hostname":           {with("objectStores: [{name: a, gateways: 1, hostname: a.b.c}]"), "spec.objectStores[0].hostname"},
}

// laterChecked are fields of limited that are checked after nodes and devices, which limits have to allow here.
var laterChecked = []string{"InfrastructureImage.Repository", "InfrastructureImage.Tag", "InfrastructureImage.Digest", "Images.Registry", "ObjectStore.Hostname"}

// internal lists the text fields that need no limit, by the reason.
var internal = map[string][]string{
	"its owner grants access":                                             {"ClaimReference.Name", "ClaimReference.Namespace"},
	"the platform lists the clusters of each namespace":                   {"ClusterReference.Name"},
	"it lets others in, and names nothing":                                {"StorageClusterSpec.AllowedNamespaces"},
	"it only selects fewer of the nodes that a limit allows":              {"Node.Zone", "Stretched.Zones"},
	"pods connect to monitors in the networks only, which a limit allows": {"External.Monitors", "External.FSID", "ExternalClient.User", "ExternalClient.Service"},
	"the Secret is read in the namespace of the claim":                    {"SecretReference.Name", "Images.PullSecrets"},
	"it is an amount or a time":                                           {"Device.Size", "Quota.MaxSize", "StorageClusterSpec.TargetCapacity", "SnapshotSchedule.Interval", "SnapshotSchedule.StartTime"},
	"it is a choice or a name within this Ceph": {
		"Consumer.Name", "Device.DeviceClass", "Filesystem.Name", "KeystoneAuth.AcceptedRoles", "KeystoneAuth.Protocols",
		"MirrorPeer.Direction", "NFS.Name", "ObjectStore.Name", "Pool.Application", "Pool.Name", "Pool.Purpose", "PoolMirroring.Mode", "PoolQuota.Pool",
		"PoolStorageClass.ReclaimPolicy", "Redundancy.DeviceClass", "Redundancy.FailureDomain", "StorageClusterSpec.DeletionPolicy",
		"StorageClusterSpec.DeviceClass", "StorageClusterSpec.FailureDomain",
	},
}

// TestEveryTextIsLimited checks that each text of a claim is subject to a limit, or needs none.
func TestEveryTextIsLimited(t *testing.T) {
	apply := func(name, spec string) error {
		platform := strings.Replace(open, ", limits: ["+limittest.Everything+"]", "", 1)
		if slices.Contains(laterChecked, name) {
			platform = strings.Replace(open, limittest.Everything,
				`{name: nodes, namespaces: ["*"], storageNodes: ["*"], storageDevices: ["*"], storageNetworks: ["*"]}`, 1)
		}
		return newCluster(spec, platform).Run(func(simulate.Step) {})
	}
	limittest.CheckTexts(t, reflect.TypeFor[storagev1.StorageClusterSpec](), limited, internal, apply)
}
