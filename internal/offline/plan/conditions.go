package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// restarting returns a condition for restarts with an overlap.
func restarting(o Overlap) func(fact) bool {
	return func(f fact) bool { return f.restart != nil && f.restart.Overlap == o }
}

// agent returns a condition for restarts of DaemonSets with one of some agents.
func agent(names ...string) func(fact) bool {
	return func(f fact) bool {
		return f.restartsKind(daemonSet) && slices.Contains(names, agentOf(f.restart.workload))
	}
}

// agentOf returns the name of the agent that the pods of a DaemonSet run: slices have suffixes in the names of their DaemonSets.
func agentOf(workload map[string]any) string {
	return text(workload, "spec", "template", "metadata", "labels", "app.kubernetes.io/component")
}

func (f fact) restartsKind(kind string) bool { return f.restart != nil && f.restart.Kind == kind }
func (f fact) restartsStatefulSet(name string) bool {
	return f.restartsKind(statefulSet) && f.restart.Name == name
}

// deletesClaim reports whether an object is deleted with its claim, which has a kind.
func (f fact) deletesClaim(kind string) bool {
	return f.acts(ActionDelete) && f.claim.Action == ActionDelete && f.pair.id.Kind == kind
}

func (f fact) acts(a Action) bool { return f.change != nil && f.change.Action == a }

// changes reports whether an object of a kind changes in place, in one of some fields if there are any.
func (f fact) changes(kind string, fields ...string) bool {
	return f.acts(ActionChange) && f.change.Kind == kind && (len(fields) == 0 ||
		slices.ContainsFunc(f.change.Fields, func(c Field) bool { return under(c.Path, fields) }))
}

// changesOnly reports whether all changed fields are some fields, or below them.
func (f fact) changesOnly(fields ...string) bool {
	return f.acts(ActionChange) && !slices.ContainsFunc(f.change.Fields, func(c Field) bool { return !under(c.Path, fields) })
}

func (f fact) rejected() bool { return f.change.Reason == reasonRejected }

func (f fact) changesWorkload() bool {
	return f.acts(ActionChange) && slices.Contains(workloads, f.change.Kind)
}

func (f fact) scaledToZero() bool {
	return f.change.Kind != daemonSet && number(at(f.change.after, "spec", "replicas"), 1) == 0 &&
		number(at(f.change.before, "spec", "replicas"), 1) > 0
}

// ready reports whether all containers of the pods have a readiness probe.
func (f fact) ready() bool {
	containers := list(f.restart.workload, "spec", "template", "spec", "containers")
	return len(containers) > 0 && !slices.ContainsFunc(containers, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["readinessProbe"] == nil
	})
}

// isDaemon reports whether a StatefulSet has pods that process calls of a queue.
func (f fact) isDaemon() bool {
	return strings.HasSuffix(f.restart.Name, "-conductor") || strings.HasSuffix(f.restart.Name, "-scheduler") ||
		strings.HasPrefix(f.restart.Name, "cinder-volume") || strings.HasPrefix(f.restart.Name, "cinder-backup")
}

// movesNodes reports whether pods are selected by other nodes.
func movesNodes(causes []string) bool {
	return slices.ContainsFunc(causes, func(c string) bool { return under(c, []string{"spec.affinity", "spec.nodeSelector"}) })
}

// hasSibling reports whether the pool has another DaemonSet with the same agent, before or after the edit.
func (f fact) hasSibling() bool {
	tree := f.change.after
	if tree == nil {
		tree = f.change.before
	}
	for _, r := range []*preview.Result{f.pair.before, f.pair.after} {
		for _, o := range objects(r) {
			if o.Kind == daemonSet && o.Name != f.change.Name && agentOf(o.Tree()) == agentOf(tree) {
				return true
			}
		}
	}
	return false
}

// deletesWithServers reports whether a deleted pool may have servers.
func (f fact) deletesWithServers() bool {
	return f.pair.before != nil && f.pair.before.Spec()["allowDeletionWithVirtualMachines"] == true
}

// holdsData reports whether an object holds data.
func (f fact) holdsData() bool {
	return slices.Contains(dataKinds, f.change.qualified()) || len(list(f.change.before, "spec", "volumeClaimTemplates")) > 0
}

// qualified returns the kind of the object with its API group.
func (c Change) qualified() string { return c.group() + "/" + c.Kind }

func isService(c *Change) bool { return c.qualified() == "/Service" }

// isQuiesced reports whether a schema is changed while its pods are stopped.
func (f fact) isQuiesced() bool {
	for _, phase := range []string{"sync", "expand", "contract"} {
		for _, s := range list(f.change.after, "spec", phase) {
			if step, _ := s.(map[string]any); step["quiesced"] == true {
				return true
			}
		}
	}
	return false
}

func (f fact) operatorPods() (managedPods, bool) {
	if !f.acts(ActionChange) {
		return managedPods{}, false
	}
	p, ok := operatorPods[f.change.Kind]
	return p, ok
}

// poolSize returns the number of copies of a pool of Ceph before or after the edit; 0 if the object is not such a pool.
func (f fact) poolSize(when string) int64 {
	if !f.acts(ActionChange) || f.change.Kind != "CephBlockPool" {
		return 0
	}
	tree := f.change.after
	if when == "before" {
		tree = f.change.before
	}
	return number(at(tree, "spec", "replicated", "size"), 0)
}

// singleCopy reports whether a pool of the Ceph cluster has one copy.
func (f fact) singleCopy() bool {
	return slices.ContainsFunc(objects(f.pair.after), func(o preview.Object) bool {
		return o.Kind == "CephBlockPool" && number(at(o.Tree(), "spec", "replicated", "size"), 0) == 1
	})
}

// removesNetworks reports whether a policy loses a peer that is a network or a namespace: other peers are pods of the claim.
func (f fact) removesNetworks() bool {
	after := peers(f.change.after)
	for peer := range peers(f.change.before) {
		if !after[peer] {
			return true
		}
	}
	return false
}

// peers returns the networks and namespaces of a policy, as text.
func peers(policy map[string]any) map[string]bool {
	out := map[string]bool{}
	for direction, side := range map[string]string{"ingress": "from", "egress": "to"} {
		for _, r := range list(policy, "spec", direction) {
			entry, _ := r.(map[string]any)
			for _, p := range list(entry, side) {
				peer, _ := p.(map[string]any)
				if peer["ipBlock"] != nil || peer["namespaceSelector"] != nil {
					out[direction+fmt.Sprint(peer)] = true
				}
			}
		}
	}
	return out
}

// isNamed reports whether an object has a name, in which * stands for any text at the start or at the end.
func (f fact) isNamed(pattern string) bool {
	name := f.change.Name
	if suffix, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(name, suffix)
	}
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return name == pattern
}

// graceful returns how long a single pod is replaced, and gracefulCalls how long a daemon that processes calls is.
func graceful(f fact) string {
	return fmt.Sprintf("all clients, while the pod completes its requests for up to %d s, and until the next one is ready", f.graceSeconds())
}

func gracefulCalls(f fact) string {
	return fmt.Sprintf("operations of clients, while the pod completes its calls for up to %d s, and until the next one is ready",
		f.graceSeconds())
}

// graceSeconds returns the time that a pod has to end.
func (f fact) graceSeconds() int64 {
	const kubernetes = 30
	return number(at(f.restart.workload, "spec", "template", "spec", "terminationGracePeriodSeconds"), kubernetes)
}

// untilNewAddress returns how long a new public address affects clients. Keystone's own entry in the catalog is written by a Job that does
// not use the cache, where catalogs have the default lifetime of oslo.cache. The other entries are written through Keystone's API, which
// removes catalogs from the cache.
func untilNewAddress(f fact) string {
	const clients = "clients of the previous address, until they use the new one"
	if f.scene.services[f.pair.id][f.change.Owner] == "keystone" {
		return clients + "; the catalog has it up to 10 min later"
	}
	return clients
}
