// Package servicecheck reconciles ServiceChecks: it counts the processes of a running service that report, and removes the records of those
// that will not come back.
//
// A service has a record of each process by program and host. The record of a process that is gone stays, and with it the version that the
// process was of: Nova starts no new process as long as an old version is recorded, and does not release what it has pinned for it. A host
// of a StatefulSet is called as its pod, so the records of pods beyond spec.replicas are those of pods that were scaled away.
//
// What is removed has to be all of this: a record of a program that the spec names, on a host that is called as a pod of its StatefulSet
// whose number is not one of its replicas', without such a pod, and down. Records are read first, then the StatefulSet and its pods:
// whatever comes back later makes a record of its own. A StatefulSet without replicas is stopped rather than smaller: nothing of it is
// removed. Nor is anything of one that is not there.
//
// Hypervisors are nobody's StatefulSet: they are where the pods of DaemonSets are. Nodes that had such a pod are remembered. One that has
// none has left if each DaemonSet of the namespace's checks has a pod for each of its nodes; one that is switched off has its pod still.
// When Nova says that it is down and Neutron that its agents are dead, and no virtual machine is there, what they and Placement keep of it
// is removed. Nothing else is lost with that: a node that comes back after all registers as a new one does.
//
// Of hypervisors it also says how many virtual machines they have, and what there is for more: what Nova and Placement said when they were
// last asked. While one of them does not answer these numbers stay, as those of before, and Ready says that nobody can be asked: no answer
// is never taken for none of them.
//
// Of Cinder it says how much room backends of volumes have: what their managers have told the schedulers, who keep it. A manager of a Ceph
// that is away goes on to report that it is there; what stops are its looks at how much room there is, which it takes once a minute. A
// backend of which there was none for five of them is silent, with the numbers of before. Records of Cinder's processes stay: its API has
// no request that removes one.
package servicecheck
