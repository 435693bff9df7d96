// Package raftcluster reconciles RaftClusters: it remembers which cluster the members of an OVSDB database form, and says how each member
// is.
//
// A member whose file is gone could as well create a cluster as join one, and clients would take an empty one for theirs. So the ID of the
// cluster is written down once, as soon as the first member is in touch with a majority, and never again: whoever makes the pods tells
// them to join that one. A member that shows another ID is told of and not followed.
//
// Members are asked by OVSDB's protocol, in the database _Server that each of them has
// (https://docs.openvswitch.org/en/latest/ref/ovsdb-server.7/#the-server-database): which databases it serves, of which cluster, whether
// it leads, is in touch with a majority, and how far it has come. A member that has left serves its database no more.
package raftcluster
