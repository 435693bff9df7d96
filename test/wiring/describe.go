package wiring

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A Description is the model of a cloud on which the findings are based: its workloads, connections, logins and
// Secrets. Pages of the documentation are generated from it.
type Description struct {
	Workloads []Workload
	Hops      []Connection
	Uses      []Login
	Secrets   []Secret
}

// An ID names an object, or a Secret that an object creates. Cluster is empty for Crossplane's cluster, and Group for
// core kinds.
type ID struct{ Cluster, Namespace, Group, Kind, Name string }

func (id ID) String() string { return id.Kind + " " + id.Name }

// A Workload represents identical pods.
type Workload struct {
	// Of is the object that creates the pods, and Part their role if an operator creates several kinds of pods for one
	// object.
	Of   ID
	Part string
	// Operated: an operator creates the pods, and their containers are unknown. Ends: the pods run to completion.
	Operated, Ends bool
	// Containers: the long-running ones, or in a pod that runs to completion, the main ones.
	Containers []corev1.Container
	Ports      []Port
	// Secrets are the Secrets of which the pods read a secret value, in order.
	Secrets []string
	// Account is the service account whose token of Kubernetes the pods mount; empty if they mount none.
	Account string
	// HostNetwork reports whether the pods use the network of the node, to which network policies do not apply.
	HostNetwork bool
	// HostPaths are the paths of the node that the pods can write, in order.
	HostPaths []string
}

// A Port is a port at which pods listen. Issuer is the issuer of the certificate that they serve there; empty if they
// are not known to use TLS.
type Port struct {
	Name   string
	Number int
	Issuer string
}

// A Connection is TCP traffic from pods to a port of pods. An end outside of the cloud is no Workload, but a role: a
// neighbor, such as an operator, or anywhere.
type Connection struct {
	From, To Endpoint
	Port     int
	// Reason there is to be such traffic: one reason of several.
	Reason string
	// Issuer is the issuer of the server's certificate; empty if the server is not known to use TLS. PlaintextReason is
	// the reason if it does not.
	Issuer, PlaintextReason string
	// Trusts are the Secrets or ConfigMaps with the CA certificate of that issuer that the client reads: in files and
	// variables of its pods, or by references in objects. Empty: the controller of the client knows the CA without a
	// reference.
	Trusts []string
}

// An Endpoint is one end of a Connection: pods of an object, or a role outside.
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

// A Login is a login of a container at a database or a virtual host of a queue.
type Login struct {
	CreatedBy ID
	// Queue: it is a virtual host, and no database.
	Queue bool
	// Name of the database or virtual host, and the Service that serves it.
	Name, Server string
	// Secret with the password.
	Secret string
}

// A Secret is a Secret that is created by an object or a user, with all its readers.
type Secret struct {
	ID

	// Maker is the object that it is generated from; empty if users create it.
	Maker Manifest
	// Keys in order; nil: the names of some keys are unknown.
	Keys []string
	// From are the Secrets of which it is a copy, or that it contains.
	From []Source
	// Readers in order, each once.
	Readers []Reader
	// Stores that it is written into.
	Stores []string
}

// A Manifest is an object with its fields.
type Manifest struct {
	ID

	Fields map[string]any
}

// A Source is a copied Secret: one of a namespace, or an entry of a store.
type Source struct {
	ID

	// Store is the store of the entry; empty: the Secret is read from a namespace. Given: users create it.
	Store string
	Given bool
}

// A Reader is an object that reads a Secret: its pods do, or its controller.
type Reader struct {
	ID

	Pods bool
}

// Describe returns the model of a cloud.
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
	for _, q := range p.ports {
		out.Ports = append(out.Ports, Port{q.name, q.number, p.tls[q.number].issuer})
	}
	if p.spec == nil {
		return out
	}
	out.Containers, out.Secrets, out.HostPaths = p.spec.Containers, w.secretsOf(p), writableHostPaths(p.spec)
	out.HostNetwork = p.spec.HostNetwork
	if p.spec.AutomountServiceAccountToken == nil || *p.spec.AutomountServiceAccountToken || slices.ContainsFunc(p.spec.Volumes, hasToken) {
		out.Account = first(p.spec.ServiceAccountName, "default")
	}
	return out
}

// secretsOf returns the Secrets of which a pod reads a secret value. Certificates of authorities and names of users are public, and logins
// of registries are the kubelet's.
func (w *inventory) secretsOf(p *pod) []string {
	var out []string
	for _, r := range podReads(p) {
		if strings.HasPrefix(r.name, "configmap/") || r.key == "" && w.readsKeys(p, r.secretName) {
			continue
		}
		keys := []string{r.key}
		if created := w.secrets[r.secretName]; r.key == "" && created != nil && created.keys != nil { // A volume with all keys.
			keys = slices.Collect(maps.Keys(created.keys))
		}
		if slices.ContainsFunc(keys, func(key string) bool {
			v, _ := w.value(r.secretName, key)
			is := valueKind(first(string(v.is), string(means(first(r.as, key)))))
			return is.isSecret() && is != dockerConfig
		}) {
			out = append(out, r.name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// readsKeys reports whether a pod reads named keys of a Secret, and so not all keys.
func (w *inventory) readsKeys(p *pod, s secretName) bool {
	return slices.ContainsFunc(podReads(p), func(r configRead) bool { return r.secretName == s && r.key != "" })
}

// writableHostPaths returns the paths of the node that a container can write.
func writableHostPaths(spec *corev1.PodSpec) []string {
	var out []string
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, m := range c.VolumeMounts {
			for _, v := range spec.Volumes {
				if v.Name == m.Name && v.HostPath != nil && !m.ReadOnly {
					out = append(out, v.HostPath.Path)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// end returns the pods at an end of a flow.
func (w *inventory) end(name string) (Endpoint, *pod) {
	if role, ok := strings.CutPrefix(name, outsider("")); ok {
		return Endpoint{Outside: role}, nil
	}
	p := w.pod(name)
	if p == nil { // named by an operator's table, and not emitted
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
		out.PlaintextReason = plaintextContainers[containerOf(server, f.port)]
	}
	if out.Issuer != "" {
		out.Trusts = w.trusts(from, client, out.Issuer)
	}
	return out
}

// trustGroups are the API groups that configure the trust of clients without emitted pods, and of the companion.
var trustGroups = map[string]string{
	controller: "c5c3.io", ofPrometheus: "monitoring.coreos.com", ofExposure: "gateway.networking.k8s.io", ofKORC: "openstack.k-orc.cloud",
}

// hasToken reports whether a volume contains a token of the pod's service account.
func hasToken(v corev1.Volume) bool {
	return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
		return s.ServiceAccountToken != nil
	})
}

// ovnAuthority signs the certificates of nodes, which come with its own certificate.
const ovnAuthority = "ovn-ca"

// requestsCertificate reports whether a container requests the certificate of its node (functions/hypervisor/certificate.sh).
func requestsCertificate(c corev1.Container) bool {
	return slices.ContainsFunc(c.Command, func(arg string) bool { return strings.HasSuffix(arg, "/certificate.sh") })
}

// trusts returns the Secrets and ConfigMaps in which a client has the certificate of a CA.
func (w *inventory) trusts(from Endpoint, p *pod, issuer string) []string {
	if p != nil && p.spec != nil && issuer == ovnAuthority && slices.ContainsFunc(p.spec.Containers, requestsCertificate) {
		return []string{"the certificate of its node"}
	}
	var reads []configRead
	reported := trustGroups[from.Outside]
	if p != nil {
		reported = trustGroups[p.labels["app.kubernetes.io/name"]]
		if p.spec == nil { // It is copied from an emitted container.
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
			// A ConfigMap with a certificate has no reference to its issuer.
			if public := v.of == "" && strings.HasPrefix(r.name, "configmap/"); wrong == "" && v.is == authority && (v.of == issuer || public) {
				out = append(out, r.name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// likeness returns the pods from which the pods of an operator are copied; nil: none is known.
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

// uses returns the logins of a pod's containers, at the addresses in their environment.
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

// described returns all Secrets that are created or read, by namespace and name.
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
			continue // Composite resources only pass on names of Secrets.
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

// maker returns the object that creates a Secret.
func (w *inventory) maker(s secretName, m *generatedObject) (object, bool) {
	i := slices.IndexFunc(w.objects, func(o object) bool { return o.namespaceRef == s.namespaceRef && o.String() == m.createdBy })
	if i < 0 {
		return object{}, false
	}
	return w.objects[i], true
}

// sources returns the Secrets that an object copies, or includes in its own.
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
	for _, s := range list(o.manifest, "spec", "sources") { // Some are only waited for, and not included.
		name := text(s, "secretKeyRef", "name")
		if used := regexp.MustCompile(`\.` + regexp.QuoteMeta(text(s, "name")) + `\b`); name != "" && slices.ContainsFunc(
			slices.Collect(maps.Values(stringMap(o.manifest, "spec", "template"))), used.MatchString) {
			add(Source{ID: secretName{o.namespaceRef, name}.id()})
		}
	}
	return out
}
