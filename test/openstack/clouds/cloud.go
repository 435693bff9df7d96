//go:build linux

package clouds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// Options configure a cloud.
type Options struct {
	// Claim and Platform, in YAML. A cloud has the claim of its last change.
	Claim, Platform []byte
	// Pool is a claim for hypervisors of that control plane, and Storage a claim for the Ceph that both refer to.
	// Empty: none.
	Pool, Storage []byte
	// Disk is a folder on a disk for the data of that Ceph.
	Disk string
	// Nodes is the number of nodes of the pool, of which the first one is the gateway to the external network. 0: one.
	Nodes int
	// OtherClaims are claims of others and their composite resources, such as a StorageCluster's, that the claims refer
	// to.
	OtherClaims []*structpb.Struct
	// Programs are the programs of the cloud.
	Programs *install.Programs
	// Secrets that the claim names and the tenant makes in its namespace, by name.
	Secrets map[string]map[string][]byte
	// Prepare is called before anything is composed: for external services, such as a directory. It may be nil.
	Prepare func(*Cloud) error
	// Dir is a folder for the data of the cloud. The caller removes it.
	Dir string
	// Progress receives a line for each step.
	Progress io.Writer
}

// A Cloud is the running result of a claim.
type Cloud struct {
	// Namespace of everything.
	Namespace string
	// Cluster and Operators it lives in.
	Cluster   *cluster.Cluster
	Operators *operators.Operators

	Options    Options
	Simulation *simulate.Cluster
	pool       *Pool
	storage    *Storage
	cancel     context.CancelFunc
	Bundle     string // the public authority's certificate
}

// Start runs a claim as a cloud. The caller stops it, also after an error, if the cloud is not nil.
func Start(ctx context.Context, o Options) (*Cloud, error) {
	storage, err := planStorage(o)
	if err != nil {
		return nil, err
	}
	if storage != nil {
		o.OtherClaims = slices.Concat(o.OtherClaims, storage.result.Existing)
	}
	result, err := preview.RunWithClaims(o.OtherClaims, o.Claim, o.Platform, kinds.Runners())
	if err != nil {
		return nil, err
	}
	c := &Cloud{Namespace: result.Instance, Options: o, storage: storage, Bundle: filepath.Join(o.Dir, "public.pem")}
	if c.Simulation, err = preview.NewCluster(o.Claim, o.Platform, kinds.Runners()); err != nil {
		return nil, err
	}
	c.Simulation.RequiredResources = o.OtherClaims
	public, err := pki.New("public")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(o.Dir, "empty"), 0o755), os.WriteFile(c.Bundle, public.Certificate, 0o644)); err != nil {
		return nil, err
	}
	if c.Cluster, err = cluster.New(o.Dir, c.Image, o.Progress); err != nil {
		return nil, err
	}
	alive, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	c.Operators = operators.New(alive, c.Cluster, public, o.Programs.MariaDBOperator)
	c.Simulation.Reconcile = func(desired []map[string]any) error { return c.Operators.Reconcile(alive, desired) }
	c.Simulation.Reports = func(kind, name string) map[string]any { return c.reports(alive, kind, name) }
	c.Simulation.Remove = func(removed []map[string]any) error { return c.Operators.Remove(alive, removed) }
	if err := c.surround(ctx, result.Namespace); err != nil {
		return c, fmt.Errorf("cannot prepare the cloud's surroundings: %w", err)
	}
	if err := c.converge(); err != nil {
		return c, err
	}
	c.logStep("the control plane is ready")
	if o.Pool == nil {
		return c, nil
	}
	return c, c.addPool(alive)
}

// surround creates the objects that have to exist before the claim: Secrets of the tenant's namespace, storage, and
// more.
func (c *Cloud) surround(ctx context.Context, tenant string) error {
	for name, data := range c.Options.Secrets {
		if err := c.Operators.SetSecret(ctx, tenant, name, data); err != nil {
			return err
		}
	}
	if c.storage != nil {
		if err := c.addStorage(ctx); err != nil {
			return err
		}
		c.logStep("the storage is ready")
	}
	if c.Options.Prepare == nil {
		return nil
	}
	return c.Options.Prepare(c)
}

// logStep logs a step.
func (c *Cloud) logStep(step string) { fmt.Fprintln(c.Options.Progress, "cloud:", step) }

// Change changes the control plane to another version of its claim. Its pool is updated with the next Follow.
func (c *Cloud) Change(claim []byte) error {
	next, err := preview.NewCluster(claim, c.Options.Platform, kinds.Runners())
	if err != nil {
		return err
	}
	c.Simulation.XR.Fields["spec"] = next.XR.GetFields()["spec"]
	if err := c.converge(); err != nil {
		return err
	}
	c.Options.Claim = claim
	return nil
}

// Follow calls the functions with the companion's latest reports.
func (c *Cloud) Follow() error {
	err := c.Simulation.Refresh(func(simulate.Step) {})
	if c.pool != nil {
		c.setClock(c.pool)
		err = errors.Join(err, c.pool.simulation.Refresh(func(simulate.Step) {}))
	}
	return err
}

// reports returns the status that the companion reports, which no fake has.
func (c *Cloud) reports(ctx context.Context, kind, name string) map[string]any {
	switch kind {
	case "RaftCluster":
		return c.raft(ctx, name)
	case "DatabaseSync":
		return c.schema(ctx, name)
	case "TestReport":
		return c.tests(ctx, name)
	case "ServiceCheck":
		return c.backends(ctx, name)
	}
	m := &openstackv1.CellMapping{}
	if kind != "CellMapping" || c.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, m) != nil {
		return nil
	}
	if m.Status.OldestCompute == nil {
		return map[string]any{"oldestCompute": nil}
	}
	return map[string]any{"oldestCompute": int64(*m.Status.OldestCompute)}
}

// raft returns the companion's status of a cluster of databases when all currently expected pods are members of it.
func (c *Cloud) raft(ctx context.Context, name string) map[string]any {
	key, r, pods := client.ObjectKey{Namespace: c.Namespace, Name: name}, &c5c3v1.RaftCluster{}, &appsv1.StatefulSet{}
	_ = c.Cluster.Wait(ctx, operators.Timeout, "the members of "+name, func(ctx context.Context) (bool, error) {
		if err := client.IgnoreNotFound(c.Cluster.Client.Get(ctx, key, pods)); err != nil {
			return false, err
		}
		joined, err := 0, c.Cluster.Client.Get(ctx, key, r)
		for _, m := range r.Status.Members {
			if m.State == c5c3v1.MemberJoined {
				joined++
			}
		}
		return joined >= int(ptr.Deref(pods.Spec.Replicas, 0)), err
	}) // The function waits for missing members.
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&r.Status)
	if err != nil {
		return nil
	}
	status["clusterID"] = r.Status.ClusterID // also before it is set
	return status
}

// schema returns the companion's status of a schema that is changed while its users are stopped: that pods have to be
// stopped, as long as replicas are desired, and that they need not, afterwards. It always sets one of the two, because
// otherwise the previous value would stay.
func (c *Cloud) schema(ctx context.Context, name string) map[string]any {
	key, s := client.ObjectKey{Namespace: c.Namespace, Name: name}, &openstackv1.DatabaseSync{}
	if c.Cluster.Client.Get(ctx, key, s) != nil {
		return nil
	}
	_ = c.Cluster.Wait(ctx, operators.Timeout, "the schema of "+name, func(ctx context.Context) (bool, error) {
		err := c.Cluster.Client.Get(ctx, key, s)
		for _, ref := range s.Spec.Consumers {
			object, e := c.Cluster.Client.Scheme().New(appsv1.SchemeGroupVersion.WithKind(ref.Kind))
			pods, _ := object.(client.Object)
			if e == nil {
				e = c.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: string(ref.Name)}, pods)
			}
			if apierrors.IsNotFound(e) {
				continue // They do not exist yet.
			}
			if err = errors.Join(err, e); replicas(pods) > 0 {
				return true, err
			}
		}
		return !s.Status.Quiesce, err
	}) // The function waits for missing reports.
	if !s.Status.Quiesce {
		return map[string]any{"quiesce": false}
	}
	return map[string]any{"quiesce": true, "installedRelease": s.Status.InstalledRelease, "conditions": []any{}}
}

// backends returns the companion's report about Cinder's backends.
func (c *Cloud) backends(ctx context.Context, name string) map[string]any {
	check := &openstackv1.ServiceCheck{}
	if name != cinderv1.ServiceName || c.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, check) != nil {
		return nil
	}
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&check.Status)
	if err != nil {
		return nil
	}
	return map[string]any{"backends": status["backends"]}
}

// tests returns the result of the last run.
func (c *Cloud) tests(ctx context.Context, name string) map[string]any {
	r := &openstackv1.TestReport{}
	if c.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, r) != nil || r.Status.Tests == nil {
		return nil
	}
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&r.Status)
	if err != nil {
		return nil
	}
	return status
}

func replicas(pods client.Object) int32 {
	switch o := pods.(type) {
	case *appsv1.Deployment:
		return ptr.Deref(o.Spec.Replicas, 1)
	case *appsv1.StatefulSet:
		return ptr.Deref(o.Spec.Replicas, 1)
	}
	return 0
}

func (c *Cloud) converge() error { return c.Simulation.Run(func(simulate.Step) {}) }

// Stop kills everything of the cloud.
func (c *Cloud) Stop() {
	c.cancel()
	c.Cluster.Stop()
	if c.storage != nil && c.storage.stop != nil {
		c.storage.stop()
	}
}

// ClaimName returns the name of its claim.
func (c *Cloud) ClaimName() string {
	return c.Simulation.XR.GetFields()["metadata"].GetStructValue().GetFields()["name"].GetStringValue()
}

// Venv returns the virtual environment of the cloud's release.
func (c *Cloud) Venv() (string, error) {
	spec := c.Simulation.XR.GetFields()["spec"].GetStructValue().AsMap()
	name, _ := spec["openStackRelease"].(string)
	r, err := release.Parse(name)
	return c.Options.Programs.Services[r], err
}

// environment is the path of the virtual environment in the images of OpenStack's services.
const environment = "/opt/openstack"

// Image returns the local files of an image. An OpenStack service's image has the virtual environment of the release of
// its tag, whose programs are found by PATH and whose modules uWSGI loads (UWSGI_VIRTUALENV); the real images have to
// contain the same two.
func (c *Cloud) Image(ref string) (cluster.Image, error) {
	i := cluster.Image{Mounts: []sandbox.Mount{{Source: c.Bundle, Target: "/etc/ssl/certs/ca-certificates.crt"}}}
	name, tag, _ := strings.Cut(ref[strings.LastIndex(ref, "/")+1:], ":")
	_, part := release.ServiceOf(name)
	if part || slices.Contains(release.Services(), name) {
		// A version that several releases share (Tempest) is built for the newest of them, as make images does.
		for _, r := range slices.Backward(slices.Sorted(maps.Keys(c.Options.Programs.Services))) {
			venv := c.Options.Programs.Services[r]
			if v, err := r.Version(name); err == nil && v == tag {
				// Its programs name their interpreter by the path at which they were installed.
				i.Mounts = append(i.Mounts, sandbox.Mount{Source: venv, Target: venv}, sandbox.Mount{Source: venv, Target: environment})
				i.Env = []string{"PATH=" + venv + "/bin:/usr/sbin:/usr/bin:/sbin:/bin", "UWSGI_VIRTUALENV=" + venv}
				return i, nil
			}
		}
		return i, fmt.Errorf("%s %s is not installed", name, tag)
	}
	switch name {
	case release.OVN:
		i.Root, i.Env = c.Options.Programs.Network, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	case release.Libvirt:
		i.Root, i.Env = c.Options.Programs.Hypervisor, []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
		// The daemon looks up the users that its package creates, and swtpm reads how TPMs are manufactured.
		for _, file := range []string{
			"/etc/passwd", "/etc/group", "/etc/swtpm_setup.conf", "/etc/swtpm-localca.conf", "/etc/swtpm-localca.options",
		} {
			i.Mounts = append(i.Mounts, sandbox.Mount{Source: filepath.Join(i.Root, file), Target: file})
		}
	case release.Memcached:
		i.Root, i.Entrypoint = c.Options.Programs.Servers, []string{"memcached"}
	case operators.MariaDBImage:
		i.Root, i.Entrypoint = c.Options.Programs.Servers, []string{"mariadbd"}
	case operators.RabbitMQImage:
		i.Root, i.Entrypoint = c.Options.Programs.Servers, []string{"/usr/lib/rabbitmq/bin/rabbitmq-server"}
	case operators.ValkeyImage:
		i.Root, i.Entrypoint = c.Options.Programs.Servers, []string{"valkey-server"}
	case operators.OperatorImage:
		operator := c.Options.Programs.MariaDBOperator
		i.Mounts = append(i.Mounts, sandbox.Mount{Source: operator, Target: operator})
		i.Entrypoint = []string{operator}
	case release.FederationProxy:
		i.Root = c.Options.Programs.FederationProxy
		i.Mounts = append(i.Mounts, sandbox.Mount{Source: filepath.Join(c.Options.Dir, "empty"), Target: "/etc/apache2"})
	default:
		return i, fmt.Errorf("image %s is not known here", ref)
	}
	return i, nil
}
