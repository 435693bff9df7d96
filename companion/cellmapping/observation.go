package cellmapping

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// observation is the state that was read in one pass, from which all decisions are made. Its Job is that of the Nova, for any
// cell.
type observation struct {
	batchjob.Observation

	cell *openstackv1.CellMapping
	// started is the start time of the controller.
	started time.Time
	// siblings are the other CellMappings of the same Nova.
	siblings []openstackv1.CellMapping
	// apiQueried is set if Nova's API has returned the hosts with hypervisors; apiError is the reason if it failed.
	// retryAfter is the remaining rate limit.
	apiQueried bool
	hosts      []string
	apiError   string
	retryAfter time.Duration
}

var jobs = batchjob.Kind{
	Name: kindName, Object: &openstackv1.CellMapping{}, Annotation: runAnnotation, Reserved: "Jobs of CellMappings", Runs: runs,
}

// observe reads the state live, without a cache. Siblings are read before the Job: their records are of an earlier state of it.
func observe(ctx context.Context, env *controller.Env, c *openstackv1.CellMapping) (*observation, error) {
	nova := novaOf(c)
	w := &observation{cell: c, started: env.Started, Observation: batchjob.Observation{
		Kind: &jobs, Owner: c, Template: &c.Spec.Template, Name: jobName(nova),
		Labels: client.MatchingLabels{novaLabel: novaLabelValue(nova)}, Now: env.Clock.Now(), Siblings: map[types.UID]*openstackv1.JobRun{},
	}}
	all := &openstackv1.CellMappingList{}
	if err := env.Reader.List(ctx, all, client.InNamespace(c.Namespace)); err != nil {
		return nil, fmt.Errorf("cannot list CellMappings: %w", err)
	}
	w.siblings = slices.DeleteFunc(all.Items, func(o openstackv1.CellMapping) bool { return o.UID == c.UID || novaOf(&o) != nova })
	for i := range w.siblings {
		w.Siblings[w.siblings[i].UID] = lastRun(&w.siblings[i])
	}
	if idle, err := batchjob.Observe(ctx, env, w); err != nil || !idle {
		return w, err
	}
	return w, w.listHypervisors(ctx, env)
}

func lastRun(c *openstackv1.CellMapping) *openstackv1.JobRun {
	if c.Status.Run == nil {
		return nil
	}
	return &c.Status.Run.JobRun
}

// LastRun returns the recorded run.
func (obs *observation) LastRun() *openstackv1.JobRun { return lastRun(obs.cell) }

// RecordRun sets the run in progress.
func (obs *observation) RecordRun(r *run) {
	if last := obs.cell.Status.Run; last != nil {
		r.Failures = last.Failures
	}
	obs.cell.Status.Run = r
}

// Command returns the command of the run in progress.
func (obs *observation) Command() string { return string(obs.cell.Status.Run.Command) }

// Title returns the command of the run in progress.
func (obs *observation) Title() string { return obs.Command() }

// listHypervisors lists the hypervisors with Nova's API, if hosts have to be searched and no search is in progress.
func (obs *observation) listHypervisors(ctx context.Context, env *controller.Env) error {
	ref := obs.cell.Spec.CloudCredentialsRef
	if ref == nil || obs.cell.Spec.Cell == cell0 {
		return nil
	}
	if obs.retryAfter = env.Limit(client.ObjectKeyFromObject(obs.cell), pollInterval); obs.retryAfter > 0 {
		return nil
	}
	nova, problem, err := compute.Find(ctx, env.Reader, env.Transport, obs.cell.Namespace, *ref)
	if err != nil || problem != "" {
		obs.apiError = problem
		return err
	}
	all, err := nova.Services(ctx, compute.Compute)
	if err != nil {
		obs.apiError = err.Error()
		return nil //nolint:nilerr // It is reported and retried.
	}
	obs.apiQueried = true
	for _, s := range all {
		obs.hosts = append(obs.hosts, s.Host)
	}
	slices.Sort(obs.hosts)
	obs.hosts = slices.Compact(obs.hosts)
	return nil
}
