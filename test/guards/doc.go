// Package guards checks the guards of pools of hypervisors. While NoVirtualMachines is true, a pool can be deleted. While
// CordonedNodesEvacuated is true, a cordoned node can be switched off. Its test calls the real companion and the real function of pools
// with models of OpenStack, of Kubernetes and of Crossplane, over random histories.
package guards
