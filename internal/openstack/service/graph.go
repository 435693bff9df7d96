package service

import (
	"fmt"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// Names of composed resources that are read from the observed state.
const (
	schemaResource  = "schema"
	serviceResource = "service"
	// CertificateResource is the resource name of the server certificate.
	CertificateResource = "server-certificate"
)

// ExtraComponent is a component of one service only. If it has the name of a common component, its Build replaces the
// common one.
type ExtraComponent[M any] struct {
	compose.Component[M]
	// Before is the component of the graph before which it is inserted. Empty: monitoring.
	Before string
	// NeededBy is the component that needs it, if any. Needs of both components are removed from NeededBy.
	NeededBy string
	// RolloutBefore is a component whose new versions are rolled out after its own, if any.
	RolloutBefore string
}

// Graph returns the component graph of a service: the common components with their dependencies, and its own components. It
// panics if they do not fit.
//
// A service gets its credentials before it starts, and its catalog entries once it runs. The objects that K-ORC and the
// companion created in Keystone can only be deleted while Keystone exists, so the control plane retains Keystone until this
// composite resource is deleted.
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
			Version: func(m M) string { return m.Embedded().TargetReleaseName() },
		},
		{
			Name: api, Needs: []string{schema, "certificate", identity, queue}, Build: API[M],
			Version: func(m M) string { return m.Embedded().Version() },
		},
		{
			Name: exposed, Needs: []string{"certificate"}, Build: Exposure[M],
			Enabled: func(m M) bool { return m.Embedded().Exposed() },
		},
		{Name: catalog, Needs: []string{api}, Build: Catalog[M]},
		{Name: monitoring, Build: Alerts[M], Enabled: func(m M) bool { return m.Embedded().Monitored() }},
	}
	if slices.ContainsFunc(d.Databases, func(d Database) bool { return len(d.Schema.Logins) > 0 }) {
		// The pods of its Jobs do not start without the credential.
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
		graph = without(graph, access) // The companion has no objects to process.
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

// disableForExternal disables all components except the kept ones for an external instance.
func disableForExternal[M Instance](graph compose.Graph[M], retained []string) {
	for i, c := range graph {
		if slices.Contains(retained, c.Name) {
			continue
		}
		graph[i].Enabled = func(m M) bool { return !m.Embedded().External && (c.Enabled == nil || c.Enabled(m)) }
	}
}

// without returns the graph without some components, and without references to them.
func without[M any](graph compose.Graph[M], names ...string) compose.Graph[M] {
	removed := func(name string) bool { return slices.Contains(names, name) }
	graph = slices.DeleteFunc(graph, func(c compose.Component[M]) bool { return removed(c.Name) })
	for i := range graph {
		graph[i].Needs = slices.DeleteFunc(graph[i].Needs, removed)
	}
	return graph
}

// with returns the graph with a component of one service added.
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
		panic(fmt.Sprintf("component %q cannot be inserted before %q and be needed by %q", o.Name, before, o.NeededBy))
	}
	graph = slices.Insert(graph, at, o.Component)
	if o.RolloutBefore != "" {
		after := &graph[find(graph, o.RolloutBefore)]
		after.RolloutAfter = append(after.RolloutAfter, o.Name)
	}
	if o.NeededBy != "" {
		by := &graph[find(graph, o.NeededBy)]
		// It replaces the first need that they share; otherwise it is inserted in the order of the graph.
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
