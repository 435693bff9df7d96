package credentialrotation

import (
	"context"
	"fmt"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

// ownPassword is the password of a user in Keystone, which knows one at a time and lets nobody read it.
type ownPassword struct {
	// user is logged in. It is locked out if no password is left that Keystone accepts.
	user      *identity.User
	lockedOut bool
	// changed is set when Keystone accepts the staged password.
	changed bool
}

func (*ownPassword) keys() (id, value string) { return "", "password" }

func (*ownPassword) overlaps() bool { return false }

func (*ownPassword) staged(_ *world, random string) string { return random }

// observe finds out which password Keystone knows, while one is staged. At no other time, since a login that fails counts against the
// user.
func (p *ownPassword) observe(ctx context.Context, env *controller.Env, w *world) error {
	cloud, problem, err := identity.FindCloud(ctx, env.Reader, w.rotation.Namespace, *w.rotation.Spec.CloudCredentialsRef)
	if w.problem = problem; err != nil || problem != "" {
		return err
	}
	if w.record.Staged == "" || w.staged() == "" {
		return nil
	}
	cloud.Username = w.rotation.Spec.UserName
	cloud.ProjectName, cloud.ProjectID, cloud.DomainName, cloud.DomainID, cloud.ApplicationCredentialID = "", "", "", "", ""
	for _, changed := range []bool{false, true} {
		cloud.Password = w.value()
		if changed {
			cloud.Password = w.staged()
		}
		user, err := env.Transport.Login(ctx, cloud)
		if err == nil {
			p.user, p.changed, w.problem = user, changed, ""
			return nil
		}
		w.problem = err.Error()
		if !identity.IsRefused(err) {
			return nil
		}
	}
	p.lockedOut = true
	_, key := p.keys()
	w.problem = fmt.Sprintf("Keystone accepts neither the password in Secret %s nor the one that was to come: "+
		"put the right one into its key %s", w.secret.Name, key)
	return nil
}

func (p *ownPassword) mint(w *world) (string, *controller.Step) {
	switch {
	case p.lockedOut:
		// Logins that fail count against the user. An edit of the Secret wakes it.
		return "", &controller.Step{Name: "LockedOut", Wait: w.problem, At: w.now.Add(controller.Longest)}
	case p.user == nil:
		return "", &controller.Step{Name: "KeystoneAwaited", Wait: w.problem}
	case !p.changed:
		return "", &controller.Step{
			Name: "PasswordChanged", Note: "changed the password in Keystone",
			Do: askKeystone(w, func(ctx context.Context, _ *controller.Env) error {
				return p.user.ChangePassword(ctx, w.value(), w.staged())
			}),
		}
	}
	return w.record.Staged, nil
}

func (*ownPassword) keep(*world) *controller.Step { return nil }

func (*ownPassword) lacks(*world) (reason, why string) { return "", "" }

// revoke: Keystone forgot the old one when it took the new one.
func (*ownPassword) revoke(*world, string) *controller.Step { return nil }

func (*ownPassword) title(string) string { return "the new password" }

func (*ownPassword) lost(string) string { return "" }
