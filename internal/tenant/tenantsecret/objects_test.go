package tenantsecret

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object/objecttest"
)

// TestStages checks the order: permissions, store, copies, and for a copy in another cluster each transfer step. Copies are
// revisions, so that a copy that a pod still reads is kept.
func TestStages(t *testing.T) {
	local, remote, empty, external := set(), set(), set(), set()
	remote.Via = &common.SecretStoreReference{Name: "openbao", Kind: "ClusterSecretStore"}
	empty.Requests = nil
	external.Cluster = "east"
	across := external
	across.Via = remote.Via
	for name, tc := range map[string]struct {
		reason string
		set    Set
		want   []string
	}{
		"local": {"Copies are in the namespace of the workloads.", local, []string{
			"0 claim-secrets-account in management", "0 claim-secrets-role in management", "0 claim-secrets-role-binding in management",
			"1 claim-secrets-store in management",
			"2 claim-secrets-tenant-ldap in management, of claim-secrets-tenant, judged",
			"2 claim-secrets-tenant-s3 in management, of claim-secrets-tenant, judged",
		}},
		"remote": {"They travel by the platform's store.", remote, []string{
			"0 claim-secrets-account in management", "0 claim-secrets-role in management", "0 claim-secrets-role-binding in management",
			"1 claim-secrets-store in management",
			"2 claim-secrets-tenant-ldap in management, of claim-secrets-tenant, judged",
			"2 claim-secrets-push-tenant-ldap in management, of claim-secrets-push, after claim-secrets-tenant-ldap",
			"2 claim-secrets-workload-tenant-ldap, of claim-secrets-workload, after claim-secrets-push-tenant-ldap",
			"2 claim-secrets-tenant-s3 in management, of claim-secrets-tenant, judged",
			"2 claim-secrets-push-tenant-s3 in management, of claim-secrets-push, after claim-secrets-tenant-s3",
			"2 claim-secrets-workload-tenant-s3, of claim-secrets-workload, after claim-secrets-push-tenant-s3",
		}},
		"external": {"All objects are in the other cluster.", external, []string{
			"0 claim-secrets-account in east", "0 claim-secrets-role in east", "0 claim-secrets-role-binding in east",
			"1 claim-secrets-store in east",
			"2 claim-secrets-tenant-ldap in east, of claim-secrets-tenant, judged",
			"2 claim-secrets-tenant-s3 in east, of claim-secrets-tenant, judged",
		}},
		"across": {"Only the store's account reads them in transit.", across, []string{
			"0 claim-secrets-push-tenant-ldap in east, of claim-secrets-push",
			"0 claim-secrets-workload-tenant-ldap, of claim-secrets-workload, after claim-secrets-push-tenant-ldap",
			"0 claim-secrets-push-tenant-s3 in east, of claim-secrets-push",
			"0 claim-secrets-workload-tenant-s3, of claim-secrets-workload, after claim-secrets-push-tenant-s3",
		}},
		"empty": {"Existing copies are kept until they have no readers.", empty, []string{
			"0  in management, of claim-secrets-tenant", "0  in management, of claim-secrets-push", "0 , of claim-secrets-workload",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for i, stage := range tc.set.Stages() {
				for _, r := range stage {
					line := fmt.Sprintf("%d %s", i, r.Name)
					if r.Management {
						line += " in management"
					}
					if r.Cluster != "" {
						line += " in " + r.Cluster
					}
					if r.Revisions != "" {
						line += ", of " + r.Revisions
					}
					if len(r.After) > 0 {
						line += ", after " + strings.Join(r.After, " ")
					}
					if r.Ready != nil {
						line += ", judged"
					}
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSource checks the source of a copy's readers, and the resource for which they wait.
func TestSource(t *testing.T) {
	local, remote := set(), set()
	remote.Via = &common.SecretStoreReference{Name: "openbao", Kind: "ClusterSecretStore", Prefix: "kv"}
	got := []string{
		fmt.Sprint(local.Source("s3")), local.Resource(local.Target("s3")), fmt.Sprint(remote.Source("s3")), remote.Resource(remote.Target("s3")),
	}
	want := []string{
		"{claim-secrets SecretStore s3 map[]}", "claim-secrets-tenant-s3",
		"{openbao ClusterSecretStore kv/team-a-cloud-12345/tenant-s3 map[]}", "claim-secrets-workload-tenant-s3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for resource, want := range map[string]bool{
		"claim-secrets-tenant-s3": true, "claim-secrets-push-tenant-s3": true, "claim-secrets-workload-tenant-s3": true,
		"claim-secrets-account": false, "claim-secrets-store": false, "claim-secrets-tenant": false, "other-tenant-s3": false,
	} {
		if got := local.Has(resource); got != want {
			t.Errorf("Has(%q) = %t", resource, got)
		}
	}
}

// TestObjectsMatchReviewedManifests compares complete objects.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	s := set()
	s.Labels = map[string]string{"a": "b"}
	var access, copies []runtime.Object
	for i, stage := range s.Stages() {
		for _, r := range stage {
			if i < 2 {
				access = append(access, r.Object)
			} else {
				copies = append(copies, r.Object)
			}
		}
	}
	objecttest.Run(t, map[string]objecttest.Case{
		"access": {
			Reason: "The account lies in the instance, and may get just the Secrets that are wanted, in the tenant's namespace.",
			Got:    access,
			Want: `
apiVersion: v1
automountServiceAccountToken: false
kind: ServiceAccount
metadata:
  labels:
    a: b
  name: claim-secrets
  namespace: team-a-cloud-12345
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  labels:
    a: b
  name: team-a-cloud-12345-claim-secrets
  namespace: team-a
rules:
- apiGroups:
  - ""
  resourceNames:
  - ldap
  - s3
  resources:
  - secrets
  verbs:
  - get
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  labels:
    a: b
  name: team-a-cloud-12345-claim-secrets
  namespace: team-a
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: team-a-cloud-12345-claim-secrets
subjects:
- kind: ServiceAccount
  name: claim-secrets
  namespace: team-a-cloud-12345
---
apiVersion: external-secrets.io/v1
kind: SecretStore
metadata:
  labels:
    a: b
  name: claim-secrets
  namespace: team-a-cloud-12345
spec:
  provider:
    kubernetes:
      auth:
        serviceAccount:
          name: claim-secrets
      remoteNamespace: team-a
      server:
        caProvider:
          key: ca.crt
          name: kube-root-ca.crt
          type: ConfigMap
        url: https://kubernetes.default.svc
`,
		},
		"copies": {
			Reason: "Each copy has the keys that are wanted.",
			Got:    copies,
			Want: `
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  labels:
    a: b
  name: tenant-ldap
  namespace: team-a-cloud-12345
spec:
  data:
  - remoteRef:
      key: ldap
      property: ca.crt
    secretKey: ca.crt
  - remoteRef:
      key: ldap
      property: password
    secretKey: password
  refreshInterval: 5m0s
  refreshPolicy: Periodic
  secretStoreRef:
    kind: SecretStore
    name: claim-secrets
  target:
    creationPolicy: Owner
    deletionPolicy: Retain
    name: tenant-ldap
    template:
      engineVersion: v2
      type: Opaque
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  labels:
    a: b
  name: tenant-s3
  namespace: team-a-cloud-12345
spec:
  data:
  - remoteRef:
      key: s3
      property: access-key-id
    secretKey: access-key-id
  - remoteRef:
      key: s3
      property: secret-access-key
    secretKey: secret-access-key
  refreshInterval: 5m0s
  refreshPolicy: Periodic
  secretStoreRef:
    kind: SecretStore
    name: claim-secrets
  target:
    creationPolicy: Owner
    deletionPolicy: Retain
    name: tenant-s3
    template:
      engineVersion: v2
      type: Opaque
`,
		},
	})
}
