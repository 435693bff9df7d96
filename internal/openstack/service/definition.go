package service

import (
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Definition is what is the same for every instance of a service.
type Definition struct {
	// App is the service's name: that of its image, its configuration file and that file's folder, its main container, its database, its
	// user and its entry in the catalog.
	App string
	// Title is the name as it stands in a sentence.
	Title string
	// Outage is what does not work while no pod is available, as the end of a sentence.
	Outage string
	// CatalogType is what the service is in the catalog, and Description what is said of it there. A service without a type keeps the catalog
	// itself, or is a client of the others alone: it has neither a user nor entries.
	CatalogType, Description string
	// CatalogPath is what follows the API's addresses in the catalog: /%(project_id)s, for which Keystone puts who asks.
	CatalogPath string
	// NeedsStableUserID says that others delegate roles to its user. They do so in Keystone, to which the user is known by its ID: it stays there as
	// long as the service's data does.
	NeedsStableUserID bool
	// Port of the API, on the Service and the pods.
	Port int32
	// Module is the WSGI application, HealthPath where it answers without a login. A service without a module has no API.
	Module, HealthPath string
	// RequiresHostHeader says that the API answers to its host names alone, so that probes name one.
	RequiresHostHeader bool
	// WithoutOsloConfig says that the service reads no file of oslo's: it has neither options nor rules, and its files are its Pages.
	WithoutOsloConfig bool
	// ConfigFile is what the service's programs look for in its configuration folder. Empty: <App>.conf.
	ConfigFile string
	// Priority is the PriorityClass of the service's pods. Empty: that of services.
	Priority string
	// Stateful says that the API's pods have names and volumes that stay.
	Stateful bool
	// NeedsCutover says that an earlier release cannot read what a later one writes, so that the API goes from one to the other at once.
	NeedsCutover bool
	// TerminationGracePeriod is how long requests may go on while a pod stops.
	TerminationGracePeriod time.Duration
	// Databases are on one server, and have one user. A service may have none.
	Databases []Database
	// Queue says that the service has a virtual host on a message queue.
	Queue bool
	// User of the databases and of the queue, whose virtual host is called the same. Empty: App.
	User string
	// ExternalComponents are the components of an instance that somebody else runs (Service.Elsewhere): what others log in by. Nil: there is none such.
	ExternalComponents []string
	// Main is the component whose version is the service's. Empty: the API.
	Main string
}

// Database is how a service uses a database.
type Database struct {
	// Name in SQL. Empty: the service's App.
	Name string
	// Group of the options.
	Group string
	// NoWsrepSyncWait says that the group lacks oslo.db's option mysql_wsrep_sync_wait.
	NoWsrepSyncWait bool
	// Schema is how the database's schema is made.
	Schema Schema
}

// Schema is the table of commands that make the schema of a database and bring it to a release.
type Schema struct {
	// Sync makes a new schema. Expand and Contract upgrade one before and after the roll-out; without Expand, Sync does. OnlineMigrations
	// move data while the service runs, until nothing is left.
	Sync, Expand, Contract, OnlineMigrations []openstackv1.Step
	// Check refuses an upgrade: it ends with 0, with 1 if there are warnings, or with more. Empty: there is none.
	Check []openstackv1.Argument
	// Logins are the groups of options by which a command logs in to Keystone. None: no command does.
	Logins []string
	// Unchecked are releases whose check refuses every upgrade.
	Unchecked []release.Release
	// Version prints the revision of the schema, and Empty for that of an empty database.
	Version []openstackv1.Argument
	Empty   string
	// Revisions is the name of the list of those that are known. Empty: the service's App.
	Revisions string
}

// Step is a step of a schema change.
func Step(name string, command ...openstackv1.Argument) openstackv1.Step {
	return openstackv1.Step{Name: name, Command: openstackv1.Command{Command: command}}
}

// UntilDone is a step that ends with 1 while something is left to do.
func UntilDone(name string, command ...openstackv1.Argument) openstackv1.Step {
	s := Step(name, command...)
	s.RepeatCodes = []int32{1}
	return s
}
