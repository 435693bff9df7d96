package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Shared returns the refusal of a claim, which doc holds, if it uses something that another claim of the same preview uses already, and
// that serves one of them only: a node, a device, a public host name, or a place for data. A function sees one claim and those that it
// refers to, so that only a preview compares all of them.
func Shared(others []*Result, r *Result, doc []byte) error {
	var errs []error
	for _, o := range others {
		whose := fmt.Sprintf("%s %s of namespace %s", o.Kind, o.Name, o.Namespace)
		errs = append(errs, sharedNodes(o, r, whose), sharedDevices(o, r, whose), sharedHosts(o, r, whose), sharedPlaces(o, r, whose))
	}
	err := invalid.Distinct(errs...)
	if err == nil {
		return nil
	}
	return refused(doc, r.Kind+" "+r.Name, sentences(err)...)
}

// spec returns the spec of the result's claim as it is composed, with defaults.
func (r *Result) spec() map[string]any {
	for _, existing := range r.Existing {
		if existing.GetFields()["kind"].GetStringValue() == "X"+r.Kind {
			return existing.GetFields()["spec"].GetStructValue().AsMap()
		}
	}
	return nil
}

// nodeAgent is the label of pods of which a node has one, whichever pool they belong to.
const nodeAgent = "crossplane.c5c3.io/node-agent"

// sharedNodes returns an error for pools of hypervisors that can have a node in common: the scheduler puts the pods of one of them there.
func sharedNodes(o, r *Result, whose string) error {
	for _, theirs := range o.daemons() {
		for _, mine := range r.daemons() {
			if mine.agent == theirs.agent && mine.cluster == theirs.cluster && overlap(mine.terms, theirs.terms) {
				return invalid.Field("spec.nodeSelector", "a node could belong to the %s too, and a node runs the agents of one pool; set the same "+
					"label in both, with another value each", whose)
			}
		}
	}
	return nil
}

// A daemon is a DaemonSet of which a node runs one pod: its agent, and where it is scheduled to.
type daemon struct {
	cluster, agent string
	terms          []corev1.NodeSelectorTerm
}

func (r *Result) daemons() []daemon {
	var out []daemon
	for _, o := range r.Objects {
		if o.Kind != "DaemonSet" {
			continue
		}
		template := child(o.tree(), "spec", "template")
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

// tree returns the object without the Object of provider-kubernetes around it.
func (o Object) tree() map[string]any {
	if inside, ok := wrapper.Desired(encoded.Of(o.Manifest)); ok {
		return inside.Tree().AsMap()
	}
	return o.Manifest.AsMap()
}

func child(tree map[string]any, fields ...string) map[string]any {
	for _, f := range fields {
		tree, _ = tree[f].(map[string]any)
	}
	return tree
}

// overlap reports whether a node can fit a term of each.
func overlap(a, b []corev1.NodeSelectorTerm) bool {
	for _, x := range a {
		for _, y := range b {
			if !apart(x, y) && !apart(y, x) {
				return true
			}
		}
	}
	return false
}

// apart reports whether a term demands a value that the other one excludes.
func apart(a, b corev1.NodeSelectorTerm) bool {
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

// sharedDevices returns an error for a device of a node that two StorageClusters name: Ceph takes no device that has data on it.
func sharedDevices(o, r *Result, whose string) error {
	theirs := o.devices()
	mine := r.devices()
	for _, device := range slices.Sorted(maps.Keys(mine)) {
		if _, both := theirs[device]; both {
			return invalid.Field(mine[device], "%s is a device of the %s already, and Ceph takes no device that has data; remove it from one of "+
				"them", device, whose)
		}
	}
	return nil
}

// devices returns the fields of the devices that a StorageCluster names, by cluster, node and device.
func (r *Result) devices() map[string]string {
	out := map[string]string{}
	if r.Kind != "StorageCluster" {
		return out
	}
	spec := r.spec()
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

// sharedHosts returns an error for a public host name that two claims are reached at: one of them gets the requests of both.
func sharedHosts(o, r *Result, whose string) error {
	theirs := o.hosts()
	for _, host := range r.hosts() {
		if !slices.Contains(theirs, host) {
			continue
		}
		field := "spec.global.domain"
		walkText("spec", r.spec(), func(at, text string) {
			if text == host {
				field = at
			}
		})
		return invalid.Field(field, "the %s is reached at %s already; set another host name", whose, host)
	}
	return nil
}

// hosts returns the public host names of a claim.
func (r *Result) hosts() []string {
	var out []string
	for _, o := range r.Objects {
		spec := child(o.tree(), "spec")
		switch o.Kind {
		case "HTTPRoute":
			names, _ := spec["hostnames"].([]any)
			for _, n := range names {
				out = append(out, str(n))
			}
		case "Ingress":
			rules, _ := spec["rules"].([]any)
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

// sharedPlaces returns an error for an NFS share, or a place in a bucket, that two claims keep data in: each removes what it does not know.
func sharedPlaces(o, r *Result, whose string) error {
	theirs, mine := o.places(), r.places()
	for _, place := range slices.Sorted(maps.Keys(mine)) {
		if at, both := theirs[place]; both {
			return invalid.Field(mine[place], "%s is where the %s keeps data already (%s); set another one for one of them", place, whose, at)
		}
	}
	return nil
}

// places returns the fields by which a claim names shares and places in buckets, by what they name. What is only read is left out.
func (r *Result) places() map[string]string {
	out := map[string]string{}
	walkMaps("spec", r.spec(), func(at string, m map[string]any) {
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
