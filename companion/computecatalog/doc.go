// Package computecatalog reconciles ComputeCatalogs: it creates flavors and host aggregates in Nova, and removes those that
// were removed from the spec.
//
// An existing flavor or aggregate with the same name is adopted: extra specs, metadata, projects and hosts are added to it. A
// different size is reported, because sizes are immutable in Nova. Created and added objects are recorded in the status
// first, over the version that was read, so that exactly these are removed later. An aggregate to which other users have
// added hosts is not deleted.
//
// All differences are corrected in one pass, and a rejected request does not prevent others: Nova rejects, for example, hosts
// whose servers would change their zone. Hosts that have not registered yet are awaited without delaying other changes,
// because hypervisors start after Nova.
//
// Hosts can be the nodes of a DaemonSet, of which the companion only reads the pods. A node without a pod has been removed if
// the DaemonSet has a pod for each of its nodes. Otherwise it stays in its aggregates, because its pod may be being replaced.
package computecatalog
