package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
)

const (
	namespace = "cloud"
	daemonSet = "nova-compute"
	binary    = "application/vnd.kubernetes.protobuf"
)

// api simulates the part of an API server that the companion uses: built-in kinds in the encoding of a real one, and ServiceChecks.
type api struct {
	*httptest.Server

	nodes, pools int
	secret       *corev1.Secret

	mutex    sync.Mutex
	checks   []*openstackv1.ServiceCheck
	requests int
}

// startAPI starts an API server with a ServiceCheck for each pool.
func startAPI(nodes, pools int, clouds, ca []byte) *api {
	a := &api{nodes: nodes, pools: pools, secret: &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "clouds"}, Data: map[string][]byte{"clouds.yaml": clouds, "cacert": ca},
	}}
	for p := range pools {
		c := &openstackv1.ServiceCheck{
			TypeMeta:   metav1.TypeMeta{APIVersion: openstackv1.GroupVersion.String(), Kind: "ServiceCheck"},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: poolName(p), UID: types.UID(poolName(p)), Generation: 1, ResourceVersion: "1"},
			Spec: openstackv1.ServiceCheckSpec{
				Service: "compute", IntervalSeconds: interval,
				Nodes: []openstackv1.CheckedNodes{{Namespace: common.NamespaceName(poolName(p)), DaemonSet: daemonSet, EvictOnCordon: true}},
			},
		}
		c.Spec.CloudCredentialsRef = common.CloudCredentialsReference{SecretName: "clouds", CloudName: "admin"}
		a.checks = append(a.checks, c)
	}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	return a
}

func poolName(p int) string { return fmt.Sprintf("pool-%d", p) }

// poolOf returns the number of a pool; -1 if it is none.
func poolOf(name string) int {
	p, err := strconv.Atoi(strings.TrimPrefix(name, "pool-"))
	if err != nil {
		return -1
	}
	return p
}

// counted returns the number of checks that have counted all servers of their nodes, and the sum.
func (a *api) counted() (checks int, servers int64) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for _, c := range a.checks {
		if c.Status.Capacity != nil && slices.ContainsFunc(c.Status.Conditions, func(s metav1.Condition) bool {
			return s.Type == "Counted" && s.Status == metav1.ConditionTrue
		}) {
			checks++
			servers += c.Status.Capacity.VirtualMachines
		}
	}
	return checks, servers
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.requests++
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(path) <= 3 && discovery(w, r.URL.Path):
	case len(path) > 5 && path[5] == "servicechecks" || len(path) > 3 && path[3] == "servicechecks":
		a.serveChecks(w, r, path)
	case r.Method == http.MethodPost && path[len(path)-1] == "events":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "event", "namespace": "cloud"}}`)
	case len(path) == 6 && path[4] == "secrets" && path[5] == a.secret.Name:
		write(w, a.secret)
	case len(path) == 4 && path[2] == "nodes":
		write(w, node(path[3]))
	case len(path) == 7 && path[5] == "daemonsets" && poolOf(path[4]) >= 0:
		write(w, a.daemonSet(poolOf(path[4])))
	case len(path) == 5 && path[4] == "pods" && poolOf(path[3]) >= 0:
		a.listPods(w, r, poolOf(path[3]))
	default:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

// discovery writes the groups and resources.
func discovery(w http.ResponseWriter, path string) bool {
	group := func(name string, versions ...string) string {
		var all []string
		for _, v := range versions {
			all = append(all, fmt.Sprintf(`{"groupVersion": "%s/%s", "version": "%s"}`, name, v, v))
		}
		return fmt.Sprintf(`{"kind": "APIGroup", "apiVersion": "v1", "name": "%s", "versions": [%s], "preferredVersion": %s}`,
			name, strings.Join(all, ", "), all[0])
	}
	resources := func(version string, kinds ...string) string {
		var all []string
		for _, k := range kinds {
			resource := strings.ToLower(k) + "s"
			all = append(all, fmt.Sprintf(`{"name": "%s", "singularName": "", "namespaced": %t, "kind": "%s", "verbs": ["get", "list", "watch"]}`,
				resource, k != "Node", k))
		}
		return fmt.Sprintf(`{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "%s", "resources": [%s]}`,
			version, strings.Join(all, ", "))
	}
	groups := map[string]string{
		"apps": group("apps", "v1"), "events.k8s.io": group("events.k8s.io", "v1"), "openstack.c5c3.io": group("openstack.c5c3.io", "v1alpha1"),
	}
	text, ok := map[string]string{
		"/api": `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis": fmt.Sprintf(`{"kind": "APIGroupList", "apiVersion": "v1", "groups": [%s, %s, %s]}`,
			groups["apps"], groups["events.k8s.io"], groups["openstack.c5c3.io"]),
		"/api/v1":                          resources("v1", "Secret", "Pod", "Node"),
		"/apis/apps":                       groups["apps"],
		"/apis/apps/v1":                    resources("apps/v1", "DaemonSet", "StatefulSet"),
		"/apis/events.k8s.io":              groups["events.k8s.io"],
		"/apis/events.k8s.io/v1":           resources("events.k8s.io/v1", "Event"),
		"/apis/openstack.c5c3.io":          groups["openstack.c5c3.io"],
		"/apis/openstack.c5c3.io/v1alpha1": resources("openstack.c5c3.io/v1alpha1", "ServiceCheck"),
	}[path]
	if ok {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	}
	return ok
}

// serveChecks serves requests for ServiceChecks. A watch has no events.
func (a *api) serveChecks(w http.ResponseWriter, r *http.Request, path []string) {
	name := ""
	if len(path) > 6 {
		name = path[6]
	}
	i := slices.IndexFunc(a.checks, func(c *openstackv1.ServiceCheck) bool { return c.Name == name })
	switch query := r.URL.Query(); {
	case query.Get("sendInitialEvents") == "true":
		fail(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case query.Get("watch") == "true":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // The client notices a closed connection.
		a.mutex.Unlock()
		<-r.Context().Done()
		a.mutex.Lock()
	case name == "":
		list := &openstackv1.ServiceCheckList{
			TypeMeta: metav1.TypeMeta{APIVersion: openstackv1.GroupVersion.String(), Kind: "ServiceCheckList"},
			ListMeta: metav1.ListMeta{ResourceVersion: "1"},
		}
		for _, c := range a.checks {
			list.Items = append(list.Items, *c)
		}
		writeJSON(w, list)
	case i < 0:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodPut:
		updated := &openstackv1.ServiceCheck{}
		if err := json.NewDecoder(r.Body).Decode(updated); err != nil {
			fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		a.checks[i].Status = updated.Status
		writeJSON(w, a.checks[i])
	default:
		writeJSON(w, a.checks[i])
	}
}

// nodesOf returns the first node of a pool and the one after its last.
func (a *api) nodesOf(pool int) (first, end int) {
	return pool * a.nodes / a.pools, (pool + 1) * a.nodes / a.pools
}

func (a *api) daemonSet(pool int) *appsv1.DaemonSet {
	first, end := a.nodesOf(pool)
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: poolName(pool), Name: daemonSet, UID: types.UID(poolName(pool)), Generation: 1},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": daemonSet}}},
		Status:     appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: int32(end - first)}, //nolint:gosec // It is small.
	}
}

// listPods writes a page of the pods of a pool, with the size of real ones.
func (a *api) listPods(w http.ResponseWriter, r *http.Request, pool int) {
	first, end := a.nodesOf(pool)
	if next := r.URL.Query().Get("continue"); next != "" {
		first, _ = strconv.Atoi(next) // The companion sends the token that it got.
	}
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	if limit, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil && first+limit < end {
		end = first + limit
		list.Continue = strconv.Itoa(end)
	}
	owner := metav1.NewControllerRef(a.daemonSet(pool), appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
	for i := first; i < end; i++ {
		p := corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: poolName(pool), Name: fmt.Sprintf("%s-%05d", daemonSet, i), Labels: map[string]string{"app": daemonSet},
				OwnerReferences: []metav1.OwnerReference{*owner},
			},
			Spec: corev1.PodSpec{NodeName: host(i)},
		}
		for c := range 3 {
			container := corev1.Container{Name: fmt.Sprintf("container-%d", c), Image: "registry.example.com/nova:2025.2"}
			for v := range 40 {
				container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", v), Value: strings.Repeat("x", 40)})
			}
			p.Spec.Containers = append(p.Spec.Containers, container)
		}
		list.Items = append(list.Items, p)
	}
	write(w, list)
}

// node returns a Node that is not cordoned, with the images of a real one.
func node(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i := range 50 {
		names := []string{fmt.Sprintf("registry.example.com/image-%d@sha256:%064d", i, i)}
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: names})
	}
	return n
}

// write writes an object of a built-in kind in the binary encoding, which clients prefer.
func write(w http.ResponseWriter, o runtime.Object) {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), binary)
	w.Header().Set("Content-Type", binary)
	version := corev1.SchemeGroupVersion
	if _, ok := o.(*appsv1.DaemonSet); ok {
		version = appsv1.SchemeGroupVersion
	}
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, version)
	_ = encoder.Encode(o, w) // The client notices a missing response.
}

func writeJSON(w http.ResponseWriter, o any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(o) //nolint:errchkjson // As above.
}

// fail writes an error.
func fail(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{ //nolint:errchkjson // As above.
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, //nolint:gosec // It is small.
	})
}

// count returns the number of requests.
func (a *api) count() int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.requests
}
