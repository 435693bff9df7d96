package judge

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A Description is what the judge has found out about a cloud before it judges: what runs, who speaks to whom, who makes and who reads
// which Secret. The pages of the documentation are made of it, so that they say what is judged.
type Description struct {
	Workloads []Workload
	Hops      []Connection
	Uses      []Login
	Secrets   []Secret
}

// An ID names an object, or a Secret that an object makes. Cluster is empty for that of Crossplane, and the Group of core kinds.
type ID struct{ Cluster, Namespace, Group, Kind, Name string }

func (id ID) String() string { return id.Kind + " " + id.Name }

// A Workload is a kind of pods that all look alike.
type Workload struct {
	// Of is the object that they are made of, and Part what they are of it, where an operator makes several kinds of pods of one.
	Of   ID
	Part string
	// Operated: an operator makes them, and nobody here says which containers they have. Ends: they come to an end.
	Operated, Ends bool
	// Containers that go on, or in a pod that ends, those that do its work.
	Containers []corev1.Container
	Ports      []Port
}

// A Port is one that pods listen at. Issuer is the name of whose certificate they serve there; empty where nobody says that they speak TLS.
type Port struct {
	Name   string
	Number int
	Issuer string
}

// A Hop is traffic (TCP) from pods to a port of pods. An end that is outside of the cloud is no Workload, but a role: a neighbour, such
// as an operator, or anywhere.
type Connection struct {
	From, To Endpoint
	Port     int
	// Reason there is to be such traffic: one reason of several.
	Reason string
	// Issuer is the name of whose certificate the server serves; empty where nobody says that it speaks TLS. Plain is why it does not.
	Issuer, PlaintextReason string
	// Trusts are the Secrets, or ConfigMaps, in which the client has the certificate of that authority: in files and variables of its pods, or
	// in what objects tell it. Nothing: who looks after it knows the authority, and no object says so.
	Trusts []string
}

// An End is one end of a Hop: pods of an object, or a role outside.
type Endpoint struct {
	Of            ID
	Part, Outside string
}

func (e Endpoint) String() string {
	if e.Outside != "" {
		return outsider(e.Outside)
	}
	return (&pod{of: object{kind: e.Of.Kind, name: e.Of.Name}, part: e.Part}).String()
}

// A Use is a login of a container at a database or a virtual host of a queue.
type Login struct {
	CreatedBy ID
	// Queue: it is a virtual host, and no database.
	Queue bool
	// Name of it, and the Service at which it is asked for.
	Name, Server string
	// Secret with the password.
	Secret string
}

// A Secret is one that someone makes, with all that read it.
type Secret struct {
	ID

	// Maker is the object that it is made of, or nobody's name where people make it.
	Maker Manifest
	// Keys that it has, in order; nil: some that nobody names.
	Keys []string
	// From are the Secrets that it is a copy of, or that are put into it.
	From []Source
	// Readers in order, each once.
	Readers []Reader
	// Stores that it is written into.
	Stores []string
}

// A Manifest is an object and what it says.
type Manifest struct {
	ID

	Fields map[string]any
}

// A Source is a Secret that is copied: one of a namespace, or an entry of a store.
type Source struct {
	ID

	// Store is where the entry lies; empty: it is read from a namespace. Given: people make it.
	Store string
	Given bool
}

// A Reader is an object that reads a Secret: by its pods, or by whoever looks after the object.
type Reader struct {
	ID

	Pods bool
}

// Describe says what there is in a cloud.
func Describe(c Cloud) Description {
	w := newInventory(c)
	w.deriveFlows()
	var out Description
	for _, p := range w.pods {
		out.Workloads = append(out.Workloads, w.workload(p))
		out.Uses = append(out.Uses, uses(p)...)
	}
	for _, f := range slices.SortedFunc(maps.Keys(w.needed), func(a, b flow) int {
		return cmp.Or(strings.Compare(a.from, b.from), strings.Compare(a.to, b.to), a.port-b.port)
	}) {
		out.Hops = append(out.Hops, w.hop(f))
	}
	out.Secrets = w.described()
	return out
}

func (o object) id() ID { return ID{o.cluster, o.namespace, o.group, o.kind, o.name} }

func (s secretName) id() ID {
	return ID{Cluster: s.cluster, Namespace: s.namespace, Kind: "Secret", Name: s.name}
}

func (w *inventory) workload(p *pod) Workload {
	out := Workload{Of: p.of.id(), Part: p.part, Operated: p.spec == nil, Ends: p.replicas == nil}
	if p.spec != nil {
		out.Containers = p.spec.Containers
	}
	for _, q := range p.ports {
		out.Ports = append(out.Ports, Port{q.name, q.number, p.tls[q.number].issuer})
	}
	return out
}

// end finds the pods of a flow's end.
func (w *inventory) end(name string) (Endpoint, *pod) {
	if role, ok := strings.CutPrefix(name, outsider("")); ok {
		return Endpoint{Outside: role}, nil
	}
	p := w.pod(name)
	if p == nil { // What an operator's table names, and nobody emits.
		return Endpoint{Outside: name}, nil
	}
	return Endpoint{Of: p.of.id(), Part: p.part}, p
}

func (w *inventory) hop(f flow) Connection {
	from, client := w.end(f.from)
	to, server := w.end(f.to)
	out := Connection{From: from, To: to, Port: f.port, Reason: w.needed[f]}
	if server == nil {
		return out
	}
	out.Issuer = server.tls[f.port].issuer
	if out.Issuer == "" && server.spec != nil {
		out.PlaintextReason = plain[containerOf(server, f.port)]
	}
	if out.Issuer != "" {
		out.Trusts = w.trusts(from, client, out.Issuer)
	}
	return out
}

// tellers are the groups of kinds by which a client that is no pod of ours, or the companion, is told whom to trust.
var tellers = map[string]string{
	controller: "c5c3.io", ofPrometheus: "monitoring.coreos.com", ofExposure: "gateway.networking.k8s.io", ofKORC: "openstack.k-orc.cloud",
}

// trusts are the Secrets and ConfigMaps in which a client has the certificate of an authority.
func (w *inventory) trusts(from Endpoint, p *pod, issuer string) []string {
	var reads []configRead
	reported := tellers[from.Outside]
	if p != nil {
		reported = tellers[p.labels["app.kubernetes.io/name"]]
		if p.spec == nil { // It is made after a container of ours.
			p = w.likeness(p)
		}
	}
	if p != nil && p.spec != nil {
		reads = podReads(p)
	}
	for _, o := range w.objects {
		if reported != "" && strings.HasSuffix(o.group, reported) && at(o.manifest, "spec", "target", "providerConfig") == nil {
			reads = append(reads, w.fieldReads(o)...)
		}
	}
	var out []string
	for _, r := range reads {
		m := w.secrets[r.secretName]
		if m == nil {
			continue
		}
		keys := []string{r.key}
		if r.key == "" { // All of a volume.
			keys = slices.Collect(maps.Keys(m.keys))
		}
		for _, key := range keys {
			v, wrong := w.value(r.secretName, key)
			// Who fills in a ConfigMap with a certificate does not say of whom.
			if public := v.of == "" && strings.HasPrefix(r.name, "configmap/"); wrong == "" && v.is == authority && (v.of == issuer || public) {
				out = append(out, r.name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// likeness are the pods that those of an operator are made after; nil: of nobody here.
func (w *inventory) likeness(p *pod) *pod {
	for _, c := range list(p.of.manifest, "spec", "consumers") {
		for _, q := range w.pods {
			if len(p.copiedEnv) > 0 && q.namespaceRef == p.namespaceRef && q.of.kind == text(c, "kind") && q.of.name == text(c, "name") {
				return q
			}
		}
	}
	return nil
}

// uses are the logins of a pod's containers, at the addresses that their environment says.
func uses(p *pod) []Login {
	if p.spec == nil {
		return nil
	}
	var out []Login
	for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		for _, e := range c.Env {
			m, queue := databaseURL.FindStringSubmatch(e.Value), false
			if m == nil {
				m, queue = queueURL.FindStringSubmatch(e.Value), true
			}
			if m == nil {
				continue
			}
			secret, _ := variable(c, p.namespaceRef, m[2])
			server, _, _ := strings.Cut(m[3], ".")
			use := Login{CreatedBy: p.of.id(), Queue: queue, Name: m[4], Server: server, Secret: secret.name}
			if !slices.Contains(out, use) {
				out = append(out, use)
			}
		}
	}
	return out
}

// described are all Secrets that someone makes or reads, by place and name.
func (w *inventory) described() []Secret {
	all := map[secretName]*Secret{}
	get := func(s secretName) *Secret {
		if all[s] == nil {
			all[s] = &Secret{ID: s.id()}
		}
		return all[s]
	}
	skip := func(s secretName) bool { return s.name == "" || strings.HasPrefix(s.name, "configmap/") }
	for s, m := range w.secrets {
		if skip(s) {
			continue
		}
		d := get(s)
		if m.keys != nil {
			d.Keys = slices.Sorted(maps.Keys(m.keys))
		}
		if o, ok := w.maker(s, m); ok {
			d.Maker, d.From = Manifest{o.id(), o.manifest}, w.sources(o)
		}
	}
	for _, o := range w.objects {
		if at(o.manifest, "spec", "target", "providerConfig") != nil {
			continue // A composite resource names Secrets, and nobody reads them by it.
		}
		for _, r := range w.fieldReads(o) {
			if !skip(r.secretName) {
				get(r.secretName).addReader(Reader{o.id(), false})
			}
		}
	}
	for _, p := range w.pods {
		if p.spec == nil {
			continue
		}
		for _, r := range podReads(p) {
			if !skip(r.secretName) {
				get(r.secretName).addReader(Reader{p.of.id(), true})
			}
		}
	}
	for _, e := range w.stores {
		if d := get(e.from); !slices.Contains(d.Stores, e.store) {
			d.Stores = append(d.Stores, e.store)
		}
	}
	// Who copies a Secret reads it.
	for _, d := range slices.Collect(maps.Values(all)) {
		for _, from := range d.From {
			if from.Store == "" {
				get(secretName{namespaceRef{from.Cluster, from.Namespace}, from.Name}).addReader(Reader{d.Maker.ID, false})
			}
		}
	}
	var out []Secret
	for _, d := range all {
		slices.SortFunc(d.Readers, func(a, b Reader) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
		})
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Secret) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

func (s *Secret) addReader(r Reader) {
	if !slices.Contains(s.Readers, r) {
		s.Readers = append(s.Readers, r)
	}
}

// maker is the object that a Secret is made of.
func (w *inventory) maker(s secretName, m *generatedObject) (object, bool) {
	i := slices.IndexFunc(w.objects, func(o object) bool { return o.namespaceRef == s.namespaceRef && o.String() == m.createdBy })
	if i < 0 {
		return object{}, false
	}
	return w.objects[i], true
}

// sources are the Secrets that an object copies, or puts into its own.
func (w *inventory) sources(o object) []Source {
	var out []Source
	add := func(s Source) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, d := range list(o.manifest, "spec", "data") {
		key, store := text(d, "remoteRef", "key"), text(o.manifest, "spec", "secretStoreRef", "name")
		s, ok := w.find(o.namespaceRef, "SecretStore.external-secrets.io", store)
		if from := text(s.manifest, "spec", "provider", "kubernetes", "remoteNamespace"); ok && from != "" {
			existing := secretName{namespaceRef{o.cluster, from}, key}
			add(Source{ID: existing.id(), Given: w.secrets[existing] == nil})
			continue
		}
		source := Source{ID: ID{Kind: "entry", Name: key}, Store: store}
		for _, e := range w.stores {
			if e.store == store && e.key == key {
				source.ID = e.from.id()
			}
		}
		add(source)
	}
	for _, s := range list(o.manifest, "spec", "sources") { // Some are waited for, and not put in.
		name := text(s, "secretKeyRef", "name")
		if used := regexp.MustCompile(`\.` + regexp.QuoteMeta(text(s, "name")) + `\b`); name != "" && slices.ContainsFunc(
			slices.Collect(maps.Values(stringMap(o.manifest, "spec", "template"))), used.MatchString) {
			add(Source{ID: secretName{o.namespaceRef, name}.id()})
		}
	}
	return out
}
