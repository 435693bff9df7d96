package invariants

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/apis"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/registry"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

type (
	object = map[string]any
	list   = []any
)

// sample draws a copy of one of some values.
func sample(values ...any) constraint {
	return constraint{instead: rapid.Map(rapid.SampledFrom(values), runtime.DeepCopyJSONValue)}
}

// odd draws the number of members of something that votes.
var odd = sample(int64(1), int64(3), int64(5), int64(9))

// constraints are the requirements of rules and functions on a spec, in addition to its schema.
var constraints = map[string]constraint{
	// Rules (CEL) of the definitions.
	"mariadb.replicas":  odd,
	"rabbitmq.replicas": odd,
	"keystone.enabled":  sample(true),
	"korc.enabled":      sample(true),
	"memcached.cpu":     sample("50m", int64(2)),
	"rabbitmq":          {fix: disableAllBut},
	"queue":             {fix: ownQueue}, "novaQueue": {fix: ownQueue},
	"mariadb.config":  sample(object{}, object{"wait_timeout": int64(3600)}, object{"tmp_table_size": "32M", "thread_handling": "pool-of-threads"}),
	"rabbitmq.config": sample(object{}, object{"heartbeat": int64(30)}, object{"log.console.level": "warning", "channel_max": int64(512)}),
	// The rows of images are purged last. Only Glance has both fields.
	"archive": {fix: func(o object) {
		days, _ := o["afterDays"].(int64)
		if images, ok := o["imagesAfterDays"].(int64); ok {
			o["imagesAfterDays"] = max(images, days)
		} else if days > 180 { // The default of imagesAfterDays.
			o["afterDays"] = int64(180)
		}
	}},
	"valkey": {fix: func(o object) {
		disableAllBut(o)
		sentinel, _ := o["sentinel"].(object)
		if sentinel["enabled"] == true || sentinel["enabled"] == nil && o["replicas"] == int64(2) {
			o["replicas"] = int64(3)
		}
	}},
	// With a Gateway, including the platform's, no issuer is used.
	"spec.global": {fix: func(o object) {
		exposure, _ := o["exposure"].(object)
		if tls, ok := o["tls"].(object); ok && exposure["type"] != "Ingress" {
			delete(tls, "issuerRef")
		}
	}},
	"resources": amounts, "proxyResources": amounts,
	"osds.resources":    sample(object{"limits": object{"memory": "2Gi"}}, object{"requests": object{"cpu": "1"}}, object{}), // A daemon starts with that.
	"vault.url":         sample("https://vault.example.com:8200", "https://192.0.2.1", "https://[fd00::1]:8200"),
	"passwordSecretRef": secretKeys, "caSecretRef": secretKeys, "clientSecretRef": secretKeys, "rootPasswordSecretRef": secretKeys,
	"credentialsSecretRef": secretConstraints, "external.clientSecretRef": secretConstraints, "external.secretRef": secretConstraints, "ovn.clientSecretRef": secretConstraints,
	"pullSecrets": sample(list{}, list{ofTenant}, list{longOfTenant, "mariadb-root"}),
	"mariadb.restoreFrom": {fix: func(o object) {
		if _, ok := o["rootPasswordSecretRef"]; !ok {
			o["rootPasswordSecretRef"] = object{"name": "old-root", "key": "password"}
		}
	}},
	"memory": sample("64Mi", "1500M", "1Gi", int64(1<<30)),
	// Processes of a service that has several.
	"api.cpu": cores, "api.memory": memory,
	"scheduler.cpu": cores, "scheduler.memory": memory,
	"conductor.cpu": cores, "conductor.memory": memory,
	"metadata.cpu": cores, "metadata.memory": memory,
	"consoles.cpu": cores, "consoles.memory": memory,
	"proxies.cpu": cores, "proxies.memory": memory,
	"worker.cpu": cores, "worker.memory": memory,
	"workers.cpu": cores, "workers.memory": memory,
	"maintenance.cpu": cores, "maintenance.memory": memory,
	"periodic.cpu": cores, "periodic.memory": memory,
	"horizon.cpu": cores, "horizon.memory": memory,
	"websso": {fix: func(o object) {
		first, _ := o["choices"].(list)[0].(object)
		if _, requested := o["initialChoice"]; requested {
			o["initialChoice"] = first["name"]
		}
	}},
	"rpc.cpu": cores, "rpc.memory": memory,
	"engine.cpu": cores, "engine.memory": memory,
	"cfn.cpu": cores, "cfn.memory": memory,
	"northbound.cpu": cores, "northbound.memory": memory,
	"southbound.cpu": cores, "southbound.memory": memory,
	"northd.cpu": cores, "northd.memory": memory,
	"relay.cpu": cores, "relay.memory": memory,
	"southbound.exposure": {fix: reachableMembers}, "rabbitmq.exposure": {fix: reachableMembers},
	"mariadb.cpu": cores, "mariadb.memory": memory,
	"rabbitmq.cpu": cores, "rabbitmq.memory": memory,
	"identityBackends[].domain": sample("employees", "Partners_2", "a"),
	"exposure":                  {fix: reachable}, "serialExposure": {fix: reachable},
	"spec": {fix: func(o object) {
		global, _ := o["global"].(object)
		exposure, _ := global["exposure"].(object)
		services, _ := o["services"].(object)
		withoutOperations(o)
		externalServer(o, "mariadb")
		externalServer(o, "rabbitmq")
		knownProvider(services)
		testsOfIdentity(o)
		customServices(o)
		reachableServices(services, exposure["type"] != nil && exposure["type"] != "None")
	}},
	"consoles": {fix: func(o object) {
		if graphical, set := o["graphical"]; set && graphical != "VNC" {
			delete(o, "vnc")
		}
	}},
	"tls": {fix: func(o object) {
		if o["enabled"] != true {
			delete(o, "issuerRef")
		}
	}},
	"credentialRotation": rotations, "korcCredential": rotations,
	"image":      {fix: tagOrDigest},
	"proxyImage": {fix: tagOrDigest},
	"thirdPartyImages": {fix: func(o object) {
		for _, image := range o {
			tagOrDigest(image.(object))
		}
	}},
	"scopes":           sample(list{"openid"}, list{"groups", "openid"}, list{}),
	"introspectionURL": sample("https://id.example.com/introspect", "https://id.example.com:9443/introspect"),
	"tolerations[]": {fix: func(o object) {
		o["key"] = "dedicated"
		if o["operator"] == "Exists" {
			delete(o, "value")
		} else if o["value"] != nil {
			o["value"] = "openstack"
		}
		if o["tolerationSeconds"] != nil {
			o["effect"] = "NoExecute"
		}
	}},
	"maxScale": {fix: func(o object) {
		if o["enabled"] == false {
			delete(o, "replicas")
		}
	}},
	"storageSize": sample("2Gi", "20Gi"), "includeRegex": sample("tempest.api", "(?!a)b"), "excludeRegex": sample("slow"),
	"trustedDashboards[]": sample("https://dashboard.example.com/auth/websso/", "https://b.example.com/"),
	"ldap": {fix: func(o object) {
		_, user := o["user"]
		if _, password := o["passwordSecretRef"]; user != password {
			delete(o, "user")
			delete(o, "passwordSecretRef")
		}
	}},

	// Stores of images.
	"services.glance": {fix: func(o object) {
		if o["enabled"] == true {
			stores(o)
		} else {
			delete(o, "defaultStore")
		}
	}},
	"stores[]":             {fix: driver},
	"stores[].s3.endpoint": sample("https://s3.example.com", "http://[fd00::1]:9000"),
	"stores[].ceph":        pools("images"),
	"rbd.user":             sample("glance", "images.eu"),
	"networks[]":           sample("10.0.1.0/24", "fd00::/64"),
	"hypervisorNetworks[]": sample("10.0.2.0/24", "fd01::/64"),
	"import": {fix: func(o object) {
		if methods, _ := o["methods"].(list); !slices.Contains(methods, "web-download") {
			delete(o, "webDownload")
		}
	}},

	// Places of volumes.
	"services.cinder": {fix: func(o object) {
		if o["enabled"] == true {
			validBackends(o)
		} else {
			delete(o, "defaultVolumeType")
			delete(o, "volumeTypes")
		}
	}},
	"backends[]":             {fix: func(o object) { one(o, "rbd", "ceph", "nfs") }},
	"backends[].ceph":        pools("volumes"),
	"backup.ceph":            pools("backups"),
	"services.cinder.backup": {fix: backupPlace},
	"shares[]":               sample("nfs.example.com:/volumes", "[fd00::1]:/more"), "nfs.share": sample("nfs.example.com:/backups"),
	"volume.cpu": cores, "volume.memory": memory, "backup.cpu": cores, "backup.memory": memory,
	"backup.s3.endpoint": sample("https://s3.example.com", "http://[fd00::1]:9000"), "swift.url": sample("https://objects.example.com:9443/swift/v1/AUTH_"),

	// Networks.
	"mechanism": sample("OVN"), "servicePlugins": sample(list{"ovn-router", "qos"}, list{"trunk"}, list{}),
	"extensionDrivers": sample(list{"port_security", "dns"}, list{"qos"}), "vlanRanges[]": sample("100:199", "7:7"), "vniRange": sample("1:65536"),
	"dnsServers[]": sample("192.0.2.53", "2001:db8::53"),
	"typeDrivers":  sample(list{"geneve", "vlan", "flat"}, list{"local", "flat", "vlan", "geneve"}), "physicalNetworks[].mtu": sample(int64(1280)), "tenantNetworkTypes": sample(list{"geneve"}, list{}),
	"services.neutron": {fix: func(o object) {
		if ovn, ok := o["ovn"].(object); ok {
			majorities(ovn)
		}
	}},

	// Flavors have unique IDs, and hosts are in one zone.
	"flavors[]": {fix: func(o object) {
		if _, ok := o["id"]; ok {
			o["id"] = o["name"]
		}
		if o["private"] != true {
			delete(o, "projects")
		}
	}},
	"aggregates[].availabilityZone": sample("az-east"),

	// Settings that depend on the platform, or that only a function can validate.
	"spec.cluster": sample(object{"ref": object{"name": "east"}}, object{"ref": object{"name": "here"}}),
	"schedule":     crons, "rotationSchedule": rotationCrons,
	"tokenExpirationSeconds": sample(int64(300), int64(86400)), "allowExpiredWindowSeconds": sample(int64(0), int64(3600)), "maxActiveKeys": sample(int64(110), int64(200)),
	"processes": sample(int64(1), int64(4)), "tag": sample("a1b2c3d", "0123456789abcdef0123456789abcdef01234567"),
	"suffix": names, "userTreeDN": names, "groupTreeDN": names, "user": names,
	"options":     sample(object{}, object{"user_objectclass": "inetOrgPerson", "query_scope": "sub", "page_size": int64(100)}),
	"spec.limits": sample(list{allowAll}, list{object{"name": "trial", "namespaces": list{"nobody"}, "sizes": list{"development"}}, allowAll}),
	"ldap.url":    sample("ldaps://10.0.0.1:3636", "ldaps://LDAP.example.com", "ldaps://[fd00::1]"),
	"metadataURL": providers, "issuer": providers,
	"cache.servers[]": sample("memcached-0.memcached.cloud.svc:11211", "10.0.0.1:11211"),
	"internalURL":     sample("https://keystone.cloud.svc:5000/v3", "https://10.0.0.1:5000/v3"),
	"publicURL":       addresses, "authURL": addresses,
	"external.authURL":       sample("https://identity.example.com/v3", "https://[fd00::1]:5000/identity/v3"),
	"external.user":          sample("cloud-admin", "cloud@example.com"),
	"rabbitmq.external.host": sample("queue.example.com"),
	"mariadb.external.host":  sample("db.example.com", "db"),
	"database.sharedAs":      sample("os_0123456789abcdef0123", "a"), "novaDatabase.sharedAs": sample("os_0123456789abcdef0123", "a"),
	"s3.endpoint":         sample("s3.example.com", "S3:9000"),
	"spec.providerConfig": sample("in-cluster", "management"),
	"endpoints": sample(
		object{"public": "https://keystone.example.com/v3", "internal": "https://keystone.cloud.svc:5000/v3"},
		object{"public": "http://example.com/identity/v3", "internal": "https://keystone.cloud.svc:5000/v3"},
	),
}

// cores and memory of one of several processes.
var cores, memory = sample("500m", "1.5", int64(2)), sample("768Mi", "1Gi")

// ofTenant and longOfTenant are Secrets that a tenant names. No composed Secret has these names.
const ofTenant = "secret-of-a-tenant"

var longOfTenant = strings.Repeat("of-a-tenant.", 21) + "1"

// secretConstraints are Secrets that a tenant may name: the tenant's, and one with the name of a composed Secret;
// secretKeys are their keys.
var secretConstraints = sample(object{"name": ofTenant}, object{"name": longOfTenant}, object{"name": "keystone-admin"})

var secretKeys = sample(object{"name": ofTenant, "key": "password"}, object{"name": longOfTenant, "key": "ca.crt"},
	object{"name": "keystone-admin", "key": "password"}, object{"name": "internal-ca", "key": "tls.key"})

var (
	amounts = sample(
		object{"requests": object{"cpu": "100m", "memory": "1Gi"}, "limits": object{"memory": "1Gi", "ephemeral-storage": "2Gi"}},
		object{"requests": object{"cpu": "1", "memory": int64(512 << 20)}, "limits": object{"cpu": "2", "memory": "536870912"}},
		object{"requests": object{"cpu": int64(1)}}, object{},
	)
	crons = sample("0 0 * * 0", "*/15 1-5 * * *", "30 1 1 * 1-5")
	// No repository has keys for the default lifetimes and a rotation every quarter of an hour.
	rotationCrons = sample("0 0 * * 0", "0 */6 * * *", "30 1 1 * 1-5")
	// The default window is a week.
	rotations = sample(object{}, object{"intervalDays": int64(8)}, object{"suspend": true, "gracePeriodDays": int64(0)},
		object{"intervalDays": int64(1), "preRotationDays": int64(0), "gracePeriodDays": int64(365)})
	names = sample("dc=example,dc=com", `cn="a b",ou=Käse,dc=example`, "o=$x")
)

// allowAll is a limit that permits everything.
var allowAll = func() object {
	o := object{}
	if err := yaml.Unmarshal([]byte(limittest.Everything), &o); err != nil {
		panic(err)
	}
	return runtime.DeepCopyJSON(o)
}()

var addresses = sample("https://keystone.example.com/v3", "http://[fd00::1]:5000/identity/v3")

var providers = sample("https://id.example.com/realms/a", "https://[::1]:8080/a%20b")

// disableAllBut removes all settings of a disabled section except enabled, and its storage class, which is immutable.
func disableAllBut(o object) {
	if o["enabled"] != false {
		return
	}
	for field := range o {
		if field != "enabled" && field != "storageClass" {
			delete(o, field)
		}
	}
}

// stores adds a store to a Glance without one, sets volumes that all pods can share, and an existing default store.
func stores(o object) {
	all, _ := o["stores"].(list)
	if len(all) == 0 {
		all = list{object{"name": "main", "file": object{"storageSize": "1Gi"}}}
	}
	for i, s := range all {
		separate(s.(object), i, "main")
		if file, ok := s.(object)["file"].(object); ok && o["replicas"] != int64(1) {
			delete(file, "accessMode")
		}
	}
	o["stores"] = all
	if _, ok := o["defaultStore"]; ok {
		o["defaultStore"] = all[len(all)-1].(object)["name"]
	}
}

// reachableServices removes host names of services without exposure.
func reachableServices(services object, exposed bool) {
	for _, service := range services {
		if service, ok := service.(object); ok && !exposed {
			delete(service, "hostname")
		}
	}
	heat, _ := services["heat"].(object)
	if cfn, ok := heat["cfn"].(object); ok && (!exposed || cfn["enabled"] == false) {
		delete(cfn, "hostname")
	}
	nova, _ := services["nova"].(object)
	requested, _ := nova["consoles"].(object)
	cells, _ := nova["cells"].(list)
	for _, cell := range cells {
		consoles, _ := cell.(object)["consoles"].(object)
		if !exposed || requested["graphical"] == "None" {
			delete(consoles, "hostname")
		}
		if !exposed || requested["serial"] != true {
			delete(consoles, "serialHostname")
		}
	}
}

// separate gives the i-th store or backend a separate location: no two keep their data in one.
func separate(o object, i int, name string) {
	own := name + strconv.Itoa(i)
	for driver, field := range map[string]string{"s3": "bucket", "rbd": "pool", "swift": "container"} {
		if of, ok := o[driver].(object); ok {
			of[field] = own
		}
	}
	if of, ok := o["nfs"].(object); ok {
		of["shares"] = list{"nfs.example.com:/" + own}
	}
	if _, ok := o["ceph"]; ok && i > 0 { // There is one pool that claims may use.
		delete(o, "ceph")
		if name == "main" {
			o["file"] = object{"storageSize": "1Gi"}
		} else {
			o["rbd"] = object{"secretRef": object{"name": ofTenant}, "pool": own}
		}
	}
}

// driver keeps one location of a store's images.
func driver(o object) {
	drivers := []string{"ceph", "s3", "swift", "rbd", "file"}
	i := slices.IndexFunc(drivers, func(name string) bool { return o[name] != nil })
	if i < 0 {
		o["file"] = object{"storageSize": "1Gi"}
		return
	}
	for _, name := range drivers[i+1:] {
		delete(o, name)
	}
}

// validBackends adds a backend to a Cinder without one, limits managers of backends that allow only one, and sets
// volume types of existing backends, and an existing default volume type.
func validBackends(o object) {
	all, _ := o["backends"].(list)
	if len(all) == 0 {
		all = list{object{"name": "ceph-rbd", "rbd": object{"secretRef": object{"name": ofTenant}}}}
	}
	o["backends"] = all
	for i, b := range all {
		b := b.(object)
		b["name"] = "backend-" + strconv.Itoa(i)
		separate(b, i, "volumes")
		if volume, ok := b["volume"].(object); ok {
			delete(volume, "replicas")
		}
	}
	for _, process := range []string{"volume", "backup"} {
		if p, ok := o[process].(object); ok {
			delete(p, "replicas")
		}
	}
	types, _ := o["volumeTypes"].(list)
	for _, t := range types {
		t := t.(object)
		if t["backend"] != nil {
			t["backend"] = "backend-0"
		}
		delete(t, "private") // One of them may be the default.
	}
	if len(types) == 0 {
		delete(o, "volumeTypes")
	}
	if o["defaultVolumeType"] != nil {
		o["defaultVolumeType"] = "backend-0"
		if len(types) > 0 {
			o["defaultVolumeType"] = types[0].(object)["name"]
		}
	}
}

// backupPlace keeps one location of backups.
func backupPlace(o object) { one(o, "rbd", "ceph", "s3", "swift", "nfs", "file") }

// one keeps one of several fields, and sets the first if there is none.
func one(o object, fields ...string) {
	i := slices.IndexFunc(fields, func(name string) bool { return o[name] != nil })
	if i < 0 {
		o[fields[0]] = object{"secretRef": object{"name": ofTenant}}
		return
	}
	for _, name := range fields[i+1:] {
		delete(o, name)
	}
}

func tagOrDigest(o object) {
	if _, ok := o["digest"]; ok {
		delete(o, "tag")
	}
}

// A definedKind is a kind of this project whose specs are drawn.
type definedKind struct {
	folder, apiVersion, kind string
	// composite is the kind of the composite resource.
	composite string
	// service whose options and rules it has. Empty: the folder's.
	service string
	// new makes an empty object of the kind's Go type, into which everything that is drawn has to fit.
	new func() any
	// spec is the schema of the spec as written, without Crossplane's additions.
	spec func() *apiextensionsv1.JSONSchemaProps
	// fix makes a spec keep a rule that other kinds do not have, and own are constraints of this kind alone.
	fix func(object)
	own map[string]constraint
	// constraints are the common constraints and the kind's.
	constraints map[string]constraint
}

// particulars contains the fields of definedKind that do not follow from the registry, by folder.
var particulars = map[string]definedKind{
	"cinder":          {fix: ofVolumes, own: map[string]constraint{"spec.backup": {fix: backupPlace}, "spec.storageClients": {}}},
	"cloud":           cloudSettings,
	"glance":          {fix: ofImages, own: map[string]constraint{"spec.storageClients": {}}},
	"hypervisor":      hypervisorSettings,
	"keystoneservice": keystoneServiceSettings,
	"neutron":         {fix: databases},
	"novacell":        {service: "nova"},
	"ovn":             {fix: majorities},
	"storage":         storageSettings,
	"tempest":         {fix: limitTestsToEnabledServices},
	"workloadcluster": {own: map[string]constraint{"spec.source": {fix: existingCluster}}},
}

// definedKinds are the kinds of composite resources, and PlatformConfig, by folder.
var definedKinds = defineKinds()

func defineKinds() map[string]*definedKind {
	out := map[string]*definedKind{}
	for _, k := range kindregistry.All() {
		if k.Form == kindregistry.Namespaced || k.Form == kindregistry.CustomResource && k.GroupVersionKind != platformv1.GroupVersionKind {
			continue // A namespaced form has the spec of its claim.
		}
		d := particulars[k.Folder]
		d.folder, d.apiVersion, d.kind, d.composite = k.Folder, k.GroupVersion().String(), k.Kind, k.Composite().Kind
		d.new = func() any { return reflect.New(k.Type).Interface() }
		out[k.Folder] = &d
	}
	return out
}

// Kinds with tests of their own.
var (
	claims           = definedKinds["controlplane"]
	hypervisors      = definedKinds["hypervisor"]
	storages         = definedKinds["storage"]
	keystoneServices = definedKinds["keystoneservice"]
	novas            = definedKinds["nova"]
	ovns             = definedKinds["ovn"]
	platforms        = definedKinds["platform"]
)

func init() { //nolint:gochecknoinits // the table refers to itself
	for _, k := range definedKinds {
		k.spec = sync.OnceValue(func() *apiextensionsv1.JSONSchemaProps {
			s, err := specSchema(k.folder)
			if err != nil {
				panic(err)
			}
			return s
		})
		k.constraints = maps.Clone(constraints)
		if k.fix != nil {
			k.constraints["spec"] = constraint{fix: k.fix}
		}
		maps.Copy(k.constraints, k.own)
	}
	// Options and rules are specific to each service.
	for _, k := range definedKinds {
		service := cmp.Or(k.service, k.folder)
		if len(registry.All(service)) == 0 {
			continue
		}
		config, policy := options(service), rules(service)
		k.constraints["spec.config"], k.constraints["spec.policy"] = config, policy
		claims.constraints["services."+k.folder+".config"], claims.constraints["services."+k.folder+".policy"] = config, policy
	}
}

// reachable adds the required settings of an external exposure.
func reachable(o object) {
	if _, ok := o["gateway"]; !ok {
		o["gateway"] = object{"name": "public", "namespace": "gateways"}
	}
	if o["type"] == "Ingress" {
		delete(o, "routing")
		if _, ok := o["ingressController"]; !ok {
			o["ingressController"] = "other"
		}
	}
}

// reachableMembers adds the required settings of members' external exposure.
func reachableMembers(o object) {
	delete(o, "nodes")
	if o["type"] == "NodePort" {
		o["nodes"] = "nodes.example.com"
	}
}

// majorities sets 1, 3 or 5 members, in pods with enough memory for a process.
func majorities(spec object) {
	for _, part := range []string{"northbound", "southbound", "northd", "relay"} {
		o, ok := spec[part].(object)
		if !ok {
			continue
		}
		if n, ok := o["replicas"].(int64); ok && strings.HasSuffix(part, "bound") {
			o["replicas"] = n%3*2 + 1
		}
		if _, ok := o["memory"]; ok {
			o["memory"] = "1Gi"
		}
	}
}

// databases removes the combinations of OVN settings that are invalid: the databases, and the processes that depend on
// the mechanism.
func databases(spec object) {
	only := func(name string, enabled bool) {
		if !enabled {
			delete(spec, name)
		} else if spec[name] == nil {
			spec[name] = object{}
		}
	}
	ml2, _ := spec["ml2"].(object)
	if physical, _ := ml2["physicalNetworks"].(list); len(physical) == 0 {
		delete(ml2, "sriov")
	}
	agents := spec["mechanism"] == "OVS"
	only("ovn", !agents)
	only("maintenance", !agents)
	only("rpc", agents || ml2["sriov"] != nil)
	ovn, ok := spec["ovn"].(object)
	if !ok {
		return
	}
	ovn["northbound"], ovn["southbound"] = "ssl:nb-0.nb.cloud.svc:6641,ssl:nb-1.nb.cloud.svc:6641", "ssl:[fd00::1]:6642"
	if networks, _ := ovn["networks"].(list); ovn["clientSecretRef"] == nil || len(networks) == 0 {
		delete(ovn, "clientSecretRef")
		delete(ovn, "networks")
		if ovn["issuerRef"] == nil {
			ovn["issuerRef"] = object{"name": "ovn-ca", "kind": "Issuer"}
		}
		return
	}
	delete(ovn, "issuerRef")
	if sync, ok := ovn["sync"].(object); ok {
		delete(sync, "mode")
	}
}

// specSchema reads the schema of a spec from its definition.
func specSchema(folder string) (*apiextensionsv1.JSONSchemaProps, error) {
	if folder == "platform" {
		crd, _, err := definition.For(platforms.apiVersion, platforms.kind)
		if err != nil {
			return nil, err
		}
		s := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		return &s, nil
	}
	doc, err := apis.Definition(folder)
	if err != nil {
		return nil, err
	}
	xrd, err := schema.ParseXRD(doc)
	if err != nil {
		return nil, err
	}
	full := apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(xrd.Spec.Versions[0].Schema.OpenAPIV3Schema.Raw, &full); err != nil {
		return nil, err
	}
	s := full.Properties["spec"]
	return &s, nil
}

// drawn counts the drawn specs, discarded the invalid ones.
var drawn, discarded atomic.Int64

// draw draws an object that an API server accepts, with its defaults. A rejected one is discarded.
func (k *definedKind) draw(t *rapid.T, namespace, name string) object {
	d := drawer{t: t, constraints: k.constraints, present: rapid.SampledFrom([]bool{false, true})}
	if rapid.Bool().Draw(t, "sparse") {
		d.present = rapid.SampledFrom([]bool{false, false, false, false, false, true})
	}
	spec := d.draw("spec", k.spec()).(object)
	meta := object{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	o := object{"apiVersion": k.apiVersion, "kind": k.kind, "metadata": meta, "spec": spec}
	k.checkType(t, o)
	v, err := definition.Validator(k.apiVersion, k.kind)
	if err != nil {
		t.Fatalf("cannot check: %v", err)
	}
	drawn.Add(1)
	v.Default(o)
	if errs := v.Validate(o); len(errs) > 0 {
		discarded.Add(1)
		t.Skipf("not valid: %v", errs)
	}
	return o
}

// checkType checks that an object fits its Go type; otherwise functions would not read all of it.
func (k *definedKind) checkType(t *rapid.T, o object) {
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatalf("cannot write JSON: %v", err)
	}
	unknown, err := strict.UnmarshalStrict(b, k.new())
	if err != nil || len(unknown) > 0 {
		t.Fatalf("the schema accepts fields that the Go type of %s does not have: %v %v in %s", k.kind, err, unknown, b)
	}
}

// TestDrawnSpecsAreValid checks that nearly all drawn specs are valid. Invalid ones are discarded by the other tests.
func TestDrawnSpecsAreValid(t *testing.T) {
	for _, k := range definedKinds {
		t.Run(k.kind, rapid.MakeCheck(func(t *rapid.T) { k.draw(t, "", "example") }))
	}
	if share := 100 * discarded.Load() / drawn.Load(); share > 2 {
		t.Errorf("%d%% of %d specs are not valid", share, drawn.Load())
	}
}

// limitTestsToEnabledServices limits a Tempest to tests of services that it is configured with.
func limitTestsToEnabledServices(o object) {
	services, _ := o["services"].(list)
	tests, _ := o["tests"].(object)
	if len(services) == 0 || tests["services"] == nil {
		return
	}
	delete(tests, "services")
	if first, _ := services[0].(object); first["type"] != "placement" { // Of which there are no tests.
		tests["services"] = list{first["type"]}
	}
}

// testsOfIdentity limits the tests of a claim to the services of every cloud, if the claim has a list, and permits
// tests to administrate the cloud.
func testsOfIdentity(o object) {
	tempest, ok := o["tempest"].(object)
	if ok {
		tempest["allowAdministration"] = true
	}
	if tests, _ := tempest["tests"].(object); tests["services"] != nil {
		tests["services"] = list{"identity"}
	}
}

// knownProvider sets the identity provider of a dashboard to Keystone's, or to none.
func knownProvider(services object) {
	keystone, _ := services["keystone"].(object)
	horizon, _ := services["horizon"].(object)
	websso, ok := horizon["websso"].(object)
	if !ok {
		return
	}
	federation, ok := keystone["federation"].(object)
	if !ok {
		delete(horizon, "websso")
		return
	}
	choices, _ := websso["choices"].(list)
	for _, c := range choices {
		if c, ok := c.(object); ok && c["provider"] != nil {
			c["provider"] = federation["provider"]
		}
	}
}
