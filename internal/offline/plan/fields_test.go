package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// object returns an object from YAML.
func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDiff checks the paths and values of changed fields.
func TestDiff(t *testing.T) {
	cases := map[string]struct {
		reason, kind, before, after string
		want                        []string
	}{
		"equal": {
			"objects in another order are equal", "Deployment", `{spec: {a: 1, b: 2}}`, `{spec: {b: 2, a: 1}}`, nil,
		},
		"hash": {
			"the hash of the desired state is not a field of the object", "Deployment",
			`{metadata: {annotations: {crossplane.c5c3.io/hash: a}}}`, `{metadata: {annotations: {crossplane.c5c3.io/hash: b}}}`, nil,
		},
		"scalar": {
			"a number has its old and new value", "Deployment", `{spec: {replicas: 1}}`, `{spec: {replicas: 2}}`, []string{"spec.replicas: 1 → 2"},
		},
		"set and unset": {
			"a field that is set or unset has one value", "Deployment", `{spec: {a: 1}}`, `{spec: {b: x}}`,
			[]string{"spec.a: 1 → –", "spec.b: – → x"},
		},
		"named elements": {
			"an element keeps its identity when another one is added before it", "Deployment",
			`{spec: {containers: [{name: a, image: x}]}}`, `{spec: {containers: [{name: b, image: z}, {name: a, image: w}]}}`,
			[]string{"spec.containers[name=a].image: x → w", "spec.containers[name=b].image: – → z", "spec.containers[name=b].name: – → b"},
		},
		"options": {
			"a configuration file is compared by option", "ConfigMap", `{data: {keystone.conf: "[DEFAULT]\ndebug = false\n[token]\nexpiration = 1\n"}}`,
			`{data: {keystone.conf: "[DEFAULT]\ndebug = true\n"}}`,
			[]string{"data[keystone.conf][DEFAULT].debug: false → true", "data[keystone.conf][token].expiration: 1 → –"},
		},
		"scripts": {
			"the content of other files is not shown", "ConfigMap", `{data: {run.sh: "set -e\necho a\n"}}`, `{data: {run.sh: "set -e\necho b\necho c\n"}}`,
			[]string{"data[run.sh]: 1 other lines → 2 other lines"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range diff(tc.kind, parsed(t, tc.before), parsed(t, tc.after)) {
				got = append(got, f.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDiffHidesSecrets checks that values that can be secret are hidden, and names of Secrets are not.
func TestDiffHidesSecrets(t *testing.T) {
	const secret = "hunter2"
	hidden := map[string]string{
		"data of a Secret":       `{kind: Secret, data: {anything: VALUE}}`,
		"an option":              `{kind: ConfigMap, data: {a.conf: "[DEFAULT]\nadmin_password = VALUE\n"}}`,
		"an option of a section": `{kind: ConfigMap, data: {a.conf: "[secrets]\nx_secret = VALUE\n"}}`,
		"a variable":             `{spec: {env: [{name: OS_PASSWORD, value: VALUE}]}}`,
		"an added container":     `{spec: {containers: [{name: VALUE-x, env: [{name: API_TOKEN, value: VALUE}]}]}}`,
		"an address":             `{spec: {address: "https://user:VALUE@example.com/"}}`,
		"a nested address":       `{spec: {list: ["amqp://user:VALUE@example.com/"]}}`,
		"a private key":          `{spec: {pem: "-----BEGIN RSA PRIVATE KEY-----\nVALUE\n"}}`,
		"a map in a field":       `{spec: {credentials: [{password: VALUE}]}}`,
	}
	for name, text := range hidden {
		t.Run(name, func(t *testing.T) {
			text = strings.ReplaceAll(text, "VALUE-x", "x")
			before, after := parsed(t, strings.ReplaceAll(text, "VALUE", "old-"+secret)), parsed(t, strings.ReplaceAll(text, "VALUE", secret))
			kind, _ := after["kind"].(string)
			for _, fields := range [][]Field{diff(kind, before, after), diff(kind, map[string]any{}, after), diff(kind, before, map[string]any{})} {
				for _, f := range fields {
					if strings.Contains(f.String(), secret) {
						t.Errorf("the secret is shown: %s", f)
					}
				}
				if len(fields) == 0 {
					t.Error("the change is not shown")
				}
			}
		})
	}
	for _, text := range []string{
		`{spec: {secretName: VALUE}}`, `{spec: {secretRef: {name: VALUE}}}`, `{spec: {passwordSecretKeyRef: {name: a, key: VALUE}}}`,
		`{data: {keystone.conf: "[token]\nexpiration = VALUE\n"}}`,
	} {
		fields := diff("ConfigMap", parsed(t, strings.ReplaceAll(text, "VALUE", "a1")), parsed(t, strings.ReplaceAll(text, "VALUE", "b1")))
		if len(fields) != 1 || !strings.Contains(fields[0].String(), "a1 → b1") {
			t.Errorf("%s: a name of a Secret is hidden: %v", text, fields)
		}
	}
}

// TestIsImmutable checks which changes Kubernetes rejects.
func TestIsImmutable(t *testing.T) {
	cases := []struct {
		kind, path string
		want       bool
	}{
		{"StatefulSet", "spec.replicas", false},
		{"StatefulSet", "spec.template.spec.nodeName", false},
		{"StatefulSet", "spec.volumeClaimTemplates[name=data].spec.resources", true},
		{"StatefulSet", "metadata.labels.a", false},
		{"Deployment", "spec.selector.matchLabels.a", true},
		{"Deployment", "spec.selectors", false},
		{"Job", "spec.template.spec.image", true},
		{"Job", "spec.ttlSecondsAfterFinished", false},
		{"RoleBinding", "roleRef.name", true},
		{"ConfigMap", "data.a", false},
	}
	for _, tc := range cases {
		if got := isImmutable(tc.kind, tc.path); got != tc.want {
			t.Errorf("isImmutable(%s, %s) = %t, want %t", tc.kind, tc.path, got, tc.want)
		}
	}
}
