package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// TestSecretsHaveMakersAndReaders checks that the page contains the creator and the readers of every composed Secret.
func TestSecretsHaveMakersAndReaders(t *testing.T) {
	claim, err := fullClaim()
	if err != nil {
		t.Fatal(err)
	}
	e, err := emit(claim)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Secrets) < 50 {
		t.Fatalf("only %d Secrets", len(e.Secrets))
	}
	sections := map[string]bool{}
	for _, w := range e.Workloads {
		sections[e.section(w.Of)] = true
	}
	for _, s := range e.Secrets {
		home := e.homeOf(s)
		if !sections[home] {
			t.Errorf("Secret %s is of section %q, which is not in the page", s.Name, home)
		}
		copied := func(r wiring.Reader) bool { return r.Kind == "ExternalSecret" }
		if e.maker(s) == "" || s.Maker.Kind == "" && !slices.ContainsFunc(s.Readers, copied) {
			t.Errorf("Secret %s has no creator", s.Name)
		}
		if e.readers(s, home) == "" {
			t.Errorf("Secret %s, which %v creates, has no reader", s.Name, s.Maker.ID)
		}
	}
}

// TestInterval checks that a duration is formatted in the largest unit of which it is a multiple.
func TestInterval(t *testing.T) {
	for v, want := range map[any]string{
		"5m0s": "5 minutes", "1h": "1 hour", "87600h": "10 years", "90s": "90 seconds", "soon": "soon", "36h": "36 hours",
	} {
		if got := interval(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

// TestOwner checks that the owner of an object follows from its group, including groups that end with another group.
func TestOwner(t *testing.T) {
	for group, want := range map[string]string{
		"openstack.c5c3.io": "the companion", "gateway.networking.k8s.io": "the gateway", "networking.k8s.io": "the Ingress controller", "apps": "Deployment",
	} {
		if got := owner(wiring.ID{Group: group, Kind: "Deployment"}); got != want {
			t.Errorf("%s: %s, want %s", group, got, want)
		}
	}
}

// TestCrossing checks that hypervisors get only Secrets of a control plane that they read.
func TestCrossing(t *testing.T) {
	page, err := os.ReadFile("../../docs/clusters.md") // make verify-generated compares it with the result of clusters.
	if err != nil {
		t.Fatal(err)
	}
	section, _, _ := strings.Cut(strings.SplitN(string(page), "## Control plane to hypervisors", 2)[1], "\n## ")
	for _, want := range []string{
		"| `nova-cell1-queue` | the companion, a user of the queue | `nova-compute`,", "| `HYPERVISORS-vnc` | cert-manager, `nova-cell1-vnc-ca` (Issuer) |",
		"| `ovn-southbound` | 6645 | `ovn-ca` |", "| NetworkPolicy `HYPERVISORS-queue` | `hypervisors` | `production` | 5671 |",
	} {
		if !strings.Contains(section, want) {
			t.Errorf("want %q in:\n%s", want, section)
		}
	}
	if strings.Contains(section, "| – | `production` to") {
		t.Errorf("a copied Secret has no reader:\n%s", section)
	}
}

// TestProgram checks that a command is shown without shells, options and folders.
func TestProgram(t *testing.T) {
	for name, tc := range map[string]struct {
		words []string
		want  string
	}{
		"Options": {[]string{"uwsgi", "--ini", "/etc/nova/uwsgi.ini"}, "`uwsgi uwsgi.ini`"},
		"Shell":   {[]string{"sh", "/etc/x/keys.sh", "x-worker"}, "`keys.sh x-worker`"},
		"Script":  {[]string{"sh", "-c", "x | y"}, "a script"},
		"Nothing": {nil, "its image's own"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := program(tc.words); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
