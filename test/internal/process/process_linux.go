package process

import "syscall"

// attributes put a process into a group of its own, so that Ctrl-C reaches only us and that it can be ended with its children;
// and let the kernel end it with us.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
