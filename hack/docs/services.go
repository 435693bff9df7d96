package main

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// infrastructure is the section of shared components.
const infrastructure = "Infrastructure"

// section is the service that an object belongs to: the composite resource below the claim's own that it is composed for.
func (e *emitted) section(id wiring.ID) string {
	o, r := e.object(id)
	if r == nil {
		return ""
	}
	kind, composites := infrastructure, e.kinds
	for o.Owner != r.Name {
		i := slices.IndexFunc(r.Objects, func(x preview.Object) bool {
			group, _, _ := strings.Cut(x.APIVersion, "/")
			return x.Name == o.Owner && composites[x.Kind+"."+group] != nil
		})
		if i < 0 {
			break
		}
		o = r.Objects[i]
		kind = strings.TrimSuffix(o.Kind, "Cluster")
	}
	return kind
}

// services describes every service as the functions emit it.
func services() ([]byte, error) {
	claim, err := fullClaim()
	if err != nil {
		return nil, err
	}
	e, err := emit(claim)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n# Services\n\n%s", emittedNotice, servicesText)
	var names []string
	for _, w := range e.Workloads {
		names = append(names, e.section(w.Of))
	}
	for _, name := range unique(names) {
		fmt.Fprintf(&out, "\n## %s\n", name)
		for _, t := range []*table{e.processes(name), e.logins(name), e.secretTable(name), e.outgoing(name), e.incoming(name)} {
			if s := t.String(); s != "" {
				fmt.Fprintf(&out, "\n%s", s)
			}
		}
	}
	return out.Bytes(), nil
}

// servicesText introduces the tables.
const servicesText = `Workloads, connections and Secrets of a control plane with all implemented services: the examples
` + "`controlplane/full.yaml` and `controlplane/services.yaml`" + ` together.
Each further cell of Nova has the same objects as ` + "`nova-cell1`" + `. Names are in the namespace of the control plane;
` + "`…`" + ` stands for a hash of the content. Ports are TCP.

- **TLS** names the issuer of the server's certificate. The client has the certificate of its authority in a Secret, in a ConfigMap or by
  an object. *Not said how*: no object here configures how the client verifies the server, because the client created the certificate itself
  or is external.
- **its operator's**: no object specifies it, including whether there is TLS.
- A Secret that is *kept in the store* is also written into the platform's secret store. *New* is when its value changes.
- The composite resources that name a Secret do not read it, and are not named.
`

func (e *emitted) processes(section string) *table {
	t := &table{head: []string{"Pods of", "Program", "Image", "Ports"}}
	for _, w := range e.Workloads {
		if e.section(w.Of) != section {
			continue
		}
		var programs, images, ports []string
		for _, c := range w.Containers {
			if words := slices.Concat(c.Command, c.Args); len(words) > 0 || owner(w.Of) == w.Of.Kind {
				programs = append(programs, program(words))
			} else {
				programs = append(programs, "program of "+owner(w.Of))
			}
			name, _, _ := strings.Cut(path.Base(c.Image), ":")
			images = append(images, code(name))
		}
		for _, p := range w.Ports {
			ports = append(ports, fmt.Sprintf("%d %s", p.Number, p.Name))
		}
		if w.Operated {
			programs, images = []string{"its operator's"}, []string{"its operator's"}
		}
		t.add(strings.TrimSpace(w.Of.Kind+" "+code(e.stableName(w.Of.Name))+" "+w.Part), strings.Join(unique(programs), ", "),
			strings.Join(unique(images), ", "), strings.Join(ports, ", "))
	}
	return t
}

// program returns the program of a command: its arguments without shells, options, folders and inline scripts.
func program(words []string) string {
	var out []string
	for _, w := range words {
		if w == "-c" && words[0] == "sh" {
			return "a script"
		}
		if w != "sh" && !strings.HasPrefix(w, "-") && !strings.Contains(w, "\n") && len(out) < 3 {
			out = append(out, path.Base(w))
		}
	}
	if len(out) == 0 {
		return "its image's own"
	}
	return code(strings.Join(out, " "))
}

func (e *emitted) logins(section string) *table {
	t := &table{head: []string{"Database or virtual host", "At", "Password", "Used by"}}
	type key struct {
		queue                bool
		name, server, secret string
	}
	by := map[key][]string{}
	var order []key
	for _, u := range e.Uses {
		if e.section(u.CreatedBy) != section {
			continue
		}
		k := key{u.Queue, u.Name, u.Server, u.Secret}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], u.CreatedBy.Name)
	}
	for _, k := range order {
		kind := "database"
		if k.queue {
			kind = "virtual host"
		}
		t.add(kind+" "+code(k.name), code(k.server), code(k.secret), e.quotedNames(by[k]))
	}
	return t
}

func (e *emitted) secretTable(section string) *table {
	t := &table{head: []string{"Secret", "Made by", "New", "Read by"}}
	for _, s := range e.Secrets {
		if home := e.homeOf(s); home == section {
			t.add(code(e.stableName(s.Name)), e.maker(s)+storeNote(s), e.renewed(s), e.readers(s, home))
		}
	}
	return t
}

// homeOf returns the section of the creator of a Secret. Secrets of users belong to the infrastructure.
func (e *emitted) homeOf(s wiring.Secret) string {
	if s.Maker.Kind == "" {
		return infrastructure
	}
	return e.section(s.Maker.ID)
}

// roles are the words for the neighbours of a cloud.
var roles = map[string]string{
	"mariadbOperator": "MariaDB's operator", "rabbitmqOperators": "RabbitMQ's operators", "monitoring": "Prometheus", "korc": "K-ORC",
	"exposure": "the gateway or Ingress controller",
}

// tls returns the protection of a connection.
func (e *emitted) tls(h wiring.Connection) string {
	switch {
	case h.To.Outside != "":
		return ""
	case h.Issuer != "" && len(h.Trusts) > 0:
		return code(h.Issuer)
	case h.Issuer != "":
		return code(h.Issuer) + ", not said how"
	case h.PlaintextReason != "":
		return "no TLS: " + h.PlaintextReason
	}
	return "its operator's"
}

func (e *emitted) endName(end wiring.Endpoint) string {
	if word := roles[end.Outside]; word != "" {
		return word
	}
	if end.Outside != "" {
		return end.Outside
	}
	return code(e.stableName(end.Of.Name)) + strings.TrimRight(" "+end.Part, " ")
}

// outgoing returns the connections from pods of a section, by server.
func (e *emitted) outgoing(section string) *table {
	t := &table{head: []string{"Connects to", "Port", "TLS", "From"}}
	type key struct {
		to, tls string
		port    int
	}
	by, order := map[key][]string{}, []key{}
	for _, h := range e.Hops {
		if h.From.Outside != "" || e.section(h.From.Of) != section {
			continue
		}
		k := key{e.endName(h.To), e.tls(h), h.Port}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], h.From.Of.Name)
	}
	for _, k := range order {
		t.add(k.to, fmt.Sprint(k.port), k.tls, e.quotedNames(by[k]))
	}
	return t
}

// incoming returns the connections to pods of a section from outside of it, by port.
func (e *emitted) incoming(section string) *table {
	t := &table{head: []string{"Pods", "Port", "TLS", "Reached from"}}
	type key struct {
		at, tls string
		port    int
	}
	by, order := map[key][]string{}, []key{}
	for _, h := range e.Hops {
		if h.To.Outside != "" || e.section(h.To.Of) != section {
			continue
		}
		from := e.endName(h.From)
		if h.From.Outside == "" {
			if from = e.section(h.From.Of); from == section {
				continue
			}
		}
		k := key{e.endName(h.To), e.tls(h), h.Port}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], from)
	}
	for _, k := range order {
		t.add(k.at, fmt.Sprint(k.port), k.tls, strings.Join(unique(by[k]), ", "))
	}
	return t
}
