package services

import (
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// Cloud is the input of all services: the infrastructure, and the enabled services. It does not change after New.
type Cloud struct {
	*infrastructure.Infrastructure
	// Services are the enabled services in the order of the table; Identity is the one that authenticates the others.
	Services []*State
	Identity *State
}

// New returns the cloud of services in an infrastructure, with the model of each service. The first service is the identity service.
func New(shared *infrastructure.Infrastructure, enabled []*State) *Cloud {
	c := &Cloud{Infrastructure: shared}
	for _, s := range enabled {
		state := *s
		c.Services = append(c.Services, &state)
	}
	c.Identity = c.Services[0]
	for _, s := range c.Services {
		s.Model = s.Service.Derive(c, s)
	}
	return c
}

// CopiedCondition returns the state of a condition of a service for a condition of the claim. It is not ready if it is too old.
func (c *Cloud) CopiedCondition(of *observe.Object, condition observe.Condition) ready.Result {
	out := ready.Result{Ready: condition.Status == "True", Reason: condition.Reason, Message: condition.Message}
	if stale := c.Observed.StaleReason(of); out.Ready && stale != "" {
		return ready.Wait("StatusTooOld", "%s", stale)
	}
	return out
}

// CheckQueue returns an error for a service that requires a message queue if it is disabled, or if its virtual hosts cannot be created in
// it.
func (c *Cloud) CheckQueue(s *State) error {
	switch {
	case !c.Messaging():
		return invalid.Field("spec.infrastructure.rabbitmq.enabled", "%s requires the message queue; keep it enabled, or "+
			"disable services.%[1]s", s.Name)
	case c.RunsQueue() && c.Platform.QueueIssuer == "":
		return invalid.Field(s.FieldPath(".enabled"), "the PlatformConfig has no queueIssuer, which is required to create the "+
			"virtual hosts of this service; disable the service, or ask the platform team to set queueIssuer")
	}
	return nil
}

// HasService reports whether a service of that name is enabled.
func (c *Cloud) HasService(name string) bool {
	return slices.ContainsFunc(c.Services, func(o *State) bool { return o.Name == name })
}

// CheckOther returns an error for a service whose dependency is disabled.
func (c *Cloud) CheckOther(s *State, other string) error {
	if c.HasService(other) {
		return nil
	}
	return invalid.Field("spec.services."+other+".enabled", "%s requires %s; set enabled to true, or disable services.%[1]s",
		s.Name, other)
}

// CatalogComponent is the component of the catalog, which every service but the identity service needs.
const CatalogComponent = "catalog"

// ServiceSpec returns the settings of the control plane for a service with a database.
func (c *Cloud) ServiceSpec(s *State) common.ServiceSpec {
	return common.ServiceSpec{
		ServiceBase: c.ServiceBase(s),
		Overrides:   s.Basics.Overrides,
		Database:    c.DatabaseSpec(),
	}
}

// QueuedServiceSpec is ServiceSpec for a service with a message queue.
func (c *Cloud) QueuedServiceSpec(s *State) common.ServiceSpec {
	out := c.ServiceSpec(s)
	out.StreamBytes = c.StreamLimit()
	return out
}

// ServiceBase returns the settings of the control plane for any service.
func (c *Cloud) ServiceBase(s *State) common.ServiceBase {
	cache := c.SharedCache()
	if s.Name == IdentityService && s.ExternalURL == "" {
		cache = c.ServiceCache(s.Name)
	}
	return common.ServiceBase{
		Crossplane:       c.Crossplane(),
		OpenStackRelease: string(s.TargetRelease),
		Target:           c.WorkloadCluster(),
		Image:            s.Basics.Image,
		Images:           c.Images,
		Region:           c.Spec.Global.Region,
		Cache:            common.Cache{Servers: c.CacheServers(cache)},
		Endpoints:        common.Endpoints{Public: common.URL(s.Endpoints.Public), Internal: common.URL(s.Endpoints.Internal)},
		Exposure:         s.Exposure,
		IssuerRef:        c.Issuer(),
		ClusterDomain:    c.OtherDomain(),
		IPFamily:         c.OtherFamily(),
		Monitoring:       c.Monitoring,
		SecretStore:      c.SecretStore,
		DeletionPolicy:   c.Spec.DeletionPolicy,
	}
}
