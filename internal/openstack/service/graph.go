package service

import (
	"errors"
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

// Names of the components that several services have.
const (
	accessComponent      = "companion-access"
	credentialsComponent = "credentials"
	certificateComponent = "certificate"
	databaseComponent    = "database"
	queueComponent       = "queue"
	identityComponent    = "identity"
	configComponent      = "config"
	schemaComponent      = "schema"
	apiComponent         = "api"
	exposureComponent    = "exposure"
	catalogComponent     = "catalog"
	monitoringComponent  = "monitoring"
)

// Graph returns the component graph of a service with its companion access completed. It panics if the graph is not well
// formed. A service gets its credentials before it starts, and its catalog entries once it runs (see CheckGraph).
//
// The objects that K-ORC and the companion created in Keystone can only be deleted while Keystone exists, so the control plane
// retains Keystone until this composite resource is deleted.
func Graph[M Instance](graph compose.Graph[M]) compose.Graph[M] {
	for i, c := range graph {
		if c.Name == accessComponent {
			graph[i].Build = companionAccess(graph[i+1:])
		}
	}
	return graph.MustValidate()
}

// CompanionAccess returns the component that permits the companion to process the objects of the components after it. Graph
// completes it.
func CompanionAccess[M Instance]() compose.Component[M] {
	return compose.Component[M]{Name: accessComponent}
}

// Credentials returns the component with the passwords of the database account, of the service's user in Keystone and of
// the service's own accounts.
func Credentials[M Instance]() compose.Component[M] {
	return compose.Component[M]{Name: credentialsComponent, Build: buildCredentials[M]}
}

// Certificate returns the component with the server certificate of all pods that serve HTTPS.
func Certificate[M Instance]() compose.Component[M] {
	return compose.Component[M]{Name: certificateComponent, Build: buildCertificate[M]}
}

// DatabaseAccount returns the component with the databases and their account.
func DatabaseAccount[M Instance](needs ...string) compose.Component[M] {
	return compose.Component[M]{Name: databaseComponent, Needs: needs, Build: buildDatabaseAccount[M]}
}

// QueueAccount returns the component with the virtual host on the message queue and its user.
func QueueAccount[M Instance](needs ...string) compose.Component[M] {
	return compose.Component[M]{Name: queueComponent, Needs: needs, Build: buildQueueAccount[M]}
}

// User returns the component with the service's user in Keystone and its application credential.
func User[M Instance](needs ...string) compose.Component[M] {
	return compose.Component[M]{Name: identityComponent, Needs: needs, Build: buildUser[M]}
}

// Config returns the component with the ConfigMaps of the pods.
func Config[M Instance](needs ...string) compose.Component[M] {
	return compose.Component[M]{Name: configComponent, Needs: needs, Build: buildConfig[M]}
}

// DatabaseSchema returns the component that brings the databases to the target release.
func DatabaseSchema[M Instance](needs ...string) compose.Component[M] {
	return compose.Component[M]{
		Name: schemaComponent, Needs: needs, Build: buildDatabaseSchema[M],
		Version: func(m M) string { return m.Embedded().TargetReleaseName() },
	}
}

// API returns the component with the pods of the API. New versions are rolled out after new versions of the last components.
func API[M Instance](needs []string, rolloutAfter ...string) compose.Component[M] {
	return compose.Component[M]{
		Name: apiComponent, Needs: needs, RolloutAfter: rolloutAfter, Build: buildAPI[M],
		Version: func(m M) string { return m.Embedded().Version() },
	}
}

// Exposure returns the component that exposes the API outside of the cluster. It is disabled for an API that is not exposed.
func Exposure[M Instance](needs ...string) compose.Component[M] {
	return compose.Component[M]{
		Name: exposureComponent, Needs: needs, Build: buildExposure[M],
		Enabled: func(m M) bool { return m.Embedded().Exposed() },
	}
}

// Catalog returns the component with the catalog entries of the service in Keystone.
func Catalog[M Instance](needs ...string) compose.Component[M] {
	return compose.Component[M]{Name: catalogComponent, Needs: needs, Build: buildCatalog[M]}
}

// Alerts returns the component with the alerts. It is disabled without monitoring.
func Alerts[M Instance]() compose.Component[M] {
	return compose.Component[M]{
		Name: monitoringComponent, Build: buildAlerts[M],
		Enabled: func(m M) bool { return m.Embedded().Monitored() },
	}
}

// dependency lists the components that a common component needs, directly or through other components, if the graph has them.
type dependency struct {
	component string
	needs     []string
}

var dependencies = []dependency{
	{databaseComponent, []string{credentialsComponent}},
	{queueComponent, []string{accessComponent}},
	{identityComponent, []string{accessComponent, credentialsComponent}},
	{configComponent, []string{accessComponent, credentialsComponent}},
	{schemaComponent, []string{databaseComponent, configComponent}},
	{apiComponent, []string{schemaComponent, configComponent, certificateComponent, identityComponent, queueComponent}},
	{exposureComponent, []string{certificateComponent}},
	{catalogComponent, []string{apiComponent}},
}

// CheckGraph returns an error for every component that a definition requires and the graph lacks, for every common component
// that the definition does not support, and for every missing need of a common component.
func CheckGraph[M any](d *Definition, graph compose.Graph[M]) error {
	var errs []error
	companion := len(d.Databases) > 0 || d.Queue || d.CatalogType != ""
	for _, c := range []struct {
		reason     string
		required   bool
		components []string
	}{
		{"objects of the companion", companion, []string{accessComponent}},
		{"every service", true, []string{credentialsComponent, certificateComponent, configComponent, monitoringComponent}},
		{"Databases", len(d.Databases) > 0, []string{databaseComponent, schemaComponent}},
		{"Queue", d.Queue, []string{queueComponent}},
		{"CatalogType", d.CatalogType != "", []string{identityComponent, catalogComponent}},
		{"Module", d.Module != "", []string{apiComponent, exposureComponent}},
	} {
		for _, name := range c.components {
			switch has := find(graph, name) >= 0; {
			case c.required && !has:
				errs = append(errs, fmt.Errorf("component %q: required for %s; add it to the graph", name, c.reason))
			case !c.required && has:
				errs = append(errs, fmt.Errorf("component %q: requires %s in the definition; remove it from the graph", name, c.reason))
			}
		}
	}
	all := dependencies
	if slices.ContainsFunc(d.Databases, func(d Database) bool { return len(d.Schema.Logins) > 0 }) {
		// The pods of its Jobs do not start without the credential.
		all = append(slices.Clone(all), dependency{schemaComponent, []string{identityComponent}})
	}
	for _, c := range all {
		for _, name := range c.needs {
			if find(graph, c.component) >= 0 && find(graph, name) >= 0 && !dependsOn(graph, c.component, name) {
				errs = append(errs, fmt.Errorf("component %q: requires %q; add it to its needs", c.component, name))
			}
		}
	}
	return errors.Join(errs...)
}

// dependsOn reports whether a component needs another one, directly or through other components.
func dependsOn[M any](graph compose.Graph[M], component, other string) bool {
	return slices.ContainsFunc(graph[find(graph, component)].Needs, func(name string) bool {
		return name == other || dependsOn(graph, name, other)
	})
}

func find[M any](graph compose.Graph[M], name string) int {
	return slices.IndexFunc(graph, func(c compose.Component[M]) bool { return c.Name == name })
}
