//go:build linux

package sandbox

// A Mount brings a file or folder of the machine into a container.
type Mount struct {
	// Source on the machine, and Target in the container; both absolute. An empty Source makes a scratch folder in memory.
	Source, Target string
	// Writable: the container may write there.
	Writable bool
}

// A Link is a symbolic link in a container's root.
type Link struct{ Target, Path string }

// Spec is what a container is.
type Spec struct {
	// Name of the host.
	Name string
	// Mounts make up the root, in this order; what they do not cover is empty and read-only.
	Mounts []Mount
	Links  []Link
	// UserID and GroupID of the process. Groups are further ones.
	UserID, GroupID int
	Groups          []int
	// Capabilities that its programs can have at most, such as NET_ADMIN: only root has them from the start.
	Capabilities []string
	// Privileged: it has every capability and device of the machine. Escalates: its programs may gain privileges.
	Privileged, Escalates bool
	// Writable: its root is not read-only; what is written there is in memory.
	Writable bool
	// Env is its whole environment, Args its program (found by PATH of Env) and arguments, Dir where it starts (default /). Without a program
	// it does nothing but look after processes that nobody else waits for, as the first one of a machine does.
	Env, Args []string
	Dir       string
	// Address on the bridge, such as 10.244.0.7, without which it has a loopback only.
	Address string
	// Network is the id of a container's first process whose network this one shares; it then has no address of its own.
	Network int
	// Processes is the id of a container's first process whose processes this one has besides its own: it sees them, and what it leaves
	// behind is theirs. It has a control group then.
	Processes int
	// ControlGroup, below every hierarchy of the machine, is what the container is in. What is in there ends with it.
	ControlGroup string
}
