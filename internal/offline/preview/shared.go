package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	cloudv1 "github.com/c5c3/crossplane-cobaltcore/apis/cloud/v1alpha1"
	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// Usage contains the resources that a claim uses and that cannot be shared: nodes, devices, public host names, and locations for data.
type Usage struct {
	kind, namespace, name string
	spec                  map[string]any
	daemons               []daemon
	hosts                 []string
	// devices and locations have the field of the claim.
	devices, locations map[string]string
	// parts are the composed claims, and field is the field of such a claim.
	parts []Usage
	field string
}

// Usage returns the resources that the claim uses and that cannot be shared. It does not keep the result in memory.
func (r *Result) Usage() Usage {
	if parts := r.Parts(); len(parts) > 0 {
		u := Usage{kind: r.Kind, namespace: r.Namespace, name: r.Name}
		for i, p := range parts {
			own := p.Usage()
			own.field = partField(r.claim, r.cluster.Parts()[i].Resource)
			u.parts = append(u.parts, own)
		}
		return u
	}
	return Usage{
		kind: r.Kind, namespace: r.Namespace, name: r.Name,
		spec: r.Spec(), daemons: r.daemons(), hosts: r.hosts(), devices: r.devices(), locations: r.locations(),
	}
}

// Shared returns an error for a claim, whose document is doc, if it uses a resource that another claim of the same preview uses already and
// that cannot be shared. A function gets one claim and the claims that it refers to, so only a preview compares all of them.
func Shared(others []Usage, own Usage, doc []byte) error {
	var all []Usage
	for _, o := range others {
		all = append(append(all, o), o.parts...)
	}
	errs := []error{shared(all, own)}
	for i, part := range own.parts {
		for _, s := range sentences(shared(append(slices.Clone(all), own.parts[:i]...), part)) {
			field, sentence, _ := strings.Cut(cloudv1.InCloud(part.field, s), ": ")
			errs = append(errs, invalid.Field(field, "%s", sentence))
		}
	}
	err := invalid.Distinct(errs...)
	if err == nil {
		return nil
	}
	return newFieldErrors(doc, own.kind+" "+own.name, sentences(err)...)
}

// shared returns the errors of one claim.
func shared(others []Usage, own Usage) error {
	var errs []error
	for _, o := range others {
		user := fmt.Sprintf("%s %s in namespace %s", o.kind, o.name, o.namespace)
		errs = append(errs, sharedName(o, own), sharedNodes(o, own, user), sharedDevices(o, own, user), sharedHosts(o, own, user),
			sharedLocations(o, own, user))
	}
	return invalid.Distinct(errs...)
}

// sharedName returns an error for claims of two kinds with one name: names of composed objects contain the name of the claim, and not its
// kind. Crossplane composes the first one, and reports for the other that its objects have another owner.
func sharedName(o, own Usage) error {
	composed := o.field != "" || own.field != "" // Two claims of one kind, of which a function composes one.
	if o.kind == own.kind && !composed || o.namespace != own.namespace || o.name != own.name {
		return nil
	}
	return invalid.Field("metadata.name", "the %s in namespace %s has the same name, and the objects of both would have the same names; "+
		"choose another name", o.kind, o.namespace)
}

// Spec returns the spec of the composed claim, with defaults.
func (r *Result) Spec() map[string]any {
	for _, existing := range r.Existing {
		if existing.GetFields()["kind"].GetStringValue() == "X"+r.Kind {
			return existing.GetFields()["spec"].GetStructValue().AsMap()
		}
	}
	return nil
}

// nodeAgent is the label of pods that can run once per node, in any pool.
const nodeAgent = "crossplane.c5c3.io/node-agent"

// sharedNodes returns an error for pools of hypervisors that can have a node in common: the scheduler runs the pods of only one pool there.
func sharedNodes(o, own Usage, user string) error {
	for _, existing := range o.daemons {
		for _, mine := range own.daemons {
			if mine.agent == existing.agent && mine.cluster == existing.cluster && overlap(mine.selectorTerms, existing.selectorTerms) {
				return invalid.Field("spec.nodeSelector", "a node could also belong to the %s, and a node runs the agents of one pool; set the same "+
					"label in both, with different values", user)
			}
		}
	}
	return nil
}

// daemon is a DaemonSet that can run once per node: its agent, and its node selector.
type daemon struct {
	cluster, agent string
	selectorTerms  []corev1.NodeSelectorTerm
}

func (r *Result) daemons() []daemon {
	var out []daemon
	for _, o := range r.Objects {
		if o.Kind != "DaemonSet" {
			continue
		}
		template := child(o.Tree(), "spec", "template")
		agent, _ := child(template, "metadata", "labels")[nodeAgent].(string)
		selector := corev1.NodeSelector{}
		required := child(template, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
		if agent == "" || runtime.DefaultUnstructuredConverter.FromUnstructured(required, &selector) != nil {
			continue
		}
		out = append(out, daemon{o.Cluster, agent, selector.NodeSelectorTerms})
	}
	return out
}

// Tree returns the object without its wrapper.
func (o Object) Tree() map[string]any { return o.inner().Map() }

func child(tree map[string]any, fields ...string) map[string]any {
	for _, f := range fields {
		tree, _ = tree[f].(map[string]any)
	}
	return tree
}

// overlap reports whether a node can match a term of both.
func overlap(a, b []corev1.NodeSelectorTerm) bool {
	for _, x := range a {
		for _, y := range b {
			if !excludes(x, y) && !excludes(y, x) {
				return true
			}
		}
	}
	return false
}

// excludes reports whether a term requires a value that the other one excludes.
func excludes(a, b corev1.NodeSelectorTerm) bool {
	for _, x := range a.MatchExpressions {
		if x.Operator != corev1.NodeSelectorOpIn {
			continue
		}
		for _, y := range b.MatchExpressions {
			other := func(v string) bool { return slices.Contains(y.Values, v) == (y.Operator == corev1.NodeSelectorOpNotIn) }
			known := y.Operator == corev1.NodeSelectorOpIn || y.Operator == corev1.NodeSelectorOpNotIn
			if x.Key == y.Key && known && !slices.ContainsFunc(x.Values, func(v string) bool { return !other(v) }) {
				return true
			}
		}
	}
	return false
}

// sharedDevices returns an error for a device of a node that two StorageClusters use: Ceph rejects devices that contain data.
func sharedDevices(o, own Usage, user string) error {
	for _, device := range slices.Sorted(maps.Keys(own.devices)) {
		if _, both := o.devices[device]; both {
			return invalid.Field(own.devices[device], "%s is a device of the %s already, and Ceph rejects devices that contain data; "+
				"remove it from one of them", device, user)
		}
	}
	return nil
}

// devices returns the field of each device of a StorageCluster, by cluster, node and device.
func (r *Result) devices() map[string]string {
	out := map[string]string{}
	if r.Kind != storagev1.GroupVersionKind.Kind {
		return out
	}
	spec := r.Spec()
	in, _ := child(spec, "cluster", "ref")["name"].(string)
	if in != "" {
		in = " of cluster " + in
	}
	nodes, _ := spec["nodes"].([]any)
	for i, n := range nodes {
		node, _ := n.(map[string]any)
		devices, _ := node["devices"].([]any)
		for j, d := range devices {
			device, _ := d.(map[string]any)
			name := strings.TrimPrefix(str(device["name"]), "/dev/")
			out[fmt.Sprintf("%s of node %s%s", name, str(node["name"]), in)] = fmt.Sprintf("spec.nodes[%d].devices[%d].name", i, j)
		}
	}
	return out
}

// sharedHosts returns an error for a public host name of two claims: one of them would get the requests of both.
func sharedHosts(o, own Usage, user string) error {
	for _, host := range own.hosts {
		if !slices.Contains(o.hosts, host) {
			continue
		}
		field := "spec.global.domain"
		walkText("spec", own.spec, func(at, text string) {
			if text == host {
				field = at
			}
		})
		return invalid.Field(field, "the %s uses the host name %s already; set another host name", user, host)
	}
	return nil
}

// hosts returns the public host names of a claim.
func (r *Result) hosts() []string {
	var out []string
	for _, o := range r.Objects {
		switch o.Kind {
		case "HTTPRoute":
			names, _ := child(o.Tree(), "spec")["hostnames"].([]any)
			for _, n := range names {
				out = append(out, str(n))
			}
		case "Ingress":
			rules, _ := child(o.Tree(), "spec")["rules"].([]any)
			for _, rule := range rules {
				if m, ok := rule.(map[string]any); ok {
					out = append(out, str(m["host"]))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(h string) bool { return h == "" })
}

// sharedLocations returns an error for an NFS share, or a prefix of a bucket, in which two claims store data: each deletes unknown data.
func sharedLocations(o, own Usage, user string) error {
	for _, location := range slices.Sorted(maps.Keys(own.locations)) {
		if at, both := o.locations[location]; both {
			return invalid.Field(own.locations[location], "the %[2]s stores data in %[1]s already (%[3]s); set another location for one of them",
				location, user, at)
		}
	}
	return nil
}

// locations returns the field of each share and prefix of a bucket that a claim writes to, by the name of the location.
func (r *Result) locations() map[string]string {
	out := map[string]string{}
	walkMaps("spec", r.Spec(), func(at string, m map[string]any) {
		if strings.HasSuffix(at, ".restoreFrom.s3") {
			return
		}
		if bucket, endpoint := str(m["bucket"]), str(m["endpoint"]); bucket != "" && endpoint != "" {
			endpoint = strings.ToLower(strings.TrimPrefix(endpoint, "https://"))
			name := fmt.Sprintf("bucket %s at %s", bucket, strings.TrimSuffix(endpoint, ":443"))
			if prefix := strings.Trim(str(m["prefix"]), "/"); prefix != "" {
				name += ", prefix " + prefix
			}
			out[name] = at
		}
		shares, _ := m["shares"].([]any)
		for i, s := range shares {
			out["share "+limit.CleanShare(str(s))] = fmt.Sprintf("%s.shares[%d]", at, i)
		}
		if share := str(m["share"]); share != "" {
			out["share "+limit.CleanShare(share)] = at + ".share"
		}
	})
	return out
}

func walkMaps(at string, value any, visit func(at string, m map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		visit(at, v)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			walkMaps(at+"."+k, v[k], visit)
		}
	case []any:
		for i, e := range v {
			walkMaps(fmt.Sprintf("%s[%d]", at, i), e, visit)
		}
	}
}

func walkText(at string, value any, visit func(at, text string)) {
	walkMaps(at, value, func(at string, m map[string]any) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if text, ok := m[k].(string); ok {
				visit(at+"."+k, text)
			}
		}
	})
}
