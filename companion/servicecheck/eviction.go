package servicecheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/compute"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
)

// ours begins the reason for which nova-compute is disabled, and the time follows: Nova remembers what was done, and since when, so that
// whoever comes next goes on with it. What has another reason is somebody else's.
const ours = "crossplane.c5c3.io: its node is cordoned since "

// attempts is how often a virtual machine is moved before it is left where it is.
const attempts = 3

// disabledSince is when a service was disabled, if that was done here.
func disabledSince(s *compute.Service) (time.Time, bool) {
	text, ok := strings.CutPrefix(s.Reason, ours)
	at, err := time.Parse(time.RFC3339, text)
	return at, ok && s.Disabled && err == nil
}

// eviction is that of a node that is cordoned.
type eviction struct {
	service compute.Service
	servers []compute.Server
	// failed is how many migrations of a virtual machine have failed since it began.
	failed map[string]int
}

// fetchEvictions asks which nodes are cordoned, and what is on them.
func (obs *observation) fetchEvictions(ctx context.Context, env *controller.Env) error {
	for _, node := range slices.Sorted(maps.Keys(obs.nodes.ownHosts)) {
		service := obs.compute(node)
		if service == nil {
			continue
		}
		cordoned, err := obs.cordoned(ctx, env.Reader, node)
		if err != nil {
			return err
		}
		if !cordoned {
			if _, did := disabledSince(service); did {
				obs.open = append(obs.open, *service)
			}
			continue
		}
		e, err := obs.fetchEviction(ctx, service)
		if err != nil {
			return obs.failed(err)
		}
		obs.evictions = append(obs.evictions, e)
	}
	return nil
}

// cordoned says whether a node is to be emptied. Of one that is never, nobody looks at the Node, which takes a right.
func (obs *observation) cordoned(ctx context.Context, reader client.Reader, node string) (bool, error) {
	if !obs.nodes.evicted[node] {
		return false, nil
	}
	n, err := live.Get(ctx, reader, "Node", client.ObjectKey{Name: node}, &corev1.Node{})
	if err != nil || n == nil {
		return false, err
	}
	return n.Spec.Unschedulable, nil
}

func (obs *observation) fetchEviction(ctx context.Context, service *compute.Service) (eviction, error) {
	e := eviction{service: *service, failed: map[string]int{}}
	var err error
	if e.servers, err = obs.nova.ListServers(ctx, service.Host); err != nil {
		return e, err
	}
	began, did := disabledSince(service)
	if !did || len(e.servers) == 0 {
		return e, nil
	}
	all, err := obs.nova.ListMigrations(ctx, service.Host)
	for _, m := range all {
		if m.Source == service.Host && m.FailedAfter(began) {
			e.failed[m.Server]++
		}
	}
	return e, err
}

// notMigratedReason is why a virtual machine is not moved. Empty: it is.
func (e *eviction) notMigratedReason(s compute.Server) string {
	switch n := e.failed[s.ID]; {
	case s.Task != "":
		return ""
	case s.Status != "ACTIVE" && s.Status != "PAUSED":
		return "it is " + s.Status + ", and only what runs moves: start it, or move it by hand, or delete it"
	case n >= attempts:
		return fmt.Sprintf("%d migrations of it have failed; openstack server event list --long %s says why", n, s.ID)
	}
	return ""
}

// migrating is the virtual machine that is on its way.
func (e *eviction) migrating() *compute.Server {
	if i := slices.IndexFunc(e.servers, func(s compute.Server) bool { return s.Task == "migrating" }); i >= 0 {
		return &e.servers[i]
	}
	return nil
}

// migratable are those that can be moved, those first that have failed least.
func (e *eviction) migratable() []compute.Server {
	out := slices.DeleteFunc(slices.Clone(e.servers), func(s compute.Server) bool { return s.Task != "" || e.notMigratedReason(s) != "" })
	slices.SortStableFunc(out, func(a, b compute.Server) int { return e.failed[a.ID] - e.failed[b.ID] })
	return out
}

// evict is what there is to do for nodes that are cordoned or no longer so, with its words.
func (obs *observation) evict() (words []string, do []controller.Action) {
	for _, s := range obs.open {
		words = append(words, "enabled nova-compute on "+s.Host)
		do = append(do, func(ctx context.Context, _ *controller.Env) error { return obs.nova.Enable(ctx, s) })
	}
	for _, e := range obs.evictions {
		_, did := disabledSince(&e.service)
		switch {
		case !e.service.Disabled:
			words = append(words, "disabled nova-compute on "+e.service.Host)
			reason := ours + obs.now.UTC().Format(time.RFC3339)
			do = append(do, func(ctx context.Context, _ *controller.Env) error { return obs.nova.Disable(ctx, e.service, reason) })
		case did && e.service.Up && e.migrating() == nil && len(e.migratable()) > 0:
			words = append(words, "moves a virtual machine from "+e.service.Host)
			do = append(do, func(ctx context.Context, _ *controller.Env) error { return obs.migrateNext(ctx, e.migratable()) })
		}
	}
	return words, do
}

// migrateNext moves the first of some that Nova agrees to.
func (obs *observation) migrateNext(ctx context.Context, from []compute.Server) error {
	var errs []error
	for _, s := range from {
		err := obs.nova.Move(ctx, s)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		if !compute.Refused(err) {
			break
		}
	}
	return errors.Join(errs...)
}

// all does all of them: one that is refused keeps no other from it.
func all(do []controller.Action) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		var errs []string
		for _, d := range do {
			if err := d(ctx, env); err != nil {
				errs = append(errs, strings.ReplaceAll(err.Error(), "\n", "; "))
			}
		}
		if len(errs) > 0 {
			return &controller.TerminalError{Reason: "ServiceRefuses", Message: strings.Join(errs, "; ")}
		}
		return nil
	}
}

// evicting: something is under way that ends by itself.
func (obs *observation) evicting() bool {
	return slices.ContainsFunc(obs.evictions, func(e eviction) bool { return e.migrating() != nil })
}

// evictionCondition is the state of nodes that are cordoned.
func (obs *observation) evictionCondition() condition.State {
	var stuck, busy, empty []string
	for i := range obs.evictions {
		e := &obs.evictions[i]
		host := e.service.Host
		_, did := disabledSince(&e.service)
		var stay []string
		for _, s := range e.servers {
			if why := e.notMigratedReason(s); why != "" {
				stay = append(stay, fmt.Sprintf("%s (%s): %s", s.Name, s.ID, why))
			}
		}
		switch moving := e.migrating(); {
		case len(e.servers) == 0:
			empty = append(empty, host)
		case e.service.Disabled && !did:
			stuck = append(stuck, fmt.Sprintf("%s has %d virtual machines, and somebody else has disabled it (%q): move them by hand, or "+
				"enable it and they are moved", host, len(e.servers), e.service.Reason))
		case !e.service.Up:
			stuck = append(stuck, fmt.Sprintf("%s has %d virtual machines, and its nova-compute does not report: nothing can be moved",
				host, len(e.servers)))
		case moving != nil:
			busy = append(busy, fmt.Sprintf("%s has %d virtual machines, of which %s is on its way", host, len(e.servers), moving.Name))
		case len(stay) == len(e.servers):
			const most = 5
			stuck = append(stuck, fmt.Sprintf("%s keeps %d virtual machines: %s", host, len(stay), strings.Join(stay[:min(len(stay), most)], "; ")))
		default:
			busy = append(busy, fmt.Sprintf("%s has %d virtual machines", host, len(e.servers)))
		}
	}
	switch {
	case len(stuck) > 0:
		return condition.False("Stuck", strings.Join(append(stuck, busy...), "; "))
	case len(busy) > 0:
		return condition.False("Evicting", strings.Join(busy, "; "))
	case len(empty) > 0:
		return condition.True("NodesEmpty", "no virtual machine is on "+strings.Join(empty, ", "))
	}
	return condition.True("NoneCordoned", "no node is cordoned")
}
