//go:build platform

package platform_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// quota prevents the Deployment of Keystone in a namespace, as a policy of the platform might.
const quota = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: test-quota}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  matchConditions:
  - {name: keystone, expression: "request.namespace == '%s' && request.name == 'keystone'"}
  validations:
  - {expression: "false", message: the quota of pods is used up, reason: Forbidden}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: test-quota}
spec: {policyName: test-quota, validationActions: [Deny]}
`

// TestClaimReportsServiceError checks that a service that cannot be composed is reported on the claim, in one sentence; the others
// continue, including with edits; and when the cause is removed, the service continues without intervention.
func TestClaimReportsServiceError(t *testing.T) {
	t.Parallel()
	u := claim(t, "tenant-error")
	if err := cloud.Apply(t.Context(), fmt.Appendf(nil, quota, previewed(t, u).Instance)); err != nil {
		t.Fatal(err)
	}
	order(t, u)
	waitCondition := func(condition, status, text string) func() error {
		return func() error {
			is := get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName())
			c, _ := platform.ConditionOf(is, condition)
			if c.Status != status || !strings.Contains(c.Message, text) {
				return fmt.Errorf("%s is %+v, want %s: %s", condition, c, status, text)
			}
			return nil
		}
	}
	eventually(t, timeout, waitCondition("KeystoneReady", "False", "the quota of pods is used up"))
	c, _ := platform.ConditionOf(get(t, cloud.Cluster, claimKind, u.GetNamespace(), u.GetName()), "KeystoneReady")
	if strings.Contains(c.Message, "\n") || len(c.Message) > 600 {
		t.Errorf("that is no sentence: %q", c.Message)
	}
	for _, other := range []string{"DatabaseReady", "MessagingReady", "LocksReady", "CacheReady"} {
		eventually(t, timeout, waitCondition(other, "True", ""))
	}

	name := previewed(t, u).Instance
	order(t, claim(t, "tenant-error", set(int64(3), "spec", "infrastructure", "memcached", "replicas")))
	stateful := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}
	eventually(t, timeout, func() error {
		n, _, _ := unstructured.NestedInt64(get(t, cloud.Cluster, stateful, name, "memcached-keystone").Object, "status", "availableReplicas")
		if n != 3 {
			return fmt.Errorf("%d pods of memcached are available", n)
		}
		return nil
	})
	if err := waitCondition("KeystoneReady", "False", "the quota of pods is used up")(); err != nil {
		t.Error(err)
	}

	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		o := get(t, cloud.Cluster, schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind}, "", "test-quota")
		if err := cloud.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	ready(t, u)
}
