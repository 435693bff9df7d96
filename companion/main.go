// Command companion runs, in the namespace of one control plane, controllers for tasks that a composition function cannot do
// because they need state, randomness or a running service: key rotation, schema changes, Secrets that combine others,
// changes in Keystone that K-ORC does not support, and checks of running services. The companion of a WorkloadCluster checks
// that cluster.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	c5c3v1alpha1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	openstackv1alpha1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	ovnchassisv1alpha1 "github.com/c5c3/crossplane-cobaltcore/apis/ovnchassis/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/cellmapping"
	"github.com/c5c3/crossplane-cobaltcore/companion/clustercheck"
	"github.com/c5c3/crossplane-cobaltcore/companion/computecatalog"
	"github.com/c5c3/crossplane-cobaltcore/companion/credentialrotation"
	"github.com/c5c3/crossplane-cobaltcore/companion/databasesync"
	"github.com/c5c3/crossplane-cobaltcore/companion/endpointregion"
	"github.com/c5c3/crossplane-cobaltcore/companion/hypervisorrecovery"
	"github.com/c5c3/crossplane-cobaltcore/companion/identitycheck"
	"github.com/c5c3/crossplane-cobaltcore/companion/keyrepository"
	"github.com/c5c3/crossplane-cobaltcore/companion/nodeissuer"
	"github.com/c5c3/crossplane-cobaltcore/companion/nodemaintenance"
	"github.com/c5c3/crossplane-cobaltcore/companion/ovnsync"
	"github.com/c5c3/crossplane-cobaltcore/companion/raftcluster"
	"github.com/c5c3/crossplane-cobaltcore/companion/remoteconsumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/roleassignment"
	"github.com/c5c3/crossplane-cobaltcore/companion/secretaggregate"
	"github.com/c5c3/crossplane-cobaltcore/companion/servicecheck"
	"github.com/c5c3/crossplane-cobaltcore/companion/testreport"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

type cli struct {
	Namespace      string   `help:"Namespace to watch." required:""`
	Controllers    []string `help:"Names of the controllers to run, such as databasesync. Default: all for a control plane."`
	LeaderElect    bool     `help:"Enable leader election."`
	MetricsAddress string   `default:":8443" help:"Address of the Prometheus metrics."`
	HealthAddress  string   `default:":8081" help:"Address of /healthz and /readyz."`
	Debug          bool     `help:"Enable debug logging." short:"d"`
}

// controllers are all controllers by the name of the reconciled kind.
var controllers = map[string]func(ctrl.Manager) error{
	"cellmapping":        cellmapping.Add,
	"clustercheck":       clustercheck.Add,
	"computecatalog":     computecatalog.Add,
	"credentialrotation": credentialrotation.Add,
	"databasesync":       databasesync.Add,
	"endpointregion":     endpointregion.Add,
	"hypervisorrecovery": hypervisorrecovery.Add,
	"identitycheck":      identitycheck.Add,
	"keyrepository":      keyrepository.Add,
	"roleassignment":     roleassignment.Add,
	"ovnsync":            ovnsync.Add,
	"nodeissuer":         nodeissuer.Add,
	"nodemaintenance":    nodemaintenance.Add,
	"raftcluster":        raftcluster.Add,
	"remoteconsumer":     remoteconsumer.Add,
	"secretaggregate":    secretaggregate.Add,
	"servicecheck":       servicecheck.Add,
	"testreport":         testreport.Add,
}

// chosen returns the names of the controllers to run.
func (c *cli) chosen() ([]string, error) {
	all := slices.Sorted(maps.Keys(controllers))
	if len(c.Controllers) == 0 {
		return slices.DeleteFunc(all, func(name string) bool { return name == rights.ClusterCheckController }), nil
	}
	for _, name := range c.Controllers {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("controller %q does not exist; the controllers are %s", name, strings.Join(all, ", "))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(c.Controllers))), nil
}

// options returns the options of the manager: one namespace, and one leader in it.
func (c *cli) options(scheme *runtime.Scheme) ctrl.Options {
	return ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{c.Namespace: {}}},
		LeaderElection:          c.LeaderElect,
		LeaderElectionID:        rights.Lease,
		LeaderElectionNamespace: c.Namespace,
		// The next leader does not have to wait until the lease expires.
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: c.MetricsAddress},
		HealthProbeBindAddress:        c.HealthAddress,
	}
}

func (c *cli) Run() error {
	names, err := c.chosen()
	if err != nil {
		return err
	}
	ctrl.SetLogger(zap.New(zap.UseDevMode(c.Debug)))
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(
		clientgoscheme.AddToScheme, openstackv1alpha1.AddToScheme, c5c3v1alpha1.AddToScheme, ovnchassisv1alpha1.AddToScheme)
	if err := kinds.AddToScheme(scheme); err != nil {
		return fmt.Errorf("cannot register kinds: %w", err)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("cannot find the cluster: %w", err)
	}
	mgr, err := ctrl.NewManager(config, c.options(scheme))
	if err != nil {
		return fmt.Errorf("cannot create a manager: %w", err)
	}
	for _, name := range names {
		if err := controllers[name](mgr); err != nil {
			return fmt.Errorf("cannot add the controller %s: %w", name, err)
		}
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	ctx := kong.Parse(&cli{}, kong.Description("The companion controller of a control plane."))
	if err := ctx.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
