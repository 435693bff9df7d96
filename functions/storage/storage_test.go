package storage

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

var update = flag.Bool("update", false, "write the golden files again")

var kind = servicetest.Kind{
	Cache:            &readyClusters,
	GroupVersionKind: storagev1.CompositeGroupVersionKind,
	Runner:           New(), Name: "storage-x7d2f",
	Cluster: func(w *simulate.Cluster) { around(w, open) },
}

// open is a platform that allows everything.
const open = "{domain: example.com, secretStore: {name: openbao}, " +
	"clusters: [{name: east, providerConfig: east-config, allowedNamespaces: [tenant-a]}], images: {registry: registry.example.com, pullSecrets: [registry]}, " +
	"exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}}, " +
	"rook: {namespace: rook, serviceAccount: operator, csi: {}}, limits: [" + limittest.Everything + "]}"

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }

// around returns the input of a claim of namespace tenant-a on a platform.
func around(w *simulate.Cluster, platform string) {
	w.XR.GetFields()["spec"].GetStructValue().Fields["claimRef"] = structpb.NewStructValue(parsed(`{namespace: tenant-a, name: storage}`))
	delete(w.XR.GetFields()["metadata"].GetStructValue().GetFields(), "namespace")
	w.Required = admission.Requirements()
	w.Required["platform"] = []*structpb.Struct{parsed(`{metadata: {name: default}, spec: ` + platform + `}`)}
}

// parsed returns an object from YAML.
func parsed(text string) *structpb.Struct {
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		panic(text + ": " + err.Error())
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}
	return s
}

// readyClusters contains the clusters that became ready: many tests start with the same claim.
var readyClusters simulate.Cache

// makeReady runs a cluster until its claim is ready.
func makeReady(w *simulate.Cluster) error {
	_, err := readyClusters.Run(w)
	return err
}

func newCluster(spec, platform string) *simulate.Cluster {
	w := &simulate.Cluster{Kinds: map[string]function.Runner{kind.GroupKind().String(): New()}}
	w.XR = parsed("{apiVersion: crossplane.c5c3.io/v1alpha1, kind: XStorageCluster, metadata: {name: storage-x7d2f}, spec: " + spec + "}")
	around(w, platform)
	return w
}

func complete(t *testing.T, spec string) *simulate.Cluster {
	t.Helper()
	w := newCluster(spec, open)
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	return w
}

// three are nodes with one device each.
const three = `nodes: [{name: a, devices: [{name: sda}]}, {name: b, devices: [{name: sda}]}, {name: c, devices: [{name: sda}]}]`

func with(fields string) string { return "{" + three + ", " + fields + "}" }

// TestInvalidFieldsAreReportedByPath verifies that each invalid field is reported by its path.
func TestInvalidFieldsAreReportedByPath(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, field, message string }{
		"Monitors": {
			"A node that is lost would take two along.", with("monitors: {count: 5}"), "spec.monitors.count", "there are 3 nodes for 5 of them",
		},
		"Managers": {"The same.", with("managers: {count: 4}"), "spec.managers.count", "there are 3 nodes for 4 of them"},
		"Memory": {
			"It ends before it has started.", with("osds: {resources: {limits: {memory: 1119Mi}}}"), "spec.osds.resources.limits.memory",
			"must be at least 1120Mi for an OSD, not 1119Mi",
		},
		"Enough": {"It starts.", with("osds: {resources: {limits: {memory: 1120Mi}}}"), "", ""},
		"Copies": {
			"Ceph would never find a place for the fourth.", with("replicationFactor: 4, pools: [{name: images}]"), "spec.pools[0]",
			"4 copies require as many failure domains (host), and devices are on 3 nodes",
		},
		"Class": {
			"Devices of another class do not count.",
			`{nodes: [{name: a, devices: [{name: sda, deviceClass: hdd}]}, {name: b, devices: [{name: sdb, deviceClass: ssd}]}], replicationFactor: 2, deviceClass: hdd}`,
			"spec.pools[0]", "devices of class hdd are on 1 node",
		},
		"Pieces": {
			"There is no place for the sixth piece.", with("objectStores: [{name: s3, dataPool: {erasureCoded: {dataChunks: 4, codingChunks: 2}}}]"),
			"spec.objectStores[0].dataPool", "6 pieces require as many failure domains (host)",
		},
		"Devices": {
			"A device is less than a node.", with("replicationFactor: 4, failureDomain: osd"), "spec.pools[0]", "devices are on 3 devices",
		},
		"Stranger": {
			"It may not use the cluster.", with("consumers: [{name: a, controlPlaneRef: {namespace: b, name: c}}]"),
			"spec.consumers[0].controlPlaneRef", `claims of namespace "b" may not use this cluster`,
		},
		"Twice": {
			"A control plane would not know which pools are its own.",
			with("consumers: [{name: a, controlPlaneRef: {namespace: tenant-a, name: c}}, {name: b, controlPlaneRef: {namespace: tenant-a, name: c}}]"),
			"spec.consumers[1].controlPlaneRef", "consumer a is this control plane already",
		},
		"Quota": {
			"It bounds nothing.", with("consumers: [{name: a, controlPlaneRef: {namespace: tenant-a, name: c}, quotas: [{pool: x, maxSize: 1Ti}]}]"),
			"spec.consumers[0].quotas[0].pool", `there is no pool "x"`,
		},
		"Alike": {
			"Two consumers would share a pool.",
			with("pools: [{name: b-images, purpose: images}, {name: images}], consumers: [" +
				"{name: a, controlPlaneRef: {namespace: tenant-a, name: c}}, {name: a-b, controlPlaneRef: {namespace: tenant-a, name: d}}]"),
			"spec.pools[1].name", `its pool would be called "a-b-images", as is one of spec.pools[0]`,
		},
		"Users": {
			"Two consumers would share a user.",
			with("consumers: [{name: a, controlPlaneRef: {namespace: tenant-a, name: c}}, {name: a-cinder, controlPlaneRef: {namespace: tenant-a, name: d}}]"),
			"", "",
		},
		"Manager's": {"Ceph makes it.", with("pools: [{name: builtin-mgr}]"), "spec.pools[0].name", "as is one of Ceph's manager"},
		"Files": {
			"A file system has pools, too.", with("pools: [{name: fs-data}], filesystems: [{name: fs}]"), "spec.filesystems[0].name",
			`its pool would be called "fs-data"`,
		},
		"Way": {
			"The name has another device type.",
			`{nodes: [{name: a, devices: [{name: disk/by-id/../../sda}]}], replicationFactor: 1, allowDataLoss: true}`,
			"spec.nodes[0].devices[0].name", "is a way to a device",
		},
		"Nothing": {"Devices are required.", "{}", "spec", "set exactly one of nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := makeReady(newCluster(tc.spec, open))
			wantError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

// wantError fails unless the error begins with a field and contains the given text; without a field, no error is expected.
func wantError(t *testing.T, reason string, err error, field, message string) {
	t.Helper()
	switch {
	case field == "" && err != nil:
		t.Errorf("%s\n%v", reason, err)
	case field != "" && (!invalid.Is(err) || !strings.HasPrefix(err.Error(), field+": ") || !strings.Contains(err.Error(), message)):
		t.Errorf("%s\nerror %v, want one about %s with %q", reason, err, field, message)
	}
}

// TestRejectsNodesAndDevicesOutsideLimits verifies that nodes and devices must be allowed by the platform: selecting them is control of
// them.
func TestRejectsNodesAndDevicesOutsideLimits(t *testing.T) {
	const (
		some = `{name: some, namespaces: ["tenant-*"], storageNodes: ["kubernetes.io/hostname=s-*", "pool={namespace}"], ` +
			`storageDevices: ["nvme*", "^nvme.*", "disk/by-id/*"], storageNetworks: [10.0.0.0/8], tolerations: ["dedicated=storage"]}`
		on = `network: {publicCIDRs: [10.1.0.0/16], host: true}, replicationFactor: 1, allowDataLoss: true`
	)
	node := func(name, device string) string {
		return fmt.Sprintf("{nodes: [{name: %s, devices: [{name: %s}]}], %s}", name, device, on)
	}
	selector := func(selector, labels string) string {
		return fmt.Sprintf("{deviceSelector: %s, nodeSelector: %s, %s}", selector, labels, on)
	}
	for name, tc := range map[string]struct{ reason, limits, spec, field, message string }{
		"Own":       {reason: "A node and a device of storage.", limits: some, spec: node("s-1", "nvme0n1")},
		"Path":      {reason: "A device by its path.", limits: some, spec: node("s-1", "/dev/disk/by-id/x")},
		"Labels":    {reason: "Nodes with a label of the namespace.", limits: some, spec: selector(`{filter: "^nvme.*"}`, "{pool: tenant-a, rack: r}")},
		"Node":      {"A node of others.", some, node("t-1", "nvme0n1"), "spec.nodes[0].name", `"kubernetes.io/hostname=t-1" is not in the storageNodes`},
		"Device":    {"A device of others.", some, node("s-1", "sda"), "spec.nodes[0].devices[0].name", `"sda" is not in the storageDevices`},
		"Elsewhere": {"Nodes of another namespace.", some, selector(`{filter: "^nvme.*"}`, "{pool: tenant-b}"), "spec.nodeSelector", "is not in"},
		"Pattern":   {"It would be every device.", some, selector(`{filter: "^nvme.|."}`, "{pool: tenant-a}"), "spec.deviceSelector.filter", "is not in"},
		"All":       {"Every device.", some, selector(`{all: true}`, "{pool: tenant-a}"), "spec.deviceSelector.all", `"all devices" is not in`},
		"Networks":  {"Control planes would reach anywhere.", some, "{nodes: [{name: s-1, devices: [{name: nvme0n1}]}], replicationFactor: 1, allowDataLoss: true}", "spec.network.publicCIDRs", `"any network" is not in`},
		"NoLimit":   {"No limit allows it.", `{name: none, namespaces: ["*"]}`, node("s-1", "nvme0n1"), "spec.nodes[0].name", "no limit of the platform allows"},
		"Tolerates": {
			"Every taint.", some, strings.Replace(node("s-1", "nvme0n1"), "nodes:", "tolerations: [{operator: Exists}], nodes:", 1),
			"spec.tolerations", `"every taint" is not in the tolerations`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := makeReady(newCluster(tc.spec, "{domain: example.com, limits: ["+tc.limits+"]}"))
			wantError(t, tc.reason, err, tc.field, tc.message)
		})
	}
}

// TestAccess verifies that clients receive the monitors, the users and the names of key Secrets, and that published data stays.
func TestAccess(t *testing.T) {
	const instance = "tenant-a-storage-72da48a0ed7f612b5eac"
	w := complete(t, with("pools: [{name: images}, {name: backups}], network: {publicCIDRs: [10.0.0.0/8], host: true}"))
	want := map[string]any{
		"fsid":     accessOf(w)["fsid"],
		"monitors": []any{"[v2:192.0.2.1:3300,v1:192.0.2.1:6789]", "[v2:192.0.2.2:3300,v1:192.0.2.2:6789]", "[v2:192.0.2.3:3300,v1:192.0.2.3:6789]"},
		"networks": []any{"10.0.0.0/8"},
		"consumers": []any{map[string]any{
			"name": "shared",
			"pools": []any{
				map[string]any{"name": "images", "pool": "images", "purpose": "images"},
				map[string]any{"name": "backups", "pool": "backups", "purpose": "backups"},
			},
			"clients": []any{
				map[string]any{"service": "glance", "user": "glance", "secretName": "rook-ceph-client-glance", "secretUUID": uuid(instance, "glance")},
				map[string]any{
					"service": "cinder-backup", "user": "cinder-backup", "secretName": "rook-ceph-client-cinder-backup",
					"secretUUID": uuid(instance, "cinder-backup"),
				},
			},
		}},
	}
	if diff := cmp.Diff(want, accessOf(w)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, o := range w.RequiredResources {
		delete(o.GetFields(), "data")
	}
	delete(w.Observed, clusterResource)
	delete(w.Observed, poolPrefix+"images")
	rsp := New().Run(w.Request())
	if diff := cmp.Diff(want, rsp.Composite.Object.At("status", "access").Map()); diff != "" {
		t.Errorf("without observed state (-want +got):\n%s", diff)
	}
}

func accessOf(w *simulate.Cluster) map[string]any {
	return w.XR.GetFields()["status"].GetStructValue().GetFields()["access"].GetStructValue().AsMap()
}

// TestUUID verifies the format, and that the result is stable.
func TestUUID(t *testing.T) {
	if got := uuid("a", "b"); got != "c14cddc0-33f6-8b9d-aa80-ea675cf280a0" {
		t.Errorf("got %s", got)
	}
}

// TestCaps verifies the capabilities of each user (https://docs.ceph.com/en/latest/rbd/rbd-openstack/#setup-ceph-client-authentication).
func TestCaps(t *testing.T) {
	all := []pool{
		{Pool: storagev1.Pool{Purpose: storagev1.PurposeImages}, name: "i"}, {Pool: storagev1.Pool{Purpose: storagev1.PurposeVolumes}, name: "v"},
		{Pool: storagev1.Pool{Purpose: storagev1.PurposeVMs}, name: "d"}, {Pool: storagev1.Pool{Purpose: storagev1.PurposeBackups}, name: "b"},
		{name: "other"},
	}
	want := map[storagev1.Service]map[string]string{
		storagev1.ServiceGlance: {"mon": "profile rbd", "osd": "profile rbd pool=i", "mgr": "profile rbd pool=i"},
		storagev1.ServiceCinder: {
			"mon": "profile rbd", "osd": "profile rbd pool=v, profile rbd pool=d, profile rbd-read-only pool=i",
			"mgr": "profile rbd pool=v, profile rbd pool=d",
		},
		storagev1.ServiceCinderBackup: {"mon": "profile rbd", "osd": "profile rbd pool=b", "mgr": "profile rbd pool=b"},
		storagev1.ServiceNova: {
			"mon": "profile rbd", "osd": "profile rbd pool=v, profile rbd pool=d, profile rbd-read-only pool=i", "mgr": "profile rbd pool=d",
		},
	}
	for _, s := range services {
		if diff := cmp.Diff(want[s.name], s.caps(all)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, diff)
		}
		if got := s.caps(all[4:]); got != nil {
			t.Errorf("%s may do %v without need", s.name, got)
		}
	}
}

// TestRemovedPoolsAreRetained verifies that removing a pool from the spec never deletes it. With Delete, the policy must become Retain
// first.
func TestRemovedPoolsAreRetained(t *testing.T) {
	const both, one = "pools: [{name: images}, {name: volumes}]", "pools: [{name: images}]"
	w := complete(t, with(both+", deletionPolicy: Delete"))
	edit := func(spec string) error {
		w.XR.Fields["spec"] = newCluster(spec, open).XR.GetFields()["spec"]
		_, _, err := New().Explain(w.Request())
		return err
	}
	wantError(t, "It would be deleted.", edit(with(one+", deletionPolicy: Delete")), "spec.pools", "pool-volumes would be deleted")
	wantError(t, "Its Object still deletes it.", edit(with(one)), "spec.pools", "pool-volumes would be deleted")
	if err := edit(with(both)); err != nil {
		t.Fatal(err)
	}
	for name, r := range New().Run(w.Request()).Composed {
		o, err := simulate.Finish(simulate.Exist(r.Object))
		if err != nil {
			t.Fatal(err)
		}
		w.Observed[name] = o
	}
	wantError(t, "It is kept.", edit(with(one)), "", "")
}

// TestOwnImage verifies that the claim may select an image of Ceph if a limit allows the complete image.
func TestOwnImage(t *testing.T) {
	for name, tc := range map[string]struct{ reason, fields, allowed, running, want, field, message string }{
		"Tag":      {reason: "A version of the platform's image.", fields: "image: {tag: v19.2.4}", allowed: `"quay.io/ceph/ceph:v19.*"`, want: "quay.io/ceph/ceph:v19.2.4"},
		"Digest":   {reason: "A digest is immutable.", fields: "image: {digest: sha256:" + digest + "}", allowed: `"quay.io/ceph/*"`, want: "quay.io/ceph/ceph@sha256:" + digest},
		"Registry": {reason: "A mirror.", fields: "images: {registry: r.example.com/m}", allowed: `"r.example.com/m/ceph/ceph:*"`, want: "r.example.com/m/ceph/ceph:v19.2.3"},
		"Both": {
			reason: "An image goes before a mirror.", fields: "images: {registry: r.example.com/m}, image: {repository: r.example.com/own, tag: v19.2.3}",
			allowed: `"r.example.com/own:*"`, want: "r.example.com/own:v19.2.3",
		},
		"Same":     {reason: "The platform's own needs no word.", fields: "image: {tag: v19.2.3}", want: "quay.io/ceph/ceph:v19.2.3"},
		"Nobody":   {reason: "It would have the nodes.", fields: "image: {tag: v19.2.4}", field: "spec.image", message: "no limit of the platform allows"},
		"Other":    {reason: "A limit has others.", fields: "image: {repository: r.example.com/own}", allowed: `"quay.io/ceph/*"`, field: "spec.image", message: `"r.example.com/own:v19.2.3" is not in the storageImages`},
		"Mirrored": {reason: "The same.", fields: "images: {registry: evil.example.com}", allowed: `"quay.io/*"`, field: "spec.images.registry", message: "is not in the storageImages"},
		"Older":    {reason: "It cannot read the data.", fields: "image: {tag: v18.2.7}", allowed: `"*"`, running: "19.2.3-0", field: "spec.image.tag", message: "Ceph 19.2.3 is running"},
		"Newer":    {reason: "It is an upgrade.", fields: "image: {tag: v19.2.4}", allowed: `"*"`, running: "19.2.3-0", want: "quay.io/ceph/ceph:v19.2.4"},
		"Running":  {reason: "A mirror of the running version.", fields: "images: {registry: r.example.com}", allowed: `"*"`, running: "20.2.0-0", want: "r.example.com/ceph/ceph:v20.2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			permissive := `{name: some, namespaces: ["*"], storageNodes: ["*"], storageDevices: ["*"], storageNetworks: ["*"]}`
			if tc.allowed != "" {
				permissive = strings.Replace(permissive, "storageNodes", "storageImages: ["+tc.allowed+"], storageNodes", 1)
			}
			w := newCluster(with("pools: [{name: images}]"), "{domain: example.com, limits: ["+permissive+"]}")
			if tc.running != "" {
				w.Reports = func(kind, _ string) map[string]any {
					if kind != "CephCluster" {
						return nil
					}
					return map[string]any{"version": map[string]any{"version": tc.running}}
				}
			}
			for range 9 {
				if _, err := w.Call(func(simulate.Step) {}); err != nil {
					t.Fatal(err)
				}
			}
			w.XR.Fields["spec"] = newCluster(with("pools: [{name: images}], "+tc.fields), open).XR.GetFields()["spec"]
			_, _, err := New().Explain(w.Request())
			wantError(t, tc.reason, err, tc.field, tc.message)
			if tc.field != "" {
				return
			}
			got := kind.Desired(t, w)[clusterResource]["spec"].(map[string]any)["cephVersion"].(map[string]any)["image"]
			if got != tc.want {
				t.Errorf("%s\ngot %v, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// digest returns the digest of an image.
const digest = "0000000000000000000000000000000000000000000000000000000000000000"

// TestImage verifies that the platform or this version selects the image, and that a running version is never replaced by an older one.
func TestImage(t *testing.T) {
	for name, tc := range map[string]struct{ reason, platform, running, want string }{
		"Ours":     {"No version is observed.", "", "", "quay.io/ceph/ceph:v19.2.3"},
		"Newer":    {"The running version is newer.", "", "20.2.0-0", "quay.io/ceph/ceph:v20.2.0"},
		"Older":    {"The running version is older.", "", "18.2.7-0", "quay.io/ceph/ceph:v19.2.3"},
		"Mirror":   {"A mirror.", ", images: {registry: r.example.com/m}", "20.2.0-0", "r.example.com/m/ceph/ceph:v20.2.0"},
		"Platform": {"The platform team knows.", ", thirdPartyImages: {ceph: {tag: v19.2.1}}", "19.2.3-0", "quay.io/ceph/ceph:v19.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(with("pools: [{name: images}]"), "{domain: example.com"+tc.platform+", limits: ["+limittest.Everything+"]}")
			if tc.running != "" {
				w.Reports = func(kind, _ string) map[string]any {
					if kind != "CephCluster" {
						return nil
					}
					return map[string]any{"version": map[string]any{"version": tc.running}}
				}
			}
			for range 9 {
				if _, err := w.Call(func(simulate.Step) {}); err != nil {
					t.Fatal(err)
				}
			}
			got := kind.Desired(t, w)[clusterResource]["spec"].(map[string]any)["cephVersion"].(map[string]any)["image"]
			if got != tc.want {
				t.Errorf("%s\ngot %v, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
