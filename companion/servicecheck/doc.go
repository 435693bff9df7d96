// Package servicecheck reconciles ServiceChecks: it counts the processes of a running service that report, and removes the records of those
// that will not come back.
//
// A service has a record of each process by program and host. The record of a process that is gone stays, and with it the version that
// the process was of: Nova starts no new process as long as an old version is recorded, and does not release what it has pinned for it.
// A host of a StatefulSet is called as its pod, so the records of pods beyond spec.replicas are those of pods that were scaled away.
//
// What is removed has to be all of this: a record of a program that the spec names, on a host that is called as a pod of its StatefulSet
// whose number is not one of its replicas', without such a pod, and down. Records are read first, then the StatefulSet and its pods: whatever
// comes back later makes a record of its own. A StatefulSet without replicas is stopped rather than smaller: nothing of it is removed. Nor is
// anything of one that is not there. Hypervisors are nobody's StatefulSet; removing one is a decision about virtual machines.
package servicecheck
