package rabbitmq

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/certificate"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Members connect to each other by Erlang's distribution: with TLS, a member accepts only certificates of an authority that signs nothing
// else, in both directions, and a member that connects verifies the name of the other one. The listener for clients has another
// certificate, because its authority signs for other programs, too (https://www.rabbitmq.com/docs/clustering-ssl).

// membersFolder is the folder of the certificate of the members.
const membersFolder = "/etc/rabbitmq-members"

// Options of Erlang's distribution (https://www.erlang.org/doc/apps/kernel/kernel_app.html, https://www.rabbitmq.com/docs/networking#ipv6).
const (
	distributionWithTLS        = "-proto_dist inet_tls"
	distributionWithIPv6       = "-proto_dist inet6_tcp"
	distributionWithIPv6AndTLS = "-proto_dist inet6_tls"
	// inetConfig names the file that the operator creates from erlangInetConfig.
	inetConfig = "-kernel inetrc '/etc/rabbitmq/erl_inetrc'"
)

// HasMemberTLS reports whether an envConfig of a RabbitmqCluster configures TLS between members.
func HasMemberTLS(envConfig string) bool {
	return strings.Contains(envConfig, distributionWithTLS) || strings.Contains(envConfig, distributionWithIPv6AndTLS)
}

// MemberFamily returns the address family that an envConfig of a RabbitmqCluster configures between members. Empty: IPv4.
func MemberFamily(envConfig string) common.IPFamily {
	if strings.Contains(envConfig, distributionWithIPv6) || strings.Contains(envConfig, distributionWithIPv6AndTLS) {
		return common.IPv6
	}
	return ""
}

func (c Cluster) memberObject(suffix string) object.Meta { return c.Meta(c.Name + "-members" + suffix) }

// MembersSelfSigned builds the issuer of the authority of the members.
func (c Cluster) MembersSelfSigned() *unstructured.Unstructured {
	return certificate.SelfSigned(c.memberObject("-self-signed"))
}

// MembersAuthority builds the authority of the members.
func (c Cluster) MembersAuthority() *unstructured.Unstructured {
	return certificate.Authority(c.memberObject("-ca"), c.memberObject("-self-signed").Name)
}

// MembersIssuer builds the issuer of the certificate of the members.
func (c Cluster) MembersIssuer() *unstructured.Unstructured {
	return certificate.CAIssuer(c.memberObject("-ca"), c.memberObject("-ca").Name)
}

// MembersCertificate builds the certificate that all members share. It contains each host name twice: members connect to the name in the
// name of the Erlang node, and replicas of streams to the short name (https://github.com/rabbitmq/osiris,
// osiris_replica:combine_ips_hosts).
func (c Cluster) MembersCertificate() *unstructured.Unstructured {
	issuer := common.IssuerReference{Name: common.ObjectName(c.memberObject("-ca").Name), Kind: "Issuer"}
	var hosts []string
	for i := range c.Replicas {
		host := fmt.Sprintf("%s-server-%d", c.Name, i)
		hosts = append(hosts, host, host+"."+c.Name+"-nodes."+c.Meta(c.Name).Namespace)
	}
	return certificate.Server(c.memberObject("-tls"), issuer, hosts...)
}

// envConfig returns the environment of members and of rabbitmqctl, which connects as another member. Each option has an argument of its
// own: the replication of streams uses the same options, and reads neither several in one argument nor a file with a function
// (osiris_util:replication_over_tls_configuration).
func (c Cluster) envConfig() string {
	var options []string
	switch ipv6 := c.IPFamily == common.IPv6; {
	case ipv6 && c.MemberTLS:
		options = append(options, distributionWithIPv6AndTLS)
	case ipv6:
		options = append(options, distributionWithIPv6)
	case c.MemberTLS:
		options = append(options, distributionWithTLS)
	default:
		return ""
	}
	if c.MemberTLS {
		for _, role := range []string{"server", "client"} {
			for _, option := range []string{
				"certfile " + membersFolder + "/" + certificate.CertKey, "keyfile " + membersFolder + "/" + certificate.KeyKey,
				"cacertfile " + membersFolder + "/" + certificate.CAKey, "verify verify_peer",
			} {
				options = append(options, "-ssl_dist_opt "+role+"_"+option)
			}
		}
		options = append(options, "-ssl_dist_opt server_fail_if_no_peer_cert true")
	}
	if c.IPFamily == common.IPv6 {
		// rabbitmqctl does not start with the file: its quotes are lost.
		return fmt.Sprintf("RABBITMQ_CTL_ERL_ARGS=%q\nSERVER_ADDITIONAL_ERL_ARGS=\"%s $RABBITMQ_CTL_ERL_ARGS\"\n",
			strings.Join(options, " "), inetConfig)
	}
	return fmt.Sprintf("SERVER_ADDITIONAL_ERL_ARGS=%q\nRABBITMQ_CTL_ERL_ARGS=\"$SERVER_ADDITIONAL_ERL_ARGS\"\n", strings.Join(options, " "))
}

// inetOptions returns the network configuration of members: Erlang resolves names to IPv6 addresses, and listeners without an address, such
// as those of the management API and of metrics, accept IPv6 (https://www.erlang.org/doc/apps/erts/inet_cfg.html).
func (c Cluster) inetOptions() string {
	if c.IPFamily != common.IPv6 {
		return ""
	}
	return "{inet6, true}.\n{tcp, inet6_tcp}.\n"
}

// streamOptions returns the options of the replication of streams, which reads neither the family nor the TLS options of inet6_tls
// (https://github.com/rabbitmq/osiris/blob/v1.8.8/src/osiris_util.erl, replication_over_tls_configuration).
func (c Cluster) streamOptions() string {
	if c.IPFamily != common.IPv6 {
		return ""
	}
	options := []string{"{replica_ip_address_family, inet6}"}
	if c.MemberTLS {
		certificates := fmt.Sprintf(`{certfile, "%[1]s/%[2]s"}, {keyfile, "%[1]s/%[3]s"}, {cacertfile, "%[1]s/%[4]s"}, {verify, verify_peer}`,
			membersFolder, certificate.CertKey, certificate.KeyKey, certificate.CAKey)
		options = append(options, "{replication_transport, ssl}",
			"{replication_server_ssl_options, ["+certificates+", {fail_if_no_peer_cert, true}]}",
			"{replication_client_ssl_options, ["+certificates+"]}")
	}
	return "[{osiris, [" + strings.Join(options, ",\n  ") + "]}].\n"
}

// podOverride returns the settings of pods for which the operator has no field.
func (c Cluster) podOverride() object.Map {
	out := object.Map{
		// The override requires a list of containers; an empty list changes none.
		"containers": object.List{}, "priorityClassName": workload.PriorityInfrastructure,
	}
	if !c.queriesKubernetes() {
		out["automountServiceAccountToken"] = false // The operator mounts the token of an account that reads Endpoints and creates Events.
	}
	if !c.MemberTLS {
		return out
	}
	const volume, readable = "members-tls", int64(0o440)
	out["containers"] = object.List{object.Map{
		"name": "rabbitmq", "volumeMounts": object.List{object.Map{"name": volume, "mountPath": membersFolder, "readOnly": true}},
	}}
	out["volumes"] = object.List{object.Map{
		"name": volume, "secret": object.Map{"secretName": c.memberObject("-tls").Name, "defaultMode": readable},
	}}
	// Replicas of streams connect to the host name of a pod, without a domain.
	out["dnsConfig"] = object.Map{"searches": object.List{
		fmt.Sprintf("%s-nodes.%s.svc.%s", c.Name, c.Meta(c.Name).Namespace, c.ClusterDomain),
	}}
	return out
}
