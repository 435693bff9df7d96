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

// rules of a policy, as a sorted list of words without the rule for names: in monitoring/ 9104.
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
			out = append(out, fmt.Sprintf("%s %s %d", direction, from, port.Port.IntVal))
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

// TestPolicies: each kind of pod reaches and is reached by what its part of the cloud needs, and by nobody else.
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
			"One server speaks to nobody.", "{size: development}", bare, "mariadb", []string{
				"in " + managed + " 3306", "in mariadb-operator/ 3306",
			},
		},
		"Galera": {
			"Members speak to each other, and to the API server of their operator.", "{}", watched, "mariadb", []string{
				"in " + mariadb + " 4444", "in " + mariadb + " 4567", "in " + mariadb + " 4568", "in " + managed + " 3306",
				"in db-a/db-b/ 3306", "in db-a/db-b/ 5555", "in instance=mariadb-metrics,name=exporter 3306",
				"out " + mariadb + " 4444", "out " + mariadb + " 4567", "out " + mariadb + " 4568", "out anywhere 8443",
			},
		},
		"Exporter": {"Prometheus reads.", "{}", watched, "mariadb-exporter", []string{"in prom/ 9104", "out " + mariadb + " 3306"}},
		"Proxy": {
			"Services come by the proxy.", "{size: medium}", watched, "maxscale", []string{
				"in " + managed + " 3306", "in db-a/db-b/ 8989", "in instance=maxscale-metrics,name=exporter 8989", "out " + mariadb + " 3306",
			},
		},
		"Backup": {
			"The object store's port is in its address.", "{" + s3 + "}", bare, "operator-jobs", []string{
				"out " + mariadb + " 3306", "out anywhere 443", "out anywhere 9000",
			},
		},
		"ServiceJobs": {"They change schemas.", "{}", bare, "service-jobs", []string{"out " + mariadb + " 3306"}},
		"Cells": {
			"Nova's Jobs that look into every cell reach those with a database to themselves.", apart("", ""), queued, "nova-cell-databases",
			[]string{"out instance=mariadb-cell-far,name=mariadb 3306"},
		},
		"Queue": {
			"Operators come from the namespace of their own manifests.", "{}", bare, "rabbitmq", []string{
				"in " + managed + " 5671", "in " + queue + " 25672", "in " + queue + " 4369", "in rabbitmq-system/ 15671",
				"out " + queue + " 25672", "out " + queue + " 4369", "out anywhere 443", "out anywhere 6443",
			},
		},
		"QueueAlone": {
			"It has no members to speak to.", "{size: development}", watched, "rabbitmq", []string{
				"in " + managed + " 5671", "in prom/ 15691", "in rabbitmq-system/ 15671", "out anywhere 8443",
			},
		},
		"Store": {
			"Sentinels and members speak to each other.", "{}", bare, "valkey", []string{
				"in " + managed + " 26379", "in " + managed + " 6379", "in instance=valkey,name=valkey 26379", "in instance=valkey,name=valkey 6379",
				"out instance=valkey,name=valkey 26379", "out instance=valkey,name=valkey 6379",
			},
		},
		"Challenge": {
			"An authority asks by http.", "{global: {exposure: {type: Ingress, ingressController: haproxy.org, allowedNamespaces: [ingress]}, tls: {issuerRef: {name: acme}}}}", bare,
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

// TestPoliciesOfWhatRuns: what is off has no policy.
func TestPoliciesOfWhatRuns(t *testing.T) {
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
