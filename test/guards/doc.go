// Package guards checks the guards of pools of hypervisors: NoVirtualMachines, while which is true a pool can be deleted, and NodesEvicted,
// while which is true a cordoned node can be switched off. Its test calls the real companion and the real function of pools with models of
// OpenStack, of Kubernetes and of Crossplane, over random histories.
package guards
