package credentialrotation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

// application manages application credentials of a Keystone user. Only the user itself can create them.
type application struct {
	// user is the session of the user; nil if observation.errorMessage is set.
	user *identity.User
}

func (*application) keys() (id, value string) {
	return "application_credential_id", "application_credential_secret"
}

func (*application) overlaps() bool { return true }

func (*application) staged(w *observation, random string) string { return prefix(w) + random }

// prefix returns the name prefix of a rotation's application credentials. Names are unique per user, and the prefix stays the
// same when the rotation is re-created.
func prefix(w *observation) string {
	const readable, digits = 63, 10
	name := w.rotation.Name
	return name[:min(len(name), readable)] + "-" + names.Hash(digits, w.rotation.Namespace, name) + "-"
}

func (a *application) observe(ctx context.Context, env *controller.Env, w *observation) error {
	spec := w.rotation.Spec
	cloud, problem, err := identity.FindCloud(ctx, env.Reader, w.rotation.Namespace, *spec.CloudCredentialsRef)
	if w.errorMessage = problem; err != nil || problem != "" {
		return err
	}
	switch {
	case cloud.Username != spec.UserName:
		w.errorMessage = fmt.Sprintf("spec.cloudCredentialsRef: cloud %s belongs to user %q, but only user %s itself can create its "+
			"application credentials", spec.CloudCredentialsRef.CloudName, cloud.Username, spec.UserName)
	case cloud.ProjectName == "" && cloud.ProjectID == "":
		w.errorMessage = fmt.Sprintf("spec.cloudCredentialsRef: cloud %s must set a project for application credentials",
			spec.CloudCredentialsRef.CloudName)
	default:
		w.errorMessage = a.list(ctx, env, w, cloud)
	}
	return nil
}

// list logs in and lists the credentials. It returns the error message, or "" on success.
func (a *application) list(ctx context.Context, env *controller.Env, w *observation, cloud identity.Cloud) string {
	user, err := env.Transport.Login(ctx, cloud)
	var all []identity.ApplicationCredential
	if err == nil {
		all, err = user.ApplicationCredentials(ctx)
	}
	if err != nil {
		return err.Error()
	}
	a.user, w.credentialsListed = user, true
	for _, c := range all {
		if strings.HasPrefix(c.Name, prefix(w)) {
			w.credentials = append(w.credentials, credential{id: c.ID, name: c.Name})
		}
	}
	return ""
}

func (a *application) generateCredential(w *observation) (string, *controller.Decision) {
	if a.user == nil {
		return "", &controller.Decision{Name: "WaitingForKeystone", Wait: w.errorMessage}
	}
	if created, ok := w.find("", w.record.Staged); ok {
		return created.id, nil
	}
	if !slices.Equal(w.record.StagedRoles, w.roles()) { // Under another name: a delayed leader may still create the one that was staged.
		return "", &controller.Decision{Name: "CredentialStaged", Action: stage(w)}
	}
	if lacking := a.missingUserRoles(w, w.roles()); lacking != "" {
		return "", &controller.Decision{Name: "WaitingForRoles", Wait: lacking}
	}
	return "", &controller.Decision{
		Name: "CredentialCreated", Note: "created application credential " + w.record.Staged,
		Action: callKeystone(w, func(ctx context.Context, _ *controller.Env) error {
			description := fmt.Sprintf("Made by CredentialRotation %s/%s", w.rotation.Namespace, w.rotation.Name)
			return a.user.CreateApplicationCredential(ctx, w.record.Staged, description, w.staged(), w.record.StagedRoles)
		}),
	}
}

// keep returns nil: the roles of an application credential are immutable.
func (*application) keep(*observation) *controller.Decision { return nil }

// missingRoles returns which roles of the credential in use the user has lost: the credential has lost them too. A role that
// only the next credential gets is not missing.
func (a *application) missingRoles(w *observation) (reason, why string) {
	if why = a.missingUserRoles(w, w.record.Roles); why != "" {
		return "RolesMissing", why
	}
	return "", ""
}

// missingUserRoles describes which of these roles the user does not have; "" if none is missing or the user is not logged in.
func (a *application) missingUserRoles(w *observation, roles []string) string {
	if a.user == nil {
		return ""
	}
	roles = a.user.MissingRoles(roles)
	if len(roles) == 0 {
		return ""
	}
	return fmt.Sprintf("spec.roles: user %s does not have the role %s in its project; create a RoleAssignment",
		w.rotation.Spec.UserName, strings.Join(roles, " or "))
}

func (a *application) revoke(w *observation, id string) *controller.Decision {
	return &controller.Decision{
		Name: "CredentialRevoked", Note: "revoked " + a.title(id),
		Action: callKeystone(w, func(ctx context.Context, _ *controller.Env) error { return a.user.DeleteApplicationCredential(ctx, id) }),
	}
}

func (*application) title(id string) string { return "application credential " + id }

func (a *application) missingMessage(id string) string {
	return fmt.Sprintf("%s no longer exists in Keystone and is replaced. "+
		"Deleting a role revokes the application credentials of all users who had it", a.title(id))
}
