package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/examples"
)

// pairs are lists of claims of which the last refers to the first. A claim between them is referenced by both.
var pairs = []struct {
	heading string
	files   []string
}{
	{"Control plane to hypervisors", []string{"hypervisor/control-plane.yaml", "hypervisor/claim.yaml"}},
	{"Control plane without OVN to hypervisors", []string{"hypervisor/agents-control-plane.yaml", "hypervisor/agents.yaml"}},
	{"Control plane to hypervisors with network cards", []string{"hypervisor/sriov-control-plane.yaml", "hypervisor/sriov.yaml"}},
	{"Control plane to hypervisors of another cluster", []string{"hypervisor/exposed-control-plane.yaml", "hypervisor/own-cluster.yaml"}},
	{"Storage to control plane", []string{"storage/claim.yaml", "storage/control-plane.yaml"}},
	{"Storage of another cluster to control plane", []string{"storage/own-cluster.yaml", "storage/control-plane.yaml"}},
	{"Control plane to storage", []string{"storage/objects-control-plane.yaml", "storage/objects.yaml"}},
	{"Storage to hypervisors", []string{"storage/claim.yaml", "storage/control-plane.yaml", "storage/hypervisors.yaml"}},
	{
		"Storage of another cluster to hypervisors",
		[]string{"storage/own-cluster.yaml", "storage/control-plane.yaml", "storage/hypervisors.yaml"},
	},
}

// clusters describes the data flow between claims.
func clusters() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n# What flows between claims\n\n%s", emittedNotice, clustersText)
	for _, p := range pairs {
		var claims [][]byte
		for _, f := range p.files {
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
		fmt.Fprintf(&out, "\n## %s\n", p.heading)
		for _, t := range []*table{e.crossing(), e.connections(), e.placed()} {
			if s := t.String(); s != "" {
				fmt.Fprintf(&out, "\n%s", s)
			}
		}
	}
	claim, err := fullClaim()
	if err != nil {
		return nil, err
	}
	e, err := emit(claim)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&out, "\n## Tenant to control plane\n\n%s", e.crossing())
	return out.Bytes(), nil
}

// clustersText introduces the tables.
const clustersText = "Between the claims of the examples in `examples/hypervisor`, `examples/storage` and `examples/controlplane`" + `:

- Secrets, with their producers, consumers, source and target namespaces, and renewal
- connections, as far as configurations contain them
- objects that one claim creates in the namespace of another claim

The reference of each claim lists the status fields that it copies from another claim. Between Kubernetes clusters, Secrets are
transferred through the platform's secret store, with a PushSecret next to each source and a copy next to the pods that read it.
Connections between clusters use exposed addresses. A tenant's Secrets for a control plane in another cluster than the claim are
transferred in the same way; this is not shown here.
`

// crossing are the Secrets that are copied from one place to another.
func (e *emitted) crossing() *table {
	t := &table{head: []string{"Secret", "Produced by", "Consumers", "Boundary", "Renewed"}}
	for _, s := range e.Secrets {
		for _, from := range s.From {
			if s.Maker.Kind != "ExternalSecret" || from.Namespace == s.Namespace && from.Store == "" || !e.between(from.Namespace, s.Namespace) {
				continue
			}
			producer, renewed := "the tenant", "by the tenant"
			for _, o := range e.Secrets {
				if o.ID == from.ID && o.Maker.Kind != "" {
					producer, renewed = e.maker(o), e.renewed(o)
				}
			}
			boundary, copied := e.place(from.Namespace)+" to "+e.place(s.Namespace), "; the copy "+e.renewed(s)
			if from.Store != "" {
				boundary, copied = "the secret store", "; the store "+e.renewed(s)+", and the copy of it, too"
			}
			t.add(code(e.stableName(from.Name)), producer, e.readers(s, e.homeOf(s)), boundary, renewed+copied)
		}
	}
	return t
}

// between reports whether a flow between two namespaces is shown: of three claims, only flows from the first to the last.
func (e *emitted) between(from, to string) bool {
	last := len(e.results) - 1
	return last <= 1 || from == e.results[0].Instance && to == e.results[last].Instance
}

// connections are the hops between namespaces.
func (e *emitted) connections() *table {
	t := &table{head: []string{"Connects to", "Port", "TLS", "From"}}
	for _, h := range e.Hops {
		if h.From.Outside == "" && h.To.Outside == "" && h.From.Of.Namespace != h.To.Of.Namespace &&
			e.between(h.To.Of.Namespace, h.From.Of.Namespace) {
			t.add(e.endName(h.To), fmt.Sprint(h.Port), e.tls(h), e.endName(h.From))
		}
	}
	return t
}

// placed are the objects that the last claim puts into the first one's namespace.
func (e *emitted) placed() *table {
	t := &table{head: []string{"Object", "Made by", "In the namespace of", "Opens ports"}}
	first, last := e.results[0], e.results[len(e.results)-1]
	for _, o := range last.Objects {
		if o.Namespace == first.Instance || o.Namespace == first.Namespace {
			t.add(o.Kind+" "+code(e.stableName(o.Name)), code(last.Name), e.place(o.Namespace), opened(o.Manifest.AsMap()))
		}
	}
	return t
}

// opened returns the ports that a network policy allows.
func opened(manifest map[string]any) string {
	var out []string
	rules, _ := at(manifest, "spec", "ingress").([]any)
	for _, r := range rules {
		ports, _ := at(r, "ports").([]any)
		for _, p := range ports {
			out = append(out, fmt.Sprint(at(p, "port")))
		}
	}
	return strings.Join(unique(out), ", ")
}
