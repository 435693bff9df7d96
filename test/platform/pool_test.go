//go:build platform

package platform_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/remoteconsumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/secretaggregate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

var (
	poolKind          = hypervisorv1.GroupVersionKind
	poolCompositeKind = hypervisorv1.CompositeGroupVersionKind
	daemonSetKind     = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
	certificateKind   = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}
	policyKind        = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}
	externalKind      = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ExternalSecret"}
	consumerKind      = schema.GroupVersionKind{Group: "c5c3.io", Version: "v1alpha1", Kind: "RemoteConsumer"}
	rotationKind      = schema.GroupVersionKind{Group: "c5c3.io", Version: "v1alpha1", Kind: "CredentialRotation"}
	pushKind          = schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1alpha1", Kind: "PushSecret"}
)

// plane is the namespace of a control plane with the status of one with Nova, Neutron and Ceph; it is not composed. It
// has a Keystone, because a pool has an account there. The values of its Secrets are unique.
const plane = "tenant-pool-cloud"

const standIn = `
apiVersion: v1
kind: Namespace
metadata: {name: tenant-pool}
---
apiVersion: v1
kind: Namespace
metadata: {name: tenant-pool-cloud, labels: {app.kubernetes.io/managed-by: crossplane-cobaltcore}}
---
apiVersion: crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata: {namespace: tenant-pool, name: cloud, annotations: {crossplane.io/paused: "true"}}
spec:
  openStackRelease: "2025.2"
  resourceRef: {apiVersion: crossplane.c5c3.io/v1alpha1, kind: XControlPlaneCluster, name: cloud-x}
---
apiVersion: crossplane.c5c3.io/v1alpha1
kind: XControlPlaneCluster
metadata: {name: cloud-x, annotations: {crossplane.io/paused: "true"}}
spec:
  openStackRelease: "2025.2"
  claimRef: {apiVersion: crossplane.c5c3.io/v1alpha1, kind: ControlPlaneCluster, namespace: tenant-pool, name: cloud}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: tenant-pool-cloud, name: keystone}
spec:
  selector: {matchLabels: {app: keystone}}
  template:
    metadata: {labels: {app: keystone}}
    spec:
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: keystone
        image: registry.example.com/keystone:2025.2
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`

const standInStatus = `{"status": {
  "instance": "tenant-pool-cloud", "release": "2025.2", "cells": [{"name": "cell1", "phase": "Ready"}],
  "hypervisors": {
    "region": "RegionOne", "identityURL": "https://keystone.tenant-pool-cloud.svc:5000/v3", "publicIdentityURL": "https://keystone.example.com/v3",
    "caSecretRef": {"name": "keystone-tls", "key": "ca.crt"}, "credentialSecretRef": {"name": "nova-credential"},
    "identity": {
      "internalURL": "https://keystone.tenant-pool-cloud.svc:5000/v3", "publicURL": "https://keystone.example.com/v3",
      "caSecretRef": {"name": "keystone-tls", "key": "ca.crt"}, "adminCloudRef": {"secretName": "keystone-clouds", "cloudName": "admin"},
      "korcCloudRef": {"secretName": "keystone-korc-clouds", "cloudName": "korc"}
    },
    "metadataSecretRef": {"name": "nova-metadata-secret"},
    "cells": [{
      "name": "cell1", "virtualHost": "nova_cell1", "queueSecretRef": {"name": "nova-cell1-queue"}, "metadataHost": "nova-metadata.tenant-pool-cloud.svc",
      "queue": {"rabbitMQRef": {"name": "rabbitmq"}, "host": "rabbitmq.tenant-pool-cloud.svc", "port": 5671, "caSecretRef": {"name": "rabbitmq-tls", "key": "ca.crt"}},
      %s"hypervisorNetworks": ["10.20.0.0/16"]
    }],
    "networks": {
      "mechanism": "OVN", "southbound": "ssl:ovn-southbound-0.tenant-pool-cloud.svc:6642", "externalSouthbound": "ssl:192.0.2.1:6642",
      "issuerRef": {"name": "ovn-ca", "kind": "Issuer"}
    },
    "volumes": [{"backend": "ceph", "user": "cinder", "secretName": "cinder-volume-ceph", "secretUUID": "6f0d2c3a-1b4e-8a55-8c1f-0123456789ab"}]
  }
}}`

// poolCredential is the credential of the pool's account, whose rotation the pool itself composes.
var poolCredential = names.Instance("tenant-pool", "pool") + "-credential"

// planeSecrets are the Secrets of the control plane. Nodes get all but those of Keystone.
var planeSecrets = map[string]map[string]string{
	"nova-cell1-queue":     {"username": "nova-cell1-queue-0123456789abcdef", "password": "of-the-queue-x7k2p"},
	poolCredential:         {"application_credential_id": "0123456789abcdef0123456789abcdef", "application_credential_secret": "of-the-credential-x7k2p"},
	"rabbitmq-tls":         {"ca.crt": "authority-of-the-queue-x7k2p", "tls.key": "key-of-the-queue-x7k2p"},
	"cinder-volume-ceph":   {"ceph.client.cinder.keyring": "key-of-volumes-x7k2p"},
	"nova-metadata-secret": {"password": "of-metadata-x7k2p"},
	"keystone-admin":       {"password": "of-the-administrator-x7k2p"},
	"keystone-clouds":      {"clouds.yaml": "cloud-of-the-administrator-x7k2p"},
	"keystone-korc-clouds": {"clouds.yaml": "cloud-of-k-orc-x7k2p"},
	"keystone-tls":         {"ca.crt": "authority-of-keystone-x7k2p", "tls.key": "key-of-keystone-x7k2p"},
}

// TestPoolRunsInSeparateCluster creates hypervisors in the second cluster for a control plane in the first one. The claim waits until
// the queue is exposed. Then each object is in its cluster, and each Secret is copied through the store to its reader
// and to no other place: no object that Crossplane passes to a function has one of their values. When a login is
// rotated, pods in the second cluster are restarted with the next one, and the first cluster gets a report when all
// nodes have it. When the claim is deleted, all of these objects are deleted in both clusters, except the control
// plane's.
func TestPoolRunsInSeparateCluster(t *testing.T) {
	t.Parallel()
	const namespace = "tenant-pool"
	admin, err := cloud.As("admin", platform.PlatformTeam, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := platform.Decode([]byte(standIn))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := admin.Create(t.Context(), o.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	report := func(queue string) {
		t.Helper()
		xr := bare(compositeKind, "", "cloud-x")
		status := fmt.Appendf(nil, standInStatus, queue)
		if err := admin.Status().Patch(t.Context(), xr, client.RawPatch(types.MergePatchType, status)); err != nil {
			t.Fatal(err)
		}
	}
	report("")
	for name, data := range planeSecrets {
		if err := admin.Create(t.Context(), tenantSecret(plane, name, data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.Create(t.Context(), rotation("nova-cell1-queue", "nova-cell1-queue")); err != nil {
		t.Fatal(err)
	}
	standInCompanion(t)
	addLimit(t, `{"name": "pool", "namespaces": ["tenant-pool"],
		"hypervisorNodes": ["node-role.kubernetes.io/hypervisor"]}`)
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "HypervisorCluster", "metadata": map[string]any{"namespace": namespace, "name": "pool"},
		"spec": map[string]any{
			"controlPlaneRef": map[string]any{"namespace": namespace, "name": "cloud"},
			"cluster":         map[string]any{"ref": map[string]any{"name": remote}},
			"agents":          map[string]any{"metadata": map[string]any{"enabled": false}},
			// No companion counts the servers of nodes in another cluster.
			"allowDeletionWithVirtualMachines": true,
		},
	}}
	eventually(t, timeout, func() error { return cloud.Client.Create(t.Context(), u.DeepCopy()) })
	eventually(t, timeout, func() error {
		c, _ := platform.ConditionOf(get(t, cloud.Cluster, poolKind, namespace, "pool"), "ControlPlaneReady")
		if want := "set spec.infrastructure.rabbitmq.exposure, and check that it has an address"; !strings.Contains(c.Message, want) {
			return fmt.Errorf("ControlPlaneReady is %+v, want %s", c, want)
		}
		return nil
	})
	report(`"externalQueue": {"host": "192.0.2.7", "port": 30567}, `)
	// Crossplane does not watch required resources: an edit triggers the next call.
	if err := cloud.Client.Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec": {"region": "eu-de-1"}}`))); err != nil {
		t.Fatal(err)
	}
	pool := instance(t, ready(t, u))

	checkPool(t, pool)
	checkRotation(t, pool)
	checkNoValues(t)

	remove(t, u)
	for _, c := range []*platform.Cluster{cloud.Cluster, cloud.Remote} {
		eventually(t, deletion, func() error {
			for _, kind := range []schema.GroupVersionKind{daemonSetKind, externalKind, pushKind, policyKind, consumerKind} {
				for _, o := range list(t, c, kind, "") {
					if kind == externalKind && o.GetNamespace() == plane && o.GetName() == pool+"-user" {
						continue // Passwords of accounts are retained.
					}
					if o.GetNamespace() == pool || strings.HasPrefix(o.GetName(), pool) {
						return fmt.Errorf("in %s %s %s/%s is left", c.Name, kind.Kind, o.GetNamespace(), o.GetName())
					}
				}
			}
			return nil
		})
	}
	for _, entry := range cloud.Store.Entries() {
		if strings.Contains(entry, pool) {
			t.Errorf("entry %s is left in the store", entry)
		}
	}
	for name := range planeSecrets {
		get(t, cloud.Cluster, secretKind, plane, name)
	}
}

// checkPool checks the objects of a pool, in both clusters.
func checkPool(t *testing.T, pool string) {
	t.Helper()
	for _, name := range []string{"openvswitch", "libvirt", "ovn-controller", "nova-compute", "volume-keys"} {
		get(t, cloud.Remote, daemonSetKind, pool, name)
	}
	for _, kind := range []schema.GroupVersionKind{daemonSetKind, externalKind} {
		if found := list(t, cloud.Cluster, kind, pool); len(found) > 0 {
			t.Errorf("%d objects of kind %s are in the management cluster, such as %s", len(found), kind.Kind, found[0].GetName())
		}
	}
	for _, kind := range []schema.GroupVersionKind{certificateKind, policyKind, pushKind} {
		if found := list(t, cloud.Remote, kind, plane); len(found) > 0 {
			t.Errorf("%s %s of the control plane is in the nodes' cluster", kind.Kind, found[0].GetName())
		}
	}
	get(t, cloud.Cluster, certificateKind, plane, pool+"-ovn")
	get(t, cloud.Cluster, policyKind, plane, pool+"-queue")
	// Exactly the required keys.
	for copied, of := range map[string]struct {
		name string
		keys []string
	}{
		"control-plane-nova-cell1-queue":  {"nova-cell1-queue", []string{"username", "password"}},
		"control-plane-" + poolCredential: {poolCredential, []string{"application_credential_id", "application_credential_secret"}},
		"control-plane-rabbitmq-tls":      {"rabbitmq-tls", []string{"ca.crt"}},
		"volume-key-cinder-volume-ceph":   {"cinder-volume-ceph", []string{"ceph.client.cinder.keyring"}},
	} {
		want := map[string]any{}
		for _, key := range of.keys {
			want[key] = base64.StdEncoding.EncodeToString([]byte(planeSecrets[of.name][key]))
		}
		if diff := cmp.Diff(want, get(t, cloud.Remote, secretKind, pool, copied).Object["data"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", copied, diff)
		}
	}
	for _, entry := range cloud.Store.Entries() {
		if strings.Contains(entry, pool) && !strings.HasPrefix(entry, "hypervisors/"+pool+"/") {
			t.Errorf("entry %s is not in the folder of pools", entry)
		}
	}
}

// rotation returns a CredentialRotation of the control plane, whose fake owner names the credential after it.
func rotation(name, secret string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"target": "QueueUser", "secretName": secret,
		"queue": map[string]any{"permissions": []any{map[string]any{"rabbitMQRef": map[string]any{"name": "rabbitmq"}, "vhost": "nova_cell1"}}},
	}}}
	u.SetGroupVersionKind(rotationKind)
	u.SetNamespace(plane)
	u.SetName(name)
	return u
}

// standInCompanion reconciles RemoteConsumers and SecretAggregates in the namespace of the control plane, which has no
// companion, as long as the test runs. Failures are retried.
func standInCompanion(t *testing.T) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), c5c3v1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(cloud.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	recorder := events.NewFakeRecorder(1000)
	consumers := &remoteconsumer.Reconciler{Client: api, Reader: api, Events: recorder, Clock: clock.RealClock{}}
	aggregates := &secretaggregate.Reconciler{Client: api, Reader: api, Events: recorder, Clock: clock.RealClock{}, Random: rand.Reader}
	go func() {
		for ctx := t.Context(); ctx.Err() == nil; time.Sleep(time.Second) {
			for list, r := range map[client.ObjectList]reconcile.Reconciler{
				&c5c3v1.RemoteConsumerList{}: consumers, &c5c3v1.SecretAggregateList{}: aggregates,
			} {
				if err := api.List(ctx, list, client.InNamespace(plane)); err != nil {
					continue
				}
				_ = meta.EachListItem(list, func(o runtime.Object) error {
					accessor, err := meta.Accessor(o)
					if err != nil {
						return err
					}
					_, _ = r.Reconcile(ctx, reconcile.Request{
						NamespacedName: types.NamespacedName{Namespace: plane, Name: accessor.GetName()},
					})
					return nil
				})
			}
		}
	}()
}

// checkRotation replaces the credential of the queue, and waits until the pool reports that its pods have it.
func checkRotation(t *testing.T, pool string) {
	t.Helper()
	const secret, next = "nova-cell1-queue", "nova-cell1-queue-next"
	has := func(id string) {
		t.Helper()
		eventually(t, timeout, func() error {
			annotations, _, _ := unstructured.NestedStringMap(get(t, cloud.Remote, daemonSetKind, pool, "nova-compute").Object,
				"spec", "template", "metadata", "annotations")
			reported, _, _ := unstructured.NestedSlice(get(t, cloud.Cluster, consumerKind, plane, pool).Object, "spec", "credentials")
			want := []any{
				map[string]any{"secretName": secret, "observedID": id},
				map[string]any{"secretName": poolCredential, "observedID": "id-of-" + poolCredential},
			}
			if annotations["credentials.c5c3.io/"+secret] != id || !cmp.Equal(want, reported) {
				return fmt.Errorf("pods have %v, and the pool reports %v, want %s", annotations, reported, id)
			}
			return nil
		})
	}
	has("id-of-" + secret)
	if err := cloud.Client.Delete(t.Context(), rotation(secret, secret)); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Client.Create(t.Context(), rotation(next, secret)); err != nil {
		t.Fatal(err)
	}
	has("id-of-" + next)
}

// checkNoValues searches for the values of Secrets in every input of functions: composite resources, claims, and
// Objects with their contents.
func checkNoValues(t *testing.T) {
	t.Helper()
	checked := 0
	for _, kind := range []schema.GroupVersionKind{objectKind, poolCompositeKind, poolKind, compositeKind} {
		for _, o := range list(t, cloud.Cluster, kind, "") {
			checked++
			text, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range planeSecrets {
				for key, value := range data {
					for _, v := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
						if strings.Contains(string(text), v) {
							t.Errorf("%s %s contains key %s of Secret %s", kind.Kind, o.GetName(), key, name)
						}
					}
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d objects were looked at", checked)
	}
}
