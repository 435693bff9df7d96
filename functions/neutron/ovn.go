package neutron

import (
	"net"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// ovnFolder is where pods have the certificate that they show to OVN's databases.
const ovnFolder = "ovn"

// clientSecret holds it.
func (m *model) clientSecret() string { return m.Sub("ovn-tls") }

// clientCertificate is of OVN's own authority: who has one of it may write.
func clientCertificate(m *model) ([]compose.Stage, error) {
	return service.Single("ovn-client-certificate", certificate.Server(m.Meta(m.clientSecret()), m.spec.OVN.IssuerRef, m.InternalHost())), nil
}

// jobs lets the check before an upgrade ask OVN what it has.
func jobs(m *model) ([]compose.Stage, error) {
	pods := metav1.LabelSelector{MatchLabels: m.JobWorkload().Selector()}
	reach := workload.NetworkPolicy(m.Meta(m.Sub("jobs")), pods, nil, []workload.Flow{m.databases()})
	return service.Single("jobs-network-policy", reach), nil
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
	return workload.Flow{Ports: []int32{m.north.port, m.south.port}}
}
