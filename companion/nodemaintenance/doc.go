// Package nodemaintenance reconciles NodeMaintenances, which order the maintenance of nodes of a pool.
//
// The plan comes first. It has the method of each server on the node, by the rules of Nova's API in 2025.1 to 2026.2 and by the metadata of
// the server (method.go). A server that Nova would not move, or that its owner reserves, has a blocker. Nova has no request for a dry run:
// its scheduler selects the target of a server when the server moves, and can reject it then.
//
// An order starts (start.go) if no server has a blocker, and if fewer than maxNodes nodes of the pool are in maintenance. It records the
// start in its status, and reads the other orders again before it disables nova-compute: of two orders that started at the same moment,
// at least one finds the other, and withdraws or waits. The name of the order is the reason for which nova-compute is disabled in Nova,
// so that an order never enables a service that another user has disabled.
//
// Each pass of a draining (drain.go) derives the operations in progress from Nova, which rejects a second operation on a server. Servers
// that are stopped are recorded before. The node is drained if Nova and Placement have nothing on it except for stopped servers that
// stay.
//
// The node is back (return.go) when its Node has another boot ID, is ready and not cordoned. nova-compute is enabled after all agents have
// reported for as long as Nova and Neutron trust a report from before the reboot.
//
// A finalizer of a started order delays its deletion until nova-compute is enabled and the stopped servers are started.
package nodemaintenance
