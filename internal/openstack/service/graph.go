package service

import (
	"fmt"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// Names of composed resources that are read back.
const (
	schemaResource  = "schema"
	serviceResource = "service"
	// CertificateResource is the server's certificate.
	CertificateResource = "server-certificate"
)

// ExtraComponent is a component that a service has and others have not. One with the name of a component that all have is built in its place.
type ExtraComponent[M any] struct {
	compose.Component[M]
	// Before is the component of the graph that it is declared before. Empty: monitoring.
	Before string
	// NeededBy is the component that needs it, if any. What both need is left to it.
	NeededBy string
	// RolloutBefore is a component whose new versions come after its own, if any.
	RolloutBefore string
}

// Graph is what every service consists of, and what needs what, with what one has of its own. It panics if that does not fit.
//
// A service logs in before it serves, and is in the catalog when it does. What K-ORC and the companion have made in Keystone goes while
// Keystone is there: the control plane holds that back until this composite resource is gone.
func Graph[M Instance](d *Definition, own ...ExtraComponent[M]) compose.Graph[M] {
	const (
		access, identity, catalog, monitoring = "companion-access", "identity", "catalog", "monitoring"
		database, schema                      = "database", "schema"
		queue, api, exposed                   = "queue", "api", "exposure"
	)
	graph := compose.Graph[M]{
		{Name: access},
		{Name: "credentials", Build: Credentials[M]},
		{Name: "certificate", Build: Certificate[M]},
		{Name: database, Needs: []string{"credentials"}, Build: DatabaseAccount[M]},
		{Name: queue, Needs: []string{access}, Build: QueueAccount[M]},
		{Name: identity, Needs: []string{access, "credentials"}, Build: User[M]},
		{Name: "config", Needs: []string{access, "credentials"}, Build: Config[M]},
		{
			Name: schema, Needs: []string{database, "config"}, Build: DatabaseSchema[M],
			Version: func(m M) string { return m.Base().TargetReleaseName() },
		},
		{
			Name: api, Needs: []string{schema, "certificate", identity, queue}, Build: API[M],
			Version: func(m M) string { return m.Base().Version() },
		},
		{
			Name: exposed, Needs: []string{"certificate"}, Build: Exposure[M],
			Enabled: func(m M) bool { return m.Base().Exposed() },
		},
		{Name: catalog, Needs: []string{api}, Build: Catalog[M]},
		{Name: monitoring, Build: Alerts[M], Enabled: func(m M) bool { return m.Base().Monitored() }},
	}
	if slices.ContainsFunc(d.Databases, func(d Database) bool { return len(d.Schema.Logins) > 0 }) {
		// Its Jobs' pods do not start without the credential.
		by := &graph[find(graph, schema)]
		by.Needs = append(by.Needs, identity)
	}
	if len(d.Databases) == 0 {
		graph = without(graph, database, schema)
		by := &graph[find(graph, api)]
		by.Needs = append([]string{"config"}, by.Needs...)
	}
	if d.CatalogType == "" {
		graph = without(graph, identity, catalog)
	}
	if !d.Queue {
		graph = without(graph, queue)
	}
	if d.Module == "" {
		graph = without(graph, api, exposed)
	}
	if len(d.Databases) == 0 && d.CatalogType == "" && !d.Queue {
		graph = without(graph, access) // The companion has nothing to do for it.
	}
	for _, o := range own {
		graph = with(graph, o)
	}
	if len(d.ExternalComponents) > 0 {
		disableForExternal(graph, d.ExternalComponents)
	}
	if graph[0].Name == access {
		graph[0].Build = companionAccess(graph[1:])
	}
	return graph.MustValidate()
}

// disableForExternal switches off what is not kept of an instance that somebody else runs.
func disableForExternal[M Instance](graph compose.Graph[M], kept []string) {
	for i, c := range graph {
		if slices.Contains(kept, c.Name) {
			continue
		}
		graph[i].Enabled = func(m M) bool { return !m.Base().External && (c.Enabled == nil || c.Enabled(m)) }
	}
}

// without is a graph without some components, which nothing needs then.
func without[M any](graph compose.Graph[M], names ...string) compose.Graph[M] {
	removed := func(name string) bool { return slices.Contains(names, name) }
	graph = slices.DeleteFunc(graph, func(c compose.Component[M]) bool { return removed(c.Name) })
	for i := range graph {
		graph[i].Needs = slices.DeleteFunc(graph[i].Needs, removed)
	}
	return graph
}

// with is a graph with a component of a service's own.
func with[M any](graph compose.Graph[M], o ExtraComponent[M]) compose.Graph[M] {
	if i := find(graph, o.Name); i >= 0 {
		graph[i].Build = o.Build
		return graph
	}
	before := o.Before
	if before == "" {
		before = "monitoring"
	}
	at := find(graph, before)
	if at < 0 || o.NeededBy != "" && find(graph, o.NeededBy) < at {
		panic(fmt.Sprintf("component %q comes before %q, and is for %q: there is no such place", o.Name, before, o.NeededBy))
	}
	graph = slices.Insert(graph, at, o.Component)
	if o.RolloutBefore != "" {
		after := &graph[find(graph, o.RolloutBefore)]
		after.RolloutAfter = append(after.RolloutAfter, o.Name)
	}
	if o.NeededBy != "" {
		by := &graph[find(graph, o.NeededBy)]
		// It stands where what it needs stood, or in the order of the graph.
		place := slices.IndexFunc(by.Needs, func(n string) bool { return slices.Contains(o.Needs, n) || find(graph, n) > at })
		if place < 0 {
			place = len(by.Needs)
		}
		by.Needs = slices.Insert(by.Needs, place, o.Name)
		by.Needs = slices.DeleteFunc(by.Needs, func(n string) bool { return slices.Contains(o.Needs, n) })
	}
	return graph
}

func find[M any](graph compose.Graph[M], name string) int {
	return slices.IndexFunc(graph, func(c compose.Component[M]) bool { return c.Name == name })
}
