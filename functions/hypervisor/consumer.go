package hypervisor

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// consumerResource is what the pool says to the control plane of the credentials that its pods have, and is told of those in use. Before
// there are pods, it is there: whoever replaces a credential waits for those that it knows of.
const consumerResource = "remote-consumer"

// credentialAnnotation and the name of a Secret of the control plane make the annotation of the pods that have had the credential which is
// its value, or a later one, since they are ready.
const credentialAnnotation = "credentials.c5c3.io/"

// daemonSet is the kind of what runs on nodes.
var daemonSet = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}

// credentials are the Secrets of those that nova-compute logs in by, and Neutron's agents, and that the control plane replaces.
func (m *model) credentials() []common.ObjectName {
	out := m.computeCredentials()
	if m.usesQueue() {
		out = append(out, m.plane.access.Networks.Agents.QueueSecretRef.Name)
	}
	return out
}

func (m *model) computeCredentials() []common.ObjectName {
	return []common.ObjectName{m.plane.cell.QueueSecretRef.Name, m.plane.access.CredentialSecretRef.Name}
}

// usersOf are the DaemonSets, by their composed resources' names, whose pods have what is in a Secret.
func (m *model) usersOf(secret common.ObjectName) []string {
	var out []string
	if slices.Contains(m.computeCredentials(), secret) {
		for i := range m.groups {
			out = append(out, m.groups[i].name(computeComponent))
		}
		return out
	}
	for component, groups := range m.queueUsers() {
		for i := range groups {
			out = append(out, groups[i].name(component))
		}
	}
	slices.Sort(out)
	return out
}

// remoteConsumer is the pool in the control plane's namespace. It says nothing of other pools, and no identity is a secret.
func (m *model) remoteConsumer() compose.Resource {
	var spec c5c3v1.RemoteConsumerSpec
	for _, secret := range m.credentials() {
		spec.Credentials = append(spec.Credentials, c5c3v1.ConsumedCredential{SecretName: secret, ObservedID: m.distributedCredential(secret)})
	}
	return m.theirs(compose.Resource{Name: consumerResource, Object: c5c3.RemoteConsumer(m.novaNamespaceMeta(loginsName), spec)})
}

// targetCredential is which credential of a Secret pods are to have: the one in use, or as long as nobody says, the one that its
// pods were told before. Empty: none is known yet.
func (m *model) targetCredential(secret common.ObjectName) string {
	if id := m.credentialIn(secret, "currentID", "status", "credentials"); id != "" {
		return id
	}
	for _, set := range m.usersOf(secret) {
		if id := m.currentCredential(set, secret); id != "" {
			return id
		}
	}
	return ""
}

// distributedCredential is the last one that all of its pods were known to have: that which the pods of all DaemonSets are told, when each node has
// one of the present ones. Until the next one is known in the same way it stays. Empty: none was ever known.
func (m *model) distributedCredential(secret common.ObjectName) string {
	rule, _ := ready.For(daemonSet)
	id, complete := "", true
	for _, set := range m.usersOf(secret) {
		o, existing := m.seen.Get(set)
		reported := m.currentCredential(set, secret)
		complete = complete && existing && reported != "" && (id == "" || reported == id) && rule.Check(o).Ready
		id = reported
	}
	if complete {
		return id
	}
	return m.credentialIn(secret, "observedID", "spec", "credentials")
}

// credentialIn is a field of a list of the observed RemoteConsumer, which has an entry for each Secret.
func (m *model) credentialIn(secret common.ObjectName, field string, list ...string) string {
	o, ok := m.seen.Get(consumerResource)
	if !ok {
		return ""
	}
	for _, item := range o.List(list...) {
		c, _ := item.(map[string]any)
		if name, _ := c["secretName"].(string); name == string(secret) {
			id, _ := c[field].(string)
			return id
		}
	}
	return ""
}

// currentCredential is what the pods of a DaemonSet are told now.
func (m *model) currentCredential(set string, secret common.ObjectName) string {
	o, ok := m.seen.Get(set)
	if !ok {
		return ""
	}
	return o.String("spec", "template", "metadata", "annotations", credentialAnnotation+string(secret))
}

// credentialAnnotations of pods that have some credentials, which replace them when one has been replaced.
func (m *model) credentialAnnotations(secrets ...common.ObjectName) map[string]string {
	out := map[string]string{}
	for _, secret := range secrets {
		if id := m.targetCredential(secret); id != "" {
			out[credentialAnnotation+string(secret)] = id
		}
	}
	return out
}
