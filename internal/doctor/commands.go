package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// safe matches words that a shell and kubectl do not interpret: no flags, spaces, quotes or substitutions.
var safe = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:/_@-]*$`)

// word returns a word of a command, or NAME if a shell or kubectl would interpret it. Names in messages and specs can be any text: the
// value of a tenant in an error of an API server would otherwise become part of a command of the platform team.
func word(s string) string {
	if safe.MatchString(s) {
		return s
	}
	return "NAME"
}

// ResourceName returns the name of a kind for kubectl: its singular, with the group.
func ResourceName(kind schema.GroupVersionKind) string {
	name := strings.ToLower(kind.Kind)
	if kind.Group == "" {
		return name
	}
	return name + "." + kind.Group
}

// target returns the arguments that select an object in a kubectl command.
func target(r Ref) string {
	return word(ResourceName(r.GroupVersionKind())) + " " + word(r.Name) + inNamespace(r)
}

// kubectl returns a command for an object. An object of another cluster needs a kubeconfig of that cluster.
func kubectl(verb string, r Ref) string {
	return "kubectl" + kubeconfigFlag(r.Cluster) + " " + verb + " " + target(r)
}

func describe(r Ref) string { return kubectl("describe", r) }
func get(r Ref) string      { return kubectl("get", r) }
func edit(r Ref) string     { return kubectl("edit", r) }

// companionLogs returns the command for the log of the companion of a namespace.
func companionLogs(namespace string) string {
	return "kubectl logs deployment/" + companionName + " -n " + word(namespace) + " --tail=100"
}

// classes recognize messages of API servers and controllers about frequent causes. The first match counts.
var classes = []struct {
	reason  string
	pattern *regexp.Regexp
	// next returns the next commands, from the match.
	next func(match []string, of Ref) []string
}{
	{"QuotaExceeded", regexp.MustCompile(`exceeded quota: ([a-z0-9.-]+)`), func(m []string, of Ref) []string {
		return []string{"kubectl describe resourcequota " + m[1] + inNamespace(of)}
	}},
	{"NamespaceTerminating", regexp.MustCompile(`unable to create new content in namespace (\S+) because it is being terminated`),
		func(m []string, _ Ref) []string { return []string{"kubectl describe namespace " + m[1]} }},
	{"WebhookRefuses", regexp.MustCompile(`admission webhook "([^"]+)" denied the request`), webhookSteps},
	{"WebhookUnavailable", regexp.MustCompile(`failed calling webhook "([^"]+)"`), webhookSteps},
	{"PolicyRefuses", regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'`), func(m []string, _ Ref) []string {
		return []string{"kubectl get validatingadmissionpolicy " + m[1] + " -o yaml"}
	}},
	{"PodSecurity", regexp.MustCompile(`violates PodSecurity "([^"]+)"`), func(_ []string, of Ref) []string {
		return []string{"kubectl get namespace " + word(of.Namespace) + " --show-labels"}
	}},
	{"Forbidden", regexp.MustCompile(`is forbidden: User "([^"]+)" cannot (\w+) resource "([^"]+)"`), func(m []string, of Ref) []string {
		return []string{fmt.Sprintf("kubectl%s auth can-i %s %s%s --as %s", kubeconfigFlag(of.Cluster), m[2], m[3], inNamespace(of), m[1])}
	}},
	{reasonMissingObject, missing, func(_ []string, _ Ref) []string { return nil }},
	{reasonNoFunction, regexp.MustCompile(`cannot run Composition pipeline step|FunctionRevision`), func([]string, Ref) []string {
		return []string{"kubectl get functions.pkg.crossplane.io,functionrevisions.pkg.crossplane.io", crossplanePods}
	}},
	{"CompositionMissing", regexp.MustCompile(`no compatible Composition(Revision)?s? found|cannot (get|fetch) [Cc]omposition`),
		func([]string, Ref) []string {
			return []string{"kubectl get configurations.pkg.crossplane.io,compositions.apiextensions.crossplane.io"}
		}},
	{"ImmutableField", regexp.MustCompile(`field is immutable|updates to statefulset spec`), func(_ []string, of Ref) []string {
		return []string{get(of) + " -o yaml"}
	}},
	{reasonUnreachable, regexp.MustCompile(`connection refused|no such host|i/o timeout|TLS handshake timeout|no route to host`),
		func(_ []string, of Ref) []string { return clusterInfo(of.Cluster) }},
	// Without a valid user, the discovery of kinds fails.
	{reasonCredentials, regexp.MustCompile(
		`must be logged in to the server|asked for the client to provide credentials|: Unauthorized\b|failed to get server groups`),
		func(_ []string, of Ref) []string { return clusterInfo(of.Cluster) }},
}

// Reasons for which the cause is another object than the one with the message.
const (
	reasonMissingObject = "MissingObject"
	reasonNoFunction    = "FunctionUnavailable"
	reasonCredentials   = "CredentialsRejected"
	reasonUnreachable   = "ClusterUnreachable"
)

// DefaultCrossplaneNamespace is the usual namespace of Crossplane and its packages.
const DefaultCrossplaneNamespace = "crossplane-system"

// Commands are written for the usual namespace of Crossplane, see inCrossplaneNamespace.
const (
	ofCrossplane   = " -n " + DefaultCrossplaneNamespace
	crossplanePods = "kubectl get pods" + ofCrossplane
	crossplaneLogs = "kubectl logs deployment/crossplane" + ofCrossplane
)

// inCrossplaneNamespace replaces the usual namespace of Crossplane at the end of commands.
func inCrossplaneNamespace(commands []string, namespace string) {
	for i, c := range commands {
		if rest, ok := strings.CutSuffix(c, ofCrossplane); ok {
			commands[i] = rest + " -n " + word(namespace)
		}
	}
}

// kubeconfigFlag returns the flag of kubectl for another cluster, with a space before it.
func kubeconfigFlag(cluster string) string {
	if cluster == "" {
		return ""
	}
	return " --kubeconfig KUBECONFIG_OF_" + strings.ToUpper(strings.ReplaceAll(word(cluster), "-", "_"))
}

// clusterInfo returns the command that tests the access to another cluster.
func clusterInfo(cluster string) []string {
	if cluster == "" {
		return nil
	}
	return []string{"kubectl" + kubeconfigFlag(cluster) + " cluster-info"}
}

func webhookSteps(m []string, _ Ref) []string {
	return []string{"kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations | grep " + lastLabels(m[1])}
}

// lastLabels returns the name of a webhook without its first label: the configuration has another name.
func lastLabels(webhook string) string {
	if _, rest, ok := strings.Cut(webhook, "."); ok {
		return rest
	}
	return webhook
}

func inNamespace(r Ref) string {
	if r.Namespace == "" {
		return ""
	}
	return " -n " + word(r.Namespace)
}

// classify returns the reason for a message, and the next commands; "" if it is not a frequent one.
func classify(text string, of Ref) (string, []string) {
	for _, c := range classes {
		if m := c.pattern.FindStringSubmatch(text); m != nil {
			for i := range m {
				m[i] = word(m[i])
			}
			next := c.next(m, of)
			if c.reason == reasonMissingObject {
				next = missingSteps(text, of.Namespace)
			}
			return c.reason, next
		}
	}
	return "", nil
}

// missing matches messages about a Secret or a ConfigMap that does not exist, or that does not have a key.
var missing = regexp.MustCompile(`(?i)\b(secret|configmap)s? "([^"]+)" not found|couldn't find key (\S+) in (Secret|ConfigMap) (\S+)`)

// awaited matches messages of functions about a Secret that a tenant creates.
var awaited = regexp.MustCompile(`waits for Secret (\S+) with .* in namespace ([^\s,]+)`)

// awaitedSecret returns the Secret that a component waits for, and whether there is one.
func awaitedSecret(text string) (Ref, bool) {
	m := awaited.FindStringSubmatch(text)
	if m == nil {
		return Ref{}, false
	}
	return Ref{APIVersion: "v1", Kind: "Secret", Namespace: m[2], Name: m[1]}, true
}

// absent matches messages of functions about a claim that does not exist, or that does not allow the reference.
var absent = regexp.MustCompile(`there is no (\w+) (\S+) in namespace "?([^\s",;]+)`)

// absentSteps returns the next commands for a claim that does not exist.
func absentSteps(text string) []string {
	m := absent.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	kind, ok := KindOf(m[1])
	if !ok {
		return nil
	}
	return []string{get(Ref{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: m[3], Name: m[2]})}
}

// missingObject returns the kind and name of a missing Secret or ConfigMap, or nil.
func missingObject(text string) []string {
	m := missing.FindStringSubmatch(text)
	switch {
	case m == nil:
		return nil
	case m[3] == "":
		return []string{strings.ToLower(m[1]), m[2]}
	}
	_, name, found := strings.Cut(m[5], "/")
	if !found {
		name = m[5]
	}
	return []string{strings.ToLower(m[4]), name}
}

// missingSteps returns the next commands for a missing Secret or ConfigMap. Describe shows keys, and no values.
func missingSteps(text, namespace string) []string {
	m := missingObject(text)
	if m == nil {
		return nil
	}
	return []string{"kubectl describe " + m[0] + " " + word(m[1]) + inNamespace(Ref{Namespace: namespace})}
}

// complete sets the runbook of a cause, and removes duplicate commands.
func (c *Cause) complete() {
	if c.Runbook == "" || !hasRunbook(c.Runbook) {
		c.Runbook = runbookOf(*c)
	}
	if c.Chain == nil {
		c.Chain = []Ref{}
	}
	var next []string
	for _, step := range c.Next {
		if !slices.Contains(next, step) {
			next = append(next, step)
		}
	}
	c.Next = next
}
