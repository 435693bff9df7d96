// Package podaccess describes the access of a compromised pod: the facts that a probe (test/node/probe) finds in a container, and
// their summary for each kind of pod.
package podaccess

// Facts are the observations of a probe that runs as a process of a container, with the container's user, mounts and network. They contain
// no secret value.
type Facts struct {
	UID             int      `json:"uid"`
	GID             int      `json:"gid"`
	Groups          []int    `json:"groups,omitempty"`
	Capabilities    []string `json:"capabilities,omitempty"`
	NoNewPrivileges bool     `json:"noNewPrivileges"`
	// Seccomp is the mode of the kernel: disabled, strict or filter.
	Seccomp string  `json:"seccomp"`
	Mounts  []Mount `json:"mounts,omitempty"`
	// Writable are the outermost folders, the mounts, and the files in other folders that the user can write.
	Writable []string `json:"writable,omitempty"`
	// Devices are device nodes that not every container has, Sockets Unix sockets in the file system.
	Devices []string `json:"devices,omitempty"`
	Sockets []string `json:"sockets,omitempty"`
	// Files, Variables and Processes contain credentials. Name is a path, a variable, or a program and a variable.
	Files     []Credential `json:"files,omitempty"`
	Variables []Credential `json:"variables,omitempty"`
	Processes []Credential `json:"processes,omitempty"`
	// Listens are the sockets that accept connections in the network of the pod.
	Listens []Socket `json:"listens,omitempty"`
	API     API      `json:"api"`
	// Errors are incomplete observations.
	Errors []string `json:"errors,omitempty"`
}

// Mount is a mount point.
type Mount struct {
	Path     string `json:"path"`
	Type     string `json:"type"`
	ReadOnly bool   `json:"readOnly"`
	// Root is the path of the mounted file or folder in its file system.
	Root string `json:"root"`
}

// Credential is the name of a secret value, and its form.
type Credential struct {
	Name string `json:"name"`
	Form string `json:"form"`
}

// Socket is a listening socket.
type Socket struct {
	Protocol string `json:"protocol"`
	Address  string `json:"address"`
	Port     int    `json:"port"`
}

// API is the access to the API of Kubernetes.
type API struct {
	// Reachable reports whether the API server accepts connections.
	Reachable bool `json:"reachable"`
	// Anonymous is the HTTP status of a request for Secrets without a token.
	Anonymous int `json:"anonymous,omitempty"`
	// Tokens are the files with tokens.
	Tokens []Token `json:"tokens,omitempty"`
}

// Token is a token of the API, and its rights.
type Token struct {
	Path string `json:"path"`
	User string `json:"user"`
	// Rules are the rights in the pod's namespace, and those in all namespaces.
	Rules []Rule `json:"rules,omitempty"`
	// Allowed are rights that lead to others.
	Allowed []string `json:"allowed,omitempty"`
}

// Rule is a rule of RBAC. Everywhere: it applies in each namespace.
type Rule struct {
	Verbs      []string `json:"verbs"`
	Group      string   `json:"group,omitempty"`
	Resource   string   `json:"resource"`
	Names      []string `json:"names,omitempty"`
	Everywhere bool     `json:"everywhere,omitempty"`
}
