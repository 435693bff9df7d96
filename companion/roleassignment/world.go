package roleassignment

import (
	"context"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/korc"
)

// finalizer keeps an object until what it has given is removed.
const finalizer = "openstack.c5c3.io/roleassignment"

// world is everything that a decision depends on, as it was read in one pass.
type world struct {
	assignment *openstackv1.RoleAssignment
	now        time.Time
	// wanted is what the object refers to; waits says what is not there yet.
	wanted openstackv1.RoleAssignmentIDs
	waits  string
	// keystone is logged in; problem says why nobody is.
	keystone *identity.User
	problem  string
	// given says that what is wanted is so.
	given bool
}

// observe reads the world. That Keystone does not answer is no error: it is waited for.
func observe(ctx context.Context, env *controller.Env, a *openstackv1.RoleAssignment) (*world, error) {
	w := &world{assignment: a, now: env.Clock.Now()}
	if !w.deleted() {
		if err := w.resolve(ctx, env.Reader); err != nil || w.waits != "" || w.finalized() == w.detached() {
			return w, err
		}
	} else if !w.finalized() || w.detached() || a.Status.Resource == nil {
		return w, nil
	}
	cloud, problem, err := identity.FindCloud(ctx, env.Reader, a.Namespace, a.Spec.CloudCredentialsRef)
	if err != nil || problem != "" {
		w.problem = problem
		return w, err
	}
	w.ask(ctx, env.Transport, cloud)
	return w, nil
}

// ask asks Keystone what has to be known.
func (w *world) ask(ctx context.Context, way identity.Transport, cloud identity.Cloud) {
	keystone, err := way.Login(ctx, cloud)
	if err == nil && !w.deleted() {
		w.given, err = keystone.Assigned(ctx, w.wanted)
	}
	if err != nil {
		w.problem = err.Error()
		return
	}
	w.keystone = keystone
}

// resolve finds what the object refers to.
func (w *world) resolve(ctx context.Context, reader client.Reader) error {
	r := w.assignment.Spec.Resource
	w.wanted.System = r.System
	for _, ref := range []struct {
		kind, name string
		id         *string
	}{
		{"Role", string(r.RoleRef), &w.wanted.RoleID},
		{"User", string(r.UserRef), &w.wanted.UserID},
		{"Group", string(r.GroupRef), &w.wanted.GroupID},
		{"Project", string(r.ProjectRef), &w.wanted.ProjectID},
		{"Domain", string(r.DomainRef), &w.wanted.DomainID},
	} {
		if ref.name == "" {
			continue
		}
		var err error
		if *ref.id, w.waits, err = korc.ID(ctx, reader, ref.kind, w.assignment.Namespace, ref.name); err != nil || w.waits != "" {
			return err
		}
	}
	return nil
}

func (w *world) set(s condition.State) {
	condition.Set(&w.assignment.Status.Conditions, conditionAvailable, w.assignment.Generation, w.now, s)
}

func (w *world) deleted() bool { return w.assignment.DeletionTimestamp != nil }

func (w *world) finalized() bool { return controllerutil.ContainsFinalizer(w.assignment, finalizer) }

// detached says that the role stays when the object goes.
func (w *world) detached() bool {
	return w.assignment.Spec.ManagedOptions.OnDelete == openstackv1.OnDeleteDetach
}

// path of an assignment in Keystone's API.
func path(r openstackv1.RoleAssignmentIDs) string {
	var parts []string
	for _, p := range []struct{ name, id string }{
		{"projects", r.ProjectID}, {"domains", r.DomainID}, {"users", r.UserID}, {"groups", r.GroupID}, {"roles", r.RoleID},
	} {
		if p.id != "" {
			parts = append(parts, p.name, p.id)
		}
	}
	if r.System != "" {
		parts = append([]string{"system"}, parts...)
	}
	return strings.Join(parts, "/")
}
