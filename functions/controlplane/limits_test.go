package controlplane

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// closed is a platform with defaults and no limits.
const closed = `{domain: example.com, tls: {enabled: true, issuerRef: {name: letsencrypt, kind: ClusterIssuer}}, monitoring: {enabled: true, labels: {prometheus: platform}},
	exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways, sectionName: https}, allowedNamespaces: [gateways], annotations: {a: b}},
	secretStore: {name: openbao, kind: ClusterSecretStore, prefix: clouds}, images: {registry: registry.example.com/mirror}, storageClass: fast`

// TestDeniedByDefault checks that a claim may repeat the settings of the platform. All other external references are denied unless a limit
// of their kind allows them.
func TestDeniedByDefault(t *testing.T) {
	const (
		s3   = `{bucket: abc, endpoint: "s3.example.com:443", credentialsSecretRef: {name: s3}}`
		ldap = `{url: "ldaps://ldap.example.com", suffix: o=a, userTreeDN: o=b}`
		oidc = `{provider: a, metadataURL: "https://id.example.com/a", issuer: "https://id.example.com", clientID: a, clientSecretRef: {name: a, key: b}}`
		// otherLimits contains all kinds of limits, without a list for this namespace or of this kind.
		otherLimits = `, limits: [{name: other, namespaces: [tenant-b], registries: ["*"], gateways: ["*"]}, {name: sizes, namespaces: ["*"], sizes: [small, large]}]}`
	)
	for name, tc := range map[string]struct {
		spec, field, message string
		// allowed is a limit that allows it, short one that barely does not.
		allowed, short string
	}{
		"registry": {
			"{global: {images: {registry: evil.example.com}}}", "spec.global.images.registry", `no limit of the platform allows "evil.example.com"`,
			"registries: [evil.example.com]", "registries: [evil.example.co, evil.example.com/a]",
		},
		"image": {
			"{services: {keystone: {image: {repository: ghcr.io/c5c3/keystone}}}}", "spec.services.keystone.image.repository", "registries",
			"registries: [ghcr.io/c5c3]", "registries: [ghcr.io/c5c3/key]",
		},
		"image below the platform's registry": {
			"{infrastructure: {memcached: {image: {repository: registry.example.com/mirror/evil}}}}", "spec.infrastructure.memcached.image.repository", "registries",
			"registries: ['*']", "registries: []",
		},
		"federation proxy": {
			"{services: {keystone: {federation: {proxyImage: {repository: ghcr.io/a/b}}}}}", "spec.services.keystone.federation.proxyImage.repository", "",
			"registries: [ghcr.io]", "registries: [ghcr.io/b]",
		},
		"image of a service that is off": {
			"{services: {nova: {image: {repository: ghcr.io/a/b}}}}", "spec.services.nova.image.repository", "",
			"registries: [ghcr.io]", "registries: [ghcr.io/b]",
		},
		"secret store": {
			"{global: {secretStore: {name: theirs}}}", "spec.global.secretStore", `"ClusterSecretStore/theirs/clouds"`,
			"secretStores: [ClusterSecretStore/theirs]", "secretStores: [SecretStore/theirs, ClusterSecretStore/theirs/cloud]",
		},
		"secret store of a namespace": {
			"{global: {secretStore: {name: openbao, kind: SecretStore}}}", "spec.global.secretStore", `"SecretStore/openbao/clouds"`,
			"secretStores: [SecretStore/openbao]", "secretStores: [ClusterSecretStore/openbao]",
		},
		"prefix": {
			"{global: {secretStore: {name: openbao, prefix: teams/tenant-a/x}}}", "spec.global.secretStore", `"ClusterSecretStore/openbao/teams/tenant-a/x"`,
			"secretStores: ['ClusterSecretStore/openbao/teams/{namespace}']", "secretStores: [ClusterSecretStore/openbao/teams/tenant-b, ClusterSecretStore/openbao/teams/tenant]",
		},
		"gateway": {
			"{global: {exposure: {type: GatewayAPI, gateway: {name: internal, namespace: gateways}}}}", "spec.global.exposure.gateway", "gateways/internal/https",
			"gateways: [gateways/internal]", "gateways: [gateways/intern, others/internal]",
		},
		"listener": {
			"{global: {exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways, sectionName: admin}}}}", "spec.global.exposure.gateway", "gateways/public/admin",
			"gateways: [gateways/public/admin]", "gateways: [gateways/public/https]",
		},
		"default ingress class": {
			"{global: {exposure: {type: Ingress, ingressController: other}}}", "spec.global.exposure.ingressClassName", "the cluster's default class",
			"ingressClasses: ['*']", "ingressClasses: [nginx]",
		},
		"ingress class": {
			"{global: {exposure: {type: Ingress, ingressClassName: nginx, ingressController: other}}}", "spec.global.exposure.ingressClassName", "nginx",
			"ingressClasses: [ngin*]", "ingressClasses: [nginx-internal]",
		},
		"exposure namespaces": {
			"{global: {exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}, allowedNamespaces: [gateways, tenant-b]}}}",
			"spec.global.exposure.allowedNamespaces", "tenant-b", "exposureNamespaces: [tenant-b]", "exposureNamespaces: [tenant-a]",
		},
		"annotation": {
			"{global: {exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}, annotations: {snippet: evil}}}}", "spec.global.exposure.annotations",
			"snippet=evil", "annotations: [snippet]", "annotations: [snip, snippet=good]",
		},
		"annotation of the platform": {
			"{global: {exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}, annotations: {a: c}}}}", "spec.global.exposure.annotations",
			"a=c", "annotations: [a=c]", "annotations: [a=b]",
		},
		"issuer": {
			"{global: {exposure: {type: None}, tls: {issuerRef: {name: internal}}}}", "spec.global.tls.issuerRef", "ClusterIssuer/internal",
			"issuers: [ClusterIssuer/internal]", "issuers: [Issuer/internal]",
		},
		"monitoring label": {
			"{global: {monitoring: {labels: {prometheus: bank}}}}", "spec.global.monitoring.labels", "prometheus=bank",
			"monitoringLabels: [prometheus]", "monitoringLabels: [prometheus=tenant-a]",
		},
		"node selector": {
			"{infrastructure: {rabbitmq: {nodeSelector: {node: bank}}}}", "spec.infrastructure.rabbitmq.nodeSelector", "node=bank",
			"nodeSelectors: [node]", "nodeSelectors: [node=tenant-*]",
		},
		"toleration": {
			"{services: {keystone: {tolerations: [{key: dedicated, value: bank, effect: NoSchedule}]}}}", "spec.services.keystone.tolerations", "dedicated=bank:NoSchedule",
			"tolerations: [dedicated=bank]", "tolerations: [dedicated=bank:NoExecute]",
		},
		"any value of a taint": {
			"{infrastructure: {mariadb: {tolerations: [{key: dedicated, operator: Exists}]}}}", "spec.infrastructure.mariadb.tolerations", `"dedicated"`,
			"tolerations: [dedicated]", "tolerations: ['dedicated=*']",
		},
		"every taint": {
			"{infrastructure: {valkey: {tolerations: [{operator: Exists}]}}}", "spec.infrastructure.valkey.tolerations", "every taint",
			"tolerations: ['*']", "tolerations: ['*:NoSchedule', '*=*']",
		},
		"neighbour's host": {
			"{services: {keystone: {hostname: keystone.cloud.tenant-b.example.com}}}", "spec.services.keystone.hostname", "is not below tenant-a.example.com",
			"domains: [example.com]", "domains: ['{namespace}.example.com']",
		},
		"the platform's own domain": {
			"{global: {domain: example.com}}", "spec.global.domain", "is not below tenant-a.example.com",
			"domains: [example.com]", "domains: [tenant-a.example.com]",
		},
		"one that ends like it": {
			"{global: {domain: xtenant-a.example.com}}", "spec.global.domain", "is not below tenant-a.example.com", "domains: ['*']", "domains: [tenant-a.example.com]",
		},
		"object store": {
			"{infrastructure: {mariadb: {backup: {s3: " + s3 + "}}}}", "spec.infrastructure.mariadb.backup.s3.endpoint", "s3.example.com:443",
			"s3Endpoints: ['*.example.com:443']", "s3Endpoints: [example.com, 's3.example.com:9000']",
		},
		"object store of restore": {
			"{infrastructure: {mariadb: {restoreFrom: {rootPasswordSecretRef: {name: a, key: b}, s3: " + s3 + "}}}}", "spec.infrastructure.mariadb.restoreFrom.s3.endpoint", "s3.example.com:443",
			"s3Endpoints: [s3.example.com]", "s3Endpoints: [s3.example.com.evil.net]",
		},
		"images in S3": {
			"{services: {glance: {stores: [{name: a, s3: {endpoint: 'https://s3.example.com:443', bucket: abc, credentialsSecretRef: {name: s3}}}]}}}",
			"spec.services.glance.stores[0].s3.endpoint", "s3.example.com:443", "s3Endpoints: ['s3.example.com:443']", "s3Endpoints: ['s3.example.com:80']",
		},
		"images in Swift": {
			"{services: {glance: {stores: [{name: a, swift: {authURL: 'https://keystone.example.com/v3', credentialsSecretRef: {name: swift}}}]}}}",
			"spec.services.glance.stores[0].swift.authURL", "keystone.example.com", "s3Endpoints: ['*.example.com']", "s3Endpoints: [example.com]",
		},
		"images in Ceph": {
			"{services: {glance: {stores: [{name: a, rbd: {secretRef: {name: ceph}, networks: [10.1.0.0/16]}}]}}}",
			"spec.services.glance.stores[0].rbd.networks", "10.1.0.0/16", "storageNetworks: [10.0.0.0/8]", "storageNetworks: [10.1.0.0/24, fd00::/8]",
		},
		"images in Ceph anywhere": {
			"{services: {glance: {stores: [{name: a, rbd: {secretRef: {name: ceph}}}]}}}",
			"spec.services.glance.stores[0].rbd.networks", "any network", "storageNetworks: ['*']", "storageNetworks: [0.0.0.0/0]",
		},
		"volumes in Ceph": {
			"{services: {cinder: {backends: [{name: a, rbd: {secretRef: {name: ceph}, networks: [10.1.0.0/16]}}]}}}",
			"spec.services.cinder.backends[0].rbd.networks", "10.1.0.0/16", "storageNetworks: [10.0.0.0/8]", "storageNetworks: [10.1.0.0/24, fd00::/8]",
		},
		"backups in Ceph anywhere": {
			"{services: {cinder: {backup: {rbd: {secretRef: {name: ceph}}}}}}",
			"spec.services.cinder.backup.rbd.networks", "any network", "storageNetworks: ['*']", "storageNetworks: [0.0.0.0/0]",
		},
		"volumes on an NFS server": {
			"{services: {cinder: {backends: [{name: a, nfs: {shares: ['nfs.example.com:/volumes']}}]}}}",
			"spec.services.cinder.backends[0].nfs.shares", "nfs.example.com", "nfsServers: ['*.example.com']", "nfsServers: [example.com]",
		},
		"secrets in a Vault": {
			"{services: {barbican: {vault: {url: 'https://vault.example.com:8200', secretRef: {name: vault}}}}}",
			"spec.services.barbican.vault.url", "vault.example.com:8200", "vaultServers: ['*.example.com']", "vaultServers: ['vault.example.com:443']",
		},
		"backups on an NFS server": {
			"{services: {cinder: {backup: {nfs: {share: '[fd00::1]:/backups'}}}}}",
			"spec.services.cinder.backup.nfs.share", "fd00::1", "nfsServers: ['*']", "nfsServers: ['*.example.com']",
		},
		"backups in S3": {
			"{services: {cinder: {backup: {s3: {endpoint: 'https://s3.example.com', bucket: abc, credentialsSecretRef: {name: s3}}}}}}",
			"spec.services.cinder.backup.s3.endpoint", "s3.example.com", "s3Endpoints: ['s3.example.com']", "s3Endpoints: ['s3.example.com:80']",
		},
		"backups in Swift": {
			"{services: {cinder: {backup: {swift: {url: 'https://objects.example.com:8443/swift/v1/AUTH_'}}}}}",
			"spec.services.cinder.backup.swift.url", "objects.example.com:8443", "s3Endpoints: ['*.example.com']", "s3Endpoints: ['objects.example.com:443']",
		},
		"backups on a volume": {
			"{services: {cinder: {backup: {file: {storageSize: 1Gi, storageClass: gold}}}}}",
			"spec.services.cinder.backup.file.storageClass", "gold", "storageClasses: [gold]", "storageClasses: [silver]",
		},
		"hypervisors": {
			"{services: {nova: {hypervisorNetworks: [10.1.0.0/16]}}}",
			"spec.services.nova.hypervisorNetworks", "10.1.0.0/16", "hypervisorNetworks: [10.0.0.0/8]", "hypervisorNetworks: [10.1.0.0/24], storageNetworks: ['*']",
		},
		"a cell's hypervisors": {
			"{services: {nova: {cells: [{name: a}, {name: b, hypervisorNetworks: ['fd00::/64']}]}}}",
			"spec.services.nova.cells[1].hypervisorNetworks", "fd00::/64", "hypervisorNetworks: ['fd00::/16']", "hypervisorNetworks: [10.0.0.0/8]",
		},
		"nodes of other clusters": {
			"{services: {neutron: {ovn: {southbound: {exposure: {type: LoadBalancer, networks: [10.1.0.0/16]}}}}}}",
			"spec.services.neutron.ovn.southbound.exposure.networks", "10.1.0.0/16", "hypervisorNetworks: [10.0.0.0/8]", "hypervisorNetworks: [10.1.0.0/24]",
		},
		"nodes anywhere": {
			"{services: {neutron: {ovn: {southbound: {exposure: {type: LoadBalancer}}}}}}",
			"spec.services.neutron.ovn.southbound.exposure.networks", "any network", "hypervisorNetworks: ['*']", "hypervisorNetworks: [0.0.0.0/0]",
		},
		"names of nodes in certificates": {
			"{infrastructure: {rabbitmq: {exposure: {type: NodePort, nodes: rabbitmq.tenant-b-cloud.svc, networks: [10.1.0.0/16]}}}}",
			"spec.infrastructure.rabbitmq.exposure.nodes", "rabbitmq.tenant-b-cloud.svc", "hypervisorNetworks: ['*'], nodeHosts: ['*.svc']",
			"hypervisorNetworks: ['*'], nodeHosts: [nodes.example.com, 'rabbitmq.tenant-b-cloud.svc:443'], domains: ['*']",
		},
		"addresses of nodes in certificates": {
			"{services: {neutron: {ovn: {southbound: {exposure: {type: NodePort, nodes: 10.1.2.3, networks: [10.1.0.0/16]}}}}}}",
			"spec.services.neutron.ovn.southbound.exposure.nodes", "10.1.2.3", "hypervisorNetworks: ['*'], nodeHosts: [10.1.2.3]",
			"hypervisorNetworks: ['*'], nodeHosts: [10.1.2.4]",
		},
		"annotations of members": {
			"{services: {neutron: {ovn: {southbound: {exposure: {type: LoadBalancer, networks: [10.1.0.0/16], annotations: {a: c}}}}}}}",
			"spec.services.neutron.ovn.southbound.exposure.annotations", "a=c", "hypervisorNetworks: ['*'], annotations: [a=c]",
			"hypervisorNetworks: ['*'], annotations: [a=b]",
		},
		"copies of networks": {
			"{services: {neutron: {ovn: {backup: {s3: " + s3 + "}}}}}", "spec.services.neutron.ovn.backup.s3.endpoint", "s3.example.com",
			"s3Endpoints: [s3.example.com]", "s3Endpoints: ['s3.example.com:9000']",
		},
		"images of a host": {
			"{services: {glance: {import: {methods: [web-download], webDownload: {allowedHosts: [images.example.com]}}}}}",
			"spec.services.glance.import.webDownload.allowedHosts", "images.example.com", "downloadHosts: ['*.example.com']", "downloadHosts: [example.com]",
		},
		"images of any host": {
			"{services: {glance: {import: {methods: [glance-direct, web-download]}}}}",
			"spec.services.glance.import.webDownload.allowedHosts", "any host", "downloadHosts: ['*']", "downloadHosts: ['*.*']",
		},
		"images in a file": {
			"{services: {glance: {stores: [{name: a, file: {storageSize: 1Gi, storageClass: gold}}]}}}",
			"spec.services.glance.stores[0].file.storageClass", "gold", "storageClasses: [gold]", "storageClasses: [silver]",
		},
		"image cache": {
			"{services: {glance: {imageCache: {storageSize: 1Gi, storageClass: gold}}}}",
			"spec.services.glance.imageCache.storageClass", "gold", "storageClasses: [gold]", "storageClasses: [silver]",
		},
		"directory": {
			"{services: {keystone: {identityBackends: [{domain: a, ldap: " + ldap + "}]}}}", "spec.services.keystone.identityBackends[0].ldap.url", "ldap.example.com",
			"directoryHosts: [ldap.example.com]", "directoryHosts: ['ldap.example.com:389'], openIDHosts: ['*'], s3Endpoints: ['*']",
		},
		"OpenID": {
			"{services: {keystone: {federation: " + oidc + "}}}", "spec.services.keystone.federation.metadataURL", "id.example.com",
			"openIDHosts: [id.example.com]", "openIDHosts: [i.example.com]",
		},
		"Keystone": {
			"{" + aKeystone + "}", "spec.services.keystone.external.authURL", "identity.example.org",
			"keystoneHosts: [identity.example.org]", "keystoneHosts: ['identity.example.org:5000'], openIDHosts: ['*'], s3Endpoints: ['*']",
		},
		"database": {
			"{" + aDatabase + "}", "spec.infrastructure.mariadb.external.host", "db.example.org:3307",
			"databaseHosts: ['db.example.org:3307']", "databaseHosts: ['db.example.org:3306'], keystoneHosts: ['*'], s3Endpoints: ['*']",
		},
		"queue": {
			"{" + aQueue + "}", "spec.infrastructure.rabbitmq.external.host", "queue.example.org",
			"queueHosts: [queue.example.org]", "queueHosts: ['queue.example.org:15672'], keystoneHosts: ['*'], s3Endpoints: ['*']",
		},
		"storage class": {
			"{infrastructure: {rabbitmq: {storageClass: gold}}}", "spec.infrastructure.rabbitmq.storageClass", "gold", "storageClasses: [gold]", "storageClasses: [gold-2]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			requireFieldError(t, "Nothing allows it.", deriveError(t, tc.spec, closed+otherLimits), tc.field, tc.message)
			limits := ", limits: [{name: none, namespaces: ['*']}, {name: ours, namespaces: [tenant-*], "
			if err := deriveError(t, tc.spec, closed+limits+tc.allowed+"}]}"); err != nil {
				t.Errorf("limit %s: %v", tc.allowed, err)
			}
			requireFieldError(t, "The limit allows another value.", deriveError(t, tc.spec, closed+limits+tc.short+"}]}"), tc.field, "limit \"ours\"")
			requireFieldError(t, "Every limit has to allow it.",
				deriveError(t, tc.spec, closed+limits+tc.allowed+"}, {name: house, namespaces: ['*'], "+tc.short+"}]}"), tc.field, "limit \"house\"")
		})
	}
}

func deriveError(t *testing.T, spec, platform string) error {
	t.Helper()
	_, err := derive(input(t, spec, platform, nil))
	return err
}

// TestRepeatedPlatformSettingsHaveNoEffect checks that a claim may repeat settings of the platform completely or in part, without effect.
func TestRepeatedPlatformSettingsHaveNoEffect(t *testing.T) {
	for _, spec := range []string{
		"{}",
		"{global: {tls: {enabled: true}, monitoring: {enabled: true}}}",
		"{global: {tls: {issuerRef: {name: letsencrypt, kind: ClusterIssuer}}, monitoring: {labels: {prometheus: platform}}}}",
		"{global: {exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}}, secretStore: {name: openbao}, images: {registry: registry.example.com/mirror}}}",
		"{global: {exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways, sectionName: https}, allowedNamespaces: [], annotations: {}}}}",
		"{global: {exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}, allowedNamespaces: [gateways], annotations: {a: b}}}}",
		"{global: {secretStore: {name: openbao, kind: ClusterSecretStore, prefix: clouds}}}",
	} {
		got, want := derived(t, spec, closed+"}"), derived(t, "{}", closed+"}")
		if diff := cmp.Diff(show(t, want), show(t, got)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", spec, diff)
		}
	}
	if err := deriveError(t, "{infrastructure: {rabbitmq: {storageClass: fast}}, global: {domain: a.b.tenant-a.example.com}, services: {keystone: {hostname: tenant-a.example.com}}}",
		closed+"}"); err != nil {
		t.Errorf("its own values: %v", err)
	}
}

// show returns a Keystone, a database and a companion in their composed form.
func show(t *testing.T, m *model) string {
	t.Helper()
	identity := func(m *model) ([]compose.Stage, error) { return m.compose(m.Identity) }
	return built(t, m, identity) + built(t, m, database) + built(t, m, companion)
}

// built returns the objects of a component, one on each line.
func built(t *testing.T, m *model, build func(*model) ([]compose.Stage, error)) string {
	t.Helper()
	stages, err := build(m)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, r := range slices.Concat(stages...) {
		data, err := json.Marshal(r.Object)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(data, '\n'))
	}
	return out.String()
}

// TestAllowListClosed checks that a claim permits the namespaces that the platform permits, even with another exposure type, and may
// restrict them if the platform does not.
func TestAllowListClosed(t *testing.T) {
	const gateway = "{type: GatewayAPI, gateway: {name: public, namespace: gateways}"
	for name, tc := range map[string]struct {
		platform, claim string
		want            []common.NamespaceName
	}{
		"restated":     {gateway + ", allowedNamespaces: [gateways]}", gateway + "}", []common.NamespaceName{"gateways"}},
		"emptied":      {gateway + ", allowedNamespaces: [gateways]}", gateway + ", allowedNamespaces: []}", []common.NamespaceName{"gateways"}},
		"another type": {gateway + ", allowedNamespaces: [gateways]}", "{type: Ingress, ingressClassName: a, ingressController: other}", []common.NamespaceName{"gateways"}},
		"open":         {gateway + "}", gateway + ", allowedNamespaces: [mine]}", []common.NamespaceName{"mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := derived(t, "{global: {exposure: "+tc.claim+"}}", "{domain: example.com, exposure: "+tc.platform+", limits: [{name: a, namespaces: ['*'], ingressClasses: [a]}]}")
			if !slices.Equal(m.Exposure.AllowedNamespaces, tc.want) || m.Exposure.Type == "Ingress" && m.Exposure.Gateway != nil {
				t.Errorf("exposure %+v", m.Exposure)
			}
		})
	}
}

// TestDisabledTLSIgnoresPlatformIssuer checks that the platform's issuer is not used for a claim without certificates.
func TestDisabledTLSIgnoresPlatformIssuer(t *testing.T) {
	m := derived(t, "{global: {tls: {enabled: false}}}", closed+"}")
	if m.TLS.IssuerRef != nil || *m.TLS.Enabled || !strings.HasPrefix(m.Identity.Endpoints.Public, "http://") {
		t.Errorf("%+v at %s", m.TLS, m.Identity.Endpoints.Public)
	}
}

// TestIssuerWithoutTLS checks that an issuer without effect is rejected.
func TestIssuerWithoutTLS(t *testing.T) {
	const platform = "{domain: example.com, tls: {enabled: false}, limits: [" + limittest.Everything + "]}"
	err := deriveError(t, "{global: {tls: {issuerRef: {name: a}}}}", platform)
	requireFieldError(t, "The platform has no TLS.", err, "spec.global.tls.issuerRef", "set tls.enabled to true")
	if m := derived(t, "{global: {tls: {enabled: true, issuerRef: {name: a}}}}", platform); m.TLS.IssuerRef == nil {
		t.Error("the issuer is lost")
	}
}

// TestHostsWithoutTLS checks that an address that programs parse differently is rejected with any limits.
func TestHostsWithoutTLS(t *testing.T) {
	for _, url := range []string{"ldap://ldap.example.com@evil.net", "ldap://ldap.example.com ldap://a@b", "ldap://127.1", "ldap://:389", "ldap://ldap%2eexample.com"} {
		err := deriveError(t, `{services: {keystone: {identityBackends: [{domain: a, ldap: {url: "`+url+`", suffix: o=a, userTreeDN: o=b}}]}}}`, bare)
		requireFieldError(t, url, err, "spec.services.keystone.identityBackends[0].ldap.url", "is not a host that all programs parse in the same way")
	}
}

// TestLimitsBoundCostOfClaims checks that the costs of a claim are bounded by every limit, and by a default without limits.
func TestLimitsBoundCostOfClaims(t *testing.T) {
	const house = "{domain: example.com, limits: [{name: house, namespaces: ['*'], maxima: "
	for name, tc := range map[string]struct {
		reason, spec, platform, field, message string
	}{
		"large": {reason: "The largest size is within the default.", spec: "{size: large}", platform: "{domain: example.com}"},
		"replicas": {
			"No cluster needs as many.", "{services: {keystone: {replicas: 32}}}", "{domain: example.com}",
			"spec.services.keystone.replicas", "32 replicas exceed the default quota of 9 of the platform",
		},
		"replicas of a cache": {"Limits apply to every cost item.", "{infrastructure: {memcached: {replicas: 10}}}", "{domain: example.com}", "spec.infrastructure.memcached.replicas", ""},
		"replicas of a proxy": {"Limits apply to every cost item.", "{size: medium, infrastructure: {mariadb: {maxScale: {replicas: 9}}}}", house + "{replicas: 8}}]}", "spec.infrastructure.mariadb.maxScale.replicas", "8"},
		"replicas of a size":  {"Default replicas count, too.", "{size: large}", house + "{replicas: 4}}]}", "spec.services.keystone.replicas", `limit "house"`},
		"replicas of a limit": {reason: "A limit may allow more than the default.", spec: "{services: {keystone: {replicas: 20}}}", platform: house + "{replicas: 20}}]}"},
		"replicas of a disabled service": {
			reason: "A disabled service has no replicas.", spec: "{infrastructure: {rabbitmq: {enabled: false, replicas: 9}}}", platform: house + "{replicas: 3}}]}",
		},
		"processes": {
			"Each process is a copy of Keystone.", "{services: {keystone: {uwsgi: {processes: 32}}}}", "{domain: example.com}", "spec.services.keystone.uwsgi.processes", "32",
		},
		"storage": {
			"All volumes are summed up.", "{infrastructure: {mariadb: {replicas: 9, storageSize: 900Ti}}}", "{domain: example.com}",
			"spec.infrastructure.mariadb.storageSize", "with 9 × 900Ti here, there are 8101Ti of storage in all, which exceed the default quota of 2Ti",
		},
		"storage of all": {
			"The sum is above the limit.", "{infrastructure: {mariadb: {storageSize: 30Gi}, rabbitmq: {storageSize: 30Gi}}}", house + "{storage: 150Gi}}]}",
			"spec.infrastructure.mariadb.storageSize", "186Gi of storage in all, which",
		},
		"cpu": {
			"Requests are summed up.", "{services: {keystone: {resources: {requests: {cpu: '40'}}}}}", "{domain: example.com}", "spec.services.keystone.resources", "2 × 40 here",
		},
		"cpu beyond numbers": {
			"The sum must not overflow.", "{services: {keystone: {resources: {requests: {cpu: 1e40}}}}}", "{domain: example.com}", "spec.services.keystone.resources", "with 2 × 10e39 here",
		},
		"memory": {
			"Limits are summed up if they exceed requests.", "{services: {keystone: {resources: {limits: {memory: 200Gi}}}}}", "{domain: example.com}",
			"spec.services.keystone.resources", "2 × 200Gi here",
		},
		"scratch space": {
			"Nodes have one disk for all pods.", "{services: {keystone: {resources: {limits: {ephemeral-storage: 900Gi}}}}}", "{domain: example.com}",
			"spec.services.keystone.resources", "with 2 × 900Gi here, there are 1800Gi of scratch space in all, which exceed the default quota of 1Ti",
		},
		"scratch space of conversions": {
			"Each manager of volumes has a directory.",
			"{services: {cinder: {enabled: true, conversionSize: 2Ti, backends: [{name: a, nfs: {shares: ['a:/b']}}]}}}",
			"{domain: example.com, limits: [" + limittest.DefaultMaxima + "]}", "spec.services.cinder.conversionSize", "of scratch space in all",
		},
		"minutely jobs": {
			"Each starts a pod.", "{services: {keystone: {trustFlush: {schedule: '*/4 * * * *'}}}}", "{domain: example.com}",
			"spec.services.keystone.trustFlush.schedule", "15 runs within an hour exceed the default quota of 12",
		},
		"minutely jobs of a limit": {
			reason: "A limit may allow more than the default.", spec: "{services: {keystone: {trustFlush: {schedule: '*/4 * * * *'}}}}",
			platform: house + "{runsPerHour: 15}}]}",
		},
		"memory of a cache": {
			"Memory for items is limited, too.", "{infrastructure: {memcached: {memory: 400Gi}}}", "{domain: example.com}", "spec.infrastructure.memcached.memory", "memory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := deriveError(t, tc.spec, tc.platform)
			if tc.field == "" && err != nil {
				t.Errorf("%s\n%v", tc.reason, err)
			} else if tc.field != "" {
				requireFieldError(t, tc.reason, err, tc.field, tc.message)
			}
		})
	}
}

// TestLargeSizeSatisfiesDefaultMaxima checks that size large uses at most 100 of 115 parts of each quota.
func TestLargeSizeSatisfiesDefaultMaxima(t *testing.T) {
	less := func(q *resource.Quantity) *resource.Quantity {
		return resource.NewMilliQuantity(q.MilliValue()/115*100, resource.DecimalSI)
	}
	maxima := platformv1.DefaultMaxima()
	maxima.Replicas, maxima.Processes = new(*maxima.Replicas*100/115), new(*maxima.Processes*100/115)
	maxima.Storage, maxima.CPU, maxima.Memory = less(maxima.Storage), less(maxima.CPU), less(maxima.Memory)
	m := derived(t, "{size: large}", "{domain: example.com}")
	if err := cost.Check([]platformv1.Limit{{Name: "less", Maxima: maxima}}, m.parts()); err != nil {
		t.Error(err)
	}
}

// TestResourcesOverrideSizeDefaults checks that resources of a claim override the defaults of its size in every workload.
func TestResourcesOverrideSizeDefaults(t *testing.T) {
	for _, field := range []string{"infrastructure: {mariadb", "infrastructure: {rabbitmq", "infrastructure: {valkey", "services: {keystone"} {
		for name, tc := range map[string]struct{ resources, message string }{
			"cpu alone":           {"{requests: {cpu: '4'}}", ""},
			"memory alone":        {"{requests: {memory: 3Gi}, limits: {memory: 3Gi}}", ""},
			"request above limit": {"{requests: {memory: 64Gi}}", "requests.memory of 64Gi is more than limits.memory of "},
			"limit below request": {"{limits: {memory: 1Mi}}", "is more than limits.memory of 1Mi; unset values come from size small; set both values"},
		} {
			spec := "{" + field + ": {resources: " + tc.resources + "}}}"
			m, err := derive(input(t, spec, bare, nil))
			if tc.message != "" {
				path := "spec." + strings.ReplaceAll(strings.ReplaceAll(field, ": {", "."), "{", "") + ".resources"
				requireFieldError(t, name, err, path, tc.message)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(m.parts(), func(p cost.Item) bool {
				return strings.HasSuffix(field, p.Field[strings.LastIndexByte(p.Field, '.')+1:])
			})
			r := m.parts()[i].Resources
			if r.Requests.CPU == nil || r.Requests.Memory == nil || r.Limits.Memory == nil {
				t.Errorf("%s, %s: %v", field, name, r)
			}
		}
	}
	m := derived(t, "{infrastructure: {mariadb: {resources: {requests: {cpu: '4'}}}}}", bare)
	if r := m.DatabaseResources(); r.Requests.CPU.String() != "4" || r.Requests.Memory.String() != "2Gi" || r.Limits.Memory.String() != "2Gi" {
		t.Errorf("the database has %v", r)
	}
}

// TestOfThePlatform checks that a claim cannot change workloads with permissions of the platform, even without limits.
func TestOfThePlatform(t *testing.T) {
	const platform = `{domain: example.com, images: {registry: registry.example.com, pullSecrets: [ours]},
		companion: {resources: {limits: {memory: 1Gi}}, nodeSelector: {role: platform}, tolerations: [{key: platform, operator: Exists}]}, limits: [`
	withClaimImages := derived(t, `{global: {images: {registry: evil.example.com, pullSecrets: [theirs]}},
		services: {keystone: {tolerations: [{key: a, operator: Exists}]}}}`, platform+limittest.Everything+"]}")
	managed := derived(t, "{}", platform+"]}")
	got := built(t, withClaimImages, companion)
	if diff := cmp.Diff(built(t, managed, companion), got); diff != "" {
		t.Errorf("the claim changes it (-without +with):\n%s", diff)
	}
	for _, want := range []string{
		`"image":"registry.example.com/c5c3/crossplane-cobaltcore-companion:`, `"imagePullSecrets":[{"name":"platform-pull-ours"}]`, `"nodeSelector":{"role":"platform"}`,
		`"key":"platform"`, `"limits":{"memory":"1Gi"}`, `"requests":{"cpu":"50m","ephemeral-storage":"102Mi","memory":"128Mi"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestLimitsApplyToIntrospectionHost checks that the address that receives users' tokens is subject to the same host limits as the
// provider's other addresses.
func TestLimitsApplyToIntrospectionHost(t *testing.T) {
	err := deriveError(t, `{services: {keystone: {federation: {provider: a, metadataURL: "https://id.example.com/a", issuer: "https://id.example.com",
		introspectionURL: "https://t.example.com/i", clientID: a, clientSecretRef: {name: a, key: b}}}}}`,
		"{domain: example.com, limits: [{name: ours, namespaces: [tenant-*], openIDHosts: [id.example.com]}]}")
	requireFieldError(t, "The host is not in the list.", err, "spec.services.keystone.federation.introspectionURL", "t.example.com")
}
