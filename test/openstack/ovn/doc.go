// Package ovn tests the databases of an OVNCluster: members that fail, scaling, certificates, and backups.
package ovn
