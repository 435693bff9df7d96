package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// purposes are the reasons for accounts, by section and key (account.key). Reasons for rules of the chart are with the rules.
//
// A user with the role admin has the reason for it, with the releases that require it.
var purposes = map[string]map[string]string{
	keystoneUsers: {
		"admin": "Keystone's bootstrap creates it. Role admin: the companion assigns roles and regions, and K-ORC manages users, projects and " +
			"the catalog, which only administrators can do in all releases.",
		"barbican": "Barbican validates tokens.",
		"cinder": "Cinder validates tokens, and reports volumes and snapshots to Nova. Role admin: Nova 2025.1 requires it; the companion " +
			"reads pools and services, in all releases.",
		"glance":            "Glance validates tokens, and identifies itself to Barbican as a service.",
		"heat":              "Heat validates tokens and signatures of servers. Owners of stacks delegate their roles to it.",
		"heat_domain_admin": "Creates users of stacks. Role admin: in the domain of stacks only, in all releases.",
		"neutron": "Neutron validates tokens, and reports ports to Nova and bandwidth to Placement. Role admin: Nova 2025.1 requires it for " +
			"events, and all releases for aggregates of routed networks.",
		"nova": "Nova validates tokens, and uses ports, volumes, images and allocations. Role admin: Cinder requires it for volumes of " +
			"other projects; the companion manages flavors and aggregates, and reads servers.",
		"placement": "Placement validates tokens.",
		"HYPERVISORS": "nova-compute of the pool uses allocations, ports and attachments, and identifies itself as a service. With TPMs in " +
			"2026.1 and later, role member: it stores passphrases in the project.",
	},
	applicationCredentials: { //nolint:gosec // names, not secrets
		"barbican-credential":    "Login of the API.",
		"cinder-credential":      "Login of all processes.",
		"glance-credential":      "Login of the API.",
		"heat-credential":        "Login of the APIs. Engines log in with the password: a credential cannot use trusts.",
		"keystone-korc":          "K-ORC manages users, projects, domains and the catalog.",
		"neutron-credential":     "Login of all processes.",
		"nova-credential":        "Login of all processes and cells.",
		"HYPERVISORS-credential": "Login of nova-compute on the nodes of the pool.",
		"placement-credential":   "Login of the API.",
	},
	databaseUsers: {
		"barbican":   "Data of Barbican.",
		"cinder":     "Data of Cinder.",
		"glance":     "Data of Glance.",
		"heat":       "Data of Heat.",
		"keystone":   "Data of Keystone.",
		"neutron":    "Data of Neutron.",
		"nova":       "Data of Nova's API and of its cells, which the API lists.",
		"nova_cell1": "Data of the cell.",
		"placement":  "Data of Placement.",
		"root":       "MariaDB's operator creates databases, users and backups.",
	},
	queueUsers: {
		"barbican-queue":   "Tasks for Barbican's workers.",
		"cinder-queue":     "Calls between Cinder's processes.",
		"default user":     "RabbitMQ's operators create virtual hosts, users and permissions.",
		"heat-queue":       "Calls between Heat's processes.",
		"neutron-queue":    "Calls between Neutron's processes, and to its agents.",
		"nova-cell1-queue": "Calls in the cell. Nodes have it, and with it the calls of other nodes of the cell.",
		"nova-queue":       "Calls between Nova's processes, and to all cells.",
	},
	cephUsers: {
		"cinder": "Volumes, and copies of images and of disks of servers.",
		"glance": "Images.",
		"nova":   "Disks of servers, attached volumes, and copies of images.",
	},
	clientCertificates: {
		"HYPERVISORS-disk-transfer-nodes": "A node copies disks to other nodes of the pool, and receives them by its names, when a server is " +
			"migrated.",
		"HYPERVISORS-live-migration-nodes": "A node migrates servers to other nodes of the pool, and receives them by its names. libvirt " +
			"gives all rights to each node of the pool.",
		"HYPERVISORS-qemu-nodes": "QEMU sends memory and disks of servers to other nodes of the pool, and receives them. libvirt does not " +
			"accept it from clients.",
		"HYPERVISORS-nodes":     "Each node reads flows, reports its chassis and binds ports. Its certificate has its name.",
		"HYPERVISORS-vnc":       "VNC servers on nodes of the pool. QEMU also accepts it from clients: a node opens consoles of its cell.",
		"neutron-ovn-tls":       "Neutron writes networks, and reads chassis.",
		"nova-cell1-vnc-client": "VNC proxies open consoles of servers in the cell.",
		"ovn-client-tls":        "The companion adds and removes members of the databases, and counts chassis.",
		"ovn-northbound-tls":    "Members of the database replicate to each other.",
		"ovn-northd-tls":        "northd reads networks and writes flows.",
		"ovn-southbound-tls":    "Members of the database replicate to each other.",
	},
	kubernetesAccounts: { //nolint:gosec // names, not secrets
		"get secrets, named":                                           "Copies the named Secrets to another namespace, by External Secrets.",
		"companion get secrets, named":                                 "Signs certificates of nodes with the authorities of a pool.",
		"get, list, watch " + ownKinds(openstackv1.GroupVersion, ""):   "Its own kinds.",
		"get, update " + ownKinds(openstackv1.GroupVersion, "/status"): "Reports.",
		"update nodemaintenances, roleassignments of openstack.c5c3.io": "The finalizers of a started maintenance and of an " +
			"assigned role.",
		"get domains, endpoints, groups, projects, roles, users of openstack.k-orc.cloud": "IDs of objects in " +
			"Keystone.",
		"get, list, watch " + ownKinds(c5c3v1.GroupVersion, ""):   "Its own kinds.",
		"get, update " + ownKinds(c5c3v1.GroupVersion, "/status"): "Reports.",
		"create secrets": "Keys, credentials and aggregates. The policy cobaltcore-companion-objects restricts the type.",
		"get configmaps": "Objects that a Job refers to must exist.",
		"get, list, create, delete pushsecrets, externalsecrets of external-secrets.io": "Backups of keys. The policy " +
			"cobaltcore-companion restricts the entries.",
		"get, list, watch, create, patch, delete jobs of batch": "Jobs of schemas, cells and comparisons. The policy " +
			"cobaltcore-companion-objects restricts Secrets and accounts.",
		"list pods":    "Pods with current keys and credentials; results of Jobs.",
		"get pods/log": "Output of Jobs.",
		"get, list, watch deployments, statefulsets, daemonsets of apps": "Rollouts for which contractions and rotations wait.",
		"get, create, update leases of coordination.k8s.io":              "One of its pods leads.",
		"create, patch events of events.k8s.io":                          "Events of its objects.",
		"get, list, watch secrets, named":                                "Secrets that its objects name.",
		"update secrets, named":                                          "Secrets that its objects create.",
		"patch deployments of apps, named": "Restarts for new keys and credentials. The policy " +
			"cobaltcore-companion-objects allows no other change.",
		"patch statefulsets of apps, named": "Restarts for new keys and credentials. The policy " +
			"cobaltcore-companion-objects allows no other change.",
		"list, create, update, delete ovnchassis of ovn.c5c3.io": "An object for each chassis.",
		"update ovnchassis/status of ovn.c5c3.io":                "Reports.",
		"list, create, update, delete users of rabbitmq.com":     "Users of the queue, which rotate.",
		"list, create, delete permissions of rabbitmq.com":       "Permissions of these users.",
		"list vhosts of rabbitmq.com":                            "A user waits for its virtual host.",
		"get daemonsets of apps, named":                          "Number of nodes of a pool.",
	},
}

// ownKinds returns the objects of a rule on all kinds of a group that the companion reconciles.
func ownKinds(version schema.GroupVersion, suffix string) string {
	return rule(strings.Join(c5c3.Reconciled(version, suffix), ", "), version.Group, false)
}
