package neutron

import (
	"errors"
	"net"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	neutronv1 "github.com/c5c3/crossplane-cobaltcore/apis/neutron/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/network"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// ovnFolder is the folder of the client certificate for OVN's databases in pods.
const ovnFolder = "ovn"

// clientSecret returns the Secret of that certificate: a generated one, or one that the spec references.
func (m *model) clientSecret() string {
	if m.usesExternalOVN() {
		return string(m.spec.OVN.ClientSecretRef.Name)
	}
	return m.Sub("ovn-tls")
}

// usesExternalOVN reports whether OVN's databases are external.
func (m *model) usesExternalOVN() bool { return m.hasOVN() && m.spec.OVN.ClientSecretRef != nil }

// certified reports whether a client certificate is issued.
func (m *model) certified() bool { return m.hasOVN() && !m.usesExternalOVN() }

// clientCertificate is issued by OVN's own CA, whose certificates grant write access.
func clientCertificate(m *model) ([]compose.Stage, error) {
	return service.SingleObjectComponent("ovn-client-certificate", certificate.Server(m.Meta(m.clientSecret()), *m.spec.OVN.IssuerRef,
		m.InternalHost())), nil
}

// jobs allows egress of the upgrade check to OVN's databases.
func jobs(m *model) ([]compose.Stage, error) {
	pods := metav1.LabelSelector{MatchLabels: m.JobWorkload().Selector()}
	policy := workload.NetworkPolicy(m.Meta(m.Sub("jobs")), pods, nil, []workload.Flow{m.databases()})
	return service.SingleObjectComponent("jobs-network-policy", policy), nil
}

// A member is the address of a database server.
type member struct {
	host string
	port int32
}

// memberOf returns the first member of a list: ssl:host:port,….
func memberOf(field, addresses string) (member, error) {
	first, _, _ := strings.Cut(addresses, ",")
	address, encrypted := strings.CutPrefix(first, "ssl:")
	host, number, err := net.SplitHostPort(address)
	if err == nil && encrypted {
		var port int64
		if port, err = strconv.ParseInt(number, 10, 32); err == nil {
			return member{host, int32(port)}, nil
		}
	}
	return member{}, invalid.Field(field, "%q names no member of a database; write ssl:host:port, one for each member, with commas", addresses)
}

// databases returns egress to OVN's databases.
func (m *model) databases() workload.Flow {
	return workload.Flow{Ports: []int32{m.north.port, m.south.port}, Blocks: service.Strings(m.spec.OVN.Networks)}
}

// hasOVN reports whether OVN configures the networks instead of agents.
func (m *model) hasOVN() bool { return m.spec.Mechanism != neutronv1.ByOVS }

// hasAgents reports whether agents on nodes use this Neutron.
func (m *model) hasAgents() bool { return network.UsesAgents(m.spec.Mechanism, m.spec.Networks) }

// checkMechanism rejects settings that do not match the network mechanism, for callers that bypass the API server, and finds OVN's
// databases.
func (m *model) checkMechanism() error {
	var errs []error
	switch s := m.spec; {
	case m.hasOVN() != (s.OVN != nil) || m.hasOVN() != (s.Maintenance != nil) || m.hasAgents() != (s.RPC != nil):
		return invalid.Field("spec.mechanism", "ovn and maintenance are required with mechanism OVN; rpc is required with OVS or ml2.sriov")
	case m.hasOVN() && (s.OVN.IssuerRef == nil) == (s.OVN.ClientSecretRef == nil):
		return invalid.Field("spec.ovn.issuerRef", "set issuerRef, or clientSecretRef for external databases")
	case m.hasOVN():
		var north, south error
		m.north, north = memberOf("spec.ovn.northbound", s.OVN.Northbound)
		m.south, south = memberOf("spec.ovn.southbound", s.OVN.Southbound)
		errs = append(errs, north, south, service.CheckProcess("spec.maintenance", *s.Maintenance))
	}
	if m.hasAgents() {
		errs = append(errs, service.CheckProcess("spec.rpc", *m.spec.RPC))
	}
	return errors.Join(errs...)
}

// agentWorkers is the number of RPC workers of each pod, in addition to one for agents' reports. The API runs none of them, but must be
// configured with a nonzero number: otherwise it sends agents no notifications (neutron.plugins.ml2.plugin.Ml2Plugin._start_rpc_notifiers).
const agentWorkers = 2

// mechanism returns the options of the network mechanism.
func (m *model) mechanism() oslo.Config {
	called := oslo.Config{"DEFAULT": {"rpc_workers": 0, "rpc_state_report_workers": 0}}
	if m.hasAgents() {
		called = oslo.Config{"DEFAULT": {"rpc_workers": agentWorkers, "rpc_state_report_workers": 1}}
	}
	if !m.hasOVN() {
		return called
	}
	const millisecondsPerSecond = 1000
	file := func(name string) string { return m.Path(ovnFolder, name) }
	// Neutron's default is a minute.
	if probe := m.spec.OVN.InactivityProbeSeconds; probe > 0 {
		called = called.Merge(oslo.Config{"ovn": {"ovsdb_probe_interval": probe * millisecondsPerSecond}})
	}
	return called.Merge(oslo.Config{
		"ovn": {
			"ovn_nb_connection":    strings.Split(m.spec.OVN.Northbound, ","),
			"ovn_sb_connection":    strings.Split(m.spec.OVN.Southbound, ","),
			"ovn_nb_private_key":   file(certificate.KeyKey),
			"ovn_sb_private_key":   file(certificate.KeyKey),
			"ovn_nb_certificate":   file(certificate.CertKey),
			"ovn_sb_certificate":   file(certificate.CertKey),
			"ovn_nb_ca_cert":       file(certificate.CAKey),
			"ovn_sb_ca_cert":       file(certificate.CAKey),
			"ovn_metadata_enabled": true,
		},
	})
}
