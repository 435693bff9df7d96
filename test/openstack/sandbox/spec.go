//go:build linux

package sandbox

// A Mount mounts a file or folder of the machine into a container.
type Mount struct {
	// Source on the machine, and Target in the container; both absolute. An empty Source makes a scratch folder in memory.
	Source, Target string
	// Writable: the container may write there.
	Writable bool
}

// A Link is a symbolic link in a container's root.
type Link struct{ Target, Path string }

// Spec defines a container.
type Spec struct {
	// Name of the host.
	Name string
	// Mounts make up the root, in this order; uncovered parts are empty and read-only.
	Mounts []Mount
	Links  []Link
	// UserID and GroupID of the process. Groups are further ones.
	UserID, GroupID int
	Groups          []int
	// Capabilities that its programs can have at most, such as NET_ADMIN: only root has them from the start.
	Capabilities []string
	// Privileged: it has every capability and device of the machine. Escalates: its programs may gain privileges.
	Privileged, Escalates bool
	// Writable: its root is not read-only; writes are in memory.
	Writable bool
	// Env is its whole environment, Args its program (found by PATH of Env) and arguments, Dir its working directory
	// (default /). Without a program it only reaps orphaned processes, as the first process of a sandbox does.
	Env, Args []string
	Dir       string
	// Address on the bridge, such as 10.244.0.7, without which it has a loopback only.
	Address string
	// Network is the ID of a container's first process whose network this one shares; it then has no separate address.
	Network int
	// Processes is the ID of a container's first process whose PID namespace this one shares: it sees those processes,
	// and its orphans are reaped there. It has a control group then.
	Processes int
	// ControlGroup, below every hierarchy of the sandbox, contains the container. All processes in it end with the
	// container.
	ControlGroup string
}
