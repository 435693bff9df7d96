package clustercheck

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
)

// conditionReady is True if the properties of the cluster were read.
const conditionReady = "Ready"

var metrics = controller.NewMetrics("cluster_check")

// kind polls, because the companion caches only objects of its namespace. It writes the time of its observations as often as a deletion
// guard: the age of the report shows whether the cluster is reachable.
var kind = controller.Kind[*c5c3v1.ClusterCheck, *observation]{
	Name:          "ClusterCheck",
	Object:        &c5c3v1.ClusterCheck{},
	Observe:       observe,
	Next:          next,
	Conditions:    func(c *c5c3v1.ClusterCheck) *[]metav1.Condition { return &c.Status.Conditions },
	ObservedAt:    func(c *c5c3v1.ClusterCheck) **metav1.Time { return &c.Status.LastObservationTime },
	WriteInterval: freshness.GuardWriteInterval,
	Incomplete:    func(w *observation) bool { return w.err != nil },
	Warns:         []string{conditionReady},
	Metrics:       metrics,
}

// Reconciler reconciles ClusterChecks.
type Reconciler controller.Env

// Reconcile reports the properties of the cluster.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return kind.Reconcile(ctx, (*controller.Env)(r), req)
}

// Add adds the controller to a manager. The function of a WorkloadCluster binds the ClusterRoles cobaltcore:cluster-check and
// cobaltcore:cluster-check-namespace of the chart, which have these rights. No other companion has them.
//
// +kubebuilder:rbac:groups=c5c3.io,resources=clusterchecks,verbs=get;list;watch
// +kubebuilder:rbac:groups=c5c3.io,resources=clusterchecks/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list
// +kubebuilder:rbac:groups="",resources=services,verbs=get
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=list
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gatewayclasses,verbs=list
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
func Add(mgr ctrl.Manager) error { return kind.Add(mgr, withVersion(mgr)) }

// withVersion adds the source of the API server's version to an Env.
func withVersion(mgr ctrl.Manager) func(*controller.Env) error {
	return func(env *controller.Env) error {
		api, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return fmt.Errorf("cannot create a client for the version of the API server: %w", err)
		}
		env.Version = func(ctx context.Context) (string, error) {
			data, err := api.RESTClient().Get().AbsPath("/version").DoRaw(ctx)
			if err != nil {
				return "", err
			}
			info := version.Info{}
			err = json.Unmarshal(data, &info)
			return info.GitVersion, err
		}
		return nil
	}
}
