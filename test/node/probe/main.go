//go:build linux

// Command probe observes the access of a process of a container, without any information about composed objects.
//
//	probe facts            prints podaccess.Facts
//	probe connect <hosts   prints the addresses, of one a line, that accept TCP connections
//	probe wait [port]      accepts connections at a port, by default 8080, until it is terminated
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/node/podaccess"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("usage: probe facts|connect|wait [port]")
	}
	switch args[0] {
	case "facts":
		return json.NewEncoder(os.Stdout).Encode(facts())
	case "connect":
		return connect(os.Stdin, os.Stdout)
	case "wait":
		return wait(append(args[1:], "8080")[0])
	}
	return fmt.Errorf("unknown command %s; use facts, connect or wait", args[0])
}

// facts collects everything.
func facts() *podaccess.Facts {
	f := &podaccess.Facts{}
	note := func(err error) {
		if err != nil {
			f.Errors = append(f.Errors, err.Error())
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	note(err)
	identity(f, string(status))
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	note(err)
	f.Mounts = parseMounts(string(mounts))
	walk(f)
	f.Variables = variables(os.Environ())
	f.Processes = processes(f.Variables)
	f.Listens = listens()
	api(f)
	return f
}

// timeout is the time after which an address counts as unreachable.
const timeout = 2 * time.Second

// connect prints the addresses that accept connections, sorted.
func connect(in io.Reader, out io.Writer) error {
	const parallel = 64
	var (
		mu   sync.Mutex
		open []string
		wg   sync.WaitGroup
	)
	slots := make(chan struct{}, parallel)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		address := lines.Text()
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if !accepts(address) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			open = append(open, address)
		})
	}
	wg.Wait()
	slices.Sort(open)
	for _, address := range open {
		if _, err := fmt.Fprintln(out, address); err != nil {
			return err
		}
	}
	return lines.Err()
}

// accepts reports whether an address accepts a connection. A full queue drops packets, so an address without an answer is tried again.
func accepts(address string) bool {
	for range 2 {
		c, err := (&net.Dialer{Timeout: timeout}).DialContext(context.Background(), "tcp", address)
		if err == nil {
			_ = c.Close()
			return true
		}
		if late, ok := errors.AsType[net.Error](err); !ok || !late.Timeout() {
			return false
		}
	}
	return false
}

// wait keeps a container running. Its port is the target of the probes of other namespaces.
func wait(port string) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", ":"+port)
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
	return nil
}
