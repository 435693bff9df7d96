// Package ovnsync reconciles OVNSyncs: it compares Neutron's database with OVN's northbound database, once for each request,
// and repairs OVN if the request sets that mode.
//
// The comparison is done by Neutron's own tool (neutron-ovn-db-sync-util). It always exits with 0 and logs a line for each
// difference; some lines are not differences. So it is run inside a program that intercepts and counts its log messages
// (program.go). The messages are classified by a table (findings.go) for the tools of 2025.1 to 2026.2; a message that is not
// in the table counts as a difference of kind Other.
//
// The tool reads Neutron's database first, and OVN a moment later: an object that is created in between looks like an unknown
// object in OVN. If the tool finds a difference, it therefore runs twice, and only differences that it finds both times are
// counted.
//
// It runs for a request whose text or mode differs from the last answer. Nothing runs without a record in status.run
// (see package batchjob). A run that is lost or fails is repeated with an increasing delay. A comparison changes nothing, and a
// second repair changes no more than the first.
package ovnsync
