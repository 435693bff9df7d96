package wiring

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

type fields = map[string]any

// An object as its API server gets it.
type object struct {
	namespaceRef

	stage             int
	group, kind, name string
	manifest          fields
}

// A namespaceRef is a namespace of a cluster.
type namespaceRef struct{ cluster, namespace string }

func (o object) String() string { return o.kind + " " + o.name }

// is reports whether an object is of a kind, given as Kind.group, or Kind for the core group.
func (o object) is(kinds ...string) bool {
	key := o.kind
	if o.group != "" {
		key += "." + o.group
	}
	return slices.Contains(kinds, key)
}

// A pod represents identical pods: those of an emitted template, or those that an operator creates for one of its
// objects.
type pod struct {
	namespaceRef

	// of is the object that creates the pods, and part their role, if it creates several kinds.
	of   object
	part string
	// labels that selectors meet.
	labels labels.Set
	ports  []port
	// spec is nil for the pods of operators.
	spec *corev1.PodSpec
	// privileges are the reasons for which containers may do more than others, by container.
	privileges map[string]string
	// files that its containers mount, by path, if their contents are known.
	files map[string]string
	// replicas that run at the same time. Nil: the pods run to completion.
	replicas *int
	// copiedEnv is the environment of the emitted container from which an operator's pods are copied.
	copiedEnv []corev1.EnvVar
	// tls are the ports with TLS, with the names in the served certificate and its issuer.
	tls map[int]servedCertificate
}

type port struct {
	name   string
	number int
}

// servedCertificate is a certificate: the names in it, and the issuer that signed it.
type servedCertificate struct {
	names  []string
	issuer string
}

func (p *pod) String() string {
	if p.part != "" {
		return fmt.Sprintf("%s's %s", p.of, p.part)
	}
	return p.of.String()
}

func (p *pod) hasPort(number int) bool {
	return slices.ContainsFunc(p.ports, func(q port) bool { return q.number == number })
}

// inventory is the indexed cloud.
type inventory struct {
	inputs   []fields
	objects  []object
	pods     []*pod
	services []*service
	secrets  map[secretName]*generatedObject
	stores   []entry
	needed   map[flow]string
	proxied  []proxied
	hasTLS   func(group, kind string) bool
	findings []string
}

// foundf records a finding.
func (w *inventory) foundf(format string, args ...any) {
	w.findings = append(w.findings, fmt.Sprintf(format, args...))
}

func newInventory(c Cloud) *inventory {
	w := &inventory{inputs: c.Given, hasTLS: c.HasTLS, secrets: map[secretName]*generatedObject{}, needed: map[flow]string{}}
	workloads := workloadCluster(c.Objects)
	for _, o := range c.Objects {
		w.objects = append(w.objects, unwrap(o, workloads))
	}
	for _, o := range w.objects {
		w.addPods(o)
		w.addService(o)
		w.addSecrets(o)
		if addOwned, ok := operators[o.kind+"."+o.group]; ok {
			addOwned(w, o)
		}
	}
	for _, p := range w.pods {
		w.mount(p)
		w.serve(p)
	}
	return w
}

// isWrapper reports whether an object is an Object of provider-kubernetes.
func isWrapper(m fields) bool {
	return text(m, "kind") == "Object" && strings.Contains(text(m, "apiVersion"), ".crossplane.io/")
}

// workloadCluster returns the provider config with which pods are composed; empty if they are composed directly, in
// Crossplane's cluster.
func workloadCluster(all []Object) string {
	for _, o := range all {
		if isWrapper(o.Manifest) && at(o.Manifest, "spec", "forProvider", "manifest", "spec", "template", "spec", "containers") != nil {
			return text(o.Manifest, "spec", "providerConfigRef", "name")
		}
	}
	return ""
}

// unwrap returns an object without its wrapper, and distinguishes the cluster of workloads from Crossplane's, if they
// are two.
func unwrap(o Object, workloads string) object {
	m, cluster := o.Manifest, ""
	if isWrapper(m) {
		if cluster = text(m, "spec", "providerConfigRef", "name"); cluster != workloads {
			cluster = ""
		}
		m, _ = at(m, "spec", "forProvider", "manifest").(fields)
	}
	group, _, versioned := strings.Cut(text(m, "apiVersion"), "/")
	if !versioned {
		group = ""
	}
	return object{
		stage: o.Stage, namespaceRef: namespaceRef{cluster, text(m, "metadata", "namespace")}, group: group, kind: text(m, "kind"),
		name: text(m, "metadata", "name"), manifest: m,
	}
}

// find returns the object with a kind and name in a namespace.
func (w *inventory) find(p namespaceRef, kind, name string) (object, bool) {
	i := slices.IndexFunc(w.objects, func(o object) bool { return o.namespaceRef == p && o.is(kind) && o.name == name })
	if i < 0 {
		return object{}, false
	}
	return w.objects[i], true
}

// at returns the value at a path of fields.
func at(v any, path ...string) any {
	for _, field := range path {
		m, _ := v.(fields)
		v = m[field]
	}
	return v
}

func text(v any, path ...string) string {
	s, _ := at(v, path...).(string)
	return s
}

func list(v any, path ...string) []any {
	l, _ := at(v, path...).([]any)
	return l
}

func texts(v any, path ...string) []string {
	var out []string
	for _, e := range list(v, path...) {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// number returns an integer; false if there is none.
func number(v any, path ...string) (int, bool) {
	switch n := at(v, path...).(type) {
	case float64:
		return int(n), true
	case int64:
		return int(n), true
	case int:
		return n, true
	}
	return 0, false
}

// truth returns a boolean; false if it is missing.
func truth(v any, path ...string) bool {
	b, _ := at(v, path...).(bool)
	return b
}

// stringMap returns a map of texts.
func stringMap(v any, path ...string) map[string]string {
	m, _ := at(v, path...).(fields)
	out := map[string]string{}
	for k, e := range m {
		out[k] = fmt.Sprint(e)
	}
	return out
}

// into decodes a part of an object into a Kubernetes type.
func into(v, typed any) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, typed)
	}
	if err != nil {
		panic(fmt.Sprintf("cannot read %v: %v", v, err))
	}
}

// each visits every map in a value, with the path of fields to it, in order.
func each(v any, path []string, visit func(path []string, m fields)) {
	switch v := v.(type) {
	case fields:
		visit(path, v)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			each(v[k], append(slices.Clone(path), k), visit)
		}
	case []any:
		for _, e := range v {
			each(e, path, visit)
		}
	}
}

// spec returns an object without its metadata and status.
func (o object) spec() fields {
	out := maps.Clone(o.manifest)
	for _, field := range []string{"metadata", "status", "kind", "apiVersion"} {
		delete(out, field)
	}
	return out
}
