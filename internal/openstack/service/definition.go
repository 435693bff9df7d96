package service

import (
	"time"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// Definition contains the properties that are the same for all instances of a service.
type Definition struct {
	// App is the name of the service. Its image, configuration file and folder, main container, database, user and catalog
	// entry have this name.
	App string
	// Title is the name used in sentences.
	Title string
	// Outage describes the functions that fail while no pod is available, as the end of a sentence.
	Outage string
	// CatalogType and Description are the type and the description of the catalog entry. A service without a type has
	// neither a user nor catalog entries: it maintains the catalog itself, or is only a client of other services.
	CatalogType, Description string
	// CatalogPath is appended to the URLs in the catalog, for example /%(project_id)s. Keystone substitutes the project of
	// the requesting user.
	CatalogPath string
	// NeedsAdmin is true if the service's user needs the role admin, because another service, or the companion with the user's
	// password, uses an API for administrators. The table of accounts has the reasons (hack/docs).
	NeedsAdmin bool
	// NeedsStableUserID is true if users delegate roles to the service's user. Keystone stores delegations by user ID, so
	// the user is retained as long as the data of the service.
	NeedsStableUserID bool
	// Port of the API, on the Service and the pods.
	Port int32
	// Module is the WSGI application. HealthPath is a path that it serves without authentication. A service without a
	// module has no API.
	Module, HealthPath string
	// RequiresHostHeader is true if the API serves only requests with one of its host names, so that probes must set one.
	RequiresHostHeader bool
	// WithoutOsloConfig is true if the service reads no oslo.config files. It has neither options nor policy rules; its
	// files are its ExtraFiles.
	WithoutOsloConfig bool
	// ConfigFile is the name of the file that the service reads in its configuration folder. Empty: <App>.conf.
	ConfigFile string
	// Priority is the PriorityClass of the pods. Empty: the default for services.
	Priority string
	// Stateful is true if the API's pods have stable names and volumes.
	Stateful bool
	// NeedsCutover is true if an earlier release cannot read data written by a later one, so that the API must switch
	// releases at once.
	NeedsCutover bool
	// TerminationGracePeriod is the time for which requests may continue while a pod stops.
	TerminationGracePeriod time.Duration
	// Databases of the service. They are on the same server and have the same user. May be empty.
	Databases []Database
	// Queue is true if the service has a virtual host on a message queue.
	Queue bool
	// User of the databases and of the queue, and name of the virtual host. Empty: App.
	User string
	// Main is the component whose version is reported as the version of the service. Empty: the API.
	Main string
}

// Database describes how a service uses a database.
type Database struct {
	// Name in SQL. Empty: App.
	Name string
	// Group of the database options.
	Group string
	// NoWsrepSyncWait is true if the group does not have oslo.db's option mysql_wsrep_sync_wait.
	NoWsrepSyncWait bool
	// Schema contains the commands that create and upgrade the schema.
	Schema Schema
}

// Schema contains the commands that create the schema of a database and upgrade it to a release.
type Schema struct {
	// Sync creates a new schema. Expand and Contract upgrade an existing one before and after the rollout; without Expand,
	// Sync upgrades it. OnlineMigrations migrate data while the service runs, and are repeated until all data is migrated.
	Sync, Expand, Contract, OnlineMigrations []openstackv1.Step
	// Check validates an upgrade. Its exit code is 0, 1 for warnings, or higher to reject the upgrade. Empty: no check.
	Check []openstackv1.Argument
	// Logins are the option groups with which commands log in to Keystone. Empty: no command logs in.
	Logins []string
	// Unchecked are releases whose check rejects every upgrade.
	Unchecked []release.Release
	// Version prints the revision of the schema. For an empty database, it prints Empty.
	Version []openstackv1.Argument
	Empty   string
	// Revisions is the name of the list of known revisions. Empty: App.
	Revisions string
}

// Step returns a step of a schema change.
func Step(name string, command ...openstackv1.Argument) openstackv1.Step {
	return openstackv1.Step{Name: name, Command: openstackv1.Command{Command: command}}
}

// UntilDone returns a step that is repeated while its exit code is 1, which means that data remains to be migrated.
func UntilDone(name string, command ...openstackv1.Argument) openstackv1.Step {
	s := Step(name, command...)
	s.RepeatCodes = []int32{1}
	return s
}
