package main

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// podAccessText introduces the tables.
const podAccessText = `The resources that an attacker with control of one pod reaches, by kind of pod: derived from the network policies,
the environment, the mounts and the service accounts of composed pods. [Security](../security.md) describes the consequences.

- **Connects to:** the pods and ports that network policies allow, and not more. Every pod also reaches port 53 of any address, for DNS.
  *anywhere*: any address at that port, because policies cannot select names.
- **Secrets:** each Secret of which a file or a variable of the pod has a secret value. Certificates of authorities are not secret.
- **Kubernetes:** the service account whose token the pod has; [accounts](accounts.md#kubernetes-accounts) lists its rights. *–*: no token.
- **its operator's**: an operator creates the pods, and no composed object has their mounts.

The tables are of a control plane with all services, and of pools with OVN, with Neutron's agents and with network cards. Names do not
contain the name of the claim; ` + "`POOL`" + ` stands for the pool, and ` + "`…`" + ` for a hash of the content.
Optional agents of CobaltCore, Tempest and the pods of Ceph are not included.
`

// nodeAccessText introduces the table of pools.
const nodeAccessText = `Pods with the network of the node reach all addresses that the node reaches, because network policies do not
apply to them. All pods of a node also share its kernel. *Writable paths* are paths of the node.
`

// poolExamples are lists of claims, of which the last is a pool, which together have each kind of pod.
var poolExamples = [][]string{
	complete,
	{"hypervisor/agents-control-plane.yaml", "hypervisor/agents.yaml"},
	{"hypervisor/sriov-control-plane.yaml", "hypervisor/sriov.yaml"},
}

// emitExamples previews the claims of examples, each together with the previous ones.
func emitExamples(files []string) (*emitted, error) {
	var claims [][]byte
	for _, file := range files {
		claim, err := examples.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		claims = append(claims, claim)
	}
	return emit(claims...)
}

// podAccessPage describes the access of each kind of pod.
func podAccessPage() ([]byte, error) {
	full, err := fullClaim()
	if err != nil {
		return nil, err
	}
	controlPlane, err := emit(full)
	if err != nil {
		return nil, err
	}
	pools, err := accessOfPools()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n# Access of pods\n\n%s\n## Control planes\n\n%s\n## Pools of hypervisors\n\n%s\n%s", emittedNotice, podAccessText,
		controlPlane.podAccess(), nodeAccessText, pools)
	return out.Bytes(), nil
}

// podAccess returns a table of the connections, Secrets and accounts of each kind of pod. Kinds with the same access are one row.
func (e *emitted) podAccess() *table {
	t := &table{head: []string{"Pods", "Connects to", "Secrets", "Kubernetes"}}
	type key struct{ to, secrets, account string }
	names, order := map[key][]string{}, []key{}
	for _, w := range e.Workloads {
		k := key{strings.Join(e.servers(w), ", "), e.secretsOf(w), e.account(w)}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k] = append(names[k], e.podName(w))
	}
	for _, k := range order {
		t.add(strings.Join(unique(names[k]), ", "), k.to, k.secrets, k.account)
	}
	return t
}

// servers returns the servers of pods, with the ports of each.
func (e *emitted) servers(w wiring.Workload) []string {
	byServer, order := map[string][]string{}, []string{}
	for _, h := range e.Hops {
		if h.From.Of != w.Of || h.From.Part != w.Part {
			continue
		}
		to := e.endName(h.To)
		if byServer[to] == nil {
			order = append(order, to)
		}
		byServer[to] = append(byServer[to], fmt.Sprint(h.Port))
	}
	var out []string
	for _, to := range order {
		between := ", "
		if to == "hypervisors" { // Package wiring has the first and the last port of consoles.
			between = " to "
		}
		out = append(out, to+" "+strings.Join(unique(byServer[to]), between))
	}
	slices.Sort(out)
	return out
}

// nodeAccess is the access of one kind of pod of pools.
type nodeAccess struct {
	name           string
	secrets, paths []string
	account        string
}

// slicePods matches the end of the name of a workload of a slice.
var slicePods = regexp.MustCompile(`-slice-[a-z0-9-]+$`)

// accessOfPools returns a table of the Secrets, paths and accounts of each kind of pod, in any pool.
func accessOfPools() (*table, error) {
	var kinds []*nodeAccess
	for _, files := range poolExamples {
		e, err := emitExamples(files)
		if err != nil {
			return nil, err
		}
		pool := e.results[len(e.results)-1]
		for _, w := range e.Workloads {
			if w.Of.Namespace == pool.Instance {
				kinds = e.addNodeAccess(kinds, w, pool.Instance)
			}
		}
	}
	t := &table{head: []string{"Pods", "Secrets", "Writable paths", "Kubernetes"}}
	for _, k := range kinds {
		slices.Sort(k.paths)
		t.add(k.name, strings.Join(unique(k.secrets), ", "), strings.Join(unique(k.paths), ", "), k.account)
	}
	return t, nil
}

// addNodeAccess adds the access of pods of an instance to the one of the same kind of pod.
func (e *emitted) addNodeAccess(kinds []*nodeAccess, w wiring.Workload, instance string) []*nodeAccess {
	r := &nodeAccess{name: code(slicePods.ReplaceAllString(w.Of.Name, "")), account: e.account(w)}
	if w.HostNetwork {
		r.name += " (network of the node)"
	}
	if i := slices.IndexFunc(kinds, func(k *nodeAccess) bool { return k.name == r.name && k.account == r.account }); i >= 0 {
		r = kinds[i]
	} else {
		kinds = append(kinds, r)
	}
	for _, s := range w.Secrets {
		r.secrets = append(r.secrets, code(strings.ReplaceAll(s, instance, "POOL")))
	}
	for _, path := range w.HostPaths {
		r.paths = append(r.paths, code(path))
	}
	return kinds
}

// podName returns the name of pods, with their kind if they run to completion, and their role if an operator creates several kinds.
func (e *emitted) podName(w wiring.Workload) string {
	kind := ""
	if w.Ends {
		kind = w.Of.Kind + " "
	}
	return strings.TrimSpace(kind + code(e.stableName(w.Of.Name)) + " " + w.Part)
}

func (e *emitted) secretsOf(w wiring.Workload) string {
	if w.Operated {
		return "its operator's"
	}
	return e.quotedNames(w.Secrets)
}

func (e *emitted) account(w wiring.Workload) string {
	switch {
	case w.Operated:
		return "its operator's"
	case w.Account == "":
		return ""
	}
	return code(e.stableName(w.Account))
}
