package hypervisorrecovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/fence"
)

// inspect probes the network of failed nodes, and reads their power, and verifies one healthy node. While too many nodes have failed, only
// nodes with a record are read. Devices are read in parallel: one that hangs must not delay others, because evidence gets old.
func (obs *observation) inspect(ctx context.Context, env *controller.Env) error {
	var read []*node
	for _, n := range obs.nodes {
		if n.needsInspection() && (n.record != nil || !obs.isCrowded()) {
			read = append(read, n)
		}
	}
	// Nodes whose servers are being evacuated are first.
	slices.SortStableFunc(read, func(a, b *node) int { return a.rank() - b.rank() })
	references := obs.references(len(read) > 0)
	all := read
	if len(references) > 0 {
		references[0].verified = true
		all = slices.Concat(read, references[:1])
	}
	for _, n := range all {
		if err := obs.openDevice(ctx, env, n); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, deviceTimeout)
	defer cancel()
	var tasks []func()
	watched := slices.DeleteFunc(slices.Clone(obs.nodes), func(n *node) bool { return !n.isWatched() })
	for _, n := range slices.Concat(read, references, watched) { // They take seconds, and controllers may take longer.
		tasks = append(tasks, func() { n.network = obs.probe(ctx, env, n) })
	}
	for _, n := range all {
		tasks = append(tasks, func() { n.readPower(ctx) })
	}
	inParallel(obs.parallel, tasks)
	valid := slices.ContainsFunc(references, func(n *node) bool { return n.network == alive })
	for _, n := range read {
		obs.weighDevices(n, valid)
	}
	tasks = nil
	for _, n := range watched {
		if n.network != alive { // Its silence is expected.
			continue
		}
		n.evidence.network = alive
		if err := obs.openDevice(ctx, env, n); err != nil {
			return err
		}
		tasks = append(tasks, func() { n.readPower(ctx) })
	}
	inParallel(obs.parallel, tasks)
	if len(references) > 0 {
		obs.verify(references[0])
	} else { // Its kubelet does not report: others are verified meanwhile.
		obs.past.verified = obs.candidate
	}
	return nil
}

// references returns healthy nodes: the one that is verified in this pass and, if nodes have failed, others that show whether probes reach
// any node.
func (obs *observation) references(failed bool) (out []*node) {
	for _, n := range obs.rotated() {
		if n.isHealthy() && (len(out) == 0 || failed && len(out) < referenceCount) {
			out = append(out, n)
		}
	}
	return out
}

// weighDevices determines the reports of the network and of the power of a node. valid is set if a probe of a healthy node responds.
func (obs *observation) weighDevices(n *node, valid bool) {
	n.evidence.network = n.network
	switch {
	case n.network != unreachable:
	case !valid:
		n.evidence.network = unknown
		n.probeProblem = "no probe of a healthy node responds, so that the probes prove nothing"
	case obs.confirmedProbe(n) == "":
		n.evidence.network = unknown
		n.probeProblem = "none of its probes has responded while it was healthy, so that their silence proves nothing"
	}
	n.evidence.powerOff = n.deviceProblem == "" && n.power == fence.Off
}

// reportDelay is longer than the difference between the clocks of the companion and of Nova.
const reportDelay = 30 * time.Second

// verify evaluates the probes and the management controller of a healthy node, so that a wrong configuration is found before a failure. A
// failure is verified again in the next pass, before it is reported. A probe that has responded before is not used anymore if the node
// has reported to OpenStack after its silence: a node that just fails is silent, too, and does not report.
func (obs *observation) verify(n *node) {
	if n.network == alive {
		delete(obs.past.unansweredTimes, n.name)
	} else {
		if _, known := obs.past.unansweredTimes[n.name]; !known {
			obs.past.unansweredTimes[n.name] = obs.now
		}
		n.unconfirmed = n.service != nil && n.service.ReportedAt.After(obs.past.unansweredTimes[n.name].Add(reportDelay))
	}
	n.problem = n.deviceProblem
	if n.problem == "" && n.network != alive && len(n.config.Probes) > 0 {
		n.problem = cmp.Or(n.probeProblem, "none of its probes responds: correct the addresses, or permit the connections")
	}
	if n.problem == "" {
		delete(obs.past.failures, n.name)
	} else {
		obs.past.failures[n.name]++
	}
	if n.failures = obs.past.failures[n.name]; n.failures != 1 && !obs.awaitsReport(n) {
		obs.past.verified = n.name
	}
}

// verifyTimeout is the time for which a silent node is verified in each pass. Nova has another report of it after reportDelay by then.
const verifyTimeout = time.Minute

// awaitsReport reports whether the probe of a silent node is still regarded as confirmed, so that the node is verified again in the next
// pass: a probe that does not work anymore must not be trusted until all other nodes were verified.
func (obs *observation) awaitsReport(n *node) bool {
	return n.network != alive && obs.confirmedProbe(n) != "" && obs.now.Sub(obs.past.unansweredTimes[n.name]) < verifyTimeout
}

// isHealthy reports whether OpenStack and the kubelet report that the node runs.
func (n *node) isHealthy() bool {
	return !n.removed && n.record == nil && n.config != nil && n.evidence.openStack == alive && n.evidence.kubernetes == alive
}

// confirmedProbe returns the address of a probe of the node that has responded while the node was healthy; "" if none has.
func (obs *observation) confirmedProbe(n *node) string {
	if n.responded != "" || n.config == nil {
		return n.responded
	}
	for _, v := range obs.recovery.Status.VerifiedNodes {
		if v.NodeName == n.name && !n.unconfirmed && slices.Contains(n.config.Probes, openstackv1.ProbeAddress(v.Probe)) {
			return v.Probe
		}
	}
	return ""
}

// remember counts the passes in which the power of a node was off, and the time for which nodes with a record are healthy.
func (obs *observation) remember() {
	on, off, since, responding := map[string]int{}, map[string]int{}, map[string]time.Time{}, map[string]time.Time{}
	for _, n := range obs.nodes {
		if n.record != nil && n.record.PowerOffTime != nil && n.evidence.network == alive {
			responding[n.name] = obs.now
			if at, ok := obs.past.respondingSince[n.name]; ok {
				responding[n.name] = at
			}
			n.responding = obs.now.Sub(responding[n.name])
		}
		if n.evidence.powerOff {
			off[n.name] = obs.past.off[n.name] + 1
			n.offPasses = off[n.name]
		}
		if n.deviceProblem == "" && n.power == fence.On {
			on[n.name] = obs.past.on[n.name] + 1
			n.onPasses = on[n.name]
		}
		if n.record != nil && n.evidence.conclude() == healthy && n.evidence.kubernetes == alive {
			since[n.name] = obs.now
			if at, ok := obs.past.healthySince[n.name]; ok {
				since[n.name] = at
			}
			n.steady = obs.now.Sub(since[n.name])
		}
	}
	obs.past.off, obs.past.on, obs.past.healthySince, obs.past.respondingSince = off, on, since, responding
}

// rank orders nodes whose power was off before the others.
func (n *node) rank() int {
	if n.isChanged() {
		return 0
	}
	return 1
}

// probe connects to the addresses of a node. A node that refuses a connection runs.
func (obs *observation) probe(ctx context.Context, env *controller.Env, n *node) sight {
	if n.config == nil || len(n.config.Probes) == 0 {
		n.probeProblem = "it has no probes"
		return unknown
	}
	if n.node == nil {
		n.probeProblem = "its Node cannot be read, so that the probes may be in the network of the kubelet"
		return unknown
	}
	for _, p := range n.config.Probes {
		if n.probeProblem = obs.checkProbe(n, string(p)); n.probeProblem != "" {
			return unknown
		}
	}
	out := unreachable
	for _, p := range n.config.Probes {
		address := string(p)
		switch connect(ctx, env, address) {
		case alive:
			n.responded = address
			return alive
		case unknown:
			out = unknown
			n.probeProblem = "the probe " + address + " cannot be sent"
		case unreachable:
		}
	}
	return out
}

// checkProbe returns why an address proves nothing about a node; "" if it does. An address of the network of the kubelet, or of another
// node, does not show whether the node runs.
func (obs *observation) checkProbe(n *node, address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil || at.Addr().Zone() != "" {
		return fmt.Sprintf("the probe %s must be IP:port", address)
	}
	ip := at.Addr().Unmap()
	if len(n.addresses()) == 0 {
		return "status.addresses of its Node has no IP address, so that the probe may be in the network of the kubelet"
	}
	for i := range obs.recovery.Spec.Nodes {
		c := &obs.recovery.Spec.Nodes[i]
		if string(c.Name) == n.name {
			continue
		}
		for _, p := range c.Probes {
			if other, err := netip.ParseAddrPort(string(p)); err == nil && other.Addr().WithZone("").Unmap() == ip {
				return fmt.Sprintf("the probe %s is also an address of %s in spec.nodes: correct one of them", address, c.Name)
			}
		}
	}
	for _, other := range obs.nodes {
		if slices.Contains(other.addresses(), ip.String()) {
			return fmt.Sprintf("the probe %s is in status.addresses of Node %s: set an address of the node in another network", address, other.name)
		}
	}
	for _, v := range obs.recovery.Status.VerifiedNodes {
		if slices.Contains(v.Addresses, ip.String()) {
			return fmt.Sprintf("the probe %s was in status.addresses of Node %s: set an address of the node in another network", address, v.NodeName)
		}
	}
	return ""
}

// addresses returns the IP addresses of the Node in their usual notation, at most addressLimit of them; none if it was not read.
func (n *node) addresses() (out []string) {
	if n.node == nil {
		return nil
	}
	for _, a := range n.node.Status.Addresses {
		if ip, err := netip.ParseAddr(a.Address); err == nil && len(out) < addressLimit {
			out = append(out, ip.WithZone("").Unmap().String())
		}
	}
	return out
}

// connect reports whether a node accepts or refuses a connection. An error of this host proves nothing.
func connect(ctx context.Context, env *controller.Env, address string) sight {
	dial, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	connection, err := env.Dial(dial, "tcp", address)
	var timeout net.Error
	switch {
	case err == nil:
		_ = connection.Close() // Nothing was sent.
		return alive
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		return alive
	case ctx.Err() != nil:
		return unknown
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return unreachable
	}
	return unknown
}

// openDevice sets the management controller of a node with its login, or why it has none. An error is from the API server.
func (obs *observation) openDevice(ctx context.Context, env *controller.Env, n *node) (err error) {
	if n.config == nil {
		n.deviceProblem = noEntry
		return nil
	}
	if n.deviceProblem = obs.identityProblem(n); n.deviceProblem == "" {
		n.device, n.deviceProblem, err = openRedfish(ctx, env, obs.recovery.Namespace, &n.config.Redfish)
	}
	return err
}

// readPower reads the power of a node.
func (n *node) readPower(ctx context.Context) {
	if n.deviceProblem != "" {
		return
	}
	state, err := n.device.State(ctx)
	if err == nil {
		err = fence.CheckIdentity(state.SystemUUID, n.systemUUID())
	}
	if err != nil {
		n.deviceProblem = err.Error()
		return
	}
	n.power = state.Power
}

// systemUUID returns the UUID that the management controller of the node must report; "" if it is unknown. It is the one that the kubelet
// reports, or has reported: redfish.systemUUID can have the same mistake as redfish.url, and identifies nothing alone.
func (n *node) systemUUID() string { return cmp.Or(n.uuidOfNode(), n.recordedUUID) }

// uuidOfNode returns the UUID of the system that the kubelet reports; "" if it is unknown.
func (n *node) uuidOfNode() string {
	if n.node == nil {
		return ""
	}
	return condition.Truncate(n.node.Status.NodeInfo.SystemUUID, uuidLimit)
}

// identityProblem returns why the system of a node is not identified by its entry in the spec; "" if it is. Uniqueness is verified here
// because the API server limits the cost of rules: a comparison of each pair of 1,024 entries exceeds it.
func (obs *observation) identityProblem(n *node) string {
	own, typed := n.systemUUID(), n.config.Redfish.SystemUUID
	switch {
	case own == "":
		return "its UUID is unknown, because its Node was never read: the node must be in Kubernetes, and report a systemUUID"
	case typed != "" && !fence.IsSameSystem(own, typed):
		return fmt.Sprintf("redfish.systemUUID is %s, and the Node has %s: correct or remove redfish.systemUUID", typed, own)
	}
	shared := func(uuid, name string) string {
		if name == n.name || uuid == "" || !fence.IsSameSystem(own, uuid) {
			return ""
		}
		return fmt.Sprintf("its UUID %s is also the one of %s: set a unique UUID in the firmware, or correct redfish.systemUUID", own, name)
	}
	problem := ""
	for i := range obs.recovery.Spec.Nodes {
		c := &obs.recovery.Spec.Nodes[i]
		if string(c.Name) != n.name && strings.EqualFold(strings.TrimRight(c.Redfish.URL, "/"), strings.TrimRight(n.config.Redfish.URL, "/")) {
			return fmt.Sprintf("redfish.url is also the address of %s: correct one of them", c.Name)
		}
		problem = cmp.Or(problem, shared(c.Redfish.SystemUUID, string(c.Name)))
	}
	for _, other := range obs.nodes {
		problem = cmp.Or(problem, shared(other.uuidOfNode(), other.name))
	}
	for _, v := range obs.recovery.Status.VerifiedNodes {
		problem = cmp.Or(problem, shared(v.SystemUUID, v.NodeName))
	}
	return problem
}

// secretType is the type of a Secret with a login for management controllers.
const secretType corev1.SecretType = "openstack.c5c3.io/redfish" //nolint:gosec // The type is no secret.

// checkSecret returns why a Secret is not sent to an address; "" if it may be. The companion may read other Secrets, and the user who sets
// the address may not: the creator of the Secret determines the hosts.
func checkSecret(s *corev1.Secret, address string) string {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return "redfish.url must be an address with https"
	}
	if s.Type != secretType {
		return fmt.Sprintf("Secret %s must have the type %s: create a Secret for the management controllers", s.Name, secretType)
	}
	for _, key := range []string{"host", "username", "password", "ca.crt"} {
		if len(s.Data[key]) == 0 {
			return fmt.Sprintf("Secret %s must have the keys host, username, password and ca.crt: %s is missing", s.Name, key)
		}
	}
	if !slices.ContainsFunc(strings.Fields(string(s.Data["host"])), func(h string) bool { return strings.EqualFold(h, at.Host) }) {
		return fmt.Sprintf("Secret %s is not for %s: add this host to the key host of the Secret, or correct redfish.url", s.Name, at.Host)
	}
	return ""
}

// openRedfish returns a system with its login, or why it has none.
func openRedfish(
	ctx context.Context, env *controller.Env, namespace string, system *openstackv1.RedfishSystem,
) (device fence.Device, problem string, err error) {
	name := string(system.SecretName)
	secret, err := apireader.Get(ctx, env.Reader, "Secret", client.ObjectKey{Namespace: namespace, Name: name}, &corev1.Secret{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("the companion may not read Secret %s: create a Role and a RoleBinding for it", name), nil
	case err != nil:
		return nil, "", err
	case secret == nil:
		return nil, fmt.Sprintf("Secret %s does not exist", name), nil
	}
	if problem := checkSecret(secret, system.URL); problem != "" {
		return nil, problem, nil
	}
	way, err := env.Public(secret.Data["ca.crt"])
	if err != nil {
		return nil, fmt.Sprintf("Secret %s: the key ca.crt has no certificate in PEM format", name), nil //nolint:nilerr // It is reported.
	}
	return &fence.Redfish{
		URL: system.URL, Username: string(secret.Data["username"]), Password: string(secret.Data["password"]), Transport: way,
	}, "", nil
}
