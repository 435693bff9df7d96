package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// hostile are texts that a tenant can write where a message repeats them.
var hostile = []string{"$(id)", "`id`", "a;id", "a|id", "a&id", "a>f", "a --server=https://192.0.2.1 --insecure-skip-tls-verify", "--kubeconfig=f", "-A", "a'b", `a\b`, "a${IFS}b"}

// TestCommandsContainNoTextOfMessages tests that no next command contains text that a shell or kubectl interprets, for every message that
// doctor recognizes, and for every name in an object.
func TestCommandsContainNoTextOfMessages(t *testing.T) {
	command := regexp.MustCompile(`^(kubectl|helm|cobaltcore)( -?-?[A-Za-z0-9][A-Za-z0-9.:/_@,=-]*)*( \| grep [A-Za-z0-9.-]+)?$`)
	var messages []string
	for _, text := range []string{
		`exceeded quota: %s, requested`, `unable to create new content in namespace %s because it is being terminated`,
		`admission webhook "%s" denied the request`, `failed calling webhook "%s"`, `ValidatingAdmissionPolicy '%s'`, `violates PodSecurity "%s"`,
		`is forbidden: User "%s" cannot get resource "pods"`, `is forbidden: User "a" cannot get resource "%s"`, `secret "%s" not found`,
		`couldn't find key k in Secret %s`, `waits for Secret %s with the key k in namespace a`, `waits for Secret a with the key k in namespace %s`,
		`there is no StorageCluster %s in namespace a`, `there is no StorageCluster a in namespace %s`, `updates to statefulset spec %s`,
	} {
		for _, value := range hostile {
			messages = append(messages, fmt.Sprintf(text, value))
		}
	}
	checked := 0
	check := func(steps []string, about string) {
		t.Helper()
		for _, step := range steps {
			checked++
			injected := slices.ContainsFunc([]string{"--server", "--insecure", "--kubeconfig=", " -A"}, func(flag string) bool {
				return strings.Contains(step, flag)
			})
			if injected || !command.MatchString(step) {
				t.Errorf("%s: the next command is %q", about, step)
			}
		}
	}
	for _, text := range messages {
		_, steps := classify(text, Ref{Namespace: "ns"})
		check(steps, text)
		check(absentSteps(text), text)
		if r, ok := awaitedSecret(text); ok {
			check([]string{get(r)}, text)
		}
	}
	for _, value := range hostile {
		for _, r := range []Ref{
			{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: value}, {APIVersion: "v1", Kind: "Pod", Namespace: value, Name: "a"},
			{APIVersion: "v1", Kind: value, Name: "a"}, {APIVersion: value + "/v1", Kind: "Pod", Name: "a"},
			{APIVersion: "v1", Kind: "Pod", Name: "a", Cluster: value},
		} {
			check([]string{describe(r), get(r), edit(r), companionLogs(r.Namespace)}, fmt.Sprintf("%+v", r))
			check(clusterInfo(r.Cluster), fmt.Sprintf("%+v", r))
		}
	}
	if checked < 200 {
		t.Errorf("only %d commands", checked)
	}
}
