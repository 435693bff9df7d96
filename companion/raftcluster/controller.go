package raftcluster

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// Conditions of a cluster.
const (
	conditionReady            = "Ready"
	conditionClusterIDMatches = "ClusterIDMatches"
	// conditionChassisCounted is True if the count of the registered nodes is current.
	conditionChassisCounted = "ChassisCounted"
)

var (
	metrics      = controller.NewMetrics("raft_cluster")
	counts       = metrics.Gauge("members", "Number of pods by state.", "state")
	nodes        = metrics.Gauge("chassis", "Registered nodes: active if they have applied the configuration, otherwise behind.", "state")
	leadersGauge = metrics.Gauge("leaders", "1 while the cluster has a leader.")
)

// kind polls: neither the members nor their StatefulSet are watched.
var kind = controller.Kind[*c5c3v1.RaftCluster, *observation]{
	Name:       "RaftCluster",
	Object:     &c5c3v1.RaftCluster{},
	Observe:    observe,
	Next:       next,
	Conditions: func(c *c5c3v1.RaftCluster) *[]metav1.Condition { return &c.Status.Conditions },
	ObservedAt: func(c *c5c3v1.RaftCluster) **metav1.Time { return &c.Status.LastObservationTime },
	Incomplete: func(w *observation) bool { return w.limited > 0 || w.errorMessage != "" || len(w.pods) == 0 },
	Warns:      []string{conditionReady, conditionClusterIDMatches, conditionChassisCounted},

	FormerConditions: []string{"SameCluster"},

	Metrics:       metrics,
	ExportMetrics: measure,
}

func measure(c *c5c3v1.RaftCluster) {
	counts.DeletePartialMatch(prometheus.Labels{"namespace": c.Namespace, "name": c.Name})
	states := map[string]float64{}
	for _, m := range c.Status.Members {
		states[m.State]++
	}
	for state, n := range states {
		counts.WithLabelValues(c.Namespace, c.Name, state).Set(n)
	}
	nodes.DeletePartialMatch(prometheus.Labels{"namespace": c.Namespace, "name": c.Name})
	if n := c.Status.Chassis; n != nil {
		nodes.WithLabelValues(c.Namespace, c.Name, "active").Set(float64(n.Active))
		nodes.WithLabelValues(c.Namespace, c.Name, "behind").Set(float64(n.Registered - n.Active))
	}
	leaderValue := 0.0
	if c.Status.Leader != "" {
		leaderValue = 1
	}
	leadersGauge.WithLabelValues(c.Namespace, c.Name).Set(leaderValue)
}

// Reconciler reconciles RaftClusters.
type Reconciler controller.Env

// Reconcile queries every member once and updates the status.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager.
//
// +kubebuilder:rbac:groups=c5c3.io,resources=raftclusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=c5c3.io,resources=raftclusters/status,verbs=get;update
// +kubebuilder:rbac:groups=ovn.c5c3.io,resources=ovnchassis,verbs=list;create;update;delete
// +kubebuilder:rbac:groups=ovn.c5c3.io,resources=ovnchassis/status,verbs=update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr) }
