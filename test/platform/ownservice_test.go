//go:build platform

package platform_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

var (
	keystoneServiceKind = keystoneservicev1.GroupVersionKind
	korcUserKind        = schema.GroupVersionKind{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Kind: "User"}
	korcServiceKind     = schema.GroupVersionKind{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Kind: "Service"}
)

// keystoneService returns a claim for a service in the catalog of the control plane cloud in a namespace.
func keystoneService(namespace, name, planeNamespace string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": "KeystoneService",
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{
			"controlPlaneRef": map[string]any{"namespace": planeNamespace, "name": "cloud"},
			"catalog": map[string]any{"type": "metering", "name": "ceilometer", "endpoints": map[string]any{
				"public": "https://metering.example.com", "internal": "http://ceilometer.telemetry.svc:8777",
			}},
		},
	}}
}

// TestAdmittedCustomServiceBecomesReady checks that a custom service becomes ready in a cloud that admits it, and that its workload has its
// Secret; another one of the same namespace does not become ready, and its reader can read nothing else. When the cloud
// withdraws the admission, the account is deleted, and then the cloud can be deleted.
func TestAdmittedCustomServiceBecomesReady(t *testing.T) {
	t.Parallel()
	const namespace, planeNamespace, name = "telemetry", "tenant-own-service", "ceilometer"
	grants := set([]any{map[string]any{"namespace": namespace, "name": name, "type": "metering"}}, "spec", "keystoneServices")
	plane := claim(t, planeNamespace, grants)
	order(t, plane)
	u, stranger := keystoneService(namespace, name, planeNamespace), keystoneService(namespace, "stranger", planeNamespace)
	order(t, u)
	order(t, stranger)
	host := instance(t, ready(t, plane))
	account, _, _ := unstructured.NestedStringMap(ready(t, u).Object, "status", "account")
	if account["secretName"] != name+"-keystone" || !strings.Contains(account["authURL"], host) || account["project"] != "service" {
		t.Errorf("the claim reports %v", account)
	}

	data, _, _ := unstructured.NestedMap(get(t, cloud.Cluster, secretKind, namespace, name+"-keystone").Object, "data")
	want := append(keystoneservicev1.Variables(), keystoneservicev1.CloudsKey, keystoneservicev1.CAKey)
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(data))); diff != "" {
		t.Errorf("keys of its Secret (-want +got):\n%s", diff)
	}
	get(t, cloud.Cluster, korcUserKind, host, account["user"])
	get(t, cloud.Cluster, korcServiceKind, host, account["user"])

	eventually(t, timeout, func() error {
		c, _ := platform.ConditionOf(get(t, cloud.Cluster, keystoneServiceKind, namespace, "stranger"), "SpecValid")
		if want := "there is no ControlPlaneCluster cloud in namespace " + planeNamespace; c.Status != "False" || !strings.Contains(c.Message, want) {
			return fmt.Errorf("SpecValid of the other is %+v, want %s", c, want)
		}
		return nil
	})
	reader, err := cloud.As("system:serviceaccount:"+namespace+":"+account["user"], "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"keystone-admin", "keystone-clouds", account["user"] + "-user"} {
		if err := reader.Get(t.Context(), client.ObjectKey{Namespace: host, Name: secret}, tenantSecret("", "", nil)); !apierrors.IsForbidden(err) {
			t.Errorf("reading Secret %s of the control plane: %v, want it forbidden", secret, err)
		}
	}

	if err := cloud.Client.Delete(t.Context(), plane.DeepCopy()); err == nil || !strings.Contains(err.Error(), `"ceilometer-keystone-in-use" (in namespace "telemetry")`) {
		t.Errorf("deleting the control plane meanwhile: %v, want it refused for the service's sake", err)
	}
	order(t, claim(t, planeNamespace))
	eventually(t, deletion, func() error {
		for _, kind := range []schema.GroupVersionKind{korcUserKind, korcServiceKind} {
			remaining, err := cloud.Get(t.Context(), kind, client.ObjectKey{Namespace: host, Name: account["user"]})
			if err != nil || remaining != nil {
				return fmt.Errorf("%s %s is still there: %w", kind.Kind, account["user"], err)
			}
		}
		return nil
	})
	eventually(t, timeout, func() error {
		if got := statusOf(t, namespace, name); got != nil {
			return fmt.Errorf("the claim still has the account %v", got)
		}
		return nil
	})
	remove(t, u)
	remove(t, stranger)
	remove(t, plane)
}

// statusOf returns the account in the status of a claim.
func statusOf(t *testing.T, namespace, name string) map[string]string {
	t.Helper()
	out, _, _ := unstructured.NestedStringMap(get(t, cloud.Cluster, keystoneServiceKind, namespace, name).Object, "status", "account")
	return out
}
