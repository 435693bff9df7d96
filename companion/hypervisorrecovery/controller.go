package hypervisorrecovery

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/fence"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

const (
	// conditionObserved: the witnesses report.
	conditionObserved = "Observed"
	// conditionUnblocked: nothing prevents the recovery of failed nodes.
	conditionUnblocked = "Unblocked"
	// conditionRecovered: no node is being recovered.
	conditionRecovered = "Recovered"
	// conditionFenceable: healthy nodes could be powered off.
	conditionFenceable = "Fenceable"
)

var (
	metrics = controller.NewMetrics("hypervisor_recovery")
	blocked = metrics.Gauge("blocked",
		"1 if an operator has to act to recover failed nodes, else 0. A dry run has 1 only if servers run twice, or if it has stopped a "+
			"recovery.")
	failedCount = metrics.Gauge("failed_nodes", "Number of nodes of which a witness reports a failure.")
	recoveries  = metrics.Gauge("nodes", "Number of nodes that are being recovered, by state.", "state")
	remaining   = metrics.Gauge("remaining_servers", "Number of servers on nodes that are being recovered.")
)

// kind returns the kind, whose passes share a memory. Neither the services nor the ServiceCheck are watched.
func kind(m *memory) *controller.Kind[*openstackv1.HypervisorRecovery, *observation] {
	return &controller.Kind[*openstackv1.HypervisorRecovery, *observation]{
		Name:           "HypervisorRecovery",
		Object:         &openstackv1.HypervisorRecovery{},
		Observe:        m.observe,
		Next:           next,
		LongestBackoff: controller.Poll,
		Conditions:     func(r *openstackv1.HypervisorRecovery) *[]metav1.Condition { return &r.Status.Conditions },
		ObservedAt:     func(r *openstackv1.HypervisorRecovery) **metav1.Time { return &r.Status.LastObservationTime },
		Incomplete:     func(obs *observation) bool { return obs.limited > 0 || obs.unavailable.Reason != "" || obs.isPartial() },
		Warns:          []string{conditionUnblocked, conditionObserved, conditionRecovered, conditionFenceable},
		Metrics:        metrics,
		ExportMetrics:  measure,
	}
}

func measure(r *openstackv1.HypervisorRecovery) {
	blocked.WithLabelValues(r.Namespace, r.Name).Set(valueOfBlocked(r))
	failedCount.WithLabelValues(r.Namespace, r.Name).Set(float64(r.Status.FailedCount))
	recoveries.DeletePartialMatch(prometheus.Labels{"namespace": r.Namespace, "name": r.Name})
	servers := int32(0)
	for i := range r.Status.Recoveries {
		n := &r.Status.Recoveries[i]
		recoveries.WithLabelValues(r.Namespace, r.Name, string(n.State)).Inc()
		servers += n.ServerCount
	}
	remaining.WithLabelValues(r.Namespace, r.Name).Set(float64(servers))
}

// valueOfBlocked returns 1 if an operator has to act now. A dry run recovers nothing, but servers that run twice destroy their disks also
// then, and servers of a node whose recovery it has stopped are down because of the recovery.
func valueOfBlocked(r *openstackv1.HypervisorRecovery) float64 {
	c := meta.FindStatusCondition(r.Status.Conditions, conditionUnblocked)
	switch {
	case c == nil || c.Status != metav1.ConditionFalse:
		return 0
	case r.Spec.Mode == openstackv1.RecoveryRecover, isUrgent(c.Reason), c.Reason == stoppedByMode:
		return 1
	}
	return 0
}

// Reconciler reconciles HypervisorRecoveries, one at a time.
type Reconciler struct {
	controller.Env

	memory memory
}

// Reconcile takes one step.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind(&r.memory).Reconcile(ctx, &r.Env, req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=hypervisorrecoveries,verbs=get;list;watch
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=hypervisorrecoveries/status,verbs=get;update
// +kubebuilder:rbac:groups=openstack.c5c3.io,resources=servicechecks,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error {
	return kind(&memory{parallel: parallelReads}).Add(mgr, func(env *controller.Env) error {
		env.Transport, env.Public = identity.KeepAlive(), identity.SlowTLS(fence.RequestTimeout)
		return nil
	})
}
