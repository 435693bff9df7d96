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

// ovnFolder is where pods have the certificate that they show to OVN's databases.
const ovnFolder = "ovn"

// clientSecret holds it: one that is made, or that somebody gave.
func (m *model) clientSecret() string {
	if m.usesExternalOVN() {
		return string(m.spec.OVN.ClientSecretRef.Name)
	}
	return m.Sub("ovn-tls")
}

// usesExternalOVN says that OVN's databases are somebody else's.
func (m *model) usesExternalOVN() bool { return m.hasOVN() && m.spec.OVN.ClientSecretRef != nil }

// certified says that a certificate for them is made.
func (m *model) certified() bool { return m.hasOVN() && !m.usesExternalOVN() }

// clientCertificate is of OVN's own authority: who has one of it may write.
func clientCertificate(m *model) ([]compose.Stage, error) {
	return service.SingleObjectComponent("ovn-client-certificate", certificate.Server(m.Meta(m.clientSecret()), *m.spec.OVN.IssuerRef, m.InternalHost())), nil
}

// jobs lets the check before an upgrade ask OVN what it has.
func jobs(m *model) ([]compose.Stage, error) {
	pods := metav1.LabelSelector{MatchLabels: m.JobWorkload().Selector()}
	reach := workload.NetworkPolicy(m.Meta(m.Sub("jobs")), pods, nil, []workload.Flow{m.databases()})
	return service.SingleObjectComponent("jobs-network-policy", reach), nil
}

// A member is where a server of a database is reached.
type member struct {
	host string
	port int32
}

// memberOf is the first of the members that a field names: ssl:host:port,….
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

// databases are where those of OVN are reached.
func (m *model) databases() workload.Flow {
	return workload.Flow{Ports: []int32{m.north.port, m.south.port}, Blocks: service.Strings(m.spec.OVN.Networks)}
}

// hasOVN says that networks are made by OVN, and not by agents.
func (m *model) hasOVN() bool { return m.spec.Mechanism != neutronv1.ByOVS }

// hasAgents says that agents on nodes talk to it.
func (m *model) hasAgents() bool { return network.UsesAgents(m.spec.Mechanism, m.spec.Networks) }

// checkMechanism refuses what does not go with what makes the networks, for callers that do not go through an API server, and finds OVN's
// databases.
func (m *model) checkMechanism() error {
	var errs []error
	switch s := m.spec; {
	case m.hasOVN() != (s.OVN != nil) || m.hasOVN() != (s.Maintenance != nil) || m.hasAgents() != (s.RPC != nil):
		return invalid.Field("spec.mechanism", "with OVN say ovn and maintenance, and with OVS or ml2.sriov rpc")
	case m.hasOVN() && (s.OVN.IssuerRef == nil) == (s.OVN.ClientSecretRef == nil):
		return invalid.Field("spec.ovn.issuerRef", "say issuerRef, or clientSecretRef for databases of somebody else")
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

// agentWorkers is how many processes of each pod answer agents, besides one for what they report. The API has none of them, but has to know
// that there are: without, it tells agents nothing (neutron.plugins.ml2.plugin.Ml2Plugin._start_rpc_notifiers).
const agentWorkers = 2

// mechanism are the options by which what makes the networks is reached.
func (m *model) mechanism() oslo.Config {
	called := oslo.Config{"DEFAULT": {"rpc_workers": 0, "rpc_state_report_workers": 0}}
	if m.hasAgents() {
		called = oslo.Config{"DEFAULT": {"rpc_workers": agentWorkers, "rpc_state_report_workers": 1}}
	}
	if !m.hasOVN() {
		return called
	}
	file := func(name string) string { return m.Path(ovnFolder, name) }
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
