//go:build platform

package platform_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
	"github.com/c5c3/crossplane-cobaltcore/test/platform/operators"
)

var (
	storageKind     = storagev1.GroupVersionKind
	cephKind        = schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: "CephCluster"}
	cephPoolKind    = schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: "CephBlockPool"}
	cephClientKind  = schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: "CephClient"}
	statefulSetKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	configMapKind   = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
)

// listen searches for values of Secrets in every call of a function, of any test. The returned function reports the
// findings, and also an error if all tests were selected and no call was recorded.
func listen(tap *platform.FunctionRecorder, chosen bool) func() error {
	var mu sync.Mutex
	calls, shown := 0, map[string]int{}
	tap.Listen(func(request, response []byte) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		for direction, message := range map[string][]byte{"request": request, "response": response} {
			if operators.ContainsPlanted(message) {
				shown[direction+" of "+compositeOf(request)]++
			}
		}
	})
	return func() error {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case calls == 0 && !chosen:
			return fmt.Errorf("no call of a function was recorded")
		case len(shown) > 0:
			return fmt.Errorf("of %d calls of functions there are values of Secrets in: %v", calls, shown)
		}
		return nil
	}
}

// compositeOf returns the composite resource of a request.
func compositeOf(request []byte) string {
	req := &fnv1.RunFunctionRequest{}
	if err := proto.Unmarshal(request, req); err != nil {
		return err.Error()
	}
	u := unstructured.Unstructured{Object: req.GetObserved().GetComposite().GetResource().AsMap()}
	return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
}

// multiCluster has three claims, each in a separate cluster.
type multiCluster struct {
	storage, plane, pool *unstructured.Unstructured
	disks, nodes         *platform.Cluster
}

const multiClusterNamespace = "tenant-apart"

const multiClusterClaims = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: StorageCluster
metadata: {namespace: tenant-apart, name: ceph}
spec:
  cluster: {ref: {name: disks}}
  nodes:
  - {name: storage-1, devices: [{name: nvme0n1, size: 3840Gi}]}
  - {name: storage-2, devices: [{name: nvme0n1, size: 3840Gi}]}
  - {name: storage-3, devices: [{name: nvme0n1, size: 3840Gi}]}
  pools: [{name: images}, {name: volumes}, {name: vms}]
  consumers: [{name: cloud, controlPlaneRef: {namespace: tenant-apart, name: cloud}}]
  network: {host: true, publicCIDRs: [10.0.1.0/24]}
---
apiVersion: crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata: {namespace: tenant-apart, name: cloud}
spec:
  openStackRelease: "2025.2"
  size: development
  cluster: {ref: {name: west}}
  infrastructure: {rabbitmq: {exposure: {type: LoadBalancer, networks: [10.20.0.0/16]}}}
  services:
    placement: {enabled: true}
    glance: {enabled: true, stores: [{name: main, ceph: {clusterRef: {namespace: tenant-apart, name: ceph}, pool: images}}]}
    cinder: {enabled: true, backends: [{name: ceph-rbd, ceph: {clusterRef: {namespace: tenant-apart, name: ceph}, pool: volumes}}]}
    nova: {enabled: true, hypervisorNetworks: [10.20.0.0/16]}
    neutron: {enabled: true, ovn: {southbound: {exposure: {type: LoadBalancer, networks: [10.20.0.0/16]}}}}
---
apiVersion: crossplane.c5c3.io/v1alpha1
kind: HypervisorCluster
metadata: {namespace: tenant-apart, name: pool}
spec:
  cluster: {ref: {name: nodes}}
  controlPlaneRef: {namespace: tenant-apart, name: cloud}
  storage: {clusterRef: {namespace: tenant-apart, name: ceph}, pool: vms}
  agents: {metadata: {enabled: false}}
  # No companion counts the servers of a pool in another cluster.
  allowDeletionWithVirtualMachines: true
`

// TestCloudRunsInSeparateClusters creates Ceph, a control plane with images and volumes in it, and hypervisors with disks in it, each
// in a separate cluster. All become ready; each object is in its cluster; keys are copied from one to another through
// the store, and no function, no composite resource and no Object has one. Then they are deleted, first in the wrong
// order: the deletion of an object in use is rejected, and the message names its user; no object with data is deleted.
// The same claims, re-created, adopt the data, and with Delete all of it is deleted, in the right order.
func TestCloudRunsInSeparateClusters(t *testing.T) {
	t.Parallel()
	a := &multiCluster{}
	var err error
	for name, c := range map[string]**platform.Cluster{"disks": &a.disks, "nodes": &a.nodes} {
		if *c, err = cloud.AddCluster(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"disks", "nodes"} {
		addToPlatform(t, "clusters", fmt.Sprintf(`{"name": %[1]q, "providerConfig": %[1]q, "allowedNamespaces": ["tenant-apart"]}`, name))
	}
	addLimit(t, `{"name": "apart", "namespaces": ["tenant-apart"], "hypervisorNodes": ["node-role.kubernetes.io/hypervisor"],
		"hypervisorNetworks": ["10.20.0.0/16"], "storageNodes": ["kubernetes.io/hostname=storage-*"], "storageDevices": ["nvme*"],
		"storageNetworks": ["10.0.1.0/24"]}`)
	claims, err := platform.Decode([]byte(multiClusterClaims))
	if err != nil {
		t.Fatal(err)
	}
	a.storage, a.plane, a.pool = claims[0], claims[1], claims[2]
	balanceLoad(t, cloud.Remote)
	last := lastCalls(t)

	a.order(t)
	a.checkClusters(t)
	a.checkKeys(t)
	checkNoSecret(t, last(), cloud.Cluster, cloud.Remote, a.disks, a.nodes)

	// Deleting storage or the control plane first is rejected: the pool has an account in Keystone.
	a.checkInUse(t, a.storage, a.plane, a.pool)
	a.checkInUse(t, a.plane, a.pool)
	remove(t, a.pool)
	a.checkInUse(t, a.storage, a.plane)
	removeUnused(t, a.plane)
	removeUnused(t, a.storage)
	a.checkRetained(t)
	a.checkNoCopies(t)

	// The other way around, with everything.
	for _, u := range []*unstructured.Unstructured{a.storage, a.plane} {
		if err := unstructured.SetNestedField(u.Object, "Delete", "spec", "deletionPolicy"); err != nil {
			t.Fatal(err)
		}
	}
	a.order(t)
	remove(t, a.pool)
	removeUnused(t, a.plane)
	removeUnused(t, a.storage)
	a.checkNoCopies(t)
	for _, c := range []*platform.Cluster{cloud.Cluster, cloud.Remote, a.disks} {
		eventually(t, deletion, func() error {
			for _, u := range []*unstructured.Unstructured{a.storage, a.plane} {
				if remaining, err := c.Get(t.Context(), namespaceKind, types.NamespacedName{Name: a.instance(u)}); err != nil || remaining != nil {
					return fmt.Errorf("in %s namespace %s is left: %w", c.Name, a.instance(u), err)
				}
			}
			return nil
		})
	}
}

// order creates the three claims, and waits until all are ready.
func (a *multiCluster) order(t *testing.T) {
	t.Helper()
	const long = 12 * time.Minute
	for _, u := range []*unstructured.Unstructured{a.storage, a.plane, a.pool} {
		if err := cloud.Order(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	for _, u := range []*unstructured.Unstructured{a.storage, a.plane, a.pool} {
		ctx, cancel := stopwatch.WithTimeout(t.Context(), long)
		start := time.Now()
		err := cloud.WaitReady(ctx, u)
		cancel()
		if err != nil {
			t.Fatalf("%v\nThe end of the fakes' log:\n%s", err, cloud.Log("operators", 20))
		}
		t.Logf("%s is ready after %s", u.GetKind(), time.Since(start).Round(time.Second))
		u.Object["status"] = get(t, cloud.Cluster, u.GroupVersionKind(), u.GetNamespace(), u.GetName()).Object["status"]
	}
}

// instance returns the namespace of a claim's objects.
func (*multiCluster) instance(u *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(u.Object, "status", "instance")
	return name
}

// checkPlaces checks that each object is in one cluster only.
func (a *multiCluster) checkClusters(t *testing.T) {
	t.Helper()
	storage, plane, pool := a.instance(a.storage), a.instance(a.plane), a.instance(a.pool)
	for _, o := range []struct {
		in              *platform.Cluster
		kind            schema.GroupVersionKind
		namespace, name string
	}{
		{a.disks, cephKind, storage, "ceph"}, {a.disks, cephPoolKind, storage, "cloud-images"}, {a.disks, cephClientKind, storage, "cloud-nova"},
		{a.disks, configMapKind, storage, "access"},
		{cloud.Remote, statefulSetKind, plane, "glance"}, {cloud.Remote, mariaDBKind, plane, "mariadb"},
		{cloud.Remote, certificateKind, plane, pool + "-ovn"}, {cloud.Remote, policyKind, plane, pool + "-queue"},
		{a.nodes, daemonSetKind, pool, "nova-compute"}, {a.nodes, daemonSetKind, pool, "volume-keys"},
	} {
		for _, c := range []*platform.Cluster{cloud.Cluster, cloud.Remote, a.disks, a.nodes} {
			found, err := c.Get(t.Context(), o.kind, types.NamespacedName{Namespace: o.namespace, Name: o.name})
			if err != nil {
				t.Fatal(err)
			}
			if (found != nil) != (c == o.in) {
				t.Errorf("%s %s/%s is in %s: %t", o.kind.Kind, o.namespace, o.name, c.Name, found != nil)
			}
		}
	}
	// The monitors are only observed, and still belong to Rook.
	monitors := get(t, a.disks, configMapKind, storage, "rook-ceph-mon-endpoints")
	if owners := monitors.GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != "CephCluster" || len(monitors.GetAnnotations()) > 0 {
		t.Errorf("the ConfigMap with the monitors was changed: %v", monitors.Object["metadata"])
	}
	now := get(t, cloud.Cluster, storageKind, multiClusterNamespace, "ceph")
	health, _, _ := unstructured.NestedString(now.Object, "status", "health")
	known, _, _ := unstructured.NestedSlice(now.Object, "status", "access", "monitors")
	total, _, _ := unstructured.NestedString(now.Object, "status", "capacity", "total")
	if health != "HEALTH_OK" || len(known) != 3 || total == "" {
		t.Errorf("the status reports health %q, monitors %v, capacity %q", health, known, total)
	}
}

// checkKeys checks the copied keys: each user's key is copied to its consumers only.
func (a *multiCluster) checkKeys(t *testing.T) {
	t.Helper()
	storage, plane, pool := a.instance(a.storage), a.instance(a.plane), a.instance(a.pool)
	created := map[string]any{}
	for _, user := range []string{"glance", "cinder", "nova"} {
		s := get(t, a.disks, secretKind, storage, "rook-ceph-client-cloud-"+user)
		created[user] = s.Object["data"].(map[string]any)["userKey"]
	}
	for _, c := range []*platform.Cluster{cloud.Cluster, cloud.Remote, a.nodes} {
		has := map[string][]string{}
		for _, s := range list(t, c, secretKind, "") {
			for key, value := range dataOf(&s) {
				for user, v := range created {
					raw, _ := base64.StdEncoding.DecodeString(v.(string))
					if bytes.Contains(value, raw) {
						has[user] = append(has[user], s.GetNamespace()+"/"+s.GetName()+"#"+key)
					}
				}
			}
		}
		var want []string
		switch c {
		case cloud.Remote:
			want = []string{"cinder", "glance"}
		case a.nodes:
			want = []string{"cinder", "nova"} // The one for volumes that are attached, the other for disks.
		}
		if got := slices.Sorted(maps.Keys(has)); !slices.Equal(got, want) {
			t.Errorf("%s has keys of %v, want %v", c.Name, has, want)
		}
		for _, where := range has {
			for _, w := range where {
				if !strings.HasPrefix(w, plane+"/") && !strings.HasPrefix(w, pool+"/") {
					t.Errorf("in %s a key is in %s", c.Name, w)
				}
			}
		}
	}
	for _, entry := range cloud.Store.Entries() {
		if strings.Contains(entry, "rook-ceph") && !strings.HasPrefix(entry, plane+"/storage-") && !strings.HasPrefix(entry, "hypervisors/"+pool+"/storage-key-") {
			t.Errorf("entry %s is neither the control plane's nor the pool's", entry)
		}
	}
}

func dataOf(s *unstructured.Unstructured) map[string][]byte {
	out := map[string][]byte{}
	data, _ := s.Object["data"].(map[string]any)
	for key, v := range data {
		text, _ := v.(string)
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			out[key] = raw
		}
	}
	return out
}

// checkInUse tries to delete a claim, and expects an error with its users: Crossplane names one of them, by the namespace of its instance.
func (a *multiCluster) checkInUse(t *testing.T, claim *unstructured.Unstructured, by ...*unstructured.Unstructured) {
	t.Helper()
	eventually(t, deletion, func() error { // The Usages of a deleted user are deleted shortly after it.
		err := cloud.Client.Delete(t.Context(), claim.DeepCopy())
		if err == nil {
			t.Fatalf("%s is used by %d others, and can be deleted", claim.GetKind(), len(by))
		}
		if !strings.Contains(err.Error(), fmt.Sprintf("in-use by %d usage(s)", len(by))) ||
			!slices.ContainsFunc(by, func(u *unstructured.Unstructured) bool { return strings.Contains(err.Error(), a.instance(u)) }) {
			return fmt.Errorf("%s is used by %d others, and deleting it results in %w", claim.GetKind(), len(by), err)
		}
		return nil
	})
}

// removeUnused deletes a claim as soon as it is unused: the Usages are deleted shortly after their users.
func removeUnused(t *testing.T, claim *unstructured.Unstructured) {
	t.Helper()
	eventually(t, deletion, func() error {
		if err := cloud.Client.Delete(t.Context(), claim.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	eventually(t, deletion, func() error {
		if remaining, err := cloud.Get(t.Context(), claim.GroupVersionKind(), client.ObjectKeyFromObject(claim)); err != nil || remaining != nil {
			return fmt.Errorf("%s is left: %w", claim.GetKind(), err)
		}
		return nil
	})
}

// checkRetained checks the objects that deleted claims leave: everything with data.
func (a *multiCluster) checkRetained(t *testing.T) {
	t.Helper()
	storage := a.instance(a.storage)
	for name, kind := range map[string]schema.GroupVersionKind{
		"ceph": cephKind, "cloud-images": cephPoolKind, "cloud-volumes": cephPoolKind, "cloud-vms": cephPoolKind, "cloud-nova": cephClientKind,
	} {
		if retained := get(t, a.disks, kind, storage, name); retained.GetDeletionTimestamp() != nil {
			t.Errorf("%s %s goes with its claim", kind.Kind, name)
		}
	}
	get(t, cloud.Remote, mariaDBKind, a.instance(a.plane), "mariadb")
}

// checkNothingFlows checks that no data of deleted claims is copied through the store any more.
func (a *multiCluster) checkNoCopies(t *testing.T) {
	t.Helper()
	pool := a.instance(a.pool)
	eventually(t, deletion, func() error {
		for _, c := range []*platform.Cluster{cloud.Cluster, cloud.Remote, a.disks, a.nodes} {
			for _, kind := range []schema.GroupVersionKind{pushKind, daemonSetKind} {
				for _, o := range list(t, c, kind, "") {
					if n := o.GetNamespace(); n == a.instance(a.storage) || n == pool {
						return fmt.Errorf("in %s %s %s/%s is left", c.Name, kind.Kind, n, o.GetName())
					}
				}
			}
		}
		for _, entry := range cloud.Store.Entries() {
			if strings.Contains(entry, "rook-ceph") || strings.Contains(entry, pool) {
				return fmt.Errorf("entry %s is left in the store", entry)
			}
		}
		return nil
	})
}

// balanceLoad sets the addresses of LoadBalancer Services, as long as the test runs.
func balanceLoad(t *testing.T, c *platform.Cluster) {
	t.Helper()
	ctx := t.Context()
	go func() {
		for ; ctx.Err() == nil; time.Sleep(time.Second) {
			all, err := c.List(ctx, serviceKind, "")
			if err != nil {
				continue
			}
			for i := range all {
				typ, _, _ := unstructured.NestedString(all[i].Object, "spec", "type")
				has, _, _ := unstructured.NestedSlice(all[i].Object, "status", "loadBalancer", "ingress")
				if typ == "LoadBalancer" && len(has) == 0 {
					status := []byte(`{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}}`)
					_ = c.Client.Status().Patch(ctx, &all[i], client.RawPatch(types.MergePatchType, status)) // again in a second
				}
			}
		}
	}()
}

// lastCalls records the last call for each composite resource while the test runs.
func lastCalls(t *testing.T) func() map[string][]byte {
	t.Helper()
	var mu sync.Mutex
	last := map[string][]byte{}
	ctx := t.Context()
	cloud.Tap.Listen(func(request, response []byte) {
		if ctx.Err() != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		last[compositeOf(request)] = append(bytes.Clone(request), response...)
	})
	return func() map[string][]byte {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(last)
	}
}

// checkNoSecret searches for every value of every Secret of all clusters in the last requests and responses of
// functions, and in all composite resources, claims and Objects.
func checkNoSecret(t *testing.T, calls map[string][]byte, clusters ...*platform.Cluster) {
	t.Helper()
	const shortest = 12 // Shorter values are words, such as a user's name, or a port.
	values := map[string]string{}
	for _, c := range clusters {
		for _, s := range list(t, c, secretKind, "") {
			if typ, _, _ := unstructured.NestedString(s.Object, "type"); strings.HasPrefix(typ, "helm.sh/") {
				continue // The chart itself.
			}
			for key, value := range dataOf(&s) {
				if len(value) >= shortest && public[key] == "" {
					values[string(value)] = fmt.Sprintf("%s of Secret %s/%s in %s", key, s.GetNamespace(), s.GetName(), c.Name)
				}
			}
		}
	}
	texts := maps.Clone(calls)
	for _, kind := range []schema.GroupVersionKind{objectKind, objectMKind, storageKind, poolKind, poolCompositeKind, claimKind, compositeKind} {
		for _, o := range list(t, cloud.Cluster, kind, "") {
			text, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			texts[kind.Kind+" "+o.GetName()] = text
		}
	}
	if len(values) < 50 || len(calls) < 8 || len(texts) < 100 {
		t.Errorf("only %d values of Secrets were looked for in %d calls and %d texts in all", len(values), len(calls), len(texts))
	}
	for direction, text := range texts {
		for value, of := range values {
			if bytes.Contains(text, []byte(value)) || bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString([]byte(value)))) {
				t.Errorf("%s has %s", direction, of)
			}
		}
	}
}

// public are keys of Secrets whose values are no secrets, and why.
var public = map[string]string{
	"userID": "the name of a user of Ceph", "username": "the name of a user",
	"application_credential_id": "the name of a credential", "ceph.conf": "the addresses of a Ceph", "ceph-rbd.ceph": "the same",
}
