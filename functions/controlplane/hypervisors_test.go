package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/volume"
)

// TestHypervisorAccess checks that pools get the addresses of each cell's queue, metadata and consoles, and the observed address of OVN.
func TestHypervisorAccess(t *testing.T) {
	const (
		provided = "{services: {placement: {enabled: true}, glance: {enabled: true, stores: [{name: a, file: {storageSize: 1Gi}}]}, "
		exposed  = "{domain: cloud.example.com, queueIssuer: queues, exposure: {type: Ingress, ingressController: nginx}, limits: [" +
			"{name: all, namespaces: ['*'], hypervisorNetworks: ['*'], nodeHosts: [nodes.example.com]}]}"
		outside = "https://keystone.cloud.tenant-a.cloud.example.com/v3"
	)
	queue := func(name string) common.Queue {
		return common.Queue{
			Broker: common.Broker{RabbitMQRef: common.LocalReference{Name: common.ObjectName(name)}}, Host: name + "." + instance + ".svc", Port: 5671,
			CASecretRef: common.SecretKeyReference{Name: "rabbitmq-tls", Key: "ca.crt"},
		}
	}
	if derived(t, "{}", bare).hypervisorAccess() != nil {
		t.Error("Nova is disabled, but there is access for hypervisors")
	}
	south := structOf(t, fields(t, "{status: {southbound: {endpoint: 'ssl:south:6642'}}}"))
	relay := structOf(t, fields(t, "{status: {southbound: {endpoint: 'ssl:south:6642'}, relay: {endpoint: 'ssl:relay:6642'}}}"))
	for name, tc := range map[string]struct {
		reason, spec, platform string
		observed               map[string]*structpb.Struct
		cells                  []controlplanev1.CellAccess
		networks               *controlplanev1.NetworkAccess
		volumes                []controlplanev1.VolumeAccess
		public                 common.URL
	}{
		"Inside": {
			reason: "Without exposure, addresses are inside the cluster. Neutron is disabled.",
			spec:   provided + "nova: {enabled: true}}, global: {exposure: {type: None}}}", platform: queued,
			cells: []controlplanev1.CellAccess{{
				Name: "cell1", Queue: queue("rabbitmq"), VirtualHost: "nova_cell1", QueueSecretRef: claim.LocalReference("nova-cell1-queue"),
				MetadataHost: "nova-metadata." + instance + ".svc", VNCURL: "https://nova-cell1-vnc." + instance + ".svc:6080/vnc_lite.html",
				VNCIssuerRef: &common.IssuerReference{Name: "nova-cell1-vnc-ca", Kind: "Issuer"},
			}},
		},
		"Volumes": {
			reason: "The users of disks in Ceph, and the name of the Secret with the key. Shares have no key.",
			spec: provided + "nova: {enabled: true, consoles: {graphical: None}, cells: [{name: b}]}, cinder: {enabled: true, backends: [" +
				"{name: ceph_a, rbd: {secretRef: {name: c}, user: volumes}}, {name: b, rbd: {secretRef: {name: c}, pool: more}}, " +
				"{name: archive, nfs: {shares: ['nfs.example.com:/volumes']}}]}}}",
			platform: exposed[:len(exposed)-3] + ", storageNetworks: ['*'], nfsServers: ['*']}]}", public: outside,
			cells: []controlplanev1.CellAccess{{
				Name: "b", Queue: queue("rabbitmq"), VirtualHost: "nova_b", QueueSecretRef: claim.LocalReference("nova-b-queue"),
				MetadataHost: "nova-metadata." + instance + ".svc",
			}},
			volumes: []controlplanev1.VolumeAccess{
				{
					Backend: "ceph_a", User: "volumes", SecretName: "cinder-volume-ceph-a", SecretUUID: volume.SecretUUID(instance, "cinder", "ceph_a"),
				},
				{Backend: "b", User: "cinder", SecretName: "cinder-volume-b", SecretUUID: volume.SecretUUID(instance, "cinder", "b")},
				{Backend: "archive"},
			},
		},
		"Exposed": {
			reason: "Each cell has its own consoles, serial consoles and metadata.",
			spec: provided + "nova: {enabled: true, metadata: {perCell: true}, consoles: {graphical: SPICE, serial: true}, " +
				"hypervisorNetworks: [10.0.0.0/24], cells: [{name: a}]}, neutron: {enabled: true}}}",
			platform: exposed, observed: map[string]*structpb.Struct{"ovn": south}, public: outside,
			cells: []controlplanev1.CellAccess{{
				Name: "a", Queue: queue("rabbitmq"), VirtualHost: "nova_a", QueueSecretRef: claim.LocalReference("nova-a-queue"),
				MetadataHost: "nova-a-metadata." + instance + ".svc",
				SPICEURL:     "https://console-a.cloud.tenant-a.cloud.example.com/spice_auto.html",
				SerialURL:    "wss://serial-a.cloud.tenant-a.cloud.example.com", HypervisorNetworks: []common.CIDR{"10.0.0.0/24"},
			}},
			networks: &controlplanev1.NetworkAccess{
				Mechanism: "OVN", Southbound: "ssl:south:6642", IssuerRef: &common.IssuerReference{Name: "ovn-ca", Kind: "Issuer"},
			},
		},
		"Relayed": {
			reason: "Nodes use relays if they exist.",
			spec: provided + "nova: {enabled: true, consoles: {graphical: None}, cells: [{name: b}]}, " +
				"neutron: {enabled: true, ovn: {relay: {}}}}}",
			platform: queued, observed: map[string]*structpb.Struct{"ovn": relay},
			cells: []controlplanev1.CellAccess{{
				Name: "b", Queue: queue("rabbitmq"), VirtualHost: "nova_b", QueueSecretRef: claim.LocalReference("nova-b-queue"),
				MetadataHost: "nova-metadata." + instance + ".svc",
			}},
			networks: &controlplanev1.NetworkAccess{
				Mechanism: "OVN", Southbound: "ssl:relay:6642", IssuerRef: &common.IssuerReference{Name: "ovn-ca", Kind: "Issuer"},
			},
		},
		"Outside": {
			reason: "Other clusters use the external addresses of the queue and the relays. A cell's own queue has none.",
			spec: provided + "nova: {enabled: true, consoles: {graphical: None}, cells: [{name: b}, {name: c, infrastructure: {rabbitmq: {}}}]}, " +
				"neutron: {enabled: true, ovn: {relay: {}, southbound: {exposure: {type: LoadBalancer}}}}}, " +
				"infrastructure: {rabbitmq: {exposure: {type: NodePort, nodes: nodes.example.com}}}}",
			platform: exposed, public: outside, observed: map[string]*structpb.Struct{
				"ovn": structOf(t, fields(t, "{status: {southbound: {endpoint: 'ssl:south:6642', externalEndpoint: 'ssl:192.0.2.1:6642'}, "+
					"relay: {endpoint: 'ssl:relay:6642', externalEndpoint: 'ssl:192.0.2.9:6642'}}}")),
				"messaging-external-service": structOf(t, fields(t, "{spec: {ports: [{port: 5671, nodePort: 30567}]}}")),
			},
			cells: []controlplanev1.CellAccess{
				{
					Name: "b", Queue: queue("rabbitmq"), VirtualHost: "nova_b", QueueSecretRef: claim.LocalReference("nova-b-queue"),
					MetadataHost: "nova-metadata." + instance + ".svc", ExternalQueue: &controlplanev1.ExternalAddress{Host: "nodes.example.com", Port: 30567},
				},
				{
					Name: "c", Queue: queue("rabbitmq-cell-c"), VirtualHost: "nova_c", QueueSecretRef: claim.LocalReference("nova-c-queue"),
					MetadataHost: "nova-metadata." + instance + ".svc",
				},
			},
			networks: &controlplanev1.NetworkAccess{
				Mechanism: "OVN", Southbound: "ssl:relay:6642", ExternalSouthbound: "ssl:192.0.2.9:6642",
				IssuerRef: &common.IssuerReference{Name: "ovn-ca", Kind: "Issuer"},
			},
		},
		"Cards": {
			reason: "With OVN there are agents for network cards, which have no tunnel settings.",
			spec: provided + "nova: {enabled: true, consoles: {graphical: None}, cells: [{name: b}]}, " +
				"neutron: {enabled: true, ml2: {physicalNetworks: [{name: physnet1}, {name: physnet2}], sriov: {}}}}}",
			platform: queued, observed: map[string]*structpb.Struct{
				"ovn": structOf(t, fields(t, "{status: {southbound: {endpoint: 'ssl:south:6642'}}}")),
			},
			cells: []controlplanev1.CellAccess{{
				Name: "b", Queue: queue("rabbitmq"), VirtualHost: "nova_b", QueueSecretRef: claim.LocalReference("nova-b-queue"),
				MetadataHost: "nova-metadata." + instance + ".svc",
			}},
			networks: &controlplanev1.NetworkAccess{
				Mechanism: "OVN", Southbound: "ssl:south:6642", IssuerRef: &common.IssuerReference{Name: "ovn-ca", Kind: "Issuer"},
				Agents: &controlplanev1.NetworkAgents{
					Queue: queue("rabbitmq"), VirtualHost: "neutron", QueueSecretRef: claim.LocalReference("neutron-queue"),
					SRIOVNetworks: []string{"physnet1", "physnet2"}, ServicePlugins: []string{"qos", "port_forwarding"},
				},
			},
		},
		"Agents": {
			reason: "Without OVN its address is unset: agents use Neutron's own virtual host and get the matching settings.",
			spec: provided + "nova: {enabled: true, consoles: {graphical: None}, cells: [{name: b}]}, " +
				"neutron: {enabled: true, mechanism: OVS, distributedFloatingIPs: true, dnsDomain: cloud.example.com., " +
				"servicePlugins: [router, qos], ml2: {typeDrivers: [geneve, vlan, vxlan]}}}}",
			platform: queued,
			cells: []controlplanev1.CellAccess{{
				Name: "b", Queue: queue("rabbitmq"), VirtualHost: "nova_b", QueueSecretRef: claim.LocalReference("nova-b-queue"),
				MetadataHost: "nova-metadata." + instance + ".svc",
			}},
			networks: &controlplanev1.NetworkAccess{Mechanism: "OVS", Agents: &controlplanev1.NetworkAgents{
				Queue: queue("rabbitmq"), VirtualHost: "neutron", QueueSecretRef: claim.LocalReference("neutron-queue"), Tunnels: []string{"geneve", "vxlan"},
				ServicePlugins: []string{"qos"}, Distributed: true, DNSDomain: "cloud.example.com.",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, tc.spec, tc.platform, tc.observed))
			if err != nil {
				t.Fatal(err)
			}
			want := &controlplanev1.HypervisorAccess{
				Region: "RegionOne", IdentityURL: common.URL("https://keystone." + instance + ".svc:5000/v3"),
				CASecretRef:         common.SecretKeyReference{Name: "keystone-tls", Key: "ca.crt"},
				CredentialSecretRef: claim.LocalReference("nova-credential"), MetadataSecretRef: claim.LocalReference("nova-metadata-secret"),
				Identity: new(m.IdentitySpec()), Cells: tc.cells, Networks: tc.networks, Volumes: tc.volumes, PublicIdentityURL: tc.public,
			}
			if diff := cmp.Diff(want, m.hypervisorAccess()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
