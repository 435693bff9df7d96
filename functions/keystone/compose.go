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

// graph lists the components of Keystone in addition to the common ones, and their dependencies.
var graph = service.Graph(&definition,
	service.ExtraComponent[*model]{
		Component: component{Name: "keys", Needs: []string{"companion-access"}, Build: keys}, Before: "config", NeededBy: "schema",
	},
	service.ExtraComponent[*model]{Component: component{Name: "bootstrap", Needs: []string{"schema"}, Build: bootstrap}, Before: "api",
		NeededBy: "api"},
	service.ExtraComponent[*model]{Component: component{Name: "certificate", Build: certified}},
	service.ExtraComponent[*model]{Component: component{Name: "exposure", Build: exposed}},
	service.ExtraComponent[*model]{Component: component{
		Name: "clouds", Needs: []string{"companion-access", "credentials", "certificate"}, Build: clouds,
	}},
	service.ExtraComponent[*model]{Component: component{Name: "catalog-access", Needs: []string{"api", "clouds"}, Build: catalogAccess}},
	service.ExtraComponent[*model]{Component: component{Name: "login", Needs: []string{"api", "clouds"}, Build: login}},
	service.ExtraComponent[*model]{Component: component{Name: trustFlushName, Needs: []string{bootstrapName}, Build: trustFlush}},
)
