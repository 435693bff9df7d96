package emitted

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/expected"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

var (
	maxConnections = regexp.MustCompile(`(?m)^max_connections=(\d+)$`)
	// databaseURL matches the address of a database: the host, and the name.
	databaseURL = regexp.MustCompile(`^mysql\+pymysql://[^@]*@([a-z0-9-]+)[^/]*/([a-z0-9_]+)`)
	// slots matches the threads of a process of uWSGI, and its processes.
	slots = regexp.MustCompile(`(?m)^(processes|threads) = (\d+)$`)
)

// pool is the default number of connections of a process to a database (max_pool_size of oslo.db). A process that does
// one thing at a time never has more.
const pool = 5

// databaseClient is a workload that opens connections to databases.
type databaseClient struct {
	name string
	// databases are the databases named by its environment, by "server/database".
	databases []string
	// each is the number of connections that all its pods open to each of them.
	each int
}

// clientsOf returns the clients of databases of a case.
func clientsOf(t *testing.T, c testCase) []databaseClient {
	t.Helper()
	configs := map[string]map[string]string{}
	for _, o := range c.Objects {
		if o.Kind == "ConfigMap" {
			configs[o.Namespace+"/"+o.Name] = files(o)
		}
	}
	var out []databaseClient
	for _, o := range c.Objects {
		if o.Kind != "Deployment" && o.Kind != "StatefulSet" {
			continue
		}
		m := body(encoded.Of(o.Manifest)).Map()
		spec, _ := m["spec"].(map[string]any)
		replicas, ok := spec["replicas"].(float64)
		if !ok {
			replicas = 1
		}
		for _, pod := range pods(m) {
			cl := databaseClient{name: o.Kind + " " + o.Name}
			for _, container := range pod.Containers {
				for _, e := range container.Env {
					if found := databaseURL.FindStringSubmatch(e.Value); found != nil && strings.HasSuffix(e.Name, "__CONNECTION") {
						cl.databases = append(cl.databases, strings.TrimSuffix(found[1], "-primary")+"/"+found[2])
					}
				}
			}
			if len(cl.databases) > 0 {
				cl.each = int(replicas) * inPod(t, o.Name, o.Namespace, pod, configs)
				out = append(out, cl)
			}
		}
	}
	return out
}

// inPod returns the number of connections that a pod opens to a database: one for each thread of uWSGI, or a pool for
// each process.
func inPod(t *testing.T, name, namespace string, pod corev1.PodSpec, configs map[string]map[string]string) int {
	t.Helper()
	command := strings.Join(append(slices.Clone(pod.Containers[0].Command), pod.Containers[0].Args...), " ")
	workers := 1
	for _, v := range pod.Volumes {
		if v.ConfigMap == nil {
			continue
		}
		for file, text := range configs[namespace+"/"+v.ConfigMap.Name] {
			if strings.HasSuffix(file, ".ini") && strings.Contains(command, "/"+file) {
				n := 1
				for _, found := range slots.FindAllStringSubmatch(text, -1) {
					value, err := strconv.Atoi(found[2])
					if err != nil {
						t.Fatal(err)
					}
					n *= value
				}
				return n
			}
			if file == "heat.conf" && strings.Contains(command, "heat-engine") {
				parsed, err := oslo.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := fmt.Sscan(strings.Join(parsed["DEFAULT"]["num_engine_workers"], ""), &workers); err != nil {
					t.Fatalf("num_engine_workers: %v", err)
				}
			}
		}
	}
	for _, facts := range expected.Services(t) {
		for _, p := range facts.Processes {
			if regexp.MustCompile("^" + p.Workload + "$").MatchString(name) {
				workers = p.Processes
			}
		}
	}
	return workers * pool
}

// scaledCases composes the claim with many pods of each service on a server with enough memory for the connections of all.
func scaledCases(t *testing.T) []testCase {
	t.Helper()
	platform := document(t, "PlatformConfig", "default", parse(t, platforms["rich"]), "")
	var out []testCase
	services := expected.Services(t)
	for _, name := range slices.Sorted(maps.Keys(services)) {
		spec := services[name].ManyPods
		merge(spec, parse(t, `{size: development, infrastructure: {mariadb: {resources: {limits: {memory: 64Gi}}}}}`))
		r, err := preview.Run(document(t, "ControlPlaneCluster", "cloud", spec, "2025.2"), platform, kinds.Runners())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		out = append(out, testCase{name: "many pods of " + name, Result: r})
	}
	return out
}

// perGiB is the maximum number of connections per GiB of a server's memory. A claim with more threads than that must
// give the server more memory (docs/how-to/database.md).
const perGiB = 4096

// TestDatabaseAcceptsConnectionsDuringRollout checks that a database server accepts the connections of all clients during a rolling update
// in which each new pod starts before the old one has ended.
func TestDatabaseAcceptsConnectionsDuringRollout(t *testing.T) {
	const rollOut = 2
	checked := 0
	for _, c := range append(scaledCases(t), cases(t)...) {
		most := map[string]int{}
		limits := map[string]int{}
		for _, o := range c.Objects {
			if o.Kind != "MariaDB" {
				continue
			}
			spec, _ := body(encoded.Of(o.Manifest)).Map()["spec"].(map[string]any)
			found := maxConnections.FindStringSubmatch(fmt.Sprint(spec["myCnf"]))
			if found == nil {
				t.Errorf("%s: %s sets no max_connections", c.name, o.Name)
				continue
			}
			limits[o.Name], _ = strconv.Atoi(found[1])
			if memory, _, _ := unstructured.NestedString(spec, "resources", "limits", "memory"); memory != "" {
				q := resource.MustParse(memory)
				most[o.Name] = int(q.Value() * perGiB >> 30)
			}
		}
		open := map[string]int{}
		for _, cl := range clientsOf(t, c) {
			for _, d := range cl.databases {
				server, _, _ := strings.Cut(d, "/")
				server = strings.Replace(server, "maxscale", "mariadb", 1)
				open[server] += rollOut * cl.each
			}
		}
		for _, server := range slices.Sorted(maps.Keys(open)) {
			limit, found := limits[server]
			if !found {
				continue // A server of the tenant.
			}
			if checked++; open[server] > limit && limit != most[server] {
				t.Errorf("%s: clients open %d connections to %s while they are replaced, which takes %d", c.name, open[server], server, limit)
			}
			if strings.HasPrefix(c.name, "many pods") && open[server] < 800 {
				t.Errorf("%s: clients open %d connections of %d, which shows nothing of how they are counted", c.name, open[server], limit)
			}
		}
	}
	if checked < 40 {
		t.Errorf("%d servers were found", checked)
	}
}
