package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
	out := ResourceName(r.GroupVersionKind()) + " " + r.Name
	if r.Namespace != "" {
		out += " -n " + r.Namespace
	}
	return out
}

// kubectl returns a command for an object. An object of another cluster needs a kubeconfig of that cluster.
func kubectl(verb string, r Ref) string {
	if r.Cluster != "" {
		cluster := strings.ToUpper(strings.ReplaceAll(r.Cluster, "-", "_"))
		return fmt.Sprintf("kubectl --kubeconfig KUBECONFIG_OF_%s %s %s", cluster, verb, target(r))
	}
	return "kubectl " + verb + " " + target(r)
}

func describe(r Ref) string { return kubectl("describe", r) }
func get(r Ref) string      { return kubectl("get", r) }
func edit(r Ref) string     { return kubectl("edit", r) }

// companionLogs returns the command for the log of the companion of a namespace.
func companionLogs(namespace string) string {
	return "kubectl logs deployment/" + companionName + " -n " + namespace + " --tail=100"
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
	{"WebhookRefuses", regexp.MustCompile(`admission webhook "([^"]+)" denied the request`), webhookSteps},
	{"WebhookUnavailable", regexp.MustCompile(`failed calling webhook "([^"]+)"`), webhookSteps},
	{"PolicyRefuses", regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)'`), func(m []string, _ Ref) []string {
		return []string{"kubectl get validatingadmissionpolicy " + m[1] + " -o yaml"}
	}},
	{"PodSecurity", regexp.MustCompile(`violates PodSecurity "([^"]+)"`), func(_ []string, of Ref) []string {
		return []string{"kubectl get namespace " + of.Namespace + " --show-labels"}
	}},
	{"Forbidden", regexp.MustCompile(`is forbidden: User "([^"]+)" cannot (\w+) resource "([^"]+)"`), func(m []string, of Ref) []string {
		return []string{fmt.Sprintf("kubectl auth can-i %s %s%s --as %s", m[2], m[3], inNamespace(of), m[1])}
	}},
	{"MissingObject", missing, func(_ []string, _ Ref) []string { return nil }},
	{"ClusterUnreachable", regexp.MustCompile(`connection refused|no such host|i/o timeout|TLS handshake timeout|no route to host`),
		func([]string, Ref) []string { return nil }},
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
	return " -n " + r.Namespace
}

// classify returns the reason for a message, and the next commands; "" if it is not a frequent one.
func classify(text string, of Ref) (string, []string) {
	for _, c := range classes {
		if m := c.pattern.FindStringSubmatch(text); m != nil {
			next := c.next(m, of)
			if c.reason == "MissingObject" {
				next = missingSteps(text, of.Namespace)
			}
			return c.reason, next
		}
	}
	return "", nil
}

// missing matches messages about a Secret or a ConfigMap that does not exist, or that does not have a key.
var missing = regexp.MustCompile(`(?i)\b(secret|configmap)s? "([^"]+)" not found|couldn't find key (\S+) in (Secret|ConfigMap) (\S+)`)

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
	return []string{"kubectl describe " + m[0] + " " + m[1] + inNamespace(Ref{Namespace: namespace})}
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
