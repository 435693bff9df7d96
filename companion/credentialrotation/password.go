package credentialrotation

import (
	"context"
	"fmt"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

// userPassword is the password of a Keystone user. A user has one password at a time, and it cannot be read.
type userPassword struct {
	// user is the session of the user. lockedOut is set if Keystone accepts neither of the passwords.
	user      *identity.User
	lockedOut bool
	// changed is set when Keystone accepts the staged password.
	changed bool
}

func (*userPassword) keys() (id, value string) { return "", "password" }

func (*userPassword) overlaps() bool { return false }

func (*userPassword) staged(_ *observation, random string) string { return random }

// observe determines which password Keystone accepts, but only while one is staged, because failed logins count against the
// user.
func (p *userPassword) observe(ctx context.Context, env *controller.Env, w *observation) error {
	cloud, problem, err := identity.FindCloud(ctx, env.Reader, w.rotation.Namespace, *w.rotation.Spec.CloudCredentialsRef)
	if w.errorMessage = problem; err != nil || problem != "" {
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
			p.user, p.changed, w.errorMessage = user, changed, ""
			return nil
		}
		w.errorMessage = err.Error()
		if !identity.IsUnauthorized(err) {
			return nil
		}
	}
	p.lockedOut = true
	_, key := p.keys()
	w.errorMessage = fmt.Sprintf("Keystone accepts neither the password in Secret %s nor the staged one: "+
		"set the correct password in its key %s", w.secret.Name, key)
	return nil
}

func (p *userPassword) generateCredential(w *observation) (string, *controller.Decision) {
	switch {
	case p.lockedOut:
		// Failed logins count against the user. A change of the Secret triggers the next pass.
		return "", &controller.Decision{Name: "LockedOut", Wait: w.errorMessage, At: w.now.Add(controller.ResyncInterval)}
	case p.user == nil:
		return "", &controller.Decision{Name: "WaitingForKeystone", Wait: w.errorMessage}
	case !p.changed:
		return "", &controller.Decision{
			Name: "PasswordChanged", Note: "changed the password in Keystone",
			Action: callKeystone(w, func(ctx context.Context, _ *controller.Env) error {
				return p.user.ChangePassword(ctx, w.value(), w.staged())
			}),
		}
	}
	return w.record.Staged, nil
}

func (*userPassword) keep(*observation) *controller.Decision { return nil }

func (*userPassword) missingRoles(*observation) (reason, why string) { return "", "" }

// revoke returns nil: Keystone replaced the old password with the new one.
func (*userPassword) revoke(*observation, string) *controller.Decision { return nil }

func (*userPassword) title(string) string { return "the new password" }

func (*userPassword) missingMessage(string) string { return "" }
