package identitycheck

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity"
)

// observation is what a login finds out.
type observation struct {
	check *openstackv1.IdentityCheck
	now   time.Time
	// errorMessage says why nobody can log in; limited is how long nobody may.
	errorMessage string
	limited      time.Duration
	cloud        identity.Cloud
	// err is that of the login, version else that of the API, and exempt whether the user is.
	err     error
	version string
	exempt  condition.State
	// public is what is wrong with the public address, if there is one.
	public *identity.ConnectError
}

// observe logs in once, and asks at the public address, if there is one.
func observe(ctx context.Context, env *controller.Env, c *openstackv1.IdentityCheck) (*observation, error) {
	w := &observation{check: c, now: env.Clock.Now()}
	var err error
	if w.cloud, w.errorMessage, err = identity.FindCloud(ctx, env.Reader, c.Namespace, c.Spec.CloudCredentialsRef); err != nil || w.errorMessage != "" {
		return w, err
	}
	if w.limited = env.Limit(client.ObjectKeyFromObject(c), shortRequeueInterval); w.limited > 0 {
		return w, nil
	}
	if w.err = w.login(ctx, env); w.err != nil {
		failures.WithLabelValues(c.Namespace, c.Name).Inc()
	}
	if c.Spec.PublicURL != "" {
		w.public = env.Public.Visit(ctx, string(c.Spec.PublicURL))
	}
	return w, nil
}

// login gets a token, asks for the version of the API, and sees to it that the next login is possible, too.
func (obs *observation) login(ctx context.Context, env *controller.Env) error {
	keystone, err := env.Transport.Login(ctx, obs.cloud)
	if err != nil {
		return err
	}
	now := env.Clock.Now()
	duration.WithLabelValues(obs.check.Namespace, obs.check.Name).Observe(now.Sub(obs.now).Seconds())
	lastToken.WithLabelValues(obs.check.Namespace, obs.check.Name).Set(float64(now.Unix()))
	if obs.version, err = keystone.APIVersion(ctx); err == nil && obs.check.Spec.Exempt {
		obs.exempt = obs.exemptUser(ctx, env, keystone)
	}
	return err
}

// exemptUser gives the user that has logged in the options without which others could lock it out. A refusal by Keystone is only reported: the
// login works.
func (obs *observation) exemptUser(ctx context.Context, env *controller.Env, keystone *identity.User) condition.State {
	changed, err := keystone.Exempt(ctx, keystone.ID())
	if err != nil {
		return condition.False("KeystoneRefuses", err.Error())
	}
	s := condition.State{
		True: true, Reason: "OptionsSet", Message: "the user is spared lockout, password expiry and a change at the first login",
	}
	if changed {
		env.Event(obs.check, corev1.EventTypeNormal, s.Reason, s.Message)
	}
	return s
}
