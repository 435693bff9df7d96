// Package hypervisorrecovery reconciles HypervisorRecoveries, which recover the servers of failed nodes of a pool.
//
// A pass (observation.go) reads the witnesses of all nodes: OpenStack (nova-compute and Neutron's agents) and the kubelet (witnesses.go),
// probes of other networks of the node and the power state (inspection.go), and the servers on failed nodes (serverlists.go). The decision
// about a node (decision.go) is a pure function of the observation. The plan (rules.go) records it in the status, and operations on nodes
// and servers (operations.go) follow:
//
//   - A node failed if at least two witnesses report it, through different networks, and none reports that it runs. A partition of the
//     network of the kubelet and of OpenStack is therefore no failure.
//   - The silence of a probe is a report only after the probe has responded while the node was healthy. Evidence is read again directly
//     before the request to power off.
//   - No node is powered off while too many nodes of the pool have failed.
//   - Nothing is changed in Nova before the power of the node has been read as off, from a controller that reports the UUID of the node.
//     The power is read again directly before evacuations.
//   - The absence of a node is planned if its nova-compute was disabled or its Node was cordoned before it failed.
//
// Servers with disks on the node stay (servers.go), unless their owners consent to new disks. The status has only facts that Nova does not
// have, and they are written before the operation: who set forced_down, which servers were stopped, and which evacuations were requested.
//
// Nova accepts a second evacuation of a server while the first one is executed, and starts the server twice: neither its API nor its
// database verifies the task. A request may also be executed after its response was lost. Therefore a server is not evacuated again before
// Nova has a finished migration that started after the recorded request, or ten minutes have passed. The server and the object are read
// directly before the request. An evacuation that an operator requests in this moment is not prevented.
//
// The node is back when it is ready after another boot. forced_down is cleared after nova-compute has reported again, in a request by the
// UUID of the service: Nova rejects it until nova-compute has deleted the domains that were evacuated, and accepts a request by host
// earlier. Servers in ERROR after an evacuation that failed are recorded until an
// operator repairs them, because Nova does not start them.
//
// There is no finalizer: an object that is deleted does not clear forced_down, and the next one reports the nodes.
//
// Operations on nodes are executed in parallel, because a management controller may take half a minute for a response. Requests have time
// limits, and the next pass repeats them.
package hypervisorrecovery
