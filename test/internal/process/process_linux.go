package process

import "syscall"

// attributes puts a process into a separate group, so that Ctrl-C reaches only the caller, and so that the process can
// be killed with its children; and makes the kernel kill it when the caller ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
