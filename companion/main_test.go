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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
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

// managerMarkers are the markers of the manager itself, which elects a leader and emits events about the election.
const managerMarkers = `
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch
`

// permissionMarker matches a marker with its groups, resources and verbs.
var permissionMarker = regexp.MustCompile(`(?m)^// \+kubebuilder:rbac:groups=(\S+),resources=(\S+),verbs=(\S+)$`)

// TestRolesGrantExactlyPermissionsOfMarkers verifies that the Roles grant exactly the permissions in the controllers' markers.
func TestRolesGrantExactlyPermissionsOfMarkers(t *testing.T) {
	text := managerMarkers
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
	for _, m := range permissionMarker.FindAllStringSubmatch(text, -1) {
		addPermissions(want, splitList(strings.Trim(m[1], `"`)), splitList(m[2]), splitList(m[3]))
	}
	got := map[string]bool{}
	for _, r := range slices.Concat(c5c3.Rights(), c5c3.ClusterCheckNamespaceRules, c5c3.ClusterCheckRules) {
		addPermissions(got, r.APIGroups, r.Resources, r.Verbs)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("permissions (-markers in companion/ +rules in internal/kube/c5c3):\n%s", diff)
	}
}

// splitList returns the values of a field of a marker.
func splitList(field string) []string { return strings.Split(field, ";") }

// addPermissions adds a key to a set, such as "get secrets.apps", for each verb on each resource.
func addPermissions(set map[string]bool, groups, resources, verbs []string) {
	for _, g := range groups {
		for _, r := range resources {
			for _, v := range verbs {
				set[fmt.Sprintf("%s %s.%s", v, r, g)] = true
			}
		}
	}
}

// addAllControllers adds all controllers to one manager. It does so once, because their metrics are global.
var addAllControllers = sync.OnceValue(func() error {
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

// TestManagerAcceptsAllControllers verifies that all controllers can be added to one manager.
func TestManagerAcceptsAllControllers(t *testing.T) {
	if err := addAllControllers(); err != nil {
		t.Error(err)
	}
}

// TestFlagSelectsControllers verifies that the flag selects the listed controllers, and that the companion of a control plane runs all of its
// own without the flag.
func TestFlagSelectsControllers(t *testing.T) {
	all := slices.Sorted(maps.Keys(controllers))
	for name, tc := range map[string]struct {
		reason  string
		flag    []string
		want    []string
		wantErr string
	}{
		"default": {
			reason: "The default is all controllers of a control plane.",
			want:   slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == "clustercheck" }),
		},
		"workload cluster": {reason: "The companion of a cluster names its controller.", flag: []string{"clustercheck"}, want: []string{"clustercheck"}},
		"listed twice": {
			reason: "Each runs once, even if it is listed twice.", flag: []string{"keyrepository", "databasesync", "keyrepository"},
			want: []string{"databasesync", "keyrepository"},
		},
		"misspelled": {
			reason: "A misspelled name would disable a controller.", flag: []string{"keyrepositories"},
			wantErr: `controller "keyrepositories" does not exist; the controllers are ` + strings.Join(all, ", "),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := (&cli{Controllers: tc.flag}).chosen()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if text := fmt.Sprint(err); err != nil && text != tc.wantErr || err == nil && tc.wantErr != "" {
				t.Errorf("%s\nerror %v, want %q", tc.reason, err, tc.wantErr)
			}
		})
	}
}

// TestManagerReadsOneNamespaceAndElectsLeader verifies that reads are restricted to the namespace, outside of which the companion has no
// permissions, and that one pod is the leader.
func TestManagerReadsOneNamespaceAndElectsLeader(t *testing.T) {
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

// TestErrorNamesUnreadableKind verifies that the error of each controller names the kind of the object that it cannot read.
func TestErrorNamesUnreadableKind(t *testing.T) {
	scheme := runtime.NewScheme()
	kinds := runtime.NewSchemeBuilder(openstackv1alpha1.AddToScheme, c5c3v1alpha1.AddToScheme)
	if err := kinds.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	unreadable := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("unreachable")
		},
	})
	reconcilers := map[string]reconcile.Reconciler{
		"CellMapping":        &cellmapping.Reconciler{Reader: unreadable},
		"ClusterCheck":       &clustercheck.Reconciler{Reader: unreadable},
		"ComputeCatalog":     &computecatalog.Reconciler{Reader: unreadable},
		"CredentialRotation": &credentialrotation.Reconciler{Reader: unreadable},
		"DatabaseSync":       &databasesync.Reconciler{Reader: unreadable},
		"EndpointRegion":     &endpointregion.Reconciler{Reader: unreadable},
		"IdentityCheck":      &identitycheck.Reconciler{Reader: unreadable},
		"KeyRepository":      &keyrepository.Reconciler{Reader: unreadable},
		"NodeIssuer":         &nodeissuer.Reconciler{Reader: unreadable},
		"HypervisorRecovery": &hypervisorrecovery.Reconciler{Env: controller.Env{Reader: unreadable}},
		"NodeMaintenance":    &nodemaintenance.Reconciler{Reader: unreadable},
		"OVNSync":            &ovnsync.Reconciler{Reader: unreadable},
		"RaftCluster":        &raftcluster.Reconciler{Reader: unreadable},
		"RemoteConsumer":     &remoteconsumer.Reconciler{Reader: unreadable},
		"RoleAssignment":     &roleassignment.Reconciler{Reader: unreadable},
		"SecretAggregate":    &secretaggregate.Reconciler{Reader: unreadable},
		"ServiceCheck":       &servicecheck.Reconciler{Env: controller.Env{Reader: unreadable}},
		"TestReport":         &testreport.Reconciler{Reader: unreadable},
	}
	if len(reconcilers) != len(controllers) {
		t.Errorf("%d of %d controllers are tested", len(reconcilers), len(controllers))
	}
	for kind, r := range reconcilers {
		if controllers[strings.ToLower(kind)] == nil {
			t.Errorf("%s has no controller", kind)
		}
		want := "cannot read the " + kind + ": unreachable"
		if _, err := r.Reconcile(t.Context(), reconcile.Request{}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
