package redact_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/redact"
)

func TestText(t *testing.T) {
	const removed = redact.Removed
	cases := map[string]struct{ reason, in, want string }{
		"URL":        {"User information is removed.", "rabbit://nova:S3CR3T@queue:5671/", "rabbit://" + removed + "@queue:5671/"},
		"At":         {"A password may contain @.", "amqp://nova:S3C@R3T@queue:5671/x", "amqp://" + removed + "@queue:5671/x"},
		"RabbitMQ":   {"Options of RabbitMQ are removed.", "default_pass = S3CR3T", "default_pass = " + removed},
		"Galera":     {"Options of Galera are removed.", "wsrep_sst_auth=root:S3CR3T", "wsrep_sst_auth=" + removed},
		"Assigned":   {"A value of a password is removed.", "db_password=S3CR3T, x", "db_password=" + removed + ", x"},
		"YAML":       {"It is removed in YAML, too.", "password: 'S3CR3T two'", "password: " + removed},
		"JSON":       {"It is removed in JSON, too.", `{"adminToken": "S3CR3T"}`, `{"adminToken": ` + removed + `}`},
		"Flag":       {"The value of a flag is removed.", "run --auth-token S3CR3T now", "run --auth-token " + removed + " now"},
		"Header":     {"A token is removed.", "Authorization: Bearer S3CR3Tabc", "Authorization: Bearer " + removed},
		"PEM":        {"A key is removed.", "x -----BEGIN PRIVATE KEY-----\nS3CR3T\n-----END PRIVATE KEY----- y", "x " + removed + " y"},
		"Open PEM":   {"A shortened key is removed.", "-----BEGIN PRIVATE KEY----- S3CR3T", removed},
		"Field":      {"A message about a field is kept.", "spec.password: must be set", "spec.password: must be set"},
		"Reference":  {"The name of a Secret is kept.", `secret "nova-db" not found`, `secret "nova-db" not found`},
		"Conditions": {"Words are kept.", "Secret nova-db in namespace x has no key password; add it", "Secret nova-db in namespace x has no key password; add it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, redact.Text(tc.in)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestObject(t *testing.T) {
	const secret = "S3CR3T"
	o := map[string]any{
		"apiVersion": "v1", "kind": "Object",
		"metadata": map[string]any{
			"name": "a", "managedFields": []any{"x"},
			"annotations": map[string]any{"crossplane.io/external-name": "a", "example.com/x": secret},
		},
		"spec": map[string]any{
			"manifest": map[string]any{"kind": "Secret", "data": map[string]any{"password": secret}, "metadata": map[string]any{"name": "b"}},
			"containers": []any{map[string]any{
				"name": "api", "args": []any{"--password", secret, "--token=" + secret},
				"env": []any{map[string]any{"name": "A", "value": secret}, map[string]any{"name": "B", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "b"}}}},
			}},
			"options": map[string]any{"keystone_authtoken": map[string]any{"password": secret, "region": "r"}},
			"target":  map[string]any{"template": map[string]any{"data": map[string]any{"url": secret}}},
		},
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "Object",
		"metadata": map[string]any{
			"name":        "a",
			"annotations": map[string]any{"crossplane.io/external-name": "a", "example.com/x": redact.Removed},
		},
		"spec": map[string]any{
			"manifest": map[string]any{"kind": "Secret", "data": map[string]any{"password": redact.Removed}, "metadata": map[string]any{"name": "b"}},
			"containers": []any{map[string]any{
				"name": "api", "args": []any{"--password", redact.Removed, "--token=" + redact.Removed},
				"env": []any{map[string]any{"name": "A", "value": redact.Removed}, map[string]any{"name": "B", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "b"}}}},
			}},
			"options": map[string]any{"keystone_authtoken": map[string]any{"password": redact.Removed, "region": "r"}},
			"target":  map[string]any{"template": map[string]any{"data": map[string]any{"url": redact.Removed}}},
		},
	}
	if diff := cmp.Diff(want, redact.Object(o)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if !strings.Contains(o["spec"].(map[string]any)["options"].(map[string]any)["keystone_authtoken"].(map[string]any)["password"].(string), secret) {
		t.Error("the object itself was changed")
	}
}
