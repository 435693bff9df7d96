// Package node tests the DaemonSets of a hypervisor on fake nodes, without services of OpenStack.
package node
