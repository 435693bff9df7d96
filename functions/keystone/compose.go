// Package keystone composes one Keystone: its database account, keys, schema, first user, API and what surrounds them.
package keystone

import (
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

// New returns the function of Keystone composite resources.
func New() function.Runner {
	return function.Kind[keystonev1.Keystone, *model]{
		Graph:  graph.MustValidate(),
		Derive: derive,
		Place:  place,
		Status: status,
	}
}

// graph is what a Keystone consists of, and what needs what.
var graph = compose.Graph[*model]{
	{Name: "companion-access", Build: companionAccess},
	{Name: "credentials", Build: credentials},
	{Name: "certificate", Build: serverCertificate},
	{Name: "database", Needs: []string{"credentials"}, Build: database},
	{Name: "keys", Needs: []string{"companion-access"}, Build: keys},
	{Name: "config", Needs: []string{"companion-access", "credentials"}, Build: config},
	{Name: "schema", Needs: []string{"database", "keys", "config"}, Build: schema, Version: (*model).wantedRelease},
	{Name: "bootstrap", Needs: []string{"schema"}, Build: bootstrap},
	{Name: "api", Needs: []string{"bootstrap", "certificate"}, Build: api, Version: (*model).version},
	{Name: "exposure", Enabled: (*model).exposed, Needs: []string{"certificate"}, Build: exposed},
	{Name: "clouds", Needs: []string{"companion-access", "credentials", "certificate"}, Build: clouds},
	{Name: "catalog-access", Needs: []string{"api", "clouds"}, Build: catalogAccess},
	{Name: "login", Needs: []string{"api", "clouds"}, Build: login},
	{Name: "trust-flush", Needs: []string{"bootstrap"}, Build: trustFlush},
	{Name: "monitoring", Enabled: (*model).monitored, Build: alerts},
}
