package storage

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// limited are text fields that a limit has to allow, with a claim that a platform without limits rejects, and the field of the error.
var limited = map[string]limittest.Text{
	"Node.Name":                      {Spec: with("deviceClass: ssd"), Field: "spec.nodes[0].name"},
	"Device.Name":                    {Spec: with("deviceClass: ssd"), Field: "spec.nodes[0].devices[0].name"},
	"Placement.NodeSelector":         {Spec: "{deviceSelector: {all: true}, nodeSelector: {a: b}}", Field: "spec.nodeSelector"},
	"DeviceSelector.Filter":          {Spec: "{deviceSelector: {filter: sda}}", Field: "spec.deviceSelector.filter"},
	"DeviceSelector.PathFilter":      {Spec: "{deviceSelector: {pathFilter: sda}}", Field: "spec.deviceSelector.pathFilter"},
	"Toleration.Key":                 {Spec: with("tolerations: [{key: a, operator: Exists}]"), Field: "spec.tolerations"},
	"Toleration.Operator":            {Spec: with("tolerations: [{operator: Exists}]"), Field: "spec.tolerations"},
	"Toleration.Value":               {Spec: with("tolerations: [{key: a, value: b}]"), Field: "spec.tolerations"},
	"Toleration.Effect":              {Spec: with("tolerations: [{operator: Exists, effect: NoExecute}]"), Field: "spec.tolerations"},
	"Network.PublicCIDRs":            {Spec: with("network: {host: true, publicCIDRs: [10.0.0.0/24]}"), Field: "spec.network.publicCIDRs"},
	"Network.ClusterCIDRs":           {Spec: with("network: {host: true, clusterCIDRs: [10.0.0.0/24]}"), Field: "spec.network.clusterCIDRs"},
	"External.PublicCIDRs":           {Spec: "{external: {fsid: a, monitors: ['10.0.0.1:6789'], publicCIDRs: [10.0.0.0/24], clients: []}}", Field: "spec.external.publicCIDRs"},
	"MonitoringSettings.Labels":      {Spec: with("monitoring: {labels: {a: b}}"), Field: "spec.monitoring.labels"},
	"Arbiter.Zone":                   {Spec: with("stretched: {zones: [a, b], arbiter: {zone: c}}"), Field: "spec.stretched.arbiter.zone"},
	"InfrastructureImage.Repository": {Spec: with("image: {repository: a.b/c}"), Field: "spec.image"},
	"InfrastructureImage.Tag":        {Spec: with("image: {tag: v19.2.4}"), Field: "spec.image"},
	"InfrastructureImage.Digest":     {Spec: with("image: {digest: 'sha256:0000000000000000000000000000000000000000000000000000000000000000'}"), Field: "spec.image"},
	"Images.Registry":                {Spec: with("images: {registry: a.b}"), Field: "spec.images.registry"},
	"ObjectStore.Hostname":           {Spec: with("objectStores: [{name: a, gateways: 1, hostname: a.b.c}]"), Field: "spec.objectStores[0].hostname"},
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
		return makeReady(newCluster(spec, platform))
	}
	limittest.CheckTexts(t, reflect.TypeFor[storagev1.StorageClusterSpec](), limited, internal, apply)
}
