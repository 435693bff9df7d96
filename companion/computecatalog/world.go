package computecatalog

import (
	"context"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// world is what Nova has.
type world struct {
	catalog *openstackv1.ComputeCatalog
	now     time.Time
	// nova is logged in to; problem says why nobody is.
	nova    *compute.API
	problem string
	// flavors and aggregates are all that there are, by their names. Private flavors of the spec have their projects.
	flavors    map[string]common.Flavor
	aggregates map[string]compute.Aggregate
	// hosts are the hypervisors that have reported.
	hosts map[string]bool
	// nodes are those that DaemonSets of the spec are for.
	nodes nodes
	// unmade: Nova has refused to make something.
	unmade bool
}

// observe reads the world. That Nova does not answer is no error: it is waited for.
func observe(ctx context.Context, env *controller.Env, c *openstackv1.ComputeCatalog) (*world, error) {
	w := &world{
		catalog: c, now: env.Clock.Now(),
		flavors: map[string]common.Flavor{}, aggregates: map[string]compute.Aggregate{}, hosts: map[string]bool{},
	}
	var err error
	if w.nodes, err = look(ctx, env.Reader, c.Spec.Nodes); err != nil {
		return w, err
	}
	w.nova, w.problem, err = compute.Find(ctx, env.Reader, env.Transport, c.Namespace, c.Spec.CloudCredentialsRef)
	if err != nil || w.problem != "" {
		return w, err
	}
	if err := w.ask(ctx); err != nil {
		w.problem = err.Error()
	}
	return w, nil
}

func (w *world) ask(ctx context.Context) error {
	flavors, err := w.nova.Flavors(ctx)
	if err != nil {
		return err
	}
	for _, f := range flavors {
		w.flavors[f.Name] = f
	}
	aggregates, err := w.nova.Aggregates(ctx)
	if err != nil {
		return err
	}
	for _, g := range aggregates {
		w.aggregates[g.Name] = g
	}
	if err := w.askProjects(ctx); err != nil {
		return err
	}
	computes, err := w.nova.Services(ctx, compute.Compute)
	if err != nil {
		return err
	}
	for _, s := range computes {
		w.hosts[s.Host] = true
	}
	return nil
}

// askProjects asks who may use the private flavors that projects are or were let into.
func (w *world) askProjects(ctx context.Context) error {
	concerned := map[string]bool{}
	for _, f := range w.catalog.Spec.Flavors {
		concerned[f.Name] = concerned[f.Name] || len(f.Projects) > 0
	}
	for _, r := range w.catalog.Status.Flavors {
		concerned[r.Name] = concerned[r.Name] || len(r.Projects) > 0
	}
	for name, asks := range concerned {
		f, ok := w.flavors[name]
		if !asks || !ok || !f.Private {
			continue
		}
		var err error
		if f.Projects, err = w.nova.Projects(ctx, f.ID); err != nil {
			return err
		}
		w.flavors[name] = f
	}
	return nil
}

func (w *world) set(s condition.State) {
	w.catalog.Status.ObservedGeneration = w.catalog.Generation
	condition.Set(&w.catalog.Status.Conditions, conditionReady, w.catalog.Generation, w.now, s)
}
