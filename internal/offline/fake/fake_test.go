package fake_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/fake"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

const (
	first = "2026-01-01T00:00:00Z"
	later = "2026-01-02T00:00:00Z"
)

func object(apiVersion, kind string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "it", "generation": int64(4)}, "spec": spec,
	}
}

func finish(t *testing.T, o map[string]any, at string) map[string]any {
	t.Helper()
	if err := fake.Finish(o, at); err != nil {
		t.Fatal(err)
	}
	status, _ := o["status"].(map[string]any)
	return status
}

// TestSimulatesEveryKindWithRule tests that each kind with a readiness rule, and each wrapper of provider-kubernetes, is simulated.
func TestSimulatesEveryKindWithRule(t *testing.T) {
	want := map[schema.GroupKind]bool{
		{Group: "kubernetes.crossplane.io", Kind: "Object"}: true, {Group: "kubernetes.m.crossplane.io", Kind: "Object"}: true,
	}
	for _, k := range readiness.Rules.Kinds() {
		want[k] = true
	}
	got := map[schema.GroupKind]bool{}
	for _, k := range fake.Kinds() {
		got[k] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Kinds(): -want, +got:\n%s", diff)
	}
	if err := fake.Finish(object("example.org/v1", "Thing", nil), first); err == nil {
		t.Error("Finish(...) succeeds for a kind that is not simulated")
	}
}

// TestOwnersReportTheirGeneration tests where each owner reports its generation.
func TestOwnersReportTheirGeneration(t *testing.T) {
	for name, tc := range map[string]struct {
		o                   map[string]any
		status, inCondition bool
	}{
		"MariaDB":      {o: object("k8s.mariadb.com/v1alpha1", "MariaDB", nil)},
		"Grant":        {o: object("k8s.mariadb.com/v1alpha1", "Grant", nil)},
		"PushSecret":   {o: object("external-secrets.io/v1alpha1", "PushSecret", nil)},
		"RabbitMQ":     {o: object("rabbitmq.com/v1beta1", "RabbitmqCluster", nil), status: true},
		"Vhost":        {o: object("rabbitmq.com/v1beta1", "Vhost", nil), status: true},
		"Policy":       {o: object("rabbitmq.com/v1beta1", "Policy", nil), status: true},
		"Deployment":   {o: object("apps/v1", "Deployment", nil), status: true},
		"Valkey":       {o: object("cache.cs.sap.com/v1alpha1", "Valkey", nil), status: true, inCondition: true},
		"Domain":       {o: object("openstack.k-orc.cloud/v1alpha1", "Domain", nil), inCondition: true},
		"Certificate":  {o: object("cert-manager.io/v1", "Certificate", nil), inCondition: true},
		"DatabaseSync": {o: object("openstack.c5c3.io/v1alpha1", "DatabaseSync", nil), status: true, inCondition: true},
	} {
		t.Run(name, func(t *testing.T) {
			status := finish(t, tc.o, first)
			if _, ok := status["observedGeneration"]; ok != tc.status {
				t.Errorf("status.observedGeneration exists: %t, want %t", ok, tc.status)
			}
			c := status["conditions"].([]any)[0].(map[string]any)
			if _, ok := c["observedGeneration"]; ok != tc.inCondition {
				t.Errorf("%v has an observedGeneration: %t, want %t", c, ok, tc.inCondition)
			}
		})
	}
}

// TestSecondCallChangesNoObject tests that a second call for an unchanged object changes nothing, because each change would trigger another
// reconciliation.
func TestSecondCallChangesNoObject(t *testing.T) {
	for _, kind := range fake.Kinds() {
		o := object(kind.Group+"/v1", kind.Kind, nil)
		before := finish(t, o, first)
		if diff := cmp.Diff(before, finish(t, o, later)); diff != "" {
			t.Errorf("%s: -before, +after:\n%s", kind, diff)
		}
	}
}

// TestChangedPushSecretUpdatesSyncTime tests that a change updates the time of synchronization, but not the time of the condition.
func TestChangedPushSecretUpdatesSyncTime(t *testing.T) {
	o := object("external-secrets.io/v1alpha1", "PushSecret", map[string]any{
		"secretStoreRefs": []any{map[string]any{"kind": "ClusterSecretStore", "name": "store"}},
		"data": []any{
			map[string]any{"match": map[string]any{"remoteRef": map[string]any{"remoteKey": "whole"}}},
			map[string]any{"match": map[string]any{"secretKey": "k", "remoteRef": map[string]any{"remoteKey": "part", "property": "p"}}},
		},
	})
	previous := finish(t, o, first)
	pushed := previous["syncedPushSecrets"].(map[string]any)["ClusterSecretStore/store"].(map[string]any)
	if len(pushed) != 2 || pushed["whole"] == nil || pushed["part/p"] == nil {
		t.Errorf("the status lists %v as pushed", pushed)
	}
	o["metadata"].(map[string]any)["annotations"] = map[string]any{"force": "yes"}
	is := finish(t, o, later)
	if is["refreshTime"] != later || previous["syncedResourceVersion"] == is["syncedResourceVersion"] {
		t.Errorf("a changed annotation is not synced: before %v, after %v", previous, is)
	}
	if at := is["conditions"].([]any)[0].(map[string]any)["lastTransitionTime"]; at != first {
		t.Errorf("Ready became true at %v, want %s", at, first)
	}
}

// TestTemplated tests the Secret of an ExternalSecret with and without templates.
func TestTemplated(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		templates any
		want      map[string]string
		wantErr   string
	}{
		"None": {reason: "The values are copied.", want: map[string]string{"password": "p"}},
		"Filled": {
			reason: "Only the templates are in the Secret.", templates: map[string]any{"url": "a:{{ .password }}@b"},
			want: map[string]string{"url": "a:p@b"},
		},
		"Missing": {reason: "Unknown values are errors.", templates: map[string]any{"url": "{{ .token }}"}, wantErr: `cannot fill template url`},
		"Broken":  {reason: "The template does not parse.", templates: map[string]any{"url": "{{ .token"}, wantErr: `cannot read template url`},
	} {
		t.Run(name, func(t *testing.T) {
			o := object("external-secrets.io/v1", "ExternalSecret", map[string]any{
				"target": map[string]any{"template": map[string]any{"data": tc.templates}},
			})
			got, err := fake.Templated(o, map[string]string{"password": "p"})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if (err == nil) != (tc.wantErr == "") || err != nil && !strings.HasPrefix(err.Error(), tc.wantErr) {
				t.Errorf("%s: got error %v, want %s", tc.reason, err, tc.wantErr)
			}
		})
	}
}
