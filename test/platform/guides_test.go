//go:build platform

package platform_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/hack/crds"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/guide"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

// reader follows pages of the documentation in one shell, as an administrator of the platform.
type reader struct {
	*guide.Session

	ctx   context.Context //nolint:containedctx // Of the test: steps between commands end with it.
	pages []guide.Page
	table *guide.Table
}

// commandTimeout is the limit of one command. The pages allow more in a cluster that pulls images.
const commandTimeout = 12 * time.Minute

// chartOfTree are the addresses of the chart on pages, and in their place the chart of this tree. The first file of values has the
// settings of this platform, whose provider is a process with a kubeconfig.
var chartOfTree = []string{
	"oci://registry.example.com/c5c3/charts/crossplane-cobaltcore --version 0.1.0", "package/chart",
	"oci://ghcr.io/c5c3/charts/crossplane-cobaltcore --version 0.1.0", "package/chart",
	"oci://ghcr.io/c5c3/charts/crossplane-cobaltcore --version 0.2.0", "package/chart",
	"--values values.yaml", "--values platform.yaml --values values.yaml",
}

const platformValues = `
provider: {configName: ""}
packages: {version: ""}
`

// upgradeChart is the command of the tutorials that applies values.yaml.
const upgradeChart = "helm upgrade cobaltcore package/chart --namespace crossplane-system --values platform.yaml --values values.yaml"

// TestGuidesRunAsWritten runs the commands of tutorials and how-to guides as the pages show them, in the order of a reader, and compares
// their output. The table of package guide lists the commands of other suites. No other test runs at the same time, because pages change
// the PlatformConfig.
func TestGuidesRunAsWritten(t *testing.T) {
	r := newReader(t)
	tours := r.tours()
	for _, tour := range tours {
		page, err := guide.Find(r.pages, tour.Page)
		if err != nil {
			t.Fatal(err)
		}
		tour.Replace = append(tour.Replace, chartOfTree...)
		t.Run(strings.ReplaceAll(tour.Page, "/", " "), func(t *testing.T) {
			started := time.Now()
			if err := r.Take(r.ctx, page, r.table, guide.Platform, tour, func(c guide.Command, output string, err error) {
				t.Logf("$ %s\n%s", c.Text, output)
				if err != nil {
					t.Errorf("docs/%s.md:%d: %v\n$ %s\n%s", c.Page, c.Line, err, c.Text, output)
				}
			}); err != nil {
				t.Error(err)
			}
			t.Logf("%.0f s", time.Since(started).Seconds())
		})
	}
	r.checkToured(t, tours)
	if out, code, err := r.Run(r.ctx, "helm upgrade cobaltcore package/chart --namespace crossplane-system --values "+cloud.File("values.yaml")); err != nil || code != 0 {
		t.Errorf("cannot restore the PlatformConfig: %v\n%s", err, out)
	}
}

// checkToured checks that each page with commands for the platform is followed.
func (r *reader) checkToured(t *testing.T, tours []guide.Tour) {
	t.Helper()
	toured := map[string]bool{}
	for _, tour := range tours {
		toured[tour.Page] = true
	}
	for _, c := range r.table.Of(r.pages, guide.Platform) {
		if !toured[c.Page] {
			t.Errorf("docs/%s.md:%d: no tour runs %q", c.Page, c.Line, c.Text)
		}
	}
}

// newReader starts the shell of a reader, in a folder that looks like a clone of this repository.
func newReader(t *testing.T) *reader {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{ctx: t.Context()}
	if r.pages, err = guide.Pages(root); err != nil {
		t.Fatal(err)
	}
	if r.table, err = guide.ReadTable(); err != nil {
		t.Fatal(err)
	}
	clone, bin := t.TempDir(), t.TempDir()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "out" || e.Name() == ".git" {
			continue
		}
		if err := os.Symlink(filepath.Join(root, e.Name()), filepath.Join(clone, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(r.ctx, "go", "build", "-buildvcs=false", "-o", filepath.Join(bin, "cobaltcore"), "./cmd/cobaltcore")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	home := t.TempDir()
	r.Session, err = guide.Start(
		clone, "PATH="+strings.Join([]string{bin, filepath.Join(cloud.Dir, "bin"), os.Getenv("PATH")}, ":"), "USER=administrator",
		"KUBECONFIG="+cloud.Kubeconfig, "KUBECACHEDIR="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home,
		"REMOTE_KUBECONFIG="+cloud.Remote.Kubeconfig,
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	if err := r.Write("platform.yaml", platformValues); err != nil {
		t.Fatal(err)
	}
	return r
}

// Run runs a command with a limit.
func (r *reader) Run(ctx context.Context, command string) (string, int, error) {
	ctx, cancel := stopwatch.WithTimeout(ctx, commandTimeout)
	defer cancel()
	return r.Session.Run(ctx, command)
}

// do returns a step that runs commands which a page describes in words.
func (r *reader) do(commands ...string) func() error {
	return func() error {
		for _, command := range commands {
			if out, code, err := r.Run(r.ctx, command); err != nil || code != 0 {
				return fmt.Errorf("%s: exit code %d: %w\n%s", command, code, err, out)
			}
		}
		return nil
	}
}

// steps returns a step of several.
func steps(all ...func() error) func() error {
	return func() error {
		for _, step := range all {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

// file returns a step that writes a file.
func (r *reader) file(name, content string) func() error {
	return func() error { return r.Write(name, content) }
}

// add returns a step that adds a manifest to a file.
func (r *reader) add(name, content string) func() error {
	return func() error { return r.Merge(name, content) }
}

// define returns a step that defines the kinds of operators which no claim composes.
func (r *reader) define() func() error {
	return func() error {
		dir, err := crds.Fetch(r.ctx)
		if err != nil {
			return err
		}
		return r.do(
			"kubectl apply --server-side --force-conflicts $(ls "+dir+"/*.json | "+
				"sed -nE 's#.*/[A-Za-z]+[.](openstack[.]k-orc[.]cloud|cert-manager[.]io|rabbitmq[.]com)[.]json$#-f &#p')",
			"kubectl wait crd --all --for=condition=Established --timeout=1m",
		)()
	}
}

// instanceOf returns the command that sets a variable to the namespace of a claim's objects.
func instanceOf(variable, kind, namespace, name string) string {
	return fmt.Sprintf("%s=$(kubectl get %s %s -n %s -o jsonpath='{.status.instance}') && [ -n \"$%[1]s\" ]", variable, kind, name, namespace)
}

const (
	prodClaim = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: ControlPlaneCluster
metadata: {namespace: team-a, name: prod}
spec:
`
	// operatorsStandIn are objects of an operator that the reader has installed.
	operatorsStandIn = `
apiVersion: v1
kind: Namespace
metadata: {name: cert-manager}
---
apiVersion: v1
kind: Namespace
metadata: {name: rabbitmq-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: rabbitmq-system, name: messaging-topology-operator}
spec:
  replicas: 0
  selector: {matchLabels: {app: messaging-topology-operator}}
  template:
    metadata: {labels: {app: messaging-topology-operator}}
    spec: {containers: [{name: manager, image: rabbitmqoperator/messaging-topology-operator}]}
`
	// limitsOfGuides extend the limits of the tutorial for a team to the values of its guides.
	limitsOfGuides = `
platformConfig:
  spec:
    limits:
    - name: team-a
      sizes: [medium]
      maxima: {replicas: 9, storage: 2Ti, cpu: "64", memory: 256Gi}
`
	nodesStandIn = `
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {kubernetes.io/os: linux, kubernetes.io/hostname: node-1}}
---
apiVersion: v1
kind: Node
metadata: {name: node-2, labels: {kubernetes.io/os: linux, kubernetes.io/hostname: node-2}}
`
)

// prod waits until the claim of the guides has all edits, and sets INSTANCE.
func (r *reader) prod() func() error {
	return r.do(
		"kubectl wait controlplanecluster/prod -n team-a --for=condition=Current --timeout=10m",
		instanceOf("INSTANCE", "controlplanecluster", "team-a", "prod"),
	)
}

// current returns a step that waits for a condition of a claim of a namespace.
func (r *reader) current(kind, namespace, name string) func() error {
	return r.do(fmt.Sprintf("kubectl wait %s/%s -n %s --for=condition=Current --timeout=10m", kind, name, namespace))
}

// tours returns the pages in order: the tutorials of a platform team, the guides of a team with the claim prod in team-a, and the pages
// on nodes and storage in tenant-a.
func (r *reader) tours() []guide.Tour {
	var out []guide.Tour
	for _, some := range [][]guide.Tour{r.installation(), r.team(), r.changes(), r.operation(), r.nodes(), r.storage()} {
		out = append(out, some...)
	}
	return out
}

// installation are the pages of a platform team.
func (r *reader) installation() []guide.Tour {
	return []guide.Tour{
		{
			Page: "tutorials/first-cloud", Append: map[int]string{1: "claim.yaml"},
			Before: map[string]func() error{"make preview CLAIM=claim.yaml OUT": r.do("sed -i s/placment/placement/ claim.yaml")},
			Codes:  map[string][]int{"make preview CLAIM=claim.yaml": {0, 2, 0}},
		},
		{
			Page: "tutorials/install-platform",
			Before: map[string]func() error{
				"kubectl get deployments": steps(r.file("operators.yaml", operatorsStandIn), r.do("kubectl apply -f operators.yaml"), r.define()),
			},
			After: r.do("cp values.yaml installed.yaml"),
		},
		{
			Page: "install", Write: map[int]string{0: "provider.yaml", 1: "values.yaml"}, Merge: map[int]string{2: "values.yaml"},
			Replace: []string{
				"helm upgrade --install cobaltcore oci://ghcr.io/c5c3/charts/crossplane-cobaltcore --version 0.1.0 \\\n  --namespace crossplane --create-namespace",
				"KUBECONFIG=$REMOTE_KUBECONFIG helm upgrade --install cobaltcore package/chart --reuse-values \\\n  --namespace crossplane-system",
			},
			Before: map[string]func() error{"kubectl wait provider": r.do("kubectl apply -f provider.yaml")},
			After: r.do("KUBECONFIG=$REMOTE_KUBECONFIG helm rollback cobaltcore --namespace crossplane-system", "cp installed.yaml values.yaml",
				upgradeChart),
		},
		{Page: "how-to/onboard-tenants", Before: map[string]func() error{"": r.do("kubectl delete namespace tenant-a")}},
		{Page: "how-to/find-the-cause", Shown: "TestDoctorOnPage of cmd/cobaltcore compares the output for a claim with a fault"},
		{
			Page: "how-to/namespaced-resources", Write: map[int]string{0: "new.yaml"},
			Before: map[string]func() error{"": r.do("cp examples/controlplane/claim.yaml cloud.yaml")},
		},
		{
			Page: "how-to/verify-packages",
			// The platform has an ImageConfig of this name, which Crossplane needs to find the packages.
			Replace: []string{"kubectl apply -f examples/packages/verification.yaml", "kubectl apply --dry-run=server -f examples/packages/verification.yaml"},
		},
	}
}

// team are the pages of a new team.
func (r *reader) team() []guide.Tour {
	return []guide.Tour{
		{
			Page: "tutorials/onboard-a-team", Merge: map[int]string{0: "values.yaml"},
			Before: map[string]func() error{"kubectl apply -f claims/": r.do("sed -i 's/size: large/size: small/' claim.yaml", "mkdir claims", "cp claim.yaml claims/")},
			Codes:  map[string][]int{"cobaltcore preview": {1}},
			After:  r.do("rm -r claims"), // Another guide has its own folder of this name.
		},
		// The tutorial has created the namespaces.
		{Page: "identity-as-code", Codes: map[string][]int{"kubectl create namespace": {guide.AnyCode}}},
		{Page: "networks-as-code"},
		{Page: "how-to/create-a-cloud", Before: map[string]func() error{"": r.do("cp platformconfig.json platformconfig.yaml")}},
		{
			Page: "tutorials/recover-a-database", Merge: map[int]string{0: "prod.yaml"},
			Replace: []string{
				"NEW=team-a-restored-...", "NEW=$(cobaltcore preview -f restored.yaml -e platformconfig.json | sed -n '1s/.* namespace //p')",
			},
			Before: map[string]func() error{
				"":                r.do("cp claim.yaml prod.yaml"),
				"kubectl get phy": r.do("kubectl apply -f prod.yaml", "kubectl wait controlplanecluster/prod -n team-a --for=condition=DatabaseBackupReady --timeout=5m"),
			},
			After: r.do("kubectl delete secret old-root -n team-a"),
		},
		{
			Page: "how-to/restore",
			Replace: []string{
				"NEW=...", "NEW=$(cobaltcore preview -f claim.yaml -e platformconfig.json | sed -n '1s/.* namespace //p')",
				"OLD=...", "OLD=" + "$(kubectl get controlplanecluster prod -n team-a -o jsonpath='{.status.instance}')",
			},
			Before: map[string]func() error{
				"":                               r.do("cp claim.yaml team.yaml", "kubectl delete quota clouds -n team-a"),
				"NEW=":                           r.do("sed s/restored/again/ restored.yaml > claim.yaml"),
				"kubectl apply -f claim.yaml   ": r.do("kubectl get secret old-root -n team-a"),
			},
			After: steps(
				r.do("kubectl wait controlplanecluster/again -n team-a --for=condition=Ready --timeout=10m"),
				r.do("mv team.yaml claim.yaml", "kubectl delete secret old-root -n team-a"),
				r.do(`for name in again restored; do kubectl patch controlplanecluster $name -n team-a --type=merge -p '{"spec":{"deletionPolicy":"Delete"}}'; done`),
				r.do("for name in again restored; do kubectl wait controlplanecluster/$name -n team-a --for=jsonpath='{.status.deletionPolicy}'=Delete --timeout=2m; done"),
				r.do("kubectl delete controlplanecluster again restored -n team-a --wait=false"),
			),
		},
	}
}

// changes are the guides on changes of a cloud.
func (r *reader) changes() []guide.Tour {
	limits := steps(r.add("values.yaml", limitsOfGuides), r.do(upgradeChart, "kubectl get platformconfig default -o yaml > platformconfig.yaml"))
	upgrade := strings.NewReplacer("team-a", "tenant-upgrade").Replace(prodClaim)
	return []guide.Tour{
		{
			Page: "how-to/monitor-a-claim", Before: map[string]func() error{"": limits},
			// Without a failing object, grep finds nothing.
			Codes: map[string][]int{"kubectl get objects.kubernetes.crossplane.io | grep False": {guide.AnyCode}},
		},
		{
			Page: "how-to/plan-a-change",
			Before: map[string]func() error{
				// The plan is about all claims of the namespace.
				"": steps(r.do("kubectl wait controlplanecluster/again controlplanecluster/restored -n team-a --for=delete --timeout=10m"), r.prod()),
				"cobaltcore plan --current old.yaml": steps(
					r.do("mkdir -p claims", "cp claim.yaml claims/prod.yaml"),
					r.add("claims/prod.yaml", "spec: {services: {keystone: {replicas: 4}}}"),
				),
				"kubectl get storageclusters,controlplaneclusters,hypervisorclusters -n team-a -o yaml > now.yaml": steps(
					r.do("kubectl apply -f claims/"), r.current("controlplanecluster", "team-a", "prod"),
				),
			},
		},
		{
			Page: "how-to/build-a-portal", Replace: []string{"claim.yaml", "portal.yaml"},
			Before: map[string]func() error{"": r.do("sed 's/name: prod/name: portal/' claim.yaml > portal.yaml")},
			After:  r.do("kubectl delete controlplanecluster portal -n team-a --wait=false"),
		},
		{
			Page: "how-to/scale", Before: map[string]func() error{
				"": r.prod(), "cobaltcore plan": r.do("sed -i 's/size: small/size: medium/' claim.yaml"),
			},
		},
		{Page: "how-to/secrets", Before: map[string]func() error{"": r.prod()}, Replace: []string{"SECRET=...", "SECRET=keystone-admin"}},
		{Page: "how-to/expose-apis", Before: map[string]func() error{"": r.prod()}},
		{
			Page: "how-to/enable-monitoring", Merge: map[int]string{0: "values.yaml"},
			Before: map[string]func() error{"kubectl get servicemonitors": steps(r.do(upgradeChart), r.prod())},
		},
		{
			Page:    "tutorials/upgrade-a-cloud",
			Replace: []string{"team-a", "tenant-upgrade", "kubectl get databasesyncs -n $INSTANCE -w", "timeout 10 kubectl get databasesyncs -n $INSTANCE -w"},
			Before: map[string]func() error{"": steps(
				r.file("old.yaml", upgrade+`  openStackRelease: "2025.1"`), r.file("new.yaml", upgrade+`  openStackRelease: "2025.2"`),
				r.do("kubectl create namespace tenant-upgrade", "kubectl apply -f old.yaml"), r.current("controlplanecluster", "tenant-upgrade", "prod"),
			)},
			Codes: map[string][]int{"diff": {1}, "kubectl get databasesyncs -n $INSTANCE -w": {124}},
			After: r.do("kubectl delete controlplanecluster prod -n tenant-upgrade --wait=false"),
		},
		{
			Page: "how-to/upgrade-platform",
			Before: map[string]func() error{
				"cobaltcore plan":                     r.do("ln -s $(command -v cobaltcore) cobaltcore-v0.1.0"),
				"kubectl get controlplaneclusters -A": r.do("cp platformconfig.yaml new-platform.yaml"),
			},
		},
	}
}

// operation are the guides for operators.
func (r *reader) operation() []guide.Tour {
	return []guide.Tour{
		{
			Page: "how-to/database", Before: map[string]func() error{"": steps(r.do("kubectl apply -f prod.yaml"), r.prod())},
			Replace: []string{"JOB=...", "JOB=$(kubectl get jobs -n $INSTANCE -o jsonpath='{.items[0].metadata.name}')"},
		},
		{Page: "how-to/archive-deleted-rows", Before: map[string]func() error{"": r.prod()}},
		{
			Page: "how-to/queue-member-tls", Before: map[string]func() error{"": r.prod()},
			Replace: []string{"CLAIM_NAMESPACE", "team-a", "NAMESPACE", "$INSTANCE", "NAME", "prod", "QUEUE", "rabbitmq"},
		},
		{
			Page: "how-to/pause", Before: map[string]func() error{"": r.prod()},
			After: r.do(
				"kubectl wait xcontrolplanecluster -l crossplane.io/claim-namespace=team-a,crossplane.io/claim-name=prod "+
					"--for=jsonpath='{.status.conditions[?(@.type==\"Synced\")].reason}'=ReconcilePaused --timeout=1m",
				"kubectl annotate controlplanecluster prod -n team-a crossplane.io/paused- --as=\"$USER\" --as-group=cobaltcore:platform --as-group=system:masters",
				"kubectl annotate xcontrolplanecluster -l crossplane.io/claim-namespace=team-a,crossplane.io/claim-name=prod crossplane.io/paused-",
				"kubectl annotate keystone/keystone -n $INSTANCE crossplane.io/paused-",
			),
		},
		{
			Page: "how-to/delete-and-retain",
			After: r.do(
				`kubectl patch platformconfig default --type=json -p '[{"op": "remove", "path": "/spec/instances"}]'`,
				"kubectl delete controlplanecluster prod -n team-a --wait=false",
			),
		},
	}
}

// nodes are the pages on hypervisors.
func (r *reader) nodes() []guide.Tour {
	pool := r.do(instanceOf("POOL", "hypervisorcluster", "tenant-a", "hypervisors"), instanceOf("CONTROLPLANE", "controlplanecluster", "tenant-a", "compute"))
	ofPool := []string{"CONTROLPLANE", "$CONTROLPLANE", "INSTANCE", "$POOL", "NAMESPACE", "tenant-a", "NAME", "hypervisors", "CELL", "cell1"}
	return []guide.Tour{
		{
			Page: "tutorials/add-hypervisors", Merge: map[int]string{0: "values.yaml"}, Replace: []string{"NODE", "node-1"},
			Before: map[string]func() error{
				"": r.do("cp installed.yaml values.yaml"),
				"kubectl label node": steps(
					// There is no kubelet that reports a node as ready.
					r.file("nodes.yaml", nodesStandIn), r.do("kubectl apply -f nodes.yaml", "kubectl taint node node-1 node-2 node.kubernetes.io/not-ready-"),
				),
			},
		},
		{
			Page: "tempest", Replace: []string{"controlplanecluster cloud", "controlplanecluster compute", "<instance>", "$CONTROLPLANE"},
			Before: map[string]func() error{"": steps(
				r.do(`kubectl patch controlplanecluster compute -n tenant-a --type=merge -p '{"spec":{"tempest":{"enabled":true,"allowAdministration":true}}}'`),
				r.do("kubectl wait controlplanecluster/compute -n tenant-a --for=jsonpath='{.status.lastValidSpec.tempest.enabled}'=true --timeout=1m"),
				r.current("controlplanecluster", "tenant-a", "compute"), pool,
			)},
		},
		{
			Page: "how-to/vnc-tls", Before: map[string]func() error{"": pool},
			Replace: []string{"LIBVIRT_POD", "$(kubectl get pods -n $POOL -o name | sed -n '/libvirt/{s#pod/##p;q}')", "POOL", "$POOL"},
		},
		{Page: "how-to/hypervisors-agents", Replace: []string{"NAMESPACE", "tenant-a"}},
		{Page: "how-to/revoke-a-pool", Before: map[string]func() error{"": pool}, Replace: ofPool},
		{
			Page:    "tutorials/recover-a-hypervisor",
			Replace: []string{"NODE=...", "NODE=node-1", `node "NODE" deleted`, `node "node-1" deleted`, "NEW-NODE", "node-2"},
		},
	}
}

// storage are the pages on Ceph, and at the end the deletion of the pool of hypervisors.
func (r *reader) storage() []guide.Tour {
	pool := r.do(instanceOf("POOL", "hypervisorcluster", "tenant-a", "hypervisors"), instanceOf("CONTROLPLANE", "controlplanecluster", "tenant-a", "compute"))
	instance := r.do(instanceOf("STORAGE", "storagecluster", "tenant-a", "storage"))
	replace := []string{"<instance>", "$STORAGE"}
	return []guide.Tour{
		{
			Page: "tutorials/add-ceph", Merge: map[int]string{0: "values.yaml", 2: "control-plane.yaml"},
			Before:  map[string]func() error{"go run ./cmd/cobaltcore preview -f storage.yaml": r.do(upgradeChart)},
			Replace: []string{"go run ./cmd/cobaltcore", "cobaltcore"},
		},
		{Page: "how-to/storage-data", Before: map[string]func() error{"": instance}, Replace: replace},
		{
			Page: "how-to/node-maintenance", Before: map[string]func() error{"": pool},
			Replace: []string{"CONTROLPLANE", "$CONTROLPLANE", "INSTANCE", "$POOL", "NAMESPACE", "tenant-a", "NAME", "hypervisors"},
			After:   r.do("kubectl delete node --all"),
		},
	}
}
