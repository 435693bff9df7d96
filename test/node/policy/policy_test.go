package policy

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// api and database are pods of one namespace, of which only the first is selected by a policy; gateway and stranger
// belong to others.
var (
	api      = pod("cloud", "api", "10.0.0.1", labels.Set{"app": "api"})
	database = pod("cloud", "database", "10.0.0.2", labels.Set{"app": "database"})
	gateway  = pod("gateway", "proxy", "10.0.1.1", labels.Set{"app": "proxy"})
	stranger = pod("elsewhere", "job", "10.0.2.1", labels.Set{"app": "proxy"})
	node     = End{Address: netip.MustParseAddr("10.0.9.1"), Node: true}
	outside  = End{Address: netip.MustParseAddr("192.0.2.7")}
)

func pod(namespace, name, address string, l labels.Set) End {
	return End{Address: netip.MustParseAddr(address), Pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: l},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "https", ContainerPort: 5000}}}}},
	}}
}

func tcp(from, to End, port int32) Flow { return Flow{from, to, corev1.ProtocolTCP, port} }

// cluster returns a cluster with policies in the namespace cloud that select app=api, with given rules.
func cluster(t *testing.T, specs ...string) Cluster {
	t.Helper()
	c := Cluster{Namespaces: map[string]labels.Set{
		"cloud": {"name": "cloud"}, "gateway": {"name": "gateway", "gates": "yes"}, "elsewhere": {"name": "elsewhere"},
	}}
	for _, text := range specs {
		p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "cloud", Name: "api"}}
		if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
			t.Fatal(err)
		}
		c.Policies = append(c.Policies, p)
	}
	return c
}

func TestPoliciesAllowOrDenyFlows(t *testing.T) {
	const selects = "podSelector: {matchLabels: {app: api}}\n"
	cases := map[string]struct {
		reason   string
		policies []string
		flow     Flow
		want     string
	}{
		"NoPolicy": {"Without a policy everything arrives.", nil, tcp(stranger, api, 5000), ""},
		"Unselected": {
			"A policy is for the pods that it selects.", []string{selects + "policyTypes: [Ingress, Egress]"}, tcp(database, gateway, 1), "",
		},
		"NothingIn": {
			"A policy without rules lets nothing in.", []string{selects + "policyTypes: [Ingress]"}, tcp(database, api, 5000),
			"the policies of cloud/api let no TCP 5000 in from cloud/database",
		},
		"OtherDirection": {
			"A policy for ingress does not apply to egress.", []string{selects + "policyTypes: [Ingress]"}, tcp(api, database, 3306), "",
		},
		"NothingOut": {
			"A policy without rules lets nothing out.", []string{selects + "policyTypes: [Egress]"}, tcp(api, database, 3306),
			"the policies of cloud/api allow no egress by TCP 3306 to cloud/database",
		},
		"Node": {"The kubelet probes.", []string{selects + "policyTypes: [Ingress]"}, tcp(node, api, 5000), ""},
		"ToNode": {
			"An API server on the node is nothing special.", []string{selects + "policyTypes: [Egress]"}, tcp(api, node, 6443),
			"the policies of cloud/api allow no egress by TCP 6443 to the node",
		},
		"SamePods": {
			"A peer without a namespace is of the policy's own.",
			[]string{selects + "policyTypes: [Ingress]\ningress: [{from: [{podSelector: {}}], ports: [{port: 5000}]}]"}, tcp(database, api, 5000), "",
		},
		"OtherNamespace": {
			"And of no other.",
			[]string{selects + "policyTypes: [Ingress]\ningress: [{from: [{podSelector: {}}], ports: [{port: 5000}]}]"}, tcp(gateway, api, 5000),
			"the policies of cloud/api let no TCP 5000 in from gateway/proxy",
		},
		"NamespaceAndPod": {
			"Both have to fit.",
			[]string{selects + "policyTypes: [Ingress]\ningress: [{from: [{namespaceSelector: {matchLabels: {gates: 'yes'}}, podSelector: {matchLabels: {app: proxy}}}]}]"},
			tcp(gateway, api, 5000), "",
		},
		"NamespaceNot": {
			"A pod with matching labels in another namespace is no peer.",
			[]string{selects + "policyTypes: [Ingress]\ningress: [{from: [{namespaceSelector: {matchLabels: {gates: 'yes'}}, podSelector: {matchLabels: {app: proxy}}}]}]"},
			tcp(stranger, api, 5000), "the policies of cloud/api let no TCP 5000 in from elsewhere/job",
		},
		"OtherPort": {
			"A rule is for its ports.",
			[]string{selects + "policyTypes: [Ingress]\ningress: [{ports: [{port: 5000}]}]"}, tcp(gateway, api, 5001),
			"the policies of cloud/api let no TCP 5001 in from gateway/proxy",
		},
		"OtherProtocol": {
			"TCP is the default protocol.",
			[]string{selects + "policyTypes: [Egress]\negress: [{ports: [{port: 53}]}]"}, Flow{api, gateway, corev1.ProtocolUDP, 53},
			"the policies of cloud/api allow no egress by UDP 53 to gateway/proxy",
		},
		"EveryPort": {"A rule without ports is for all.", []string{selects + "policyTypes: [Ingress]\ningress: [{}]"}, tcp(outside, api, 7), ""},
		"NamedPort": {
			"A port name refers to the port of the destination pod.",
			[]string{selects + "policyTypes: [Ingress]\ningress: [{ports: [{port: https}]}]"}, tcp(gateway, api, 5000), "",
		},
		"PortRange": {
			"A range has its ends.",
			[]string{selects + "policyTypes: [Ingress]\ningress: [{ports: [{port: 4999, endPort: 5000}]}]"}, tcp(gateway, api, 5000), "",
		},
		"AfterRange": {
			"And nothing after them.",
			[]string{selects + "policyTypes: [Ingress]\ningress: [{ports: [{port: 4998, endPort: 4999}]}]"}, tcp(gateway, api, 5000),
			"the policies of cloud/api let no TCP 5000 in from gateway/proxy",
		},
		"SecondPolicy": {
			"Traffic that one policy does not allow, another may.",
			[]string{selects + "policyTypes: [Ingress]", selects + "policyTypes: [Ingress]\ningress: [{}]"}, tcp(gateway, api, 5000), "",
		},
		"Block": {
			"Address blocks are for peers that are no pods.",
			[]string{selects + "policyTypes: [Egress]\negress: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]"}, tcp(api, outside, 443), "",
		},
		"Except": {
			"Without the listed exceptions.",
			[]string{selects + "policyTypes: [Egress]\negress: [{to: [{ipBlock: {cidr: 192.0.2.0/24, except: [192.0.2.0/29]}}]}]"}, tcp(api, outside, 443),
			"the policies of cloud/api allow no egress by TCP 443 to 192.0.2.7",
		},
		"NoPod": {
			"A peer that is no pod has no labels.",
			[]string{selects + "policyTypes: [Egress]\negress: [{to: [{namespaceSelector: {}}]}]"}, tcp(api, outside, 443),
			"the policies of cloud/api allow no egress by TCP 443 to 192.0.2.7",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, cluster(t, tc.policies...).Denied(tc.flow)); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestNeeded checks that unused rules are reported, port by port; and that of two rules for the same traffic, neither
// is needed.
func TestNeeded(t *testing.T) {
	c := cluster(t, `podSelector: {matchLabels: {app: api}}
policyTypes: [Ingress, Egress]
ingress:
- {from: [{podSelector: {}}], ports: [{port: 5000}]}
- {from: [{namespaceSelector: {matchLabels: {gates: "yes"}}}], ports: [{port: https}]}
egress:
- {ports: [{port: 53, protocol: UDP}, {port: 53}]}
- {to: [{podSelector: {}}]}
- {to: [{podSelector: {matchLabels: {app: database}}}]}
`)
	flows := []Flow{tcp(gateway, api, 5000), {api, outside, corev1.ProtocolUDP, 53}, tcp(api, database, 3306), tcp(stranger, api, 9)}
	want := map[string]bool{
		"api Ingress 0 TCP 5000":  false,
		"api Ingress 1 TCP https": true,
		"api Egress 0 UDP 53":     true,
		"api Egress 0 TCP 53":     false,
		"api Egress 1 every port": false,
		"api Egress 2 every port": false,
	}
	if diff := cmp.Diff(want, c.Needed(flows)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestParseConntrack(t *testing.T) {
	text := strings.Join([]string{
		"ipv4     2 tcp      6 117 TIME_WAIT src=10.0.0.1 dst=10.96.0.9 sport=40112 dport=443 src=10.0.0.2 dst=10.0.0.1 sport=8443 dport=40112 [ASSURED] mark=0 use=1",
		"ipv4     2 udp      17 29 src=10.0.0.1 dst=10.96.0.10 sport=4011 dport=53 src=10.0.0.3 dst=10.0.0.1 sport=53 dport=4011 mark=0 use=1",
		"ipv4     2 tcp      6 60 SYN_SENT src=10.0.0.1 dst=10.0.0.4 sport=40113 dport=1 [UNREPLIED] src=10.0.0.4 dst=10.0.0.1 sport=1 dport=40113 mark=0 use=1",
		"ipv4     2 icmp     1 29 src=10.0.0.1 dst=10.0.0.2 type=8 code=0 id=1 src=10.0.0.2 dst=10.0.0.1 type=0 code=0 id=1 mark=0 use=1",
		"conntrack v1.4.7 (conntrack-tools): 4 flow entries have been shown.",
		"",
	}, "\n")
	want := []Connection{
		{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), corev1.ProtocolTCP, 8443},
		{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.3"), corev1.ProtocolUDP, 53},
	}
	if diff := cmp.Diff(want, ParseConntrack(text), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
