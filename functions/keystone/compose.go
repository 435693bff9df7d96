// Package keystone composes a Keystone: the components of every service, and keys, bootstrap, domains of directories and federation.
package keystone

import (
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// New returns the function of Keystone composite resources.
func New() function.Runner {
	return function.Kind[keystonev1.Keystone, *model]{
		Graph: graph, Rules: readiness.Rules, Derive: derive, Target: service.Target[*model], Status: status,
	}
}

type component = compose.Component[*model]

// graph lists the components of a Keystone and their dependencies. An external one has no pods, and no objects that pods use.
var graph = service.Graph(compose.Graph[*model]{
	service.CompanionAccess[*model](),
	local(service.Credentials[*model]()),
	certificates(),
	local(service.DatabaseAccount[*model]("credentials")),
	local(component{Name: "keys", Needs: []string{"companion-access"}, Build: keys}),
	local(service.Config[*model]("companion-access", "credentials")),
	local(service.DatabaseSchema[*model]("database", "keys", "config")),
	local(component{Name: bootstrapName, Needs: []string{"schema"}, Build: bootstrap}),
	local(service.API[*model]([]string{bootstrapName, "certificate"})),
	local(exposed("certificate")),
	{Name: "clouds", Needs: []string{"companion-access", "credentials", "certificate"}, Build: clouds},
	{Name: "catalog-access", Needs: []string{"api", "clouds"}, Build: catalogAccess},
	{Name: loginResource, Needs: []string{"api", "clouds"}, Build: login},
	local(component{Name: trustFlushName, Needs: []string{bootstrapName}, Build: trustFlush}),
	local(service.Alerts[*model]()),
})

// local disables a component for an external Keystone.
func local(c component) component {
	enabled := c.Enabled
	c.Enabled = func(m *model) bool { return m.spec.External == nil && (enabled == nil || enabled(m)) }
	return c
}
