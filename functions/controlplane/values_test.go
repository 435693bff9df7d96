package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestValidatesClaimsAfterDefaults checks values of a claim after applying the defaults of its size and of the platform.
func TestValidatesClaimsAfterDefaults(t *testing.T) {
	const (
		s3      = "credentialsSecretRef: {name: s3}, endpoint: s3.example.com, bucket: abc"
		secrets = "caSecretRef: {name: q, key: a}, passwordSecretRef: {name: q, key: b}"
		exposed = "global: {exposure: {type: GatewayAPI, gateway: {namespace: a, name: b}}}, "
		none    = ": requires an exposure, and global.exposure of the claim and of the platform have none; set global.exposure, or remove the host name"
		unread  = ": has no effect with type None, which exposes nothing; remove it, or set another type"
		remedy  = "; set another location for one of them"
		ldap    = ", ldap: {url: 'ldaps://a', suffix: 'o=a', userTreeDN: 'o=a'}}"
		sso     = "provider: a, clientID: a, clientSecretRef: {name: a, key: b}, metadataURL: 'https://a', issuer: 'https://a'"
		nova    = "placement: {enabled: true}, nova: {enabled: true, "
	)
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"sizes of the smallest": {reason: "The defaults of each size are sufficient.", spec: "{size: development, services: {" + nova + "}}}"},
		"nothing exposed": {
			"Neither addresses nor networks of an exposure of type None are read.",
			"{infrastructure: {rabbitmq: {exposure: {type: None, networks: [10.0.0.0/8]}}}, " +
				"services: {neutron: {enabled: true, ovn: {southbound: {exposure: {type: None, annotations: {a: b}}}}}}}",
			"spec.services.neutron.ovn.southbound.exposure.annotations" + unread +
				"\nspec.infrastructure.rabbitmq.exposure.networks" + unread,
		},
		"no exposure": {reason: "The platform's is not used.", spec: "{global: {exposure: {type: None}}, infrastructure: {rabbitmq: {exposure: {type: None}}}}"},
		"request of a queue": {
			"RabbitMQ uses memory by its limit.", "{size: development, infrastructure: {rabbitmq: {resources: {requests: {memory: 512Mi}, limits: {memory: 1Gi}}}}}",
			"spec.infrastructure.rabbitmq.resources.requests.memory: must equal the memory limit, which is 1Gi: RabbitMQ uses memory by its limit; remove it, or set limits.memory",
		},
		"same request of a queue": {reason: "It is the limit.", spec: "{infrastructure: {rabbitmq: {resources: {requests: {memory: 1024Mi}, limits: {memory: 1Gi}}}}}"},
		"volumes and memory": {
			"Programs cannot start with these sizes.",
			"{infrastructure: {mariadb: {storageSize: 1Mi, resources: {requests: {memory: 8Mi}, limits: {memory: 8Mi}}}, rabbitmq: {storageSize: 1Mi}, valkey: {storageSize: 1Mi}, memcached: {memory: 31Mi}}}",
			"spec.infrastructure.mariadb.resources.limits.memory: must be at least 256Mi for MariaDB, not 8Mi: an empty member needs as much; set 256Mi or more, or remove the field\n" +
				"spec.infrastructure.mariadb.storageSize: must be at least 1Gi for MariaDB, not 1Mi: an empty member needs as much; set 1Gi or more\n" +
				"spec.infrastructure.rabbitmq.storageSize: must be at least 1Gi for RabbitMQ, not 1Mi: the Erlang runtime and the write-ahead log need as much; set 1Gi or more\n" +
				"spec.infrastructure.valkey.storageSize: must be at least 256Mi for Valkey, not 1Mi: snapshots are written next to the old file; set 256Mi or more\n" +
				"spec.infrastructure.memcached.memory: must be at least 32Mi for memcached, not 31Mi: each size class takes a page; set 32Mi or more, or remove the field",
		},
		"no quantities": {
			"Nothing can be derived from them.",
			"{infrastructure: {mariadb: {storageSize: 10GB}}, services: {" + nova + "cells: [{name: a, infrastructure: {rabbitmq: {storageSize: much}}}]}, " +
				"neutron: {enabled: true, ovn: {northbound: {storageSize: 1.5.5}}}}}",
			`spec.services.nova.cells[0].infrastructure.rabbitmq.storageSize: "much" is not a quantity; set one such as 10Gi` + "\n" +
				`spec.services.neutron.ovn.northbound.storageSize: "1.5.5" is not a quantity; set one such as 10Gi` + "\n" +
				`spec.infrastructure.mariadb.storageSize: "10GB" is not a quantity; set one such as 10Gi`,
		},
		"volumes of services": {
			"Cells, OVN and services have volumes, too.",
			"{services: {glance: {enabled: true, stores: [{name: a, file: {storageSize: 1Mi}}], import: {staging: {storageSize: 1Mi}}, imageCache: {storageSize: 1Mi}}, " + nova +
				"cells: [{name: a, infrastructure: {mariadb: {storageSize: 1Mi}, rabbitmq: {storageSize: 1Mi}}}]}, neutron: {enabled: true, ovn: {northbound: {storageSize: 1Mi}}}, " +
				"cinder: {enabled: true, backends: [{name: a, nfs: {shares: ['a:/b']}}], backup: {file: {storageSize: 1Mi}}}}}",
			"spec.services.glance.stores[0].file.storageSize: must be at least 1Gi for an image store, not 1Mi: images are kept there as a whole; set 1Gi or more\n" +
				"spec.services.glance.import.staging.storageSize: must be at least 1Gi for image staging, not 1Mi: images are kept there as a whole; set 1Gi or more\n" +
				"spec.services.glance.imageCache.storageSize: must be at least 1Gi for the image cache, not 1Mi: images are kept there as a whole; set 1Gi or more\n" +
				"spec.services.nova.cells[0].infrastructure.mariadb.storageSize: must be at least 1Gi for MariaDB, not 1Mi: an empty member needs as much; set 1Gi or more\n" +
				"spec.services.nova.cells[0].infrastructure.rabbitmq.storageSize: must be at least 1Gi for RabbitMQ, not 1Mi: the Erlang runtime and the write-ahead log need as much; set 1Gi or more\n" +
				"spec.services.neutron.ovn.northbound.storageSize: must be at least 256Mi for an OVN database, not 1Mi: its raft log is compacted next to the old one; set 256Mi or more\n" +
				"spec.services.cinder.backup.file.storageSize: must be at least 1Gi for a volume backup, not 1Mi: a small volume needs as much; set 1Gi or more",
		},
		"staging of backups": {
			"The volume contains a temporary copy.", "{infrastructure: {mariadb: {backup: {stagingStorage: {storageSize: 1Mi}, s3: {" + s3 + "}}}}}",
			"spec.infrastructure.mariadb.backup.stagingStorage.storageSize: must be at least 1Gi for a database backup, not 1Mi: a compressed copy is assembled there; set 1Gi or more",
		},
		"one bucket, two prefixes": {reason: "The prefixes separate the data.", spec: "{infrastructure: {mariadb: {backup: {s3: {" + s3 + ", prefix: a}}}}, services: {neutron: {enabled: true, ovn: {backup: {s3: {" + s3 + ", prefix: b}}}}}}"},
		"one prefix": {
			"Each would remove the other's backups.", "{infrastructure: {mariadb: {backup: {s3: {" + s3 + ", prefix: a}}}}, services: {neutron: {enabled: true, ovn: {backup: {s3: {" + s3 + ", prefix: a}}}}}}",
			"spec.infrastructure.mariadb.backup.s3: bucket abc at s3.example.com:443, prefix a already stores data of spec.services.neutron.ovn.backup.s3" + remedy,
		},
		"prefix of a cell": {
			"Backups of a cell have a prefix below the control plane's.",
			"{infrastructure: {mariadb: {backup: {s3: {" + s3 + "}}}}, services: {" + nova + "cells: [{name: a, infrastructure: {mariadb: {}}}]}, neutron: {enabled: true, ovn: {backup: {s3: {" + s3 + ", prefix: cells/a}}}}}}",
			"spec.services.neutron.ovn.backup.s3: bucket abc at s3.example.com:443, prefix cells/a already stores data of spec.services.nova.cells[0].infrastructure.mariadb" + remedy,
		},
		"one place for images": {
			"A copy would replace the original.",
			"{services: {glance: {enabled: true, stores: [{name: a, s3: {endpoint: 'https://S3.example.com', bucket: abc, credentialsSecretRef: {name: a}}}, {name: b, s3: {endpoint: 'https://s3.example.com:443', bucket: abc, credentialsSecretRef: {name: b}}}, " +
				"{name: c, rbd: {secretRef: {name: c}}}, {name: d, rbd: {secretRef: {name: c}, pool: images}}, {name: e, swift: {authURL: 'https://a/v3', credentialsSecretRef: {name: e}}}, {name: f, swift: {authURL: 'https://a:443/v3', container: glance, credentialsSecretRef: {name: e}}}, " +
				"{name: g, ceph: {clusterRef: {namespace: tenant-a, name: a}, pool: images}}, {name: h, ceph: {clusterRef: {namespace: tenant-a, name: a}, pool: images}}]}}}",
			"spec.services.glance.stores[1].s3: bucket abc at s3.example.com:443 already stores data of spec.services.glance.stores[0].s3" + remedy + "\n" +
				"spec.services.glance.stores[3].rbd: pool images of the Ceph of Secret c already stores data of spec.services.glance.stores[2].rbd" + remedy + "\n" +
				"spec.services.glance.stores[5].swift: container glance of the account of Secret e at a:443 already stores data of spec.services.glance.stores[4].swift" + remedy + "\n" +
				"spec.services.glance.stores[7].ceph: pool images of StorageCluster tenant-a/a already stores data of spec.services.glance.stores[6].ceph" + remedy,
		},
		"one place for volumes": {
			"A manager would remove volumes that it does not manage.",
			"{services: {cinder: {enabled: true, backends: [{name: a, nfs: {shares: ['a:/b', 'a:/c']}}, {name: b, nfs: {shares: ['a:/c/']}}, {name: c, rbd: {secretRef: {name: c}}}, {name: d, rbd: {secretRef: {name: c}}}], backup: {rbd: {secretRef: {name: c}, pool: volumes}}}}}",
			"spec.services.cinder.backends[1].nfs.shares[0]: share a:/c already stores data of spec.services.cinder.backends[0].nfs.shares[1]" + remedy + "\n" +
				"spec.services.cinder.backends[3].rbd: pool volumes of the Ceph of Secret c already stores data of spec.services.cinder.backends[2].rbd" + remedy + "\n" +
				"spec.services.cinder.backup.rbd: pool volumes of the Ceph of Secret c already stores data of spec.services.cinder.backends[2].rbd" + remedy,
		},
		"backups in a bucket of images": {
			"Each would list the data of the other.",
			"{services: {glance: {enabled: true, stores: [{name: a, s3: {endpoint: 'http://a', bucket: abc, credentialsSecretRef: {name: a}}}]}, cinder: {enabled: true, backends: [{name: a, nfs: {shares: ['a:/b']}}], backup: {s3: {endpoint: 'http://a:80', bucket: abc, credentialsSecretRef: {name: a}}}}}}",
			"spec.services.cinder.backup.s3: bucket abc at a:80 already stores data of spec.services.glance.stores[0].s3" + remedy,
		},
		"backups on a share of volumes": {
			"Both would be lost together.", "{services: {cinder: {enabled: true, backends: [{name: a, nfs: {shares: ['a:/b']}}], backup: {nfs: {share: 'a:/b'}}}}}",
			"spec.services.cinder.backup.nfs.share: share a:/b already stores data of spec.services.cinder.backends[0].nfs.shares[0]" + remedy,
		},
		"host names without exposure": {
			"It is unreachable from outside.",
			"{services: {keystone: {hostname: a.example.com}, heat: {enabled: true, cfn: {hostname: b.example.com}}, " + nova + "consoles: {serial: true}, cells: [{name: a, consoles: {hostname: c.example.com, serialHostname: d.example.com}}]}}}",
			"spec.services.nova.cells[0].consoles.hostname" + none + "\nspec.services.nova.cells[0].consoles.serialHostname" + none + "\nspec.services.heat.cfn.hostname" + none + "\nspec.services.keystone.hostname" + none,
		},
		"host names": {reason: "All components are enabled.", spec: "{" + exposed + "services: {heat: {enabled: true, cfn: {hostname: b.example.com}}, " + nova + "consoles: {serial: true}, cells: [{name: a, consoles: {hostname: c.example.com, serialHostname: d.example.com}}]}}}"},
		"host names of nothing": {
			"They do not run.",
			"{" + exposed + "services: {heat: {enabled: true, cfn: {enabled: false, hostname: b.example.com}}, " + nova + "consoles: {graphical: None}, cells: [{name: a, consoles: {hostname: c.example.com, serialHostname: d.example.com}}]}}}",
			"spec.services.nova.cells[0].consoles.hostname: requires graphical consoles, and consoles.graphical of the service is None; set it to VNC or SPICE, or remove the host name\n" +
				"spec.services.nova.cells[0].consoles.serialHostname: requires serial consoles; set consoles.serial of the service to true, or remove the host name\n" +
				"spec.services.heat.cfn.hostname: requires the API of CloudFormation; set cfn.enabled to true, or remove the host name",
		},
		"ports of a queue": {
			"The other port is the default.", "{infrastructure: {rabbitmq: {external: {host: q.example.com, user: a, managementPort: 5671, " + secrets + "}}}}",
			"spec.infrastructure.rabbitmq.external.managementPort: cannot be the port of AMQP, which is 5671 too; set the port of the management API",
		},
		"two ports of a queue": {reason: "Each address is valid.", spec: "{infrastructure: {rabbitmq: {external: {host: q.example.com, user: a, port: 15671, managementPort: 5671, " + secrets + "}}}}"},
		"addresses of OVN": {
			"The addresses are unusable.",
			"{services: {neutron: {enabled: true, ovn: {external: {northbound: 'ssl:a:70000,ssl:10.1.0.1:6641', southbound: 'ssl:10.2.0.1:6642,ssl:10.1.0.1:6642,ssl:10.1.0.1:6642', networks: [10.1.0.0/24], clientSecretRef: {name: o}}}}}}",
			"spec.services.neutron.ovn.external.northbound: there is no port 70000; give one from 1 to 65535; write ssl:host:port for each member, separated by commas\n" +
				"spec.services.neutron.ovn.external.southbound: 10.2.0.1 must be in one of networks, because Neutron can reach no others; add its network there\n" +
				"spec.services.neutron.ovn.external.southbound: cannot contain ssl:10.1.0.1:6642 twice; list each member once",
		},
		"one database of OVN": {
			"The databases have different addresses.", "{services: {neutron: {enabled: true, ovn: {external: {northbound: 'ssl:a:6641', southbound: 'ssl:a:6641', networks: [10.1.0.0/24], clientSecretRef: {name: o}}}}}}",
			"spec.services.neutron.ovn.external.southbound: cannot be the addresses of the northbound database; set the southbound addresses, whose port is usually 6642",
		},
		"times of OVN": {
			"The times do not exist.",
			"{services: {neutron: {enabled: true, ovn: {backup: {schedule: '0 25 * * *', s3: {" + s3 + "}}, restoreFrom: {targetRecoveryTime: '2026-02-30T03:00:00Z', s3: {" + s3 + "}}}}}}",
			"spec.services.neutron.ovn.restoreFrom.targetRecoveryTime: 2026-02-30T03:00:00Z is not a valid time; set a time in UTC, such as 2026-05-01T03:00:00Z\n" +
				"spec.services.neutron.ovn.backup.schedule: cannot read schedule \"0 25 * * *\": end of range (25) above maximum (23): 25; give minute, hour, day of month, month and day of week",
		},
		"administrator of a service": {
			"Its password would be replaced.", "{services: {keystone: {bootstrap: {adminUser: Placement}}, placement: {enabled: true}}}",
			"spec.services.keystone.bootstrap.adminUser: \"Placement\" cannot be the administrator: the service logs in with this user, whose password would be replaced; set another name, or disable services.placement",
		},
		"administrator":             {reason: "The service is disabled.", spec: "{services: {keystone: {bootstrap: {adminUser: placement}}}}"},
		"administrator's dashboard": {reason: "The dashboard has no user.", spec: "{services: {keystone: {bootstrap: {adminUser: horizon}}, horizon: {enabled: true}}}"},
		"domains": {
			"Domain names are unique in Keystone.", "{services: {heat: {enabled: true}, keystone: {identityBackends: [{domain: a" + ldap + ", {domain: A" + ldap + ", {domain: Heat" + ldap + "]}}}",
			"spec.services.keystone.identityBackends[1].domain: is the domain of identityBackends[0] already: Keystone does not distinguish A from a; set another name\n" +
				"spec.services.keystone.identityBackends[2].domain: \"Heat\" cannot be the domain of a directory: Heat uses it for the users of stacks; set another name, or disable services.heat",
		},
		"domain of no service": {reason: "Heat is disabled.", spec: "{services: {keystone: {identityBackends: [{domain: heat" + ldap + "]}}}"},
		"dashboards": {
			"Tokens would be sent unencrypted.", "{services: {keystone: {federation: {" + sso + ", trustedDashboards: ['https://a/', 'http://b/'], proxyResources: {limits: {memory: 8Mi}}}}}}",
			"spec.services.keystone.federation.trustedDashboards[1]: must begin with https://: users' tokens are sent there; use https, as in https://dashboard.example.com/auth/websso/\n" +
				"spec.services.keystone.federation.proxyResources.limits.memory: must be at least 64Mi for the federation proxy, not 8Mi: Apache needs as much to start; set 64Mi or more, or remove the field",
		},
		"dashboards without TLS": {reason: "The whole cloud has no TLS.", spec: "{global: {tls: {enabled: false}}, services: {keystone: {federation: {" + sso + ", trustedDashboards: ['http://b/']}}}}"},
		"expressions": {
			"Python cannot compile the first one.", "{tempest: {enabled: true, allowAdministration: true, tests: {includeRegex: 'a(b', excludeRegex: '(?!a)b'}}}",
			"spec.tempest.tests.includeRegex: is not a regular expression: missing closing ) in \"a(b\"; correct it",
		},
		"label": {
			"Kubernetes rejects the pod.", "{services: {keystone: {nodeSelector: {'a b': c}}}}",
			"spec.services.keystone.nodeSelector: \"a b\" is not the key of a label: it must be a name of at most 63 letters, digits, '-', '_' and '.', with an optional DNS domain and '/' before it; correct the key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if _, err := derive(input(t, tc.spec, queued, nil)); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
