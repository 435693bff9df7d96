package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// Restart is a rollout of the pods of one workload.
type Restart struct {
	// Stage in which it starts. Stages count the steps of the edit of this claim; rollouts of the same stage run at the same time.
	Stage int
	// Kind, Namespace and Name of the workload, or of the object from which an operator creates it.
	Kind, Namespace, Name string
	Owner, Component      string
	// Pods is the number of pods; with PerNode, on each node.
	Pods    int64
	PerNode bool
	// Overlap describes how many pods run meanwhile.
	Overlap Overlap
	// Causes are the changed fields of the pods, by path.
	Causes []string

	workload map[string]any // after the edit
}

// Overlap is the way in which old pods are replaced by new ones.
type Overlap string

// Overlaps.
const (
	// OverlapSurge: a new pod is ready before an old one ends.
	OverlapSurge Overlap = "new before old"
	// OverlapOne: pods are replaced one after another.
	OverlapOne Overlap = "one after another"
	// OverlapNodes: pods of a percentage of the nodes are replaced at a time.
	OverlapNodes Overlap = "some nodes at a time"
	// OverlapNone: all pods end before new ones start.
	OverlapNone Overlap = "old before new"
	// OverlapManual: pods are replaced when an operator deletes them.
	OverlapManual Overlap = "when an operator deletes them"
	// OverlapOperator: an operator replaces them, in its own order.
	OverlapOperator Overlap = "in the order of the operator"
	// OverlapUnknown: another way.
	OverlapUnknown Overlap = "unknown"
)

// managedPods describes the pods that an operator creates from an object of a kind.
type managedPods struct {
	replicas []string
	// restarting are the fields whose change replaces the pods, online the fields whose change does not. A change of any other field of the
	// spec has no rule.
	restarting, online []string
}

// operatorPods are the objects from which operators create pods. The table has the fields that this project sets if their effect follows
// from the operators' sources: a field restarts pods if it is part of their template, or of a hash in it.
//
//   - mariadb-operator v25.10.4: pkg/builder/pod_builder.go and container_builder.go; the hashes are in
//     internal/controller/mariadb_controller_update.go. The configuration of a Galera cluster contains the addresses of its members, so
//     that their number restarts all of them (pkg/galera/config/config.go).
//   - cluster-operator v2.20.0: internal/resource/statefulset.go, and configmap.go, which excludes the number of members from restarts.
//   - rook v1.20.6: pkg/operator/ceph/cluster. cephConfig is set in the running daemons (cluster.go); the dashboard and the number of
//     managers are part of the managers' pods (mgr/spec.go).
var operatorPods = map[string]managedPods{
	"MariaDB": {
		replicas: []string{"spec", "replicas"},
		restarting: []string{
			"spec.image", "spec.imagePullSecrets", "spec.resources", "spec.myCnf", "spec.replicas", "spec.galera.enabled", "spec.galera.agent",
			"spec.galera.replicaThreads", "spec.galera.providerOptions", "spec.galera.sst", "spec.affinity", "spec.nodeSelector",
			"spec.tolerations", "spec.podSecurityContext", "spec.securityContext", "spec.priorityClassName", "spec.readinessProbe",
			"spec.startupProbe", "spec.tls", "spec.topologySpreadConstraints",
		},
		online: []string{
			"metadata", "spec.storage.size", "spec.metrics", "spec.podDisruptionBudget", "spec.maxScaleRef",
		},
	},
	"MaxScale": {
		replicas: []string{"spec", "replicas"},
		restarting: []string{
			"spec.image", "spec.imagePullSecrets", "spec.resources", "spec.nodeSelector", "spec.tolerations", "spec.tls",
			"spec.priorityClassName", "spec.topologySpreadConstraints",
		},
		online: []string{"metadata", "spec.replicas", "spec.metrics", "spec.podDisruptionBudget"},
	},
	"RabbitmqCluster": {
		replicas: []string{"spec", "replicas"},
		restarting: []string{
			"spec.image", "spec.imagePullSecrets", "spec.resources", "spec.rabbitmq", "spec.override", "spec.affinity",
			"spec.tolerations", "spec.tls", "spec.terminationGracePeriodSeconds", "spec.delayStartSeconds",
		},
		online: []string{"metadata", "spec.replicas", "spec.persistence.storage"},
	},
	"CephCluster": {
		restarting: append([]string{
			"spec.cephVersion", "spec.resources.mon", "spec.resources.osd", "spec.placement", "spec.priorityClassNames",
		}, managerFields...),
		online: []string{
			"metadata", "spec.storage", "spec.mon.count", "spec.cephConfig", "spec.disruptionManagement", "spec.cleanupPolicy",
		},
	},
}

// managerFields are the fields of a CephCluster that restart only managers, which no client uses.
var managerFields = []string{"spec.resources.mgr", "spec.mgr", "spec.dashboard"}

// under reports whether a path is one of some fields, or below one.
func under(path string, fields []string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		rest, ok := strings.CutPrefix(path, field)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// restarts returns the rollouts of an edited claim, in the order in which they start.
func restarts(p *pair) []Restart {
	var out []Restart
	exists := map[string]bool{}
	for _, o := range objects(p.after) {
		exists[resourceKey(o)] = true
	}
	for _, r := range p.revisions {
		if r.Old == nil || !exists[resourceKey(r.New)] {
			continue
		}
		if restart, ok := rollout(r); ok {
			out = append(out, restart)
		}
	}
	return out
}

// rollout returns the restart that a new state of an object causes, if any.
func rollout(r preview.Revision) (Restart, bool) {
	out := Restart{
		Stage: r.Stage, Kind: r.New.Kind, Namespace: r.New.Namespace, Name: r.New.Name, Owner: r.New.Owner, Component: r.New.Component,
	}
	managed, isManaged := operatorPods[r.New.Kind]
	template := slices.Contains(workloads, r.New.Kind)
	if !isManaged && !template {
		return out, false
	}
	before, after := r.Old.Tree(), r.New.Tree()
	out.workload = after
	for _, f := range diff(r.New.Kind, before, after) {
		switch {
		case template && under(f.Path, []string{"spec.template"}):
			out.Causes = append(out.Causes, strings.TrimPrefix(f.Path, "spec.template."))
		case isManaged && under(f.Path, managed.restarting):
			out.Causes = append(out.Causes, f.Path)
		}
	}
	if len(out.Causes) == 0 {
		return out, false
	}
	if isManaged {
		out.Overlap = OverlapOperator
		if managed.replicas != nil {
			out.Pods = number(at(before, managed.replicas...), 1)
		}
		return out, true
	}
	out.PerNode = r.New.Kind == daemonSet
	if !out.PerNode {
		out.Pods = number(at(before, "spec", "replicas"), 1)
		if out.Pods == 0 {
			return out, false
		}
	}
	out.Overlap = overlapOf(r.New.Kind, after)
	return out, true
}

// Kinds of workloads.
const (
	deployment  = "Deployment"
	statefulSet = "StatefulSet"
	daemonSet   = "DaemonSet"
)

var workloads = []string{deployment, statefulSet, daemonSet}

// overlapOf returns how the pods of a workload are replaced.
func overlapOf(kind string, workload map[string]any) Overlap {
	switch kind {
	case statefulSet:
		switch text(workload, "spec", "updateStrategy", "type") {
		case "", "RollingUpdate":
			return OverlapOne
		case "OnDelete":
			return OverlapManual
		}
	case daemonSet:
		if text(workload, "spec", "updateStrategy", "type") == "OnDelete" {
			return OverlapManual
		}
		return OverlapNodes
	case deployment:
		strategy := object(workload, "spec", "strategy")
		if text(strategy, "type") == "Recreate" {
			return OverlapNone
		}
		surge, unavailable := at(object(strategy, "rollingUpdate"), "maxSurge"), at(object(strategy, "rollingUpdate"), "maxUnavailable")
		if isZero(unavailable) && surge != nil && !isZero(surge) {
			return OverlapSurge
		}
		if isZero(surge) && number(unavailable, 0) == 1 {
			return OverlapOne
		}
	}
	return OverlapUnknown
}

// isZero reports whether a number or percentage is 0 and set.
func isZero(v any) bool {
	switch n := v.(type) {
	case float64:
		return n == 0
	case string:
		return n == "0" || n == "0%"
	}
	return false
}

// String returns a line with the workload, its pods, and how they are replaced.
func (r Restart) String() string {
	pods := fmt.Sprintf("%d pods", r.Pods)
	switch {
	case r.PerNode:
		pods = "a pod on each node"
		if limit := text(r.workload, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable"); limit != "" && r.Overlap == OverlapNodes {
			return fmt.Sprintf("%s %s: %s, %s of the nodes at a time", r.Kind, r.Name, pods, limit)
		}
	case r.Pods == 1 && r.Overlap == OverlapOne:
		return fmt.Sprintf("%s %s: 1 pod, in place", r.Kind, r.Name)
	case r.Pods == 1:
		pods = "1 pod"
	case r.Pods == 0:
		pods = "all daemons"
	}
	return fmt.Sprintf("%s %s: %s, %s", r.Kind, r.Name, pods, r.Overlap)
}
