package wiring_test

import (
	"slices"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// TestDescribe checks that the described model matches the emitted objects.
func TestDescribe(t *testing.T) {
	full := example(t, "services.yaml")
	hop := func(from, to string, port int, issuer string) func(wiring.Description) bool {
		return func(d wiring.Description) bool {
			return slices.ContainsFunc(d.Hops, func(h wiring.Connection) bool {
				return h.From.String() == from && h.To.String() == to && h.Port == port && h.Issuer == issuer && len(h.Trusts) > 0
			})
		}
	}
	reads := func(secret, reader string, pods bool) func(wiring.Description) bool {
		return func(d wiring.Description) bool {
			return slices.ContainsFunc(d.Secrets, func(s wiring.Secret) bool {
				return s.Name == secret && slices.ContainsFunc(s.Readers, func(r wiring.Reader) bool { return r.String() == reader && r.Pods == pods })
			})
		}
	}
	for name, tc := range map[string]struct {
		reason    string
		described func(wiring.Description) bool
		// breaks removes the described fact.
		breaks breaking
	}{
		"Verified": {
			"A pod has the authority of its server.", hop("StatefulSet nova-scheduler", "Deployment keystone", 5000, "internal-ca"),
			with("Certificate", "keystone-tls", "other", "spec", "issuerRef", "name"),
		},
		"ByObject": {
			"The companion has it by its objects.", hop("Deployment companion", "StatefulSet ovn-northbound", 6641, "ovn-ca"),
			deleted("RaftCluster", "ovn-northbound"),
		},
		"ByPods": {
			"Pods read a password.", reads("nova-metadata-secret", "Deployment nova-metadata", true), deleted("Deployment", "nova-metadata"),
		},
		"ByOwner": {"An operator reads one for its object.", reads("mariadb-root", "MariaDB mariadb", false), deleted("MariaDB", "mariadb")},
		"Copied": {
			"A tenant's Secret is copied.", reads("ceph-volumes", "ExternalSecret tenant-ceph-volumes", false), deleted("ExternalSecret", "tenant-ceph-volumes"),
		},
		"Vhost": {
			"A process uses a virtual host.", func(d wiring.Description) bool {
				return slices.ContainsFunc(d.Uses, func(u wiring.Login) bool {
					return u.CreatedBy.String() == "StatefulSet nova-cell1-conductor" && u.Queue && u.Name == "nova_cell1" && u.Secret == "nova-cell1-queue"
				})
			}, deleted("StatefulSet", "nova-cell1-conductor"),
		},
		"SecretOfPod": {
			"Pods have a secret value, and the certificate of an authority is none.", func(d wiring.Description) bool {
				return slices.ContainsFunc(d.Workloads, func(w wiring.Workload) bool {
					return w.Of.Name == "placement" && w.Of.Kind == "Deployment" && slices.Contains(w.Secrets, "placement-cache") &&
						!slices.Contains(w.Secrets, "keystone-tls")
				})
			}, deleted("Deployment", "placement"),
		},
		"Account": {
			"The companion has a token of Kubernetes.", func(d wiring.Description) bool {
				return slices.ContainsFunc(d.Workloads, func(w wiring.Workload) bool { return w.Of.Name == "companion" && w.Account == "companion" })
			}, with("Deployment", "companion", false, "spec", "template", "spec", "automountServiceAccountToken"),
		},
		"MadeOf": {
			"A clouds.yaml is made of the values in it, and not of the objects that it only waits for.", func(d wiring.Description) bool {
				return slices.ContainsFunc(d.Secrets, func(s wiring.Secret) bool {
					return s.Name == "glance-clouds" && s.Maker.Kind == "SecretAggregate" && len(s.From) == 2
				})
			}, deleted("SecretAggregate", "glance-clouds"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !tc.described(wiring.Describe(full)) {
				t.Errorf("%s Not described.", tc.reason)
			}
			broken := copied(t, full)
			tc.breaks(t, &broken)
			if tc.described(wiring.Describe(broken)) {
				t.Errorf("%s Also described for a cloud without it.", tc.reason)
			}
		})
	}
}
