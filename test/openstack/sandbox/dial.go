//go:build linux

package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Dial connects to a host and port of a sandbox, from outside of it, with the names in it. Pid is its first process.
func Dial(ctx context.Context, pid int, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if net.ParseIP(host) == nil {
		hosts, err := os.Open(fmt.Sprintf("/proc/%d/root%s", pid, Hosts))
		if err != nil {
			return nil, fmt.Errorf("cannot read the machine's names: %w", err)
		}
		defer hosts.Close() //nolint:errcheck // it is only read
		name := host
		if host = lookUp(bufio.NewScanner(hosts), name); host == "" {
			return nil, fmt.Errorf("the sandbox has no host %s", name)
		}
	}
	type result struct {
		net.Conn

		err error
	}
	done := make(chan result)
	go func() {
		// The thread is in the machine's network from then on, and so ends with this function.
		runtime.LockOSThread()
		var r result
		if r.err = enterNetwork(fmt.Sprintf("/proc/%d/ns/net", pid)); r.err == nil {
			r.Conn, r.err = (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
		}
		done <- r
	}()
	r := <-done
	return r.Conn, r.err
}

// lookUp returns the address of a name in the lines of a hosts file.
func lookUp(lines *bufio.Scanner, name string) string {
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && slices.Contains(fields[1:], name) {
			return fields[0]
		}
	}
	return ""
}

func enterNetwork(namespace string) error {
	ns, err := os.Open(namespace)
	if err != nil {
		return fmt.Errorf("cannot find the machine's network: %w", err)
	}
	defer ns.Close() //nolint:errcheck // it is only entered
	return unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
}
