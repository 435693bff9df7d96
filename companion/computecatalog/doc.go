// Package computecatalog reconciles ComputeCatalogs: Nova has the flavors and host aggregates that an object says, and not those any more
// that were taken out of it.
//
// What is there already under a name is taken as it is: extra specs, metadata, projects and hosts are added to it, and a size that differs
// is reported, since Nova changes none. What is made or added is recorded in the status before, over the version that was read, so that it
// and nothing else is removed. An aggregate that others have put hosts into is left to them.
//
// Everything that differs is put right in one pass, and what Nova refuses keeps nothing else from it: hosts whose virtual machines would
// change their zone, above all. A host that does not report is waited for, and holds nothing up: hypervisors come after Nova.
//
// Hosts may be those of nodes that a DaemonSet is for, of which the companion sees pods alone. A node without one has left if the DaemonSet
// has a pod for each of its nodes, and stays in its aggregates otherwise: its pod may be being replaced.
package computecatalog
