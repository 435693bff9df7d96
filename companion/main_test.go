package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1alpha1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	openstackv1alpha1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
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
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// manager contains the permissions of the manager itself, which elects a leader and emits events about it.
const manager = `
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
`

var marker = regexp.MustCompile(`(?m)^// \+kubebuilder:rbac:groups=(\S+),resources=(\S+),verbs=(\S+)$`)

// TestRolesGrantExactlyPermissionsOfMarkers: the Roles grant exactly the permissions in the controllers' markers.
func TestRolesGrantExactlyPermissionsOfMarkers(t *testing.T) {
	text := manager
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		text += string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, m := range marker.FindAllStringSubmatch(text, -1) {
		add(want, split(strings.Trim(m[1], `"`)), split(m[2]), split(m[3]))
	}
	got := map[string]bool{}
	for _, r := range slices.Concat(c5c3.Rights(), c5c3.ClusterCheckNamespaceRules, c5c3.ClusterCheckRules) {
		add(got, r.APIGroups, r.Resources, r.Verbs)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("rights (-markers in companion/ +rules in internal/kube/c5c3):\n%s", diff)
	}
}

func split(list string) []string { return strings.Split(list, ";") }

func add(to map[string]bool, groups, resources, verbs []string) {
	for _, g := range groups {
		for _, r := range resources {
			for _, v := range verbs {
				to[fmt.Sprintf("%s %s.%s", v, r, g)] = true
			}
		}
	}
}

// added adds all controllers to a manager, once: their metrics are global.
var added = sync.OnceValue(func() error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, openstackv1alpha1.AddToScheme, c5c3v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{Scheme: scheme,
		Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	var errs []error
	for name, add := range controllers {
		if err := add(mgr); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(errs...)
})

// TestControllers: all controllers can be added to one manager.
func TestControllers(t *testing.T) {
	if err := added(); err != nil {
		t.Error(err)
	}
}

func TestChosen(t *testing.T) {
	all := slices.Sorted(maps.Keys(controllers))
	for name, tc := range map[string]struct {
		reason string
		flag   []string
		want   []string
		err    string
	}{
		"All":     {reason: "The default is all controllers of a control plane.", want: slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "clustercheck" })},
		"Cluster": {reason: "The companion of a cluster names its controller.", flag: []string{"clustercheck"}, want: []string{"clustercheck"}},
		"Some": {reason: "Each runs once, even if it is listed twice.", flag: []string{"keyrepository", "databasesync", "keyrepository"},
			want: []string{"databasesync", "keyrepository"}},
		"Unknown": {reason: "A misspelled name would disable a controller.", flag: []string{"keyrepositories"},
			err: `controller "keyrepositories" does not exist; the controllers are ` + strings.Join(all, ", ")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := (&cli{Controllers: tc.flag}).chosen()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if text := fmt.Sprint(err); err != nil && text != tc.err || err == nil && tc.err != "" {
				t.Errorf("%s\nerror %v, want %q", tc.reason, err, tc.err)
			}
		})
	}
}

// TestOptions: reads are restricted to the namespace, outside of which there are no permissions, and one pod is the leader.
func TestOptions(t *testing.T) {
	o := (&cli{Namespace: "cloud", LeaderElect: true}).options(runtime.NewScheme())
	if got := slices.Collect(maps.Keys(o.Cache.DefaultNamespaces)); !slices.Equal(got, []string{"cloud"}) {
		t.Errorf("the cache is of namespaces %q", got)
	}
	if !o.LeaderElection || o.LeaderElectionID != c5c3.Lease || o.LeaderElectionNamespace != "cloud" || !o.LeaderElectionReleaseOnCancel {
		t.Errorf("the leader is elected by %q in %q: %v", o.LeaderElectionID, o.LeaderElectionNamespace, o.LeaderElection)
	}
	served := (&cli{MetricsAddress: ":1", HealthAddress: ":2"}).options(runtime.NewScheme())
	if served.Scheme == nil || served.Metrics.BindAddress != ":1" || served.HealthProbeBindAddress != ":2" {
		t.Errorf("it serves metrics at %q and its health at %q", served.Metrics.BindAddress, served.HealthProbeBindAddress)
	}
	if (&cli{}).options(runtime.NewScheme()).LeaderElection {
		t.Error("it waits for a lease without leader election")
	}
}

// TestErrorsContainUnreadableObject: the error of each kind contains the object that cannot be read.
func TestErrorsContainUnreadableObject(t *testing.T) {
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(openstackv1alpha1.AddToScheme, c5c3v1alpha1.AddToScheme)
	if err := kinds.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	broken := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("it is broken")
		},
	})
	services, recoveries := &servicecheck.Reconciler{}, &hypervisorrecovery.Reconciler{}
	recoveries.Reader = broken
	services.Reader = broken
	reconcilers := map[string]reconcile.Reconciler{
		"CellMapping":        &cellmapping.Reconciler{Reader: broken},
		"ClusterCheck":       &clustercheck.Reconciler{Reader: broken},
		"ComputeCatalog":     &computecatalog.Reconciler{Reader: broken},
		"CredentialRotation": &credentialrotation.Reconciler{Reader: broken},
		"DatabaseSync":       &databasesync.Reconciler{Reader: broken},
		"EndpointRegion":     &endpointregion.Reconciler{Reader: broken},
		"IdentityCheck":      &identitycheck.Reconciler{Reader: broken},
		"KeyRepository":      &keyrepository.Reconciler{Reader: broken},
		"NodeIssuer":         &nodeissuer.Reconciler{Reader: broken},
		"HypervisorRecovery": recoveries,
		"NodeMaintenance":    &nodemaintenance.Reconciler{Reader: broken},
		"OVNSync":            &ovnsync.Reconciler{Reader: broken},
		"RaftCluster":        &raftcluster.Reconciler{Reader: broken},
		"RemoteConsumer":     &remoteconsumer.Reconciler{Reader: broken},
		"RoleAssignment":     &roleassignment.Reconciler{Reader: broken},
		"SecretAggregate":    &secretaggregate.Reconciler{Reader: broken},
		"ServiceCheck":       services,
		"TestReport":         &testreport.Reconciler{Reader: broken},
	}
	if len(reconcilers) != len(controllers) {
		t.Errorf("%d of %d controllers", len(reconcilers), len(controllers))
	}
	for kind, r := range reconcilers {
		if controllers[strings.ToLower(kind)] == nil {
			t.Errorf("%s has no controller", kind)
		}
		want := "cannot read the " + kind + ": it is broken"
		if _, err := r.Reconcile(t.Context(), reconcile.Request{}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
