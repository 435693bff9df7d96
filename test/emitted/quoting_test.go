package emitted

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/secretaggregate"
)

// expanded matches a reference to a variable that Kubernetes expands: an odd number of $ precedes the parenthesis.
var expanded = regexp.MustCompile(`(^|[^$])(\$\$)*\$\(HOSTILE\)`)

// TestTextOfTenantsIsNotExpanded tests that Kubernetes does not replace a reference to a variable in a tenant's text by the value of that
// variable, which may be a secret.
func TestTextOfTenantsIsNotExpanded(t *testing.T) {
	escaped := false
	for _, c := range cases(t) {
		for _, o := range c.Objects {
			for _, p := range pods(o.Manifest.AsMap()) {
				for _, text := range expandedTexts(&p) {
					if expanded.MatchString(text) {
						t.Errorf("%s: %s %s: Kubernetes expands %s; escape it with workload.Literal", c.name, o.Kind, o.Name, text)
					}
					escaped = escaped || strings.Contains(text, "$(HOSTILE)")
				}
			}
		}
	}
	if !escaped {
		t.Error("no pod has text of a tenant; a claim with such text has to reach the environment of a pod")
	}
}

// expandedTexts returns the texts of a pod in which Kubernetes expands references to variables.
func expandedTexts(p *corev1.PodSpec) []string {
	var out []string
	for _, c := range append(p.InitContainers, p.Containers...) {
		out = append(append(out, c.Command...), c.Args...)
		for _, e := range c.Env {
			out = append(out, e.Value)
		}
	}
	return out
}

// inserted matches the places of a template at which a value of a Secret is inserted.
var inserted = regexp.MustCompile(`\{\{-?\s*\.(\w+)\s*(\|[^}]*)?\}\}`)

// unquoted are values of Secrets that no function quotes, by the file and the template, with the reason.
var unquoted = []struct {
	file, template *regexp.Regexp
	reason         string
}{
	{
		regexp.MustCompile(`^cacert$|\.crt$|\.pem$`), regexp.MustCompile(`^(\{\{ \.\w+ \}\}\n?)+$`),
		"a file of certificates, which contains only the values",
	},
	{
		regexp.MustCompile(`keyring$|ceph$|ceph\.conf$`), regexp.MustCompile(`^\{\{ \.\w+ \| trim \}\}\n`),
		"a whole file of Ceph, which the tenant wrote",
	},
	{
		regexp.MustCompile(`keyring$`), regexp.MustCompile(`^\[client\.[^\]]+\]\nkey = \{\{ \.\w+ \| trim \}\}\n$`),
		"the last line of a keyring, of which librados reads keys only",
	},
}

// TestValuesOfSecretsAreQuoted checks each template of each SecretAggregate. A value of a Secret must be quoted for the program that reads
// the file, or be the whole file. A value with quotes, line breaks or references to variables adds no line and no key to a file, or it is
// refused.
func TestValuesOfSecretsAreQuoted(t *testing.T) {
	checked, used := map[string]bool{}, make([]bool, len(unquoted))
	for _, c := range cases(t) {
		for _, o := range c.Objects {
			if o.Kind != "SecretAggregate" {
				continue
			}
			a := &c5c3v1.SecretAggregate{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(unwrapped(o.Manifest.AsMap()), a); err != nil {
				t.Fatal(err)
			}
			id, err := json.Marshal([]any{a.Name, a.Spec})
			if err != nil {
				t.Fatal(err)
			}
			if checked[string(id)] {
				continue
			}
			checked[string(id)] = true
			checkTemplates(t, c.name, a, used)
		}
	}
	for i, row := range unquoted {
		if !used[i] {
			t.Errorf("no template needs the exception for %s", row.file)
		}
	}
}

func checkTemplates(t *testing.T, name string, a *c5c3v1.SecretAggregate, used []bool) {
	t.Helper()
	escapes := map[string]string{}
	for _, s := range a.Spec.Sources {
		escapes[s.Name] = s.Escape
	}
	copied := map[string]bool{}
	for file, text := range a.Spec.Template {
		for _, m := range inserted.FindAllStringSubmatch(string(text), -1) {
			source, pipe := m[1], m[2]
			if strings.Contains(pipe, "quote") || strings.Contains(pipe, "base64") || escapes[source] != "" && escapes[source] != "None" {
				continue
			}
			row := slices.IndexFunc(unquoted, func(row struct {
				file, template *regexp.Regexp
				reason         string
			}) bool {
				return row.file.MatchString(file) && row.template.MatchString(string(text))
			})
			if row < 0 {
				t.Errorf("%s: SecretAggregate %s inserts %s into %s without quotes; set escape of the source", name, a.Name, source, file)
				continue
			}
			used[row], copied[file] = true, true
		}
	}
	harmless := filled(t, a, "x")
	for _, value := range []string{`a"b'c\d $e ${f} $(g) %h %(i)s {{ .j }} #k ;l =m [n] <o> &p`, "line\nkey = value\n[group]\n"} {
		for file, text := range filled(t, a, value) {
			if copied[file] {
				continue
			}
			if strings.Count(text, "\n") != strings.Count(harmless[file], "\n") {
				t.Errorf("%s: SecretAggregate %s: a value adds lines to %s:\n%s", name, a.Name, file, text)
			}
			if before, after := yamlKeys(harmless[file]), yamlKeys(text); strings.HasSuffix(file, ".yaml") && before != after {
				t.Errorf("%s: SecretAggregate %s: a value changes the keys of %s: %s, without it %s", name, a.Name, file, after, before)
			}
		}
	}
}

// filled returns the files of a SecretAggregate whose sources all have one value. Nil: the companion refuses the value.
func filled(t *testing.T, a *c5c3v1.SecretAggregate, value string) map[string]string {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, c5c3v1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	secrets := map[string]*corev1.Secret{}
	for _, s := range a.Spec.Sources {
		ref := s.SecretKeyRef
		if secrets[string(ref.Name)] == nil {
			secrets[string(ref.Name)] = &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: string(ref.Name), Namespace: a.Namespace}, Data: map[string][]byte{},
			}
		}
		secrets[string(ref.Name)].Data[string(ref.Key)] = []byte(value)
	}
	objects := []client.Object{a.DeepCopy()}
	for _, s := range secrets {
		objects = append(objects, s)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(a).Build()
	r := &secretaggregate.Reconciler{Client: api, Reader: api, Events: events.NewFakeRecorder(100), Clock: clock.RealClock{}, Random: rand.Reader}
	for range 3 {
		if _, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(a)}); err != nil {
			t.Fatal(err)
		}
	}
	out := &corev1.Secret{}
	if api.Get(context.Background(), client.ObjectKey{Namespace: a.Namespace, Name: string(a.Spec.TargetSecretName)}, out) != nil {
		return nil
	}
	files := map[string]string{}
	for file, data := range out.Data {
		files[file] = string(data)
	}
	return files
}

// yamlKeys returns the keys of a YAML document, with the kinds of their values.
func yamlKeys(text string) string {
	var document any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return err.Error()
	}
	var keys func(v any) string
	keys = func(v any) string {
		out := fmt.Sprintf("%T", v)
		if m, ok := v.(map[string]any); ok {
			var lines []string
			for k, below := range m {
				lines = append(lines, k+": "+keys(below))
			}
			slices.Sort(lines)
			out = "{" + strings.Join(lines, ", ") + "}"
		}
		return out
	}
	return keys(document)
}
