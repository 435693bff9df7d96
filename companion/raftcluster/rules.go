package raftcluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// shortRequeueInterval is the polling interval while the cluster is unhealthy.
const shortRequeueInterval = 2 * time.Second

// lagLimit is the maximum lag of a member in log entries: writes continue while members are queried.
const lagLimit = 1000

// next selects the next step.
func next(w *observation) controller.Decision {
	switch {
	case w.limited > 0:
		return controller.Decision{RequeueAfter: w.limited}
	case w.errorMessage != "":
		return controller.Decision{RequeueAfter: controller.Poll, Status: func() {
			w.ready(condition.False("NoCredentials", w.errorMessage))
			w.reportUncounted(w.errorMessage)
		}}
	case len(w.pods) == 0:
		return controller.Decision{RequeueAfter: shortRequeueInterval, Status: func() {
			w.cluster.Status.Members, w.cluster.Status.Leader = nil, ""
			w.ready(condition.False("NoMembers", "StatefulSet "+string(w.cluster.Spec.StatefulSetName)+" has no pods yet"))
			w.reportUncounted("no pod exists")
		}}
	}
	s := controller.Decision{RequeueAfter: shortRequeueInterval, Status: w.report}
	if id, ok := w.discovered(); ok {
		s.Name, s.Note = "Recorded", "recorded the cluster ID "+id
		s.Status = func() { w.cluster.Status.ClusterID = id; w.report() }
	}
	if show := w.show(); show != nil {
		s.Name, s.Action = cmp.Or(s.Name, "NodesReported"), show
	}
	if w.unhealthyReason() == "" {
		s.RequeueAfter = time.Duration(w.cluster.Spec.IntervalSeconds) * time.Second
	}
	return s
}

// discovered returns the ID of the cluster, if none is recorded and all pods with a cluster have the same one.
//
// A pod that is still joining does not count: it has the ID that it was configured to join, which may be that of a lost
// cluster. If it were recorded, the member that has the data would be the foreign one.
func (obs *observation) discovered() (string, bool) {
	if obs.cluster.Status.ClusterID != "" {
		return "", false
	}
	ids := obs.ids()
	return strings.Join(ids, ""), len(ids) == 1
}

// ids returns the sorted IDs of all clusters to which pods are connected.
func (obs *observation) ids() []string {
	var out []string
	for _, p := range obs.pods {
		if p.database != nil && p.database.cluster != "" && p.database.connected {
			out = append(out, p.database.cluster)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// report sets the status from the responses.
func (obs *observation) report() {
	s := &obs.cluster.Status
	s.Members, s.Leader = nil, ""
	for _, p := range obs.pods {
		s.Members = append(s.Members, obs.member(p))
		if p.database != nil && p.database.leader && p.database.connected && p.database.cluster == s.ClusterID {
			s.Leader = p.name
		}
	}
	obs.reportChassis()
	if foreign := obs.foreign(); len(foreign) > 0 {
		obs.set(conditionClusterIDMatches, condition.False("ClusterIDMismatch", fmt.Sprintf(
			"%s, which differs from %s: back up its data, then delete its volume and its pod so that it rejoins",
			strings.Join(foreign, ", "), describeID(s.ClusterID))))
	} else {
		obs.set(conditionClusterIDMatches, condition.True("ClusterIDMatches", "no pod is a member of another cluster"))
	}
	if wrong := obs.unhealthyReason(); wrong != "" {
		obs.ready(condition.False(obs.reason(), wrong))
		return
	}
	obs.ready(condition.True("QuorumHealthy", fmt.Sprintf("all %d pods are members, and %s is the leader", len(obs.pods), s.Leader)))
}

// reportChassis sets the count of the nodes, and whether it is current.
func (obs *observation) reportChassis() {
	s := &obs.cluster.Status
	switch {
	case !obs.cluster.Spec.CountChassis:
		s.Chassis = nil
		meta.RemoveStatusCondition(&s.Conditions, conditionChassisCounted)
	case obs.chassisErr != nil:
		obs.reportUncounted(obs.chassisErr.Error())
	default:
		s.Chassis = obs.chassis
		obs.set(conditionChassisCounted, condition.True("Counted", fmt.Sprintf("%d chassis are registered", s.Chassis.Registered)))
	}
}

// reportUncounted sets the reason why the count of the nodes is not current.
func (obs *observation) reportUncounted(reason string) {
	if obs.cluster.Spec.CountChassis {
		obs.set(conditionChassisCounted, condition.False("CountFailed", fmt.Sprintf(
			"cannot count the chassis: %s; the status shows the last count", reason)))
	}
}

func describeID(id string) string {
	if id == "" {
		return "the recorded cluster"
	}
	return id
}

// member returns the state of a pod.
func (obs *observation) member(p pod) c5c3v1.RaftMember {
	out := c5c3v1.RaftMember{Pod: p.name}
	switch d := p.database; {
	case p.err != nil:
		out.State, out.Message = c5c3v1.MemberUnreachable, condition.Truncate(p.err.Error(), 1024)
		return out
	case d == nil:
		out.State = c5c3v1.MemberLeft
		return out
	case d.cluster != "" && d.cluster != obs.cluster.Status.ClusterID && (d.connected || obs.cluster.Status.ClusterID != ""):
		out.State = c5c3v1.MemberClusterIDMismatch
	case d.connected && d.cluster != "":
		out.State = c5c3v1.MemberJoined
	default:
		out.State = c5c3v1.MemberJoining
	}
	out.ServerID = p.database.server
	return out
}

// foreign returns a message for each pod that is a member of another cluster.
func (obs *observation) foreign() []string {
	var out []string
	for _, p := range obs.pods {
		if obs.member(p).State == c5c3v1.MemberClusterIDMismatch {
			out = append(out, p.name+" is a member of cluster "+p.database.cluster)
		}
	}
	return out
}

// unhealthyReason returns why the cluster is unhealthy; "" if it is healthy.
func (obs *observation) unhealthyReason() string {
	var out []string
	for _, p := range obs.pods {
		switch m := obs.member(p); m.State {
		case c5c3v1.MemberUnreachable:
			out = append(out, p.name+" does not respond")
		case c5c3v1.MemberLeft:
			out = append(out, p.name+" is no longer a member")
		case c5c3v1.MemberClusterIDMismatch:
			out = append(out, p.name+" is a member of another cluster")
		case c5c3v1.MemberJoining:
			out = append(out, p.name+" is not connected to a majority")
		default:
			// The exact number changes with each write of a client, and each change of the status triggers Crossplane.
			if obs.newest()-p.database.index > lagLimit {
				out = append(out, fmt.Sprintf("%s is more than %d entries behind", p.name, lagLimit))
			}
		}
	}
	if !obs.hasLeader() {
		out = append(out, "no member is the leader")
	}
	return strings.Join(out, "; ")
}

// reason returns the reason of the condition.
func (obs *observation) reason() string {
	switch {
	case len(obs.foreign()) > 0:
		return "ClusterIDMismatch"
	case !obs.hasLeader():
		return "NoLeader"
	}
	return "MembersMissing"
}

// hasLeader reports whether a member of the cluster leads.
func (obs *observation) hasLeader() bool {
	return slices.ContainsFunc(obs.pods, func(p pod) bool {
		return obs.member(p).State == c5c3v1.MemberJoined && p.database.leader
	})
}

// newest returns the highest log index of the members.
func (obs *observation) newest() int64 {
	var out int64
	for _, p := range obs.pods {
		if p.database != nil && obs.member(p).State != c5c3v1.MemberClusterIDMismatch {
			out = max(out, p.database.index)
		}
	}
	return out
}

func (obs *observation) ready(s condition.State) { obs.set(conditionReady, s) }

func (obs *observation) set(name string, s condition.State) {
	obs.cluster.Status.ObservedGeneration = obs.cluster.Generation
	condition.Set(&obs.cluster.Status.Conditions, name, obs.cluster.Generation, obs.now, s)
}
