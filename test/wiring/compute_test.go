package wiring_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// egress returns the path of an egress rule of a policy: the first rule is for DNS.
func egress(rule int) []any { return []any{"spec", "egress", rule} }

// TestEachNovaFaultIsReported checks that each fault is found in a cloud with a message queue, daemons and hypervisors.
func TestEachNovaFaultIsReported(t *testing.T) {
	full := example(t, "services.yaml")
	if found := wiring.Check(full); len(found) > 0 {
		t.Fatalf("an example has findings: %q", found)
	}
	open := []any{map[string]any{"ports": []any{map[string]any{"port": 8775.0, "protocol": "TCP"}}}}
	faults := map[string]struct {
		reason string
		breaks breaking
		want   string
	}{
		"HealthShowsRequests": {
			"The headers of requests have tokens.", replace("ConfigMap", "placement-config", "health-address = ", "stats = "),
			"has a probe without TLS at a port with TLS",
		},
		"HealthWithoutScript": {
			"No process serves the probes.", replace("ConfigMap", "placement-config", "mule = /etc/placement/health.py", "mule = true"),
			"has a probe without TLS at a port with TLS",
		},
		"MetadataForEverybody": {
			"Any client could use the port.", with("NetworkPolicy", "nova-metadata", open, "spec", "ingress"),
			"opens port 8775 of Deployment nova-metadata to everything; only [] needs it",
		},
		"MetadataForNobody": {
			"Virtual machines start without keys.", without("NetworkPolicy", "nova-metadata", "spec", "ingress"),
			"No policy of Deployment nova-metadata lets through outside: hypervisors to port 8775",
		},
		"MetadataForOthers": {
			"The network has no hypervisor.", replace("NetworkPolicy", "nova-metadata", "10.20.0.0/16", "10.0.0.0/8"),
			"lets network 10.0.0.0/8 to port 8775 of Deployment nova-metadata, which nothing in it needs",
		},
		"ConsolesWithoutScreens": {
			"Half of the range is missing.", replace("NetworkPolicy", "nova-cell1-vnc", "6442", "6400"),
			"No policy of Deployment nova-cell1-vnc lets through Deployment nova-cell1-vnc to port 6442 of outside: hypervisors",
		},
		"ConsolesToEverything": {
			"A proxy is a way into other networks.", without("NetworkPolicy", "nova-cell1-vnc", below(egress(2), "to")...),
			"lets Deployment nova-cell1-vnc out to port 5900 of everything, which nothing needs",
		},
		"ConsolesToOthers": {
			"The same.", replace("NetworkPolicy", "nova-cell1-vnc", "10.20.0.0/16", "10.21.0.0/16"),
			"NetworkPolicy nova-cell1-vnc allows egress to network 10.21.0.0/16, which is not named by the claim or the platform",
		},
		"NoPlacement": {
			"Nothing is placed.", replace("NetworkPolicy", "nova-scheduler", "8778", "8777"),
			"No policy of StatefulSet nova-scheduler lets through StatefulSet nova-scheduler to port 8778 of Deployment placement",
		},
		"ImagesForTheScheduler": {
			"It has no business with images.", replace("NetworkPolicy", "nova-scheduler", "9696", "9292"),
			"Policies let through StatefulSet nova-scheduler to port 9292 of StatefulSet glance, which nothing needs",
		},
		"CheckWithoutKeystone": {
			"No release would be upgraded.", replace("NetworkPolicy", "nova-jobs", "5000", "5001"),
			"No policy of DatabaseSync nova-api lets through DatabaseSync nova-api to port 5000 of Deployment keystone",
		},
		"QueueForJobs": {
			"They send no messages.", replace("NetworkPolicy", "nova-jobs", "8776", "5671"),
			"Policies let through DatabaseSync nova-api to port 5671 of RabbitmqCluster rabbitmq, which nothing needs",
		},
		"QueueNotReached": {
			"It forwards requests to the hypervisors of every cell.", replace("NetworkPolicy", "nova-conductor", "5671", "5672"),
			"lets through StatefulSet nova-conductor to port 5671 of RabbitmqCluster rabbitmq",
		},
		"CompanionWithoutNova": {
			"It would count no process.", replace("NetworkPolicy", "companion", "8774", "8773"),
			"No policy of Deployment companion lets through Deployment companion to port 8774 of Deployment nova",
		},
		"DaemonForEver": {
			"It would hang for ever.", without("StatefulSet", "nova-conductor", below(container, "livenessProbe")...),
			"StatefulSet nova-conductor: container nova has no liveness probe",
		},
		"UserNobodyMakes": {
			"The queue would not let it in.", deleted("CredentialRotation", "nova-cell1-queue"),
			"container nova logs in to rabbitmq with Secret nova-cell1-queue, for which no user is created there",
		},
		"PasswordOfAnotherUser": {
			"The same.", replace("StatefulSet", "nova-cell1-conductor", `"key":"password","name":"nova-cell1-queue"`, `"key":"password","name":"nova-queue"`),
			"container nova logs in to rabbitmq as $(QUEUE_USERNAME) with Secret nova-queue, which belongs to another user",
		},
		"NoPermission": {
			"Its own user could do nothing.", replace("CredentialRotation", "nova-cell1-queue", `"vhost":"nova_cell1"`, `"vhost":"nova"`),
			"container nova uses virtual host nova_cell1 of rabbitmq with Secret nova-cell1-queue, for which there is no Vhost or no permission",
		},
		"NovaMayNotReadOfTheCell": {
			"Nova could not reach the cell.", replace("CredentialRotation", "nova-queue", `"vhost":"nova_cell1"`, `"vhost":"nova"`),
			"container nova uses virtual host nova_cell1 of rabbitmq with Secret nova-queue, for which there is no Vhost or no permission",
		},
		"VhostOfAnotherName": {
			"It would wait for ever.", with("Vhost", "nova-cell1", "cell1", "spec", "name"),
			"container nova uses virtual host nova_cell1 of rabbitmq with Secret nova-cell1-queue, for which there is no Vhost or no permission",
		},
		"QueuesThatAreLost": {
			"With the member that they are on.", with("Vhost", "nova", "classic", "spec", "defaultQueueType"),
			"Vhost nova does not request queues that outlive the loss of a member",
		},
	}
	for _, name := range sampled(faults) {
		tc := faults[name]
		t.Run(name, func(t *testing.T) {
			c := copied(t, full)
			tc.breaks(t, &c)
			found := wiring.Check(c)
			if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, tc.want) }) {
				t.Errorf("%s Found %d mistakes, want %q:\n%s", tc.reason, len(found), tc.want, strings.Join(found, "\n"))
			}
		})
	}
}

// TestEachCellFaultIsReported checks that Jobs that read every cell can reach cells with a separate database, whose address is in no
// pod but only in Nova's records of its cells.
func TestEachCellFaultIsReported(t *testing.T) {
	full := exampleAt(t, "nova/servers.yaml")
	if found := wiring.Check(full); len(found) > 0 {
		t.Fatalf("an example has findings: %q", found)
	}
	const server = "MariaDB mariadb-cell-far"
	for name, tc := range map[string]struct {
		reason string
		breaks breaking
		want   []string
	}{
		"NoPolicy": {
			"Every upgrade is refused, and nothing is archived.", deleted("NetworkPolicy", "nova-cell-databases"), []string{
				"No policy of DatabaseSync nova-api lets through DatabaseSync nova-api to port 3306 of " + server,
				"No policy of CronJob nova-archive lets through CronJob nova-archive to port 3306 of " + server,
			},
		},
		"NoArchive": {
			"Deleted records stay for ever.", replace("NetworkPolicy", "nova-cell-databases", `"archive"`, `"archives"`),
			[]string{"No policy of CronJob nova-archive lets through CronJob nova-archive to port 3306 of " + server},
		},
		"OtherJobs": {
			"The Job for cell0's schema reads no cell.", replace("NetworkPolicy", "nova-cell-databases", `"archive"`, `"archive","schema"`),
			[]string{"Policies let through DatabaseSync nova-cell0 to port 3306 of " + server + ", which nothing needs"},
		},
		"Conductor": {
			"It writes into the cell.", with("NetworkPolicy", "nova-conductor", 3307, below(egress(1), "ports", 0, "port")...),
			[]string{"No policy of StatefulSet nova-conductor lets through StatefulSet nova-conductor to port 3306 of " + server},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := copied(t, full)
			tc.breaks(t, &c)
			found := wiring.Check(c)
			for _, want := range tc.want {
				if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, want) }) {
					t.Errorf("%s Found %d mistakes, want %q:\n%s", tc.reason, len(found), want, strings.Join(found, "\n"))
				}
			}
		})
	}
}

// TestRemoteCredentialsRequireRotation checks that credentials of remote consumers are rotated here.
func TestRemoteCredentialsRequireRotation(t *testing.T) {
	full := example(t, "services.yaml")
	i := slices.IndexFunc(full.Objects, func(o wiring.Object) bool {
		return o.Manifest["kind"] == "CredentialRotation" && o.Manifest["metadata"].(fields)["name"] == "nova-cell1-queue"
	})
	namespace := full.Objects[i].Manifest["metadata"].(fields)["namespace"]
	for secret, want := range map[string]bool{"nova-cell1-queue": false, "nova-credential": false, "nova-metadata-secret": true} {
		c := copied(t, full)
		c.Objects = append(c.Objects, wiring.Object{Manifest: fields{
			"apiVersion": "c5c3.io/v1alpha1", "kind": "RemoteConsumer", "metadata": fields{"namespace": namespace, "name": "pool"},
			"spec": fields{"credentials": []any{fields{"secretName": secret}}},
		}})
		message := "uses Secret " + secret + ", whose credential no CredentialRotation there replaces"
		found := wiring.Check(c)
		if got := slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, message) }); got != want {
			t.Errorf("%s: found %t, want %t:\n%s", secret, got, want, strings.Join(found, "\n"))
		}
	}
}

// TestMissingExemptionIsReported checks that a user of a service without exemption from the rules for people is found.
func TestMissingExemptionIsReported(t *testing.T) {
	full := example(t, "services.yaml")
	for name, breaks := range map[string]breaking{
		"glance":            without("RoleAssignment", "glance-service", "spec", "exemptUser"),
		"nova":              deleted("RoleAssignment", "nova-service"),
		"heat-domain-admin": with("RoleAssignment", "heat-domain-admin", false, "spec", "exemptUser"),
	} {
		c := copied(t, full)
		breaks(t, &c)
		if name == "nova" { // It has two roles.
			without("RoleAssignment", "nova-admin", "spec", "exemptUser")(t, &c)
		}
		want := "User " + name + " is subject to lockout"
		if found := wiring.Check(c); !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("want %q, found:\n%s", want, strings.Join(found, "\n"))
		}
	}
}

// TestNoTrafficWithoutHypervisorNetworks checks that without networks of hypervisors no traffic to or from hypervisors is allowed, and that
// none is required.
func TestNoTrafficWithoutHypervisorNetworks(t *testing.T) {
	full := example(t, "services.yaml")
	services := full.Given[0]["spec"].(fields)["services"].(fields)["nova"].(fields)
	delete(services, "hypervisorNetworks")
	found := wiring.Check(full)
	for _, want := range []string{
		"NetworkPolicy nova-cell1-vnc allows egress to network 10.20.0.0/16, which is not named by the claim or the platform",
		"lets network 10.20.0.0/16 to port 8775 of Deployment nova-metadata, which nothing in it needs",
	} {
		if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("want %q, found:\n%s", want, strings.Join(found, "\n"))
		}
	}
}
