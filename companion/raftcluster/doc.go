// Package raftcluster reconciles RaftClusters: it records the ID of the cluster that the members of an OVSDB database form,
// and reports the state of each member.
//
// A member that lost its file could create a cluster instead of joining one, and clients would treat an empty cluster as
// theirs. So the ID of the cluster is recorded once, as soon as the first member is connected to a majority, and never
// changed: the pods are configured to join the cluster with that ID. A member with another ID is reported and ignored.
//
// Members are queried with the OVSDB protocol, in the database _Server of each server
// (https://docs.openvswitch.org/en/latest/ref/ovsdb-server.7/#the-server-database): which databases it serves, their cluster,
// whether it is the leader, whether it is connected to a majority, and its log index. A member that has left no longer serves
// its database.
package raftcluster
