package storage

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

const (
	letIn = "objectStores: [{name: objects, keystone: {controlPlaneRef: {namespace: friends-x, name: cloud}}}]"
	alone = "objectStores: [{name: objects}]"
)

// patchObserved returns a copy of the observed objects, with one object changed. A nil change removes it.
func patchObserved(t *testing.T, w *simulate.Cluster, resource string, change func(object map[string]any)) map[string]encoded.Struct {
	t.Helper()
	out := maps.Clone(w.Observed)
	o, ok := out[resource]
	if !ok {
		t.Fatalf("%s is not there", resource)
	}
	delete(out, resource)
	if change == nil {
		return out
	}
	m := o.Map()
	change(m)
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	out[resource] = encoded.Of(s)
	return out
}

// keystoneOf returns the desired Keystone of a store's gateways. "gone" means that the store does not exist.
func keystoneOf(t *testing.T, w *simulate.Cluster, observed map[string]encoded.Struct) string {
	t.Helper()
	req := w.Request()
	req.Observed = observed
	rsp, _, err := New().Explain(req)
	if err != nil {
		t.Fatal(err)
	}
	store, ok := rsp.Composed["object-store-objects"]
	if !ok {
		return "gone"
	}
	return store.Object.At("spec", "forProvider", "manifest", "spec", "auth", "keystone", "url").Text()
}

// TestLogin verifies that gateways use the Keystone that allows them, and keep it while the KeystoneService has no status.
func TestLogin(t *testing.T) {
	const existing, service, secret = "https://keystone.friends-x-cloud.svc:5000", "keystone-objects", "keystone-logins-keystone-objects"
	w := complete(t, with(letIn))
	withoutAccount := func(o map[string]any) { delete(o["status"].(map[string]any), "account") }
	for name, tc := range map[string]struct {
		reason   string
		observed map[string]encoded.Struct
		want     string
	}{
		"In":          {"Access is granted.", w.Observed, existing},
		"Taken back":  {"The control plane has revoked the grant, and the account is deleted.", patchObserved(t, w, service, withoutAccount), ""},
		"Deleted":     {"The KeystoneService was deleted and is created again; access was not revoked.", patchObserved(t, w, service, nil), existing},
		"NoStatus":    {"It exists again, without status.", patchObserved(t, w, service, func(o map[string]any) { delete(o, "status") }), existing},
		"No password": {"The copy of the Secret was deleted; Rook's gateways already have the password.", patchObserved(t, w, secret, nil), existing},
	} {
		t.Run(name, func(t *testing.T) {
			if got := keystoneOf(t, w, tc.observed); got != tc.want {
				t.Errorf("%s\nKeystone is %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestKeystoneRemoved verifies that a removed Keystone is explicitly unset, and stays so: omitting the field would be rejected. A store
// that never had one does not set the field.
func TestKeystoneRemoved(t *testing.T) {
	removed := map[string]any{"auth": map[string]any{"keystone": nil}, "protocols": map[string]any{
		"s3": map[string]any{"authUseKeystone": false}, "enableAPIs": []any{"s3", "s3website", "admin", "sts", "iam", "notifications"},
	}}
	requested := func(w *simulate.Cluster) map[string]any {
		out := map[string]any{}
		spec, _ := kind.Desired(t, w)["object-store-objects"]["spec"].(map[string]any)
		for _, field := range []string{"auth", "protocols"} {
			if v, ok := spec[field]; ok {
				out[field] = v
			}
		}
		return out
	}
	w := complete(t, with(letIn))
	w.XR.Fields["spec"] = newCluster(with(alone), open).XR.GetFields()["spec"]
	if diff := cmp.Diff(removed, requested(w)); diff != "" {
		t.Errorf("Keystone is still enabled (-want +got):\n%s", diff)
	}
	if err := makeReady(w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(removed, requested(w)); diff != "" {
		t.Errorf("long after that (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{}, requested(complete(t, with(alone)))); diff != "" {
		t.Errorf("a store that knew no Keystone (-want +got):\n%s", diff)
	}
}

// TestObjectStoreWaitsForCredentials verifies that a new store is created after the Secret that Rook reads; an existing store stays
// unchanged until then.
func TestObjectStoreWaitsForCredentials(t *testing.T) {
	w, before := complete(t, with(letIn)), complete(t, with(alone))
	withoutConditions := func(o map[string]any) { delete(o["status"].(map[string]any), "conditions") }
	const secret = "keystone-logins-keystone-objects"
	observed := patchObserved(t, w, secret, withoutConditions)
	delete(observed, "object-store-objects")
	if got := keystoneOf(t, w, observed); got != "gone" {
		t.Errorf("a new store has Keystone %q before its Secret exists", got)
	}
	observed["object-store-objects"] = before.Observed["object-store-objects"]
	if got := keystoneOf(t, w, observed); got != "" {
		t.Errorf("an existing store has Keystone %q before its Secret exists", got)
	}
	observed = patchObserved(t, w, secret, func(map[string]any) {})
	observed["object-store-objects"] = before.Observed["object-store-objects"]
	if got := keystoneOf(t, w, observed); got == "" || got == "gone" {
		t.Errorf("an existing store has Keystone %q once its Secret exists", got)
	}
}

// TestConsumerNotAllowed verifies that a store without permission waits, with the message of the KeystoneService, and that other stores do
// not wait.
func TestConsumerNotAllowed(t *testing.T) {
	w := complete(t, with(strings.TrimSuffix(letIn, "]")+", {name: plain}]"))
	const requested = "spec.controlPlaneRef: there is no ControlPlaneCluster cloud in namespace friends-x that may be joined"
	observed := patchObserved(t, w, "keystone-objects", func(o map[string]any) {
		o["status"] = map[string]any{"conditions": []any{map[string]any{
			"type": "SpecValid", "status": "False", "reason": "Invalid", "message": requested, "lastTransitionTime": "2020-01-01T00:00:00Z",
		}}}
	})
	for _, n := range []string{"object-store-objects", "keystone-logins-keystone-objects"} {
		delete(observed, n)
	}
	req := w.Request()
	req.Observed = observed
	rsp, plan, err := New().Explain(req)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"object-store-objects": false, "object-store-plain": true, "keystone-objects": true} {
		if _, got := rsp.Composed[name]; got != want {
			t.Errorf("%s exists: %v, want %v", name, got, want)
		}
	}
	part, _ := plan.ComponentStatus(keystoneComponent)
	if got := part.Items[0].Readiness.Message; !strings.Contains(got, requested) || rsp.Composite.Ready {
		t.Errorf("message %q, ready: %v", got, rsp.Composite.Ready)
	}
}

// TestReportsAddressesOfObjectStores verifies that the claim reports the addresses of its object stores, and the required permissions.
func TestReportsAddressesOfObjectStores(t *testing.T) {
	w := complete(t, with(strings.TrimSuffix(letIn, "]")+", {name: plain}]"))
	const namespace = ".tenant-a-storage-72da48a0ed7f612b5eac.svc"
	want := []any{
		map[string]any{
			"name": "objects", "endpoint": "https://rook-ceph-rgw-objects" + namespace, "keystoneService": "storage-objects",
			"caSecretRef": map[string]any{"name": "rook-ceph-rgw-objects", "key": "ca.crt"}, "keystone": "https://keystone.friends-x-cloud.svc:5000/v3",
		},
		map[string]any{
			"name": "plain", "endpoint": "https://rook-ceph-rgw-plain" + namespace,
			"caSecretRef": map[string]any{"name": "rook-ceph-rgw-plain", "key": "ca.crt"},
		},
	}
	if diff := cmp.Diff(want, w.XR.GetFields()["status"].GetStructValue().AsMap()["objectStores"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLogin_RequiresNamespace verifies that stores which no control plane could allow are rejected.
func TestLogin_RequiresNamespace(t *testing.T) {
	w := newCluster(with(letIn), open)
	delete(w.XR.GetFields()["spec"].GetStructValue().GetFields(), "claimRef")
	wantError(t, "It has no namespace.", makeReady(w), "spec.objectStores[0].keystone", "create a claim (StorageCluster)")
	w = newCluster(with(letIn), open)
	long := strings.Repeat("y", 56)
	w.XR.GetFields()["spec"].GetStructValue().Fields["claimRef"] = structpb.NewStructValue(parsed(`{namespace: tenant-a, name: ` + long + `}`))
	wantError(t, "Its name would be too long.", makeReady(w), "spec.objectStores[0].name", long+"-objects, which has 64 characters of 63")
}
