package preview

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Totals are the pods that a claim requests, and their requests. Jobs are not included, because they end.
type Totals struct {
	// Pods is the number of pods, without those of NodePods.
	Pods int64
	// NodePods is the number of pods on each node of a pool of hypervisors. Their requests are not included.
	NodePods int64
	// CPU, Memory and Storage of all Pods.
	CPU, Memory, Storage resource.Quantity
}

// podSet is a set of identical pods in the object of an operator: the fields of its replicas, resources and size of the volume.
type podSet struct {
	kind                         string
	replicas, resources, storage []string
}

// podSets lists the objects from which operators create pods (definitions in the tables of docs/reference/versions.md). Ceph is not among
// them: its daemons depend on devices of nodes.
var podSets = []podSet{
	{"MariaDB", []string{"spec", "replicas"}, []string{"spec", "resources"}, []string{"spec", "storage", "size"}},
	{"MaxScale", []string{"spec", "replicas"}, []string{"spec", "resources"}, nil},
	{"RabbitmqCluster", []string{"spec", "replicas"}, []string{"spec", "resources"}, []string{"spec", "persistence", "storage"}},
	{"Valkey", []string{"spec", "replicas"}, []string{"spec", "resources"}, []string{"spec", "persistence", "size"}},
}

// Totals returns the sums over all objects. An error means that an object contains an invalid quantity, which is a bug.
func (r *Result) Totals() (Totals, error) {
	var t Totals
	agents := map[string]bool{} // Slices of a pool run the same agent on different nodes.
	for _, o := range r.Objects {
		var err error
		switch o.Kind {
		case "Deployment", "StatefulSet":
			err = t.workload(o.Tree())
		case "DaemonSet":
			agent := str(child(o.Tree(), "spec", "template", "metadata", "labels")[nodeAgent])
			if agent == "" || !agents[agent] {
				t.NodePods++
			}
			agents[agent] = true
		default:
			if i := slices.IndexFunc(podSets, func(p podSet) bool { return p.kind == o.Kind }); i >= 0 {
				err = t.operator(podSets[i], o.Tree())
			}
		}
		if err != nil {
			return t, fmt.Errorf("cannot sum up %s %s: %w", o.Kind, o.Name, err)
		}
	}
	return t, nil
}

// workload adds the pods of a Deployment or StatefulSet.
func (t *Totals) workload(tree map[string]any) error {
	spec := child(tree, "spec")
	replicas := number(spec["replicas"])
	t.Pods += replicas
	pod := child(spec, "template", "spec")
	for _, field := range []string{"containers", "initContainers"} {
		for _, v := range list(pod[field]) {
			container, _ := v.(map[string]any)
			// An init container that ends shares the requests of the containers after it; a sidecar has its own.
			if field == "initContainers" && container["restartPolicy"] != "Always" {
				continue
			}
			if err := t.add(replicas, child(container, "resources", "requests")); err != nil {
				return err
			}
		}
	}
	for _, v := range list(spec["volumeClaimTemplates"]) {
		template, _ := v.(map[string]any)
		requests := child(template, "spec", "resources", "requests")
		if err := multiply(&t.Storage, replicas, requests["storage"]); err != nil {
			return err
		}
	}
	return nil
}

// operator adds the pods that an operator creates.
func (t *Totals) operator(p podSet, tree map[string]any) error {
	replicas := number(at(tree, p.replicas))
	t.Pods += replicas
	resources, _ := at(tree, p.resources).(map[string]any)
	if err := t.add(replicas, child(resources, "requests")); err != nil {
		return err
	}
	return multiply(&t.Storage, replicas, at(tree, p.storage))
}

// add adds the requests of a number of containers.
func (t *Totals) add(replicas int64, requests map[string]any) error {
	if err := multiply(&t.CPU, replicas, requests["cpu"]); err != nil {
		return err
	}
	return multiply(&t.Memory, replicas, requests["memory"])
}

// multiply adds a number of equal quantities to a sum. A missing quantity adds nothing.
func multiply(sum *resource.Quantity, n int64, v any) error {
	text := str(v)
	if text == "" {
		return nil
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	for range n {
		sum.Add(q)
	}
	return nil
}

// number returns the number of replicas. The default of all kinds is 1.
func number(v any) int64 {
	if n, ok := v.(float64); ok {
		return int64(n)
	}
	return 1
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// at returns the value of a field, nil if it does not exist.
func at(tree map[string]any, path []string) any {
	if len(path) == 0 {
		return nil
	}
	last := len(path) - 1
	return child(tree, path[:last]...)[path[last]]
}

// endpoint is a service with its public address.
type endpoint struct{ service, address, version string }

// endpoints returns the services of a control plane that users call, in the order of the status.
func (r *Result) endpoints() []endpoint {
	versions := map[string]string{}
	for _, v := range list(r.Status["components"]) {
		component, _ := v.(map[string]any)
		versions[str(component["name"])] = str(component["version"])
	}
	var out []endpoint
	for _, v := range list(r.Status["endpoints"]) {
		e, _ := v.(map[string]any)
		if address := str(e["public"]); address != "" {
			out = append(out, endpoint{str(e["service"]), address, versions[str(e["service"])]})
		}
	}
	return out
}

// overview returns the lines between the first line of the tree and the objects: release, totals and addresses.
func (r *Result) overview() (string, error) {
	totals, err := r.Totals()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if release := str(r.Status["release"]); release != "" {
		fmt.Fprintf(&b, "  OpenStack %s\n", release)
	}
	if totals.Pods > 0 {
		fmt.Fprintf(&b, "  %d pods request %s cores and %s of memory; volumes: %s\n", totals.Pods, cores(totals.CPU), gibibytes(totals.Memory),
			gibibytes(totals.Storage))
	}
	if totals.NodePods > 0 {
		fmt.Fprintf(&b, "  %d pods on each hypervisor\n", totals.NodePods)
	}
	endpoints := r.endpoints()
	width := 0
	for _, e := range endpoints {
		width = max(width, len(e.service))
	}
	for _, e := range endpoints {
		fmt.Fprintf(&b, "  %-*s  %-7s  %s\n", width, e.service, e.version, e.address)
	}
	return b.String(), nil
}

// cores returns a number of cores with one decimal place, rounded up.
func cores(q resource.Quantity) string {
	tenths := (q.MilliValue() + 99) / 100
	return fmt.Sprintf("%d.%d", tenths/10, tenths%10)
}

// gibibytes returns an amount in GiB, rounded up.
func gibibytes(q resource.Quantity) string {
	const unit = 1 << 30
	return fmt.Sprintf("%dGi", (q.Value()+unit-1)/unit)
}
