package hypervisor

import (
	"errors"

	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// checkLimits rejects nodes, tolerated taints and images that the platform does not allow in this namespace, and agents with rights on
// objects of other nodes. Pods of a pool control their node: permission to select a node is control of it.
func (m *model) checkLimits() error {
	limits := limit.In(m.platform.Limits, m.claim.Namespace)
	nodes := limit.List{
		Name: "hypervisorNodes", Of: func(l *platformv1.Limit) []string { return limit.Texts(l.HypervisorNodes) }, Allows: limit.Term,
	}
	agents := limit.List{
		Name: "hypervisorAgents", Of: func(l *platformv1.Limit) []string { return limit.Texts(l.HypervisorAgents) }, Allows: limit.Match,
	}
	errs := []error{
		m.checkImages(limits),
		nodes.CheckAny(limits, m.claim.Namespace, "spec.nodeSelector", limit.LabelTerms(m.spec.NodeSelector)),
	}
	if on(m.agents().KVMNodeAgent.Enabled) {
		errs = append(errs, agents.CheckAny(limits, m.claim.Namespace, nodeAgentField, []string{"kvmNodeAgent"}))
	}
	for _, t := range m.spec.Tolerations {
		errs = append(errs, limit.Tolerations.CheckAny(limits, m.claim.Namespace, "spec.tolerations", []string{
			limit.TolerationTerm(t.Key, t.Operator, t.Value, t.Effect),
		}))
	}
	return errors.Join(errs...)
}
