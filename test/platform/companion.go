package platform

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
	"github.com/c5c3/crossplane-cobaltcore/test/platform/operators"
)

// companionProgram is the program of the companion, and the name of its container.
const companionProgram = "companion"

// reconciled are the controllers of the companion that are real here, by name, with the kind of each. The others need a
// Keystone, which does not exist: they are faked.
var reconciled = map[string]schema.GroupKind{
	clusterCheck:      {Group: "c5c3.io", Kind: "ClusterCheck"},
	"databasesync":    {Group: "openstack.c5c3.io", Kind: "DatabaseSync"},
	"keyrepository":   {Group: "openstack.c5c3.io", Kind: "KeyRepository"},
	"remoteconsumer":  {Group: "c5c3.io", Kind: "RemoteConsumer"},
	"secretaggregate": {Group: "c5c3.io", Kind: "SecretAggregate"},
}

// clusterCheck is the controller of companions of WorkloadClusters, whose arguments name it. Other companions have no rights on its kind.
const clusterCheck = "clustercheck"

// controllersOf returns the argument with the real controllers of a companion of a control plane; none if its arguments name them.
func controllersOf(args []string) []string {
	const flag = "--controllers="
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, flag) }) {
		return nil
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(reconciled)), func(name string) bool { return name == clusterCheck })
	return []string{flag + strings.Join(names, ",")}
}

// companions are the companions of a cluster: one process for all pods of a ReplicaSet, of which only one would be the
// leader. It has the arguments, the environment and the service account of the pods, and therefore their permissions;
// it starts with the first pod and ends with the last.
type companions struct {
	*Cluster

	mu      sync.Mutex
	running map[types.UID]*companion // by the ReplicaSet
}

var _ operators.RealOperator = &companions{}

// companion is a process of a companion.
type companion struct {
	name, namespace string
	pods            []types.UID
	process         *process.Process
	health          string    // URL of the readiness probe
	since           time.Time // the process was started
	restarts        int32
	ending          time.Time // it was terminated
}

func newCompanions(c *Cluster) *companions {
	return &companions{Cluster: c, running: map[types.UID]*companion{}}
}

// buildCompanion builds the companion of this tree, whichever version is installed: as if it were updated after the
// functions.
func (p *Platform) buildCompanion(ctx context.Context) error {
	if p.options.FakeCompanion {
		return nil
	}
	return p.buildProgram(ctx, p.options.Root, "companion", companionProgram)
}

// startFakes starts the fakes of a cluster, with a real companion unless Options.FakeCompanion is set.
func (p *Platform) startFakes(ctx context.Context, c *Cluster) (*operators.Operators, error) {
	var owner operators.RealOperator
	if !p.options.FakeCompanion {
		owner = newCompanions(c)
	}
	return operators.Start(ctx, c.Config, c.Client.RESTMapper(), owner, &p.Store, p.log)
}

// Owns reports whether the companion reconciles a kind.
func (*companions) Owns(kind schema.GroupKind) bool {
	for _, k := range reconciled {
		if k == kind {
			return true
		}
	}
	return false
}

// Runs reports whether a pod belongs to a companion.
func (*companions) Runs(pod *corev1.Pod) bool { return pod.Spec.Containers[0].Name == companionProgram }

// Run starts the process of a pod if there is none, and returns its readiness. A process that has exited is restarted.
func (cs *companions) Run(ctx context.Context, pod *corev1.Pod) (operators.Running, error) {
	health, restarts, err := cs.run(ctx, pod)
	if err != nil || health == "" {
		return operators.Running{Restarts: restarts}, err
	}
	ready, _ := answers(ctx, health) // one that does not answer is not ready
	return operators.Running{Ready: ready, Restarts: restarts}, nil
}

func (cs *companions) run(ctx context.Context, pod *corev1.Pod) (health string, restarts int32, err error) {
	const backoff = 2 * time.Second
	cs.mu.Lock()
	defer cs.mu.Unlock()
	set := metav1.GetControllerOf(pod)
	if set == nil {
		return "", 0, errors.New("it is not of a Deployment")
	}
	c := cs.running[set.UID]
	if c == nil {
		c = &companion{name: strings.Join([]string{cs.Name, pod.Namespace, set.Name}, "-"), namespace: pod.Namespace}
		cs.running[set.UID] = c
	}
	if !slices.Contains(c.pods, pod.UID) {
		c.pods = append(c.pods, pod.UID)
	}
	switch finished := c.process == nil || c.process.HasEnded(); {
	case !finished && c.ending.IsZero():
		return c.health, c.restarts, nil
	case !finished, c.process != nil && time.Since(c.since) < backoff:
		return "", c.restarts, nil
	case c.process != nil && c.ending.IsZero():
		c.restarts++
	}
	return "", c.restarts, cs.launch(ctx, c, pod)
}

// launch starts the process of a companion.
func (cs *companions) launch(ctx context.Context, c *companion, pod *corev1.Pod) error {
	kubeconfig, err := cs.tokenOf(ctx, pod.Namespace, pod.Spec.ServiceAccountName)
	if err != nil {
		return err
	}
	ports, err := kubernetes.FreePorts(1)
	if err != nil {
		return err
	}
	container := &pod.Spec.Containers[0]
	variables := environmentOf(container, pod)
	environment := []string{env("KUBECONFIG", kubeconfig), env("GOMAXPROCS", "1"), env("GOGC", "50")} // there may be many
	var args []string
	for _, a := range container.Args {
		args = append(args, expanded(a, variables))
	}
	for name, value := range variables {
		environment = append(environment, env(name, value))
	}
	args = append(args, controllersOf(args)...)
	args = append(args, "--health-address="+kubernetes.Address(ports[0]), "--metrics-address="+kubernetes.Address(0))
	c.health = "http://" + kubernetes.Address(ports[0]) + container.ReadinessProbe.HTTPGet.Path
	c.since, c.ending = time.Now(), time.Time{}
	cs.processes.Forget(c.process)
	c.process, err = cs.processes.Launch(c.name, companionProgram, environment, args...)
	return err
}

// Keep stops the processes of a namespace for other pods than these, and reports whether they have ended.
func (cs *companions) Keep(namespace string, pods []types.UID) bool {
	const grace = 5 * time.Second
	cs.mu.Lock()
	defer cs.mu.Unlock()
	all := true
	for set, c := range cs.running {
		if c.namespace != namespace {
			continue
		}
		c.pods = slices.DeleteFunc(c.pods, func(uid types.UID) bool { return !slices.Contains(pods, uid) })
		switch {
		case len(c.pods) > 0 && c.ending.IsZero():
			continue
		case c.process == nil || c.process.HasEnded():
			delete(cs.running, set)
			cs.processes.Forget(c.process)
			continue
		case c.ending.IsZero():
			c.ending = time.Now()
			c.process.Signal(syscall.SIGTERM)
		case time.Since(c.ending) > grace:
			c.process.Signal(syscall.SIGKILL)
		}
		all = false
	}
	return all
}

// environmentOf returns the variables of a container that refer to fields of its pod.
func environmentOf(c *corev1.Container, pod *corev1.Pod) map[string]string {
	fields := map[string]string{"metadata.namespace": pod.Namespace, "metadata.name": pod.Name}
	out := map[string]string{}
	for _, e := range c.Env {
		out[e.Name] = e.Value
		if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
			out[e.Name] = fields[e.ValueFrom.FieldRef.FieldPath]
		}
	}
	return out
}

// expanded returns an argument with expanded variables, as a kubelet passes it.
func expanded(arg string, variables map[string]string) string {
	for name, value := range variables {
		arg = strings.ReplaceAll(arg, "$("+name+")", value)
	}
	return arg
}
