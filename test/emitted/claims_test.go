package emitted

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// specs are claims that the examples do not cover, by name: the spec of a claim without its release.
var specs = map[string]string{
	"smallest":       `{}`,
	"development":    `{size: development}`,
	"medium":         `{size: medium}`,
	"large":          `{size: large}`,
	"remote":         `{cluster: {ref: {name: east}}}`,
	"remote, delete": `{cluster: {ref: {name: east}}, deletionPolicy: Delete, size: large}`,
	"not exposed":    `{global: {exposure: {type: None}, monitoring: {enabled: false}}}`,
	"paths":          `{global: {exposure: {type: GatewayAPI, routing: Paths, gateway: {name: public, namespace: gateways, sectionName: https}}}}`,
	"ingress": `{global: {exposure: {type: Ingress, ingressClassName: nginx, ingressController: ingress-nginx, annotations: {nginx.ingress.kubernetes.io/proxy-body-size: 8m},
		allowedNamespaces: [ingress-nginx, other]}, tls: {issuerRef: {name: letsencrypt}}}}`,
	"plain ingress": `{global: {exposure: {type: Ingress, ingressController: other}, tls: {enabled: false}}}`,
	"directories": `{services: {keystone: {allowUnknown: true, config: {mine: {flag: true}}, identityBackends: [
		{domain: employees, ldap: {url: "ldaps://ldap.example.com", user: "cn=a b,dc=example", passwordSecretRef: {name: ldap, key: password},
			caSecretRef: {name: ldap, key: ca.crt}, suffix: "dc=example", userTreeDN: "ou=people,dc=example", groupTreeDN: "ou=groups,dc=example",
			options: {query_scope: sub, user_filter: "(&(objectClass=person)(!(cn=$x)))", use_pool: true, pool_size: 5}}},
		{domain: Partners_2, ldap: {url: "ldap://10.0.0.1:3389", allowUnencrypted: true, suffix: "dc=p", userTreeDN: "ou=p"}}]}}}`,
	"federation": `{services: {keystone: {federation: {provider: keycloak, issuer: "https://id.example.com/realms/a", clientID: keystone,
		metadataURL: "https://id.example.com/realms/a/.well-known/openid-configuration", clientSecretRef: {name: oidc, key: secret},
		scopes: [openid, groups], trustedDashboards: ["https://a.example.com/auth/websso/", "https://b.example.com/auth/websso/"],
		proxyImage: {tag: 1.2.3}}}}}`,
	"secret store": `{global: {secretStore: {name: openbao, kind: SecretStore, prefix: a/b}}}`,
	"no store":     `{global: {exposure: {type: None}}}`,
	"backup and restore": `{infrastructure: {mariadb: {replicas: 1, maxScale: {enabled: true},
		backup: {retentionDays: 7, s3: {bucket: backups, endpoint: "s3.example.com:443", region: eu, prefix: a/b, credentialsSecretRef: {name: s3}, privateCA: true}},
		restoreFrom: {targetRecoveryTime: "2026-05-01T03:00:00Z", rootPasswordSecretRef: {name: old-root, key: password}, s3: {bucket: old, endpoint: s3.example.com, credentialsSecretRef: {name: s3}}}}}}`,
	"infrastructure": `{infrastructure: {
		mariadb: {replicas: 5, storageSize: 1Ti, storageClass: fast, nodeSelector: {a: b}, tolerations: [{operator: Exists}], metrics: {enabled: false}, maxScale: {enabled: false},
			resources: {requests: {cpu: 100m, memory: 1Gi, ephemeral-storage: 1Gi}, limits: {cpu: "2", memory: 2Gi}}},
		rabbitmq: {replicas: 1, nodeSelector: {a: b, c: ""}, tolerations: [{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 60}], storageClass: slow},
		valkey: {replicas: 1, sentinel: {enabled: false}, nodeSelector: {a: b}, tolerations: [{key: a}]},
		memcached: {replicas: 1, memory: 1.5Gi, image: {repository: registry.example.com/memcached, digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"},
			nodeSelector: {a: b}, tolerations: [{operator: Exists, effect: NoSchedule}]}}}`,
	"keystone": `{global: {region: eu-de-1, images: {registry: "registry.example.com:5000/mirror", pullSecrets: [a, b]}, monitoring: {enabled: true, labels: {team: a}}},
		services: {keystone: {replicas: 32, image: {tag: a1b2c3d4e5f6}, nodeSelector: {a: b}, tolerations: [{operator: Exists}],
			resources: {requests: {cpu: 500m}, limits: {memory: 4Gi}}, hostname: login.example.com,
			config: {token: {cache_time: 600}, Token: {caching: false}, auth: {methods: [password, token, application_credential]}, DEFAULT: {notification_opt_out: ["a.b", c]},
				security_compliance: {password_regex: "^(?=.*\\d)[^#;'\"$]{12,}$"}},
			policy: {"identity:list_projects": "role:admin or project_id:%(target.project.id)s", "identity:get_user": "@"},
			fernet: {rotationSchedule: "*/30 0-5 * * MON-FRI", maxActiveKeys: 9, tokenExpirationSeconds: 300, allowExpiredWindowSeconds: 0, suspend: true},
			credentialKeys: {suspend: true}, bootstrap: {adminUser: Root.1}, trustFlush: {suspend: true}, uwsgi: {processes: 32, threads: 64, harakiriSeconds: 3600}}}}`,
	"nothing optional": `{infrastructure: {rabbitmq: {enabled: false}, valkey: {enabled: false}}, korc: {bootstrapResources: []}}`,
	"some imports":     `{korc: {bootstrapResources: [users], credentialRotation: {intervalDays: 30, preRotationDays: 0, gracePeriodDays: 0, suspend: true}}}`,
	"inventory": `{services: {placement: {enabled: true, hostname: inventory.example.com, config: {placement: {randomize_allocation_candidates: true}},
		policy: {"placement:usages": "role:auditor"}}}}`,
	"inventory, not exposed": `{size: development, services: {placement: {enabled: true}}, global: {exposure: {type: None}}}`,
	"inventory by paths": `{services: {placement: {enabled: true}},
		global: {exposure: {type: GatewayAPI, routing: Paths, gateway: {name: public, namespace: gateways, sectionName: https}}}}`,
	"inventory, remote": `{cluster: {ref: {name: east}}, services: {placement: {enabled: true}}}`,
	"images": `{services: {glance: {enabled: true, replicas: 3, config: {rbd1: {rbd_store_chunk_size: 4}, a_: {filesystem_store_chunk_size: 131072}},
		policy: {add_image_location: "@"}, defaultStore: rbd1, imageCache: {storageSize: 10Gi}, import: {methods: [web-download, glance-direct, copy-image],
			webDownload: {allowedHosts: [images.example.com], allowedSchemes: [http, https], allowedPorts: [80, 443]}, convertTo: raw, staging: {storageSize: 50Gi}},
		stores: [{name: a_, description: "A, b", file: {storageSize: 1Ti}}, {name: b_, file: {storageSize: 1Gi, storageClass: nfs}},
			{name: s3, s3: {endpoint: "https://s3.example.com:8443", bucket: images, region: eu, urlFormat: path, credentialsSecretRef: {name: s3}, caSecretRef: {name: s3, key: ca}}},
			{name: s3_public, s3: {endpoint: "http://s3.example.com", bucket: images, credentialsSecretRef: {name: s3}}},
			{name: rbd1, rbd: {secretRef: {name: ceph}, networks: [10.0.0.0/24, "fd00::/64"]}}, {name: rbd2, rbd: {secretRef: {name: ceph2}, pool: p, user: u}},
			{name: swift, swift: {authURL: "https://keystone.example.com/v3", region: RegionTwo, credentialsSecretRef: {name: swift}, caSecretRef: {name: swift, key: ca}}},
			{name: swift2, swift: {authURL: "https://keystone.example.com:5000/v3", container: c, credentialsSecretRef: {name: swift}}}]}}}`,
	"images, smallest": `{size: development, services: {glance: {enabled: true, stores: [{name: main, file: {storageSize: 1Gi, accessMode: ReadWriteOnce}}]}}, global: {exposure: {type: None}}}`,
	"images by paths": `{services: {glance: {enabled: true, import: {methods: [web-download]}, stores: [{name: main, s3: {endpoint: "https://s3.example.com", bucket: images, credentialsSecretRef: {name: s3}}}]}},
		global: {exposure: {type: GatewayAPI, routing: Paths, gateway: {name: public, namespace: gateways, sectionName: https}}}}`,
	"images, remote": `{cluster: {ref: {name: east}}, deletionPolicy: Delete, services: {glance: {enabled: true, stores: [{name: main, rbd: {secretRef: {name: ceph}}}]}},
		global: {secretStore: {name: openbao}, exposure: {type: Ingress, ingressClassName: nginx, ingressController: ingress-nginx}, tls: {issuerRef: {name: letsencrypt}}}}`,
	"queue outside": `{infrastructure: {rabbitmq: {exposure: {type: LoadBalancer, networks: [10.0.0.0/8]}}}}`,
	"compute":       `{services: {placement: {enabled: true}, nova: {enabled: true, hypervisorNetworks: ["fd00::/64"], consoles: {graphical: SPICE, serial: true}}}}`,
	"compute, cells": `{size: large, services: {placement: {enabled: true}, nova: {enabled: true, hypervisorNetworks: [10.0.0.0/8], metadata: {perCell: true},
		archive: {suspend: true}, cells: [{name: a, hypervisorNetworks: [10.1.0.0/16, 10.2.0.0/16]}, {name: b, disabled: true}, {name: c}]}}}`,
	"compute, not exposed": `{size: development, services: {placement: {enabled: true}, nova: {enabled: true, consoles: {graphical: None}}}, global: {exposure: {type: None}}}`,
	"compute by paths, remote": `{cluster: {ref: {name: east}}, services: {placement: {enabled: true}, nova: {enabled: true, metadata: {replicas: 2}}},
		global: {exposure: {type: GatewayAPI, routing: Paths, gateway: {name: public, namespace: gateways, sectionName: https}}}}`,
	"compute, external queue": `{infrastructure: {rabbitmq: {external: {host: queue.example.com, port: 5672, managementPort: 443, user: admin, ` +
		`caSecretRef: {name: a, key: ca.crt}, passwordSecretRef: {name: b, key: password}}}}, ` +
		`services: {placement: {enabled: true}, nova: {enabled: true, hypervisorNetworks: [10.20.0.0/16]}, barbican: {enabled: true}}}`,
	"compute and all else, external Keystone": `{global: {region: eu-de-2}, services: {keystone: {external: {authURL: "https://[fd00::1]:5001/identity/v3",
		user: cloud@example.com, userDomain: staff, project: clouds, projectDomain: ops, caSecretRef: {name: corporate, key: ca.pem}, passwordSecretRef: {name: corporate, key: password}}},
		placement: {enabled: true}, glance: {enabled: true, stores: [{name: main, file: {storageSize: 100Gi}}]}, nova: {enabled: true}, neutron: {enabled: true},
		barbican: {enabled: true}, heat: {enabled: true}, horizon: {enabled: true},
		cinder: {enabled: true, backends: [{name: archive, rbd: {secretRef: {name: ceph}, networks: [10.1.0.0/16]}}], volumeTypes: [{name: fast, backend: archive}]}}}`,
	"compute and all else, external database": `{infrastructure: {mariadb: {external: {host: db.example.org, port: 3307, user: cloud-admin, secretRef: {name: corporate}}}},
		services: {placement: {enabled: true}, nova: {enabled: true, cells: [{name: a}, {name: b}]},
		neutron: {enabled: true, ml2: {physicalNetworks: [{name: fast, vlanRanges: ["100:199"]}], sriov: {prohibitedVNICTypes: [direct-physical]}}},
		barbican: {enabled: true}, heat: {enabled: true}, horizon: {enabled: true},
		cinder: {enabled: true, backends: [{name: archive, rbd: {secretRef: {name: ceph}, networks: [10.1.0.0/16]}}]}}}`,
	"external database, remote": `{cluster: {ref: {name: east}}, deletionPolicy: Delete, global: {secretStore: {name: openbao}},
		infrastructure: {mariadb: {external: {host: db, user: a, secretRef: {name: corporate}}}}, services: {placement: {enabled: true}}}`,
	"name of digits": `{services: {keystone: {bootstrap: {adminUser: "1.5"}}}}`,
}

// platforms are a rich one and a bare one. The claims that need no more of a platform are run on both.
var platforms = map[string]string{
	"rich": `{domain: cloud.example.com, queueIssuer: queues, exposure: {type: GatewayAPI, gateway: {name: public, namespace: gateways}, allowedNamespaces: [gateways]},
		tls: {issuerRef: {name: letsencrypt}}, monitoring: {enabled: true, labels: {prometheus: platform}}, secretStore: {name: openbao-cluster-store},
		images: {registry: registry.example.com, pullSecrets: [platform]}, storageClass: standard, providerConfig: here,
		clusters: [{name: east, providerConfig: east, allowedNamespaces: ["tenant-*"]}], limits: [` + limittest.Everything + `]}`,
	"bare": `{domain: cloud.example.com, clusters: [{name: east, providerConfig: east, allowedNamespaces: ["*"]}], limits: [` + limittest.Everything + `]}`,
}

// referredTo are the claims that examples refer to, by the referring example; they are composed first.
var referredTo = map[string]string{
	"storage/control-plane.yaml": "storage/claim.yaml", "complete/control-plane.yaml": "complete/storage.yaml",
}

// A testCase is the result of one claim on one platform.
type testCase struct {
	name    string
	release string
	// inputs are the claim and the platform.
	inputs []map[string]any
	*preview.Result
}

// simulated are the cases, which no test changes.
var simulated []testCase

// variablesInText is a claim with references to variables in text of a tenant, wherever a definition permits them.
const variablesInText = `{services: {
		keystone: {config: {DEFAULT: {logging_context_format_string: "$(HOSTILE)"}}, policy: {"identity:list_projects": "role:$_HOSTILE"},
			identityBackends: [{domain: a, ldap: {url: "ldaps://ldap.example.com", user: "cn=$(HOSTILE)", passwordSecretRef: {name: ldap, key: password},
				suffix: "dc=$(HOSTILE)", userTreeDN: "ou=$(HOSTILE)", groupTreeDN: "ou=$(HOSTILE)", options: {user_filter: "(cn=$(HOSTILE))"}}}]},
		horizon: {enabled: true, title: "$(HOSTILE)"}, placement: {enabled: true},
		glance: {enabled: true, stores: [{name: main, file: {storageSize: 100Gi}}]}, neutron: {enabled: true},
		nova: {enabled: true, flavors: [{name: a, vcpus: 1, memoryMiB: 64, description: "$(HOSTILE)"}], aggregates: [{name: a, metadata: {b: "$(HOSTILE)"}}]},
		cinder: {enabled: true, backends: [{name: archive, rbd: {secretRef: {name: ceph}, networks: [10.1.0.0/16]}}], defaultVolumeType: a,
			volumeTypes: [{name: a, backend: archive, description: "$(HOSTILE) $$", extraSpecs: {b: "$(HOSTILE)"}}]}},
		tempest: {enabled: true, allowAdministration: true, tests: {includeRegex: "a$(HOSTILE)", excludeRegex: "b$(HOSTILE)"}}}`

// cases simulates all claims, each in one release, and in make test-long the examples in every release.
func cases(t *testing.T) []testCase {
	t.Helper()
	if simulated == nil {
		simulated = simulateAll(t)
	}
	return simulated
}

func simulateAll(t *testing.T) []testCase {
	t.Helper()
	var out []testCase
	add := func(name string, claim, platform []byte, others ...testCase) {
		var existing []*structpb.Struct
		for _, b := range others {
			existing = append(existing, b.Existing...)
		}
		r, err := preview.RunWithClaims(existing, claim, platform, kinds.Runners())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var c struct {
			Spec struct{ OpenStackRelease string }
		}
		if err := yaml.Unmarshal(claim, &c); err != nil {
			t.Fatal(err)
		}
		provided := parsed(t, claim, platform)
		for _, b := range others { // A cloud includes the claims that it refers to.
			r.Objects, provided = append(slices.Clone(b.Objects), r.Objects...), append(provided, b.inputs[0])
		}
		out = append(out, testCase{name: name, release: c.Spec.OpenStackRelease, inputs: provided, Result: r})
	}
	var files []string
	for _, k := range kindregistry.Composites() {
		if slices.Contains([]string{"cloud", "hypervisor", "keystoneservice"}, k.Folder) {
			continue // They refer to control planes, or compose claims of the other kinds.
		}
		found, err := fs.Glob(examples.Files, k.Folder+"/*.yaml")
		if err != nil || len(found) == 0 && k.Form == kindregistry.Claimed {
			t.Fatalf("there are no examples in %s: %v", k.Folder, err)
		}
		files = append(files, found...)
	}
	files = append(files, "complete/storage.yaml", "complete/control-plane.yaml")
	for i, f := range files {
		if f == "storage/hypervisors.yaml" || f == "storage/objects.yaml" {
			continue // The former are no control planes, like the examples in hypervisor; the latter is a claim that refers to one.
		}
		claim, err := examples.Files.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all := release.Releases()
		if f == "nova/sixteen.yaml" { // Its cells are like those of the other examples, and take longer than all of them.
			if all = []release.Release{"2025.2"}; !effort.Long() {
				continue
			}
		}
		if strings.HasPrefix(f, "storage/") || strings.HasPrefix(f, "complete/") || strings.HasPrefix(f, "workloadcluster/") { // Neither Ceph nor a cluster belongs to a release.
			all = []release.Release{"2025.2"}
		}
		if f != "controlplane/full.yaml" && f != "controlplane/development.yaml" && len(all) > 1 && !effort.Long() {
			// Each example is composed in one of the releases; together, they cover all.
			all = all[i%len(all):][:1]
		}
		for _, r := range all {
			other := strings.ReplaceAll(string(claim), `openStackRelease: "2025.2"`, fmt.Sprintf("openStackRelease: %q", r))
			name := strings.TrimPrefix(f, "controlplane/")
			var others []testCase
			if of := referredTo[f]; of != "" {
				others = out[slices.IndexFunc(out, func(c testCase) bool { return strings.HasPrefix(c.name, of) }):][:1]
			}
			add(name+" "+string(r), []byte(other), examples.Platform, others...)
		}
	}
	// Ceph may be in another cluster than the services that use it.
	separate, err := examples.Files.ReadFile("storage/control-plane.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ceph := slices.IndexFunc(out, func(c testCase) bool { return strings.HasPrefix(c.name, "storage/own-cluster.yaml") })
	add("storage/control-plane.yaml, Ceph in a separate cluster", separate, examples.Platform, out[ceph])
	for i, name := range slices.Sorted(maps.Keys(specs)) {
		all := release.Releases()
		for _, p := range slices.Sorted(maps.Keys(platforms)) {
			if p == "bare" && strings.HasPrefix(name, "compute") {
				continue // It needs the authority of queues.
			}
			if other := p == "bare" == (i%2 == 0); other && !effort.Long() && name != "keystone" && name != "name of digits" && !strings.HasPrefix(name, "compute") {
				continue // make test composes each claim on one of the platforms
			}
			spec := parse(t, specs[name])
			if global, _ := spec["global"].(map[string]any); p == "bare" && global["exposure"] == nil {
				unexpose(spec)
			}
			claim := document(t, "ControlPlaneCluster", "cloud", spec, string(all[i%len(all)]))
			add(name+" on a "+p+" platform", claim, document(t, "PlatformConfig", "default", parse(t, platforms[p]), ""))
		}
	}
	add("variables in text", document(t, "ControlPlaneCluster", "cloud", parse(t, variablesInText), "2025.2"),
		document(t, "PlatformConfig", "default", parse(t, platforms["rich"]), ""))
	return append(out, mixed(t)...)
}

// unexpose removes the host names of services: a platform without an exposure rejects them.
func unexpose(spec map[string]any) {
	services, _ := spec["services"].(map[string]any)
	for _, s := range services {
		if service, ok := s.(map[string]any); ok {
			delete(service, "hostname")
		}
	}
}

// mixed simulates claims with several features. Two of them may contradict each other: such a claim is rejected.
func mixed(t *testing.T) []testCase {
	t.Helper()
	var out []testCase
	rnd := rand.New(rand.NewPCG(1, 2))
	names := slices.Sorted(maps.Keys(specs))
	for range effort.Of(6, 40) {
		merged := map[string]any{"size": []string{"development", "small", "medium", "large"}[rnd.IntN(4)]}
		var parts []string
		for range 4 {
			name := names[rnd.IntN(len(names))]
			parts = append(parts, name)
			merge(merged, parse(t, specs[name]))
		}
		r := release.Releases()[rnd.IntN(len(release.Releases()))]
		claim := document(t, "ControlPlaneCluster", "cloud", merged, string(r))
		platform := document(t, "PlatformConfig", "default", parse(t, platforms["rich"]), "")
		result, err := preview.Run(claim, platform, kinds.Runners())
		if rejected := (*preview.ValidationErrors)(nil); errors.As(err, &rejected) {
			continue
		} else if err != nil {
			t.Fatalf("%s: %v", claim, err)
		}
		out = append(out, testCase{name: strings.Join(parts, " + "), release: string(r), inputs: parsed(t, claim, platform), Result: result})
	}
	if len(out) < effort.Of(3, 20) {
		t.Fatalf("only %d claims were accepted", len(out))
	}
	return out
}

func merge(into, over map[string]any) {
	for k, v := range over {
		below, ok := into[k].(map[string]any)
		if more, both := v.(map[string]any); ok && both {
			merge(below, more)
			continue
		}
		into[k] = v
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "\t", " ")), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// parsed returns documents as maps.
func parsed(t *testing.T, docs ...[]byte) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, d := range docs {
		out = append(out, parse(t, string(d)))
	}
	return out
}

// document returns an object of this project with a spec.
func document(t *testing.T, kind, name string, spec map[string]any, openStackRelease string) []byte {
	t.Helper()
	meta := map[string]any{"name": name}
	if openStackRelease != "" {
		spec["openStackRelease"], meta["namespace"] = openStackRelease, "tenant-a"
	}
	doc, err := yaml.Marshal(map[string]any{"apiVersion": "crossplane.c5c3.io/v1alpha1", "kind": kind, "metadata": meta, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
