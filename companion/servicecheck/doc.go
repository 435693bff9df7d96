// Package servicecheck reconciles ServiceChecks: it counts the reporting processes of a running service, and removes the
// records of processes that will not return.
//
// A service has a record of each process, by binary and host. The record of a stopped process remains, including its version:
// Nova starts no new process while an old version is recorded, and keeps its RPC version pinned. Hosts of a StatefulSet have
// the names of its pods, so records with an ordinal beyond spec.replicas belong to pods that were scaled down.
//
// A record is removed only if all of this holds: its binary is listed in the spec; its host has the name of a pod of the
// StatefulSet with an ordinal outside the replicas; that pod does not exist; and the process is down. Records are read before
// the StatefulSet and its pods, so a process that returns later creates a new record. A StatefulSet with 0 replicas is
// considered stopped, not scaled down: none of its records are removed. The same applies to a missing StatefulSet.
//
// Hypervisors belong to no StatefulSet: they are the nodes with pods of the DaemonSets. The status stores the nodes that had
// such a pod. A node without one has been removed if each DaemonSet of the namespace's checks has a pod for each of its
// nodes; a node that is powered off still has its pod. Once Nova reports the node as down, Neutron reports its agents as
// dead, and it has no servers, its records in Nova, Neutron and Placement are removed. This loses nothing else: a node that
// returns registers like a new one.
//
// The checks of a control plane share one collector. The first check whose records are due reads those of all nodes: Nova's services and
// hypervisors, Neutron's agents and Placement's capacities, in pages, a few requests at a time. The other checks use the same records,
// if they are not older than half of an interval, and pass at the same time from then on. A check that would change a record, or report
// that no servers exist, reads the records again first. A partial response is a failure of all checks.
//
// For hypervisors, the check also reports the number of servers and the available capacity, as last read from Nova and
// Placement. While one of them does not respond, the numbers are retained, and Ready reports the failure: a missing response
// is never treated as an empty one.
//
// For Cinder, the check reports the capacity of volume backends, which their managers report to the schedulers. If Ceph is
// unreachable, a manager continues to report that it is up, but stops its capacity reports, which it sends once a minute. A
// backend with five missed reports is silent and keeps its previous numbers. Records of Cinder's processes are not removed:
// its API has no request for that.
package servicecheck
