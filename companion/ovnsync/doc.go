// Package ovnsync reconciles OVNSyncs: it compares what Neutron's database says with what OVN's northbound one has, once for each request,
// and repairs OVN where the request says so.
//
// Neutron's own tool looks (neutron-ovn-db-sync-util). It ends with 0 whatever it finds, and writes a line of its log for each difference;
// some lines stand for none. So it runs inside a program that listens to what it says, and counts (program.go). What the lines mean is a
// table here (findings.go), for what the tools of 2025.1 to 2026.2 say; a line that is not in it counts as a difference of its own kind.
//
// The tool reads Neutron's database first, and OVN a moment later: what is made between the two looks like something that Neutron does not
// know. It therefore looks twice where it finds anything, and only what it finds both times is a difference.
//
// It runs for a request whose text or mode is not that of the last answer. Each run is a Job that is made suspended, then recorded in
// status.run by its UID, then released, and then its end is recorded, with the answer. Nothing runs that is not recorded, and a leader that
// stalled releases nothing that another one has already seen to its end: the object is read before and after its Job. A run that is lost or
// fails is repeated after a pause that grows. To look changes nothing, and to repair twice changes no more than to do so once.
package ovnsync
