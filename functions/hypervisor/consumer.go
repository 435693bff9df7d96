package hypervisor

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// consumerResource is the RemoteConsumer by which the pool reports the credentials of its pods to the control plane, and reads the current
// ones. It is created before the pods, because a credential rotation waits for the consumers that exist.
const consumerResource = "remote-consumer"

// credentialAnnotation returns the annotation of pods for a Secret of the control plane. Its value is the ID of a credential: the pods have
// had that credential, or a later one, since they became ready.
func credentialAnnotation(secret common.ObjectName) string {
	return "credentials.c5c3.io/" + names.Bounded(string(secret))
}

// daemonSet is the kind of workloads on nodes.
var daemonSet = schema.GroupKind{Group: "apps", Kind: "DaemonSet"}

// credentials returns the Secrets with the credentials of nova-compute and of Neutron agents, which the control plane rotates.
func (m *model) credentials() []common.ObjectName {
	out := m.computeCredentials()
	if m.usesQueue() {
		out = append(out, m.plane.access.Networks.Agents.QueueSecretRef.Name)
	}
	return out
}

func (m *model) computeCredentials() []common.ObjectName {
	return append([]common.ObjectName{m.plane.cell.QueueSecretRef.Name}, m.applicationCredentials()...)
}

// applicationCredentials returns the Secrets with application credentials of nova-compute: the account's and, until every node has it, the
// former one. Nova's credential was on nodes before pools had accounts; the control plane does not revoke it while the pool consumes it.
func (m *model) applicationCredentials() []common.ObjectName {
	own, former := m.credentialSecret(), m.plane.access.CredentialSecretRef.Name
	reported := m.credentialIn(former, "observedID", "spec", "credentials") != "" && m.distributedIn(own, m.computeSets()) == ""
	if reported || m.mounts(former) {
		return []common.ObjectName{own, former}
	}
	return []common.ObjectName{own}
}

// mountedCredential returns the application credential in the pod templates: the former one stays until the account has a credential,
// because pods without it could not start.
func (m *model) mountedCredential() common.ObjectName {
	own, former := m.credentialSecret(), m.plane.access.CredentialSecretRef.Name
	if m.mounts(former) && m.credentialIn(own, "currentID", "status", "credentials") == "" {
		return former
	}
	return own
}

// mounts reports whether pod templates of nova-compute have a credential.
func (m *model) mounts(secret common.ObjectName) bool {
	return slices.ContainsFunc(m.computeSets(), func(set string) bool { return m.currentCredential(set, secret) != "" })
}

// usersOf returns the composed resource names of the DaemonSets whose pods read a Secret.
func (m *model) usersOf(secret common.ObjectName) []string {
	var out []string
	if slices.Contains(m.computeCredentials(), secret) {
		return m.computeSets()
	}
	for component, groups := range m.queueUsers() {
		for i := range groups {
			out = append(out, groups[i].name(component))
		}
	}
	slices.Sort(out)
	return out
}

// remoteConsumer returns the RemoteConsumer in the control plane's namespace. It contains nothing about other pools, and credential IDs are
// not secret.
func (m *model) remoteConsumer() compose.Resource {
	var spec c5c3v1.RemoteConsumerSpec
	for _, secret := range m.credentials() {
		spec.Credentials = append(spec.Credentials, c5c3v1.ConsumedCredential{SecretName: secret, ObservedID: m.distributedCredential(secret)})
	}
	return m.inPlaneCluster(compose.Resource{Name: consumerResource, Object: c5c3.RemoteConsumer(m.novaNamespaceMeta(loginsName), spec)})
}

// targetCredential returns the ID of the credential that pods must use: the current one or, while that is unknown, the one that the pods
// were configured with. Empty: not reported yet.
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

// distributedCredential returns the last credential that all pods of all DaemonSets had while each node had a pod of the current revision.
// It stays until a later one is distributed in the same way. Empty: no previous one.
func (m *model) distributedCredential(secret common.ObjectName) string {
	return m.distributedIn(secret, m.usersOf(secret))
}

// distributedIn is distributedCredential for the given DaemonSets.
func (m *model) distributedIn(secret common.ObjectName, sets []string) string {
	rule, _ := readiness.Rules.For(daemonSet)
	id, complete := "", true
	for _, set := range sets {
		o, existing := m.observed.Get(set)
		reported := m.currentCredential(set, secret)
		complete = complete && existing && reported != "" && (id == "" || reported == id) && rule.Check(o).Ready
		id = reported
	}
	if complete {
		return id
	}
	return m.credentialIn(secret, "observedID", "spec", "credentials")
}

// credentialIn returns a field of a list of the observed RemoteConsumer, which has an entry for each Secret.
func (m *model) credentialIn(secret common.ObjectName, field string, list ...string) string {
	o, ok := m.observed.Get(consumerResource)
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

// currentCredential returns the credential ID that the pods of a DaemonSet are annotated with.
func (m *model) currentCredential(set string, secret common.ObjectName) string {
	o, ok := m.observed.Get(set)
	if !ok {
		return ""
	}
	return o.String("spec", "template", "metadata", "annotations", credentialAnnotation(secret))
}

// credentialAnnotations returns pod annotations that change, and thereby replace the pods, after a credential rotation.
func (m *model) credentialAnnotations(secrets ...common.ObjectName) map[string]string {
	out := map[string]string{}
	for _, secret := range secrets {
		if id := m.targetCredential(secret); id != "" {
			out[credentialAnnotation(secret)] = id
		}
	}
	return out
}
