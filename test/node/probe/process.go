//go:build linux

package main

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/test/node/podaccess"
)

// capabilities are the names of capabilities, in the order of their numbers.
var capabilities = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
	NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
	SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG
	WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// identity reads the user and the privileges of a process from its status.
func identity(f *podaccess.Facts, status string) {
	for line := range strings.Lines(status) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		switch name {
		case "Uid":
			f.UID = number(fields[1])
		case "Gid":
			f.GID = number(fields[1])
		case "Groups":
			for _, g := range fields {
				f.Groups = append(f.Groups, number(g))
			}
		case "CapEff":
			set, _ := strconv.ParseUint(fields[0], 16, 64)
			for i, c := range capabilities {
				if set>>i&1 == 1 {
					f.Capabilities = append(f.Capabilities, c)
				}
			}
		case "NoNewPrivs":
			f.NoNewPrivileges = fields[0] == "1"
		case "Seccomp":
			f.Seccomp = map[string]string{"0": "disabled", "1": "strict", "2": "filter"}[fields[0]]
		}
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// variables returns the variables that contain a credential.
func variables(environment []string) []podaccess.Credential {
	var out []podaccess.Credential
	for _, v := range environment {
		name, value, _ := strings.Cut(v, "=")
		if form := formOfVariable(name, value); form != "" {
			out = append(out, podaccess.Credential{Name: name, Form: form})
		}
	}
	slices.SortFunc(out, byName)
	return slices.Compact(out)
}

func byName(a, b podaccess.Credential) int { return strings.Compare(a.Name+a.Form, b.Name+b.Form) }

// processes returns the credentials in the arguments and the environment of all visible processes, except for known variables.
func processes(known []podaccess.Credential) []podaccess.Credential {
	var out []podaccess.Credential
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		if number(filepath.Base(dir)) == os.Getpid() {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		program := strings.TrimSpace(string(name))
		environment, _ := os.ReadFile(filepath.Join(dir, "environ"))
		for _, c := range variables(strings.Split(string(environment), "\x00")) {
			if !slices.Contains(known, c) {
				out = append(out, podaccess.Credential{Name: program + " " + c.Name, Form: c.Form})
			}
		}
		arguments, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		for argument := range bytes.SplitSeq(arguments, []byte{0}) {
			name, value, _ := strings.Cut(strings.TrimLeft(string(argument), "-"), "=")
			if form := formOfVariable(name, value); value != "" && len(name) < len(argument) && form != "" {
				out = append(out, podaccess.Credential{Name: program + " argument", Form: form})
			}
		}
	}
	slices.SortFunc(out, byName)
	return slices.Compact(out)
}

// listens returns the listening sockets of this network.
func listens() []podaccess.Socket {
	var out []podaccess.Socket
	for protocol, state := range map[string]string{"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"} {
		data, _ := os.ReadFile(filepath.Join("/proc/net", protocol))
		out = append(out, parseSockets(strings.TrimSuffix(protocol, "6"), state, string(data))...)
	}
	slices.SortFunc(out, func(a, b podaccess.Socket) int {
		return strings.Compare(a.Protocol+a.Address+strconv.Itoa(a.Port), b.Protocol+b.Address+strconv.Itoa(b.Port))
	})
	return slices.Compact(out)
}

// parseSockets returns the sockets of a state in a table of the kernel.
func parseSockets(protocol, state, table string) []podaccess.Socket {
	var out []podaccess.Socket
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		const columns = 4
		if len(fields) < columns || fields[3] != state {
			continue
		}
		address, port, ok := strings.Cut(fields[1], ":")
		raw, err := hex.DecodeString(address)
		n, numeric := strconv.ParseUint(port, 16, 16)
		if !ok || err != nil || numeric != nil {
			continue
		}
		const word = 4 // Each word is in the order of the processor, here little-endian.
		for i := 0; i+word <= len(raw); i += word {
			slices.Reverse(raw[i : i+word])
		}
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			continue
		}
		out = append(out, podaccess.Socket{Protocol: protocol, Address: a.Unmap().String(), Port: int(n)})
	}
	return out
}
