package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/livecloud/livecloudtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/plan"
)

// fakeCluster is an API server with objects. It accepts only requests that read.
type fakeCluster struct {
	objects []*unstructured.Unstructured
	// forbidden contains "<verb> <kind>" of requests without a right, with " in the whole cluster" if a namespace has it.
	forbidden []string
	// code is the response to all requests, if it is set. empty: no kind of this project exists.
	code  int32
	empty bool

	mu       sync.Mutex
	requests map[string]bool // "<verb> <group>/<resource>" of all requests
}

// newFakeCluster returns a cluster with a cloud, as Crossplane, operators and API servers leave it.
func newFakeCluster(t testing.TB, cloud *plan.Cloud) *fakeCluster {
	t.Helper()
	var saved bytes.Buffer
	if err := cloud.Save(&saved); err != nil {
		t.Fatal(err)
	}
	state := plan.State{}
	if err := json.Unmarshal(saved.Bytes(), &state); err != nil {
		t.Fatal(err)
	}
	platform := map[string]any{}
	if err := yaml.Unmarshal(examples.Platform, &platform); err != nil {
		t.Fatal(err)
	}
	c := &fakeCluster{requests: map[string]bool{}}
	c.add(platform)
	for _, claim := range state.Claims {
		objects, err := livecloudtest.Objects(claim, livecloudtest.ClusterScoped)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			c.add(o.Object)
		}
	}
	return c
}

// add adds an object with the fields of an API server.
func (c *fakeCluster) add(o map[string]any) {
	u := &unstructured.Unstructured{Object: o}
	u.SetUID("0a")
	u.SetResourceVersion("12")
	u.SetCreationTimestamp(metav1.Unix(1_700_000_000, 0))
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte("{}")},
	}})
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	u.SetAnnotations(annotations)
	if u.GetKind() == "Deployment" {
		_ = unstructured.SetNestedField(u.Object, int64(600), "spec", "progressDeadlineSeconds")
		_ = unstructured.SetNestedField(u.Object, "ClusterFirst", "spec", "template", "spec", "dnsPolicy")
	}
	c.objects = append(c.objects, u)
}

// find returns an object, or nil. An empty name is any name.
func (c *fakeCluster) find(kind, namespace, name string) *unstructured.Unstructured {
	for _, o := range c.objects {
		if o.GetKind() == kind && (namespace == "*" || o.GetNamespace() == namespace) && (name == "" || o.GetName() == name) {
			return o
		}
	}
	return nil
}

// plan runs plan --cluster with a kubeconfig for the cluster.
func (c *fakeCluster) plan(t testing.TB, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"plan", "--cluster", "--kubeconfig", c.serve(t)}, args...), strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// serve starts the API server, which is stopped after the test, and returns the path of a kubeconfig.
func (c *fakeCluster) serve(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
		clusters: [{name: c, cluster: {server: "` + server.URL + `"}}], users: [{name: u, user: {token: t}}]}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// servedKind is a kind that the API server serves.
type servedKind struct {
	schema.GroupVersionKind

	namespaced bool
}

// resource returns the plural of the kind.
func (k servedKind) resource() string {
	name := strings.ToLower(k.Kind)
	if stem, ok := strings.CutSuffix(name, "y"); ok {
		return stem + "ies"
	}
	if strings.HasSuffix(name, "s") {
		return name + "es"
	}
	return name + "s"
}

// kinds returns the kinds of the claims, of the PlatformConfig, and of all objects.
func (c *fakeCluster) kinds() []servedKind {
	var out []servedKind
	for _, k := range kindregistry.WithForm(kindregistry.Claimed) {
		if c.empty {
			break
		}
		out = append(out, servedKind{k.GroupVersionKind, true}, servedKind{k.Composite(), false})
	}
	for _, o := range c.objects {
		k := servedKind{o.GroupVersionKind(), o.GetNamespace() != ""}
		if !slices.ContainsFunc(out, func(other servedKind) bool { return other.GroupVersionKind == k.GroupVersionKind }) {
			out = append(out, k)
		}
	}
	return out
}

// ServeHTTP handles discovery, get and list.
func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var group, version string
	var rest []string
	switch {
	case c.code == http.StatusUnauthorized:
		fail(w, c.code, metav1.StatusReasonUnauthorized)
		return
	case c.code != 0 && len(path) > 3:
		fail(w, c.code, metav1.StatusReasonInternalError)
		return
	case r.Method != http.MethodGet:
		fail(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed)
		return
	case len(path) == 1 && path[0] == "api":
		respond(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		return
	case len(path) == 1 && path[0] == "apis":
		respond(w, c.groups())
		return
	case path[0] == "api":
		version, rest = path[1], path[2:]
	case len(path) == 2:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	default:
		group, version, rest = path[1], path[2], path[3:]
	}
	if len(rest) == 0 {
		respond(w, c.resources(schema.GroupVersion{Group: group, Version: version}))
		return
	}
	namespace := ""
	if rest[0] == "namespaces" && len(rest) > 2 {
		namespace, rest = rest[1], rest[2:]
	}
	kinds := c.kinds()
	i := slices.IndexFunc(kinds, func(k servedKind) bool {
		return k.Group == group && k.Version == version && k.resource() == rest[0]
	})
	if i < 0 {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	c.read(w, kinds[i], namespace, rest[1:])
}

// read responds with an object, or with a list.
func (c *fakeCluster) read(w http.ResponseWriter, kind servedKind, namespace string, name []string) {
	verb := "list"
	if len(name) > 0 {
		verb = "get"
	}
	c.mu.Lock()
	c.requests[verb+" "+kind.Group+"/"+kind.resource()] = true
	c.mu.Unlock()
	if right := verb + " " + kind.Kind; slices.Contains(c.forbidden, right) ||
		namespace == "" && slices.Contains(c.forbidden, right+" in the whole cluster") {
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	items := []any{}
	for _, o := range c.objects {
		if o.GroupVersionKind() != kind.GroupVersionKind || namespace != "" && o.GetNamespace() != namespace {
			continue
		}
		if verb == "list" {
			items = append(items, o.Object)
		} else if o.GetName() == name[0] {
			respond(w, o.Object)
			return
		}
	}
	if verb == "get" {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	respond(w, map[string]any{
		"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
	})
}

func (c *fakeCluster) groups() metav1.APIGroupList {
	out := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, k := range c.kinds() {
		version := metav1.GroupVersionForDiscovery{GroupVersion: k.GroupVersion().String(), Version: k.Version}
		i := slices.IndexFunc(out.Groups, func(g metav1.APIGroup) bool { return g.Name == k.Group })
		if k.Group != "" && i < 0 {
			out.Groups = append(out.Groups, metav1.APIGroup{Name: k.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
		} else if k.Group != "" && !slices.Contains(out.Groups[i].Versions, version) {
			out.Groups[i].Versions = append(out.Groups[i].Versions, version)
		}
	}
	return out
}

func (c *fakeCluster) resources(version schema.GroupVersion) metav1.APIResourceList {
	out := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String()}
	for _, k := range c.kinds() {
		if k.GroupVersion() == version {
			out.APIResources = append(out.APIResources, metav1.APIResource{
				Name: k.resource(), SingularName: strings.ToLower(k.Kind), Kind: k.Kind, Namespaced: k.namespaced, Verbs: metav1.Verbs{"get", "list"},
			})
		}
	}
	return out
}

func respond(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func fail(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(code))
	status := metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: string(reason),
	}
	if err := json.NewEncoder(w).Encode(status); err != nil {
		panic(err)
	}
}
