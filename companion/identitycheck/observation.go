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

// observation is the result of a login.
type observation struct {
	check *openstackv1.IdentityCheck
	now   time.Time
	// errorMessage is the reason why the login is not possible; limited is the remaining rate limit.
	errorMessage string
	limited      time.Duration
	cloud        identity.Cloud
	// err is the error of the login; otherwise version is the version of the API, and exempt the state of the user's options.
	err     error
	version string
	exempt  condition.State
	// public is the error of the public address; nil if it responds or is not set.
	public *identity.ConnectError
}

// observe logs in once, and visits the public address, if one is set.
func observe(ctx context.Context, env *controller.Env, c *openstackv1.IdentityCheck) (*observation, error) {
	w := &observation{check: c, now: env.Clock.Now()}
	var err error
	if w.cloud, w.errorMessage, err = identity.FindCloud(ctx, env.Reader, c.Namespace, c.Spec.CloudCredentialsRef); err != nil ||
		w.errorMessage != "" {
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

// login requests a token and the version of the API, and ensures that the next login is possible.
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

// exemptUser sets options that prevent others from locking out the user. An error of Keystone is only reported, because the
// login works.
func (obs *observation) exemptUser(ctx context.Context, env *controller.Env, keystone *identity.User) condition.State {
	changed, err := keystone.Exempt(ctx, keystone.ID())
	if err != nil {
		return condition.False("RejectedByKeystone", err.Error())
	}
	s := condition.State{
		True: true, Reason: "OptionsSet",
		Message: "the user is exempt from lockout, inactivity, password expiry and the password change at the first login",
	}
	if changed {
		env.Event(obs.check, corev1.EventTypeNormal, s.Reason, s.Message)
	}
	return s
}
