package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rulesOf returns the rules of a policy as a sorted list without the rule for DNS: in monitoring/ 9104.
func rulesOf(p *networkingv1.NetworkPolicy) []string {
	var out []string
	add := func(direction string, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) {
		from := "anywhere"
		for i, peer := range peers {
			if i == 0 {
				from = ""
			}
			if peer.NamespaceSelector != nil {
				from += peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] + "/"
			}
			from += metav1.FormatLabelSelector(peer.PodSelector)
		}
		from = strings.NewReplacer("<none>", "", "app.kubernetes.io/", "").Replace(from)
		for _, port := range ports {
			text := fmt.Sprintf("%s %s %d", direction, from, port.Port.IntVal)
			if port.EndPort != nil {
				text += fmt.Sprintf("-%d", *port.EndPort)
			}
			out = append(out, text)
		}
	}
	for _, r := range p.Spec.Ingress {
		add("in", r.From, r.Ports)
	}
	for _, r := range p.Spec.Egress[1:] {
		add("out", r.To, r.Ports)
	}
	slices.Sort(out)
	return out
}

// TestPolicies checks that each kind of pod has exactly the connections that its part of the cloud needs.
func TestPolicies(t *testing.T) {
	const (
		managed = "managed-by=crossplane-cobaltcore,part-of=openstack"
		mariadb = "instance=mariadb,name=mariadb"
		queue   = "name=rabbitmq"
		watched = "{domain: a.b, monitoring: {enabled: true}, network: {mariadbOperator: [db-a, db-b], monitoring: [prom], apiServerPorts: [8443]}}"
		s3      = `infrastructure: {mariadb: {replicas: 1, backup: {s3: {bucket: aaa, endpoint: "s3.example.com:9000", credentialsSecretRef: {name: s3}}}, ` +
			`restoreFrom: {rootPasswordSecretRef: {name: root, key: password}, s3: {bucket: aaa, endpoint: s3.example.com, credentialsSecretRef: {name: s3}}}}}`
	)
	for name, tc := range map[string]struct {
		reason, spec, platform, policy string
		want                           []string
	}{
		"One": {
			"A single server opens no connections.", "{size: development}", bare, "mariadb", []string{
				"in " + managed + " 3306", "in mariadb-operator/ 3306",
			},
		},
		"Galera": {
			"Members connect to each other, and to the API server.", "{}", watched, "mariadb", []string{
				"in " + mariadb + " 4444", "in " + mariadb + " 4567", "in " + mariadb + " 4568", "in " + managed + " 3306",
				"in db-a/db-b/ 3306", "in db-a/db-b/ 5555", "in instance=mariadb-metrics,name=exporter 3306",
				"out " + mariadb + " 4444", "out " + mariadb + " 4567", "out " + mariadb + " 4568", "out anywhere 8443",
			},
		},
		"Exporter": {"Prometheus scrapes metrics.", "{}", watched, "mariadb-exporter", []string{"in prom/ 9104", "out " + mariadb + " 3306"}},
		"Proxy": {
			"Services connect through the proxy.", "{size: medium}", watched, "maxscale", []string{
				"in " + managed + " 3306", "in db-a/db-b/ 8989", "in instance=maxscale-metrics,name=exporter 8989", "out " + mariadb + " 3306",
			},
		},
		"Backup": {
			"The port is part of the object store's endpoint.", "{" + s3 + "}", bare, "operator-jobs", []string{
				"out " + mariadb + " 3306", "out anywhere 443", "out anywhere 9000",
			},
		},
		"ServiceJobs": {"Jobs of services migrate schemas.", "{}", bare, "service-jobs", []string{"out " + mariadb + " 3306"}},
		"Cells": {
			"Nova's Jobs that connect to every cell reach cells with their own database.", ownServers("", ""), queued, "nova-cell-databases",
			[]string{"out instance=mariadb-cell-far,name=mariadb 3306"},
		},
		"Queue": {
			"Operators are in the default namespace of their manifests.", "{}", bare, "rabbitmq", []string{
				"in " + managed + " 5671", "in " + queue + " 25672", "in " + queue + " 4369", "in " + queue + " 6000-6500",
				"in rabbitmq-system/ 15671", "out " + queue + " 25672", "out " + queue + " 4369", "out " + queue + " 6000-6500",
			},
		},
		"QueueAlone": {
			"There are no other members.", "{size: development}", watched, "rabbitmq", []string{
				"in " + managed + " 5671", "in prom/ 15691", "in rabbitmq-system/ 15671",
			},
		},
		"Store": {
			"Sentinels and members connect to each other.", "{}", bare, "valkey", []string{
				"in " + managed + " 26379", "in " + managed + " 6379", "in instance=valkey,name=valkey 26379", "in instance=valkey,name=valkey 6379",
				"out instance=valkey,name=valkey 26379", "out instance=valkey,name=valkey 6379",
			},
		},
		"Challenge": {
			"A certificate authority validates with HTTP-01.", "{global: {exposure: {type: Ingress, ingressController: haproxy.org, allowedNamespaces: [ingress]}, tls: {issuerRef: {name: acme}}}}", bare,
			"http-challenge", []string{"in ingress/ 8089"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			stages, err := policies(derived(t, tc.spec, open(tc.platform)))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range stages[0] {
				if p := r.Object.(*networkingv1.NetworkPolicy); p.Name == tc.policy {
					slices.Sort(tc.want)
					if diff := cmp.Diff(tc.want, rulesOf(p)); diff != "" {
						t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
					}
					return
				}
			}
			t.Errorf("%s\nthere is no policy %s", tc.reason, tc.policy)
		})
	}
}

// TestDisabledComponentHasNoPolicy checks that disabled components have no policy.
func TestDisabledComponentHasNoPolicy(t *testing.T) {
	stages, err := policies(derived(t, "{size: development, infrastructure: {rabbitmq: {enabled: false}, valkey: {enabled: false}}}", bare))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range stages[0] {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff([]string{"mariadb-network-policy", "service-jobs-network-policy"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
