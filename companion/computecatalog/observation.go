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

// observation is the state of Nova.
type observation struct {
	catalog *openstackv1.ComputeCatalog
	now     time.Time
	// nova is the API client; errorMessage is the reason if the login failed.
	nova         *compute.API
	errorMessage string
	// flavors and aggregates are all existing ones by name. Private flavors of the spec include their projects.
	flavors    map[string]common.Flavor
	aggregates map[string]compute.Aggregate
	// hosts are the registered hypervisors.
	hosts map[string]bool
	// nodes are the nodes of the DaemonSets in the spec.
	nodes nodes
	// createFailed is set if Nova rejected the creation of an object.
	createFailed bool
}

// observe reads the state. A failing Nova is not an error: the controller waits for it.
func observe(ctx context.Context, env *controller.Env, c *openstackv1.ComputeCatalog) (*observation, error) {
	w := &observation{
		catalog: c, now: env.Clock.Now(),
		flavors: map[string]common.Flavor{}, aggregates: map[string]compute.Aggregate{}, hosts: map[string]bool{},
	}
	var err error
	if w.nodes, err = look(ctx, env.Reader, c.Spec.Nodes); err != nil {
		return w, err
	}
	w.nova, w.errorMessage, err = compute.Find(ctx, env.Reader, env.Transport, c.Namespace, c.Spec.CloudCredentialsRef)
	if err != nil || w.errorMessage != "" {
		return w, err
	}
	if err := w.readState(ctx); err != nil {
		w.errorMessage = err.Error()
	}
	return w, nil
}

func (obs *observation) readState(ctx context.Context) error {
	flavors, err := obs.nova.Flavors(ctx)
	if err != nil {
		return err
	}
	for _, f := range flavors {
		obs.flavors[f.Name] = f
	}
	aggregates, err := obs.nova.Aggregates(ctx)
	if err != nil {
		return err
	}
	for _, g := range aggregates {
		obs.aggregates[g.Name] = g
	}
	if err := obs.fetchFlavorProjects(ctx); err != nil {
		return err
	}
	computes, err := obs.nova.Services(ctx, compute.Compute)
	if err != nil {
		return err
	}
	for _, s := range computes {
		obs.hosts[s.Host] = true
	}
	return nil
}

// fetchFlavorProjects reads the projects of private flavors to which projects are, or were, added.
func (obs *observation) fetchFlavorProjects(ctx context.Context) error {
	concerned := map[string]bool{}
	for _, f := range obs.catalog.Spec.Flavors {
		concerned[f.Name] = concerned[f.Name] || len(f.Projects) > 0
	}
	for _, r := range obs.catalog.Status.Flavors {
		concerned[r.Name] = concerned[r.Name] || len(r.Projects) > 0
	}
	for name, queries := range concerned {
		f, ok := obs.flavors[name]
		if !queries || !ok || !f.Private {
			continue
		}
		var err error
		if f.Projects, err = obs.nova.Projects(ctx, f.ID); err != nil {
			return err
		}
		obs.flavors[name] = f
	}
	return nil
}

func (obs *observation) set(s condition.State) {
	obs.catalog.Status.ObservedGeneration = obs.catalog.Generation
	condition.Set(&obs.catalog.Status.Conditions, conditionReady, obs.catalog.Generation, obs.now, s)
}
