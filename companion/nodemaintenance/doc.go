// Package nodemaintenance reconciles NodeMaintenances, which order the maintenance of nodes of a pool.
//
// The plan comes first. It has the method of each server on the node, by the rules of Nova's API in 2025.1 to 2026.2 and by the metadata of
// the server (method.go). A server that Nova would not move, or that its owner reserves, has a blocker. Nova has no request for a dry run:
// its scheduler selects the target of a server when the server moves, and can reject it then.
package nodemaintenance
