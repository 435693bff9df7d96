package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/examples"
)

// portsText introduces the tables.
const portsText = `TCP ports at which pods listen, as their containers and Services declare them. The column *Certificate* has the issuer of
the certificate that the pods serve; *none* stands for no certificate, or one of the operator. Network policies allow only the
[connections](services.md) of services.

Hypervisors also use ports of their nodes: 16514 and 49152 to 49215 for [live migration](../how-to/live-migration.md), and the ports of
the tunnels between nodes. A Ceph cluster uses the ports of Ceph.
`

// ports lists the ports of a control plane with all services, and of a pool of hypervisors.
func ports() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n# Ports\n\n%s", emittedNotice, portsText)
	full, err := fullClaim()
	if err != nil {
		return nil, err
	}
	for _, of := range []struct {
		heading string
		files   []string
	}{
		{"Control plane", nil},
		{"Hypervisors", []string{"hypervisor/control-plane.yaml", "hypervisor/claim.yaml"}},
	} {
		claims := [][]byte{full}
		if of.files != nil {
			claims = nil
		}
		for _, f := range of.files {
			claim, err := examples.Files.ReadFile(f)
			if err != nil {
				return nil, err
			}
			claims = append(claims, claim)
		}
		e, err := emit(claims...)
		if err != nil {
			return nil, err
		}
		if text := e.ports().String(); text != "" {
			fmt.Fprintf(&out, "\n## %s\n\n%s", of.heading, text)
		}
	}
	return out.Bytes(), nil
}

// ports lists the ports of the last claim, by number.
func (e *emitted) ports() *table {
	type key struct {
		number       int
		name, issuer string
	}
	pods := map[key][]string{}
	for _, w := range e.Workloads {
		if _, r := e.object(w.Of); r != e.results[len(e.results)-1] {
			continue
		}
		for _, p := range w.Ports {
			k := key{p.Number, p.Name, p.Issuer}
			pods[k] = append(pods[k], strings.TrimSpace(code(e.stableName(w.Of.Name))+" "+w.Part))
		}
	}
	keys := slices.SortedFunc(maps.Keys(pods), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name), cmp.Compare(a.issuer, b.issuer))
	})
	t := &table{head: []string{"Port", "Name", "Pods of", "Certificate"}}
	for _, k := range keys {
		issuer := "none"
		if k.issuer != "" {
			issuer = code(k.issuer)
		}
		t.add(strconv.Itoa(k.number), k.name, strings.Join(unique(pods[k]), ", "), issuer)
	}
	return t
}
