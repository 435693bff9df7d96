package hypervisorrecovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/fence"
)

// requestEvacuations sends the recorded requests to evacuate servers.
func (p *plan) requestEvacuations(ctx context.Context, env *controller.Env, n *node, requests []openstackv1.RequestedServer) error {
	for _, r := range requests {
		n.responses[r.ID] = response{requested: r.Time.Time}
	}
	var (
		errs   []error
		readAt time.Time
	)
	within, end := ctx, context.CancelFunc(func() {})
	defer func() { end() }()
	start := env.Clock.Now()
	for _, r := range requests {
		now := env.Clock.Now()
		if now.Sub(start) > evacuateTimeout {
			break
		}
		if readAt.IsZero() || now.Sub(readAt) >= offReuse {
			end()
			var err error
			if within, end, err = n.readOff(ctx); err != nil {
				return err
			}
			readAt = env.Clock.Now()
		}
		errs = append(errs, p.requestEvacuation(within, env, n, r.ID))
	}
	return joinErrors(errs)
}

// requestEvacuation sends the recorded request to evacuate a server, unless its state has changed. Without a response, Nova may execute it
// later.
func (p *plan) requestEvacuation(ctx context.Context, env *controller.Env, n *node, id string) error {
	if err := p.confirmEvacuation(ctx, env, n, id); err != nil {
		return fmt.Errorf("server %s is not evacuated: %w", id, err)
	}
	a := n.responses[id]
	delete(n.responses, id)
	err := p.nova.Evacuate(ctx, id)
	if compute.Rejected(err) {
		a.rejection, a.at = err.Error(), env.Clock.Now()
		n.responses[id] = a
	}
	return err
}

// confirmEvacuation returns an error if a server must not be evacuated anymore: it was moved, another user has requested an operation, also
// one that has ended, or the object was changed, by a user or by another leader.
func (obs *observation) confirmEvacuation(ctx context.Context, env *controller.Env, n *node, id string) error {
	if err := obs.confirmObject(ctx, env); err != nil {
		return err
	}
	server, host, err := obs.nova.FindServer(ctx, id)
	i := slices.IndexFunc(n.servers.pending, func(s compute.ServerDetails) bool { return s.ID == id })
	switch {
	case err != nil:
		return err
	case server == nil:
		return errors.New("it does not exist anymore")
	case host != n.name:
		return fmt.Errorf("its host is %q", host)
	case server.Task != "":
		return fmt.Errorf("it has the task %s", server.Task)
	case i < 0 || server.Status != n.servers.pending[i].Status: // For example, an evacuation that an operator has requested has failed late.
		return fmt.Errorf("its status is %s now", server.Status)
	}
	return nil
}

// confirmObject returns an error if the object was changed since its status was written.
func (obs *observation) confirmObject(ctx context.Context, env *controller.Env) error {
	object := &openstackv1.HypervisorRecovery{}
	if err := env.Reader.Get(ctx, client.ObjectKeyFromObject(obs.recovery), object); err != nil {
		return fmt.Errorf("cannot read the HypervisorRecovery: %w", err)
	}
	if object.ResourceVersion != obs.recovery.ResourceVersion {
		return errors.New("the HypervisorRecovery was changed")
	}
	return nil
}

// evacuateTimeout is the time after which no other evacuation of a node is requested in a pass: a controller may be slow, and other nodes
// wait for the next pass.
const evacuateTimeout = 45 * time.Second

// offTimeout is the time for which the reading of a power state that is off is used, after the response of the controller. It is shorter
// than the start of a node.
// In the first offReuse, other operations are started.
const (
	offTimeout = 15 * time.Second
	offReuse   = 5 * time.Second
)

// readOff reads the power of a node again, before an operation that requires that it does not run: between the observation and the
// operation, another leader may have continued, and the node may have started. The context is valid as long as the result may be used.
func (n *node) readOff(ctx context.Context) (context.Context, context.CancelFunc, error) {
	state, err := n.device.State(ctx)
	if err == nil {
		err = fence.CheckIdentity(state.SystemUUID, n.systemUUID())
	}
	none := func() {}
	switch {
	case err != nil:
		return ctx, none, fmt.Errorf("cannot read the power of node %s: %w", n.name, err)
	case state.Power != fence.Off:
		return ctx, none, fmt.Errorf("the power of node %s is not off", n.name)
	}
	within, cancel := context.WithTimeout(ctx, offTimeout)
	return within, cancel, nil
}

// evidenceTimeout is the time for which an observation permits to power a node off. It is longer than two requests to a slow controller.
// The reports about the node are read again, and used for rereadTimeout; the number of failed nodes is as old as the observation.
const evidenceTimeout, rereadTimeout = 2 * time.Minute, 30 * time.Second

// errIsOff ends a request to power a node off whose power is off.
var errIsOff = errors.New("the power is off")

// powerOff powers a node off, unless a witness reports directly before the request that it runs.
func (obs *observation) powerOff(ctx context.Context, env *controller.Env, n *node) error {
	err := n.device.PowerOff(ctx, func(state fence.State) error {
		if err := fence.CheckIdentity(state.SystemUUID, n.systemUUID()); err != nil {
			return err
		}
		if state.Power == fence.Off {
			return errIsOff
		}
		return obs.confirm(ctx, env, n)
	})
	if err != nil && !errors.Is(err, errIsOff) {
		return fmt.Errorf("node %s is not powered off: %w", n.name, err)
	}
	return nil
}

// confirm returns an error if the evidence against a node is not valid anymore: the witnesses do not report its failure again, the object
// was changed, by a user or by another leader, or the observation is old.
func (obs *observation) confirm(ctx context.Context, env *controller.Env, n *node) error {
	// A witness to which a healthy node does not report anymore has failed itself. It is read first: the reports about the failed node must be
	// recent.
	references := obs.references(true)
	if len(references) == 0 {
		return errors.New("no healthy node shows that the witnesses work")
	}
	first := references[max(slices.IndexFunc(references, func(r *node) bool { return r.network == alive }), 0)]
	reference := &node{name: first.name, config: first.config}
	if err := obs.reread(ctx, env, reference); err != nil {
		return err
	}
	start := env.Clock.Now()
	current := &node{name: n.name, config: n.config}
	if err := obs.reread(ctx, env, current); err != nil {
		return err
	}
	e := evidence{openStack: current.openStack(), kubernetes: current.kubernetes(), network: current.network}
	switch {
	case e.openStack == alive:
		return errors.New("its nova-compute or an agent of Neutron reports")
	case e.network == alive:
		return errors.New("a probe responds")
	case e.kubernetes == alive:
		return errors.New("its kubelet reports")
	}
	if reference.openStack() != alive {
		e.openStack = unknown
	}
	if reference.kubernetes() != alive {
		e.kubernetes = unknown
	}
	if reference.network != alive || obs.confirmedProbe(n) == "" {
		e.network = unknown
	}
	if e.conclude() != failed {
		return fmt.Errorf("the witnesses do not report its failure anymore (OpenStack: %s, kubelet: %s, network: %s)", e.openStack, e.kubernetes,
			e.network)
	}
	if err := obs.confirmObject(ctx, env); err != nil {
		return err
	}
	switch now := env.Clock.Now(); {
	case now.Sub(start) > rereadTimeout:
		return fmt.Errorf("the services took more than %s for the reports about it", rereadTimeout)
	case now.Sub(obs.now) > evidenceTimeout:
		return fmt.Errorf("the observation is older than %s", evidenceTimeout)
	}
	return nil
}

// reread reads the reports about one node.
func (obs *observation) reread(ctx context.Context, env *controller.Env, n *node) (err error) {
	if n.service, err = obs.nova.HostService(ctx, n.name); err != nil {
		return err
	}
	agents, err := obs.nova.ListHostAgents(ctx, n.name)
	if err != nil {
		return err
	}
	n.agentAlive = slices.ContainsFunc(agents, func(a compute.Agent) bool { return a.Host == n.name && a.Alive })
	if n.node, err = apireader.Get(ctx, env.Reader, "Node", client.ObjectKey{Name: n.name}, &corev1.Node{}); err != nil {
		return err
	}
	n.network = obs.probe(ctx, env, n)
	return nil
}

// stopRestarted stops servers that Nova has started, and that were stopped before the failure.
func (obs *observation) stopRestarted(ctx context.Context, n *node) error {
	var errs []error
	for _, id := range n.restarted {
		errs = append(errs, obs.nova.Stop(ctx, id))
	}
	return joinErrors(errs)
}

// joinErrors joins the first messages of errors; nil if all errors are nil.
func joinErrors(errs []error) error {
	var all []string
	for _, err := range errs {
		if err != nil {
			all = append(all, err.Error())
		}
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(joinMessages(all))
}
