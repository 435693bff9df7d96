// Package reviewed lists the manually written rules of the chart's roles, with their reasons.
package reviewed

// A Rule is a rule of a role in a template of the chart.
type Rule struct {
	// Reason is the purpose of the rule.
	Reason string
	// Role is its name without the prefix cobaltcore.
	Role string
	// Groups, Resources and Verbs are written as in the template, separated by commas.
	Groups, Resources string
	// Names are the resource names to which the rule is limited; "values" are from the chart's values.
	Names string
	Verbs string
}

// Rules are all of these rules.
var Rules = []Rule{
	{"A companion here reads cordoned Nodes of a pool with evictOnCordon.", "nodes", `""`, "nodes", "", "get"},
	{"A companion in another cluster does the same there.", "nodes", `""`, "nodes", "", "get"},
	{"It is bound in the namespaces of tenants, for Secrets that claims name.", "tenant-secrets", `""`, "secrets", "", "get"},
	{"It keeps a copy of all Nodes and Pods.", "labels-injector", `""`, "nodes, pods", "", "get, list, watch"},
	{"It labels pods of its pool.", "labels-injector-pods", `""`, "pods", "", "patch"},
	{"It follows which nodes there are.", "hypervisor-operator", `""`, "nodes", "", "get, list, watch"},
	{"Its cache starts only if it can read them.", "hypervisor-operator", "apps", "deployments", "", "get, list, watch"},
	{"Its cache starts only if it can read them.", "hypervisor-operator", "policy", "poddisruptionbudgets", "", "get, list, watch"},
	{"It waits for certificates of nodes.", "hypervisor-operator", "cert-manager.io", "certificates", "", "get, list, watch"},
	{
		"It makes one of each node, and none goes by it.", "hypervisor-operator",
		"kvm.cloud.sap", "hypervisors", "", "get, list, watch, create, update, patch",
	},
	{
		"It makes and removes them.", "hypervisor-operator",
		"kvm.cloud.sap", "evictions", "", "get, list, watch, create, update, patch, delete",
	},
	{"It reports.", "hypervisor-operator", "kvm.cloud.sap", "hypervisors/status, evictions/status", "", "get, update, patch"},
	{"It completes evictions before their deletion.", "hypervisor-operator", "kvm.cloud.sap", "evictions/finalizers", "", "update"},
	{
		"It orders certificates of nodes in its namespace.", "hypervisor-operator-namespace",
		"cert-manager.io", "certificates", "", "create, update, patch",
	},
	{"One of its pods leads.", "hypervisor-operator-namespace", "coordination.k8s.io", "leases", "", "get, create, update, patch"},
	{"It writes Events.", "hypervisor-operator-namespace", `""`, "events", "", "create, patch"},
	{"It reads the Hypervisor of its node.", "kvm-node-agent", "kvm.cloud.sap", "hypervisors", "values", "get, list, watch"},
	{"It reports to the Hypervisor of its node.", "kvm-node-agent", "kvm.cloud.sap", "hypervisors/status", "values", "patch"},
	{"It reads the certificate of its node.", "kvm-node-agent", `""`, "secrets", "values", "get, list, watch"},
	{
		"They order the recovery of the servers of failed nodes. It is not bound by the chart.", "hypervisor-recovery",
		"openstack.c5c3.io", "hypervisorrecoveries", "", "get, list, watch, create, update, patch, delete",
	},
	{
		"They order the maintenance of nodes. It is not bound by the chart.", "node-maintenance",
		"openstack.c5c3.io", "nodemaintenances", "", "get, list, watch, create, update, patch, delete",
	},
	{"It makes an OVSNode of each node.", "ovs-agent", "ovs.c5c3.io", "ovsnodes", "", "get, list, watch, create, update, patch"},
	{"It reports.", "ovs-agent", "ovs.c5c3.io", "ovsnodes/status", "", "get, update, patch"},
	{
		"It requests a certificate in the name of its node. Without an approval, a request has no effect.", "node-certificates",
		"certificates.k8s.io", "certificatesigningrequests", "", "create, get",
	},
	{
		"It finds requests of pods on nodes, which contain no secrets.", "node-signer", "certificates.k8s.io", "certificatesigningrequests", "",
		"list",
	},
	{
		"It answers requests of nodes. The policy cobaltcore-node-signers restricts it to its pools, and Kubernetes to these signers.",
		"node-signer", "certificates.k8s.io", "certificatesigningrequests/approval, certificatesigningrequests/status", "", "update",
	},
	{
		"It signs certificates of nodes. The policy cobaltcore-node-signers restricts it to its pools.", "node-signer",
		"certificates.k8s.io", "signers", "nodes.c5c3.io/*", "approve, sign",
	},
	{"It compares addresses in requests with addresses of Nodes.", "node-signer", `""`, "nodes", "", "list"},
	{
		"Who composes pools binds the roles of their agents.", "hypervisors", "rbac.authorization.k8s.io", "clusterroles",
		"hypervisor-operator hypervisor-operator-namespace kvm-node-agent labels-injector labels-injector-pods node-certificates node-signer " +
			"ovs-agent", "bind",
	},
	{
		"The platform enabled the webhook of a pool.", "hypervisors", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "",
		"get, list, watch, create, update, patch, delete",
	},
	{
		"A tenant's roles let people order claims.", "tenant",
		"{{ .group }}", `{{ join ", " .resources }}`, "", "get, list, watch, create, update, patch, delete",
	},
	{"People look at claims.", "viewer", "{{ .group }}", `{{ join ", " .resources }}`, "", "get, list, watch"},
	{"The result of the preparation of disks is a ConfigMap.", "rook-osd", `""`, "configmaps", "", "get, create, update"},
	{"The manager labels the one that is active.", "rook-mgr", `""`, "pods", "", "get, list, watch, update"},
	{"Its Services follow the one that is active.", "rook-mgr", `""`, "services", "", "get, list, watch, create, update, delete"},
	{"It reads its configuration.", "rook-mgr", "ceph.rook.io", "cephclusters", "", "get, list, watch"},
	{"A version is reported in a ConfigMap.", "rook-cmd-reporter", `""`, "configmaps", "", "get, create, update"},
	{"The node has the location of a disk.", "rook-nodes", `""`, "nodes", "", "get, list"},
	{
		"Who composes Ceph binds the roles of its daemons.", "storage", "rbac.authorization.k8s.io", "clusterroles",
		"rook-cmd-reporter rook-mgr rook-nodes rook-osd", "bind",
	},
}

// Holders are the accounts to which the roles are bound, by role, including the roles with generated rules.
var Holders = map[string]string{
	"companion":                     "Crossplane and provider-kubernetes",
	"compose":                       "Crossplane",
	"hypervisor-operator":           "hypervisor operator of a pool",
	"hypervisor-operator-namespace": "hypervisor operator of a pool",
	"hypervisor-recovery":           "people and lifecycle tools of the platform",
	"hypervisors":                   "Crossplane and provider-kubernetes",
	"kvm-node-agent":                "KVM node agent of a pool",
	"labels-injector":               "labels injector of a pool",
	"labels-injector-pods":          "labels injector of a pool",
	"node-certificates":             "`node-identity` of a pool",
	"node-maintenance":              "people and lifecycle tools of the platform",
	"node-signer":                   "companion",
	"nodes":                         "companion",
	"objects":                       "provider-kubernetes",
	"ovs-agent":                     "OVS agent of a pool",
	"rook-cmd-reporter":             "`rook-ceph-cmd-reporter` of a Ceph cluster",
	"rook-mgr":                      "`rook-ceph-mgr` of a Ceph cluster",
	"rook-nodes":                    "`rook-ceph-osd` of a Ceph cluster",
	"rook-osd":                      "`rook-ceph-osd` of a Ceph cluster",
	"storage":                       "provider-kubernetes",
	"tenant":                        "people: tenants",
	"tenant-secrets":                "Crossplane",
	"viewer":                        "people: viewers",
	"workload":                      "provider-kubernetes, in another cluster",
}
