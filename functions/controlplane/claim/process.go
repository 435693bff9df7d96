package claim

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Worker merges the settings of a process that runs one active and one standby pod with the daemon defaults of the size.
func (c *Claim) Worker(requested *common.Process) common.Process {
	const onePlusOne = 2
	r := c.Size.DaemonResources.Requests
	return MergeProcess(common.Process{
		Replicas: new(min(c.Size.Daemons, onePlusOne)), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
	}, []*common.Process{requested})
}

// Process merges the settings of a process, the first argument first, with the API defaults of the size.
func (c *Claim) Process(requested ...*common.Process) common.Process {
	r := c.Size.APIResources.Requests
	return MergeProcess(common.Process{
		Replicas: new(c.Size.API), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
	}, requested)
}

// Daemon merges the settings of a daemon, the first argument first, with the daemon defaults of the size.
func (c *Claim) Daemon(requested ...*common.Process) common.Process {
	r := c.Size.DaemonResources.Requests
	return MergeProcess(common.Process{
		Replicas: new(c.Size.Daemons), CPU: new(intstr.FromString(r.CPU.String())), Memory: common.Memory(r.Memory.String()),
	}, requested)
}

// Proxies merges the settings of a console proxy, the first argument first, with defaults for a process that only forwards traffic.
func (c *Claim) Proxies(requested ...*common.Process) common.Process {
	const maxDefault = 2
	return MergeProcess(common.Process{
		Replicas: new(min(c.Size.API, maxDefault)), CPU: new(intstr.FromString("50m")), Memory: "256Mi",
	}, requested)
}

// MergeProcess merges the requested settings of a process, the first one first, with defaults.
func MergeProcess(out common.Process, requested []*common.Process) common.Process {
	for _, p := range slices.Backward(requested) {
		if p != nil {
			out = common.Process{Replicas: cmp.Or(p.Replicas, out.Replicas), CPU: cmp.Or(p.CPU, out.CPU), Memory: cmp.Or(p.Memory, out.Memory)}
		}
	}
	return out
}

// PoolSize is the maximum number of connections of a daemon, one process in each pod, to each database
// (https://docs.openstack.org/oslo.db/latest/reference/opts.html).
const PoolSize = 5

// PoolConnections returns the maximum number of connections of all pods of a daemon to a database.
func PoolConnections(p common.Process) int64 { return int64(*p.Replicas) * PoolSize }
