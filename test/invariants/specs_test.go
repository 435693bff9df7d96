package invariants

import (
	"encoding/json"
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
	catalogv1 "github.com/c5c3/crossplane-cobaltcore/apis/catalog/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	placementv1 "github.com/c5c3/crossplane-cobaltcore/apis/placement/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/schema"
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

// off is a service that is not built yet.
var off = sample(object{}, object{"enabled": false})

// constraints are what rules and functions ask of a spec beyond its schema.
var constraints = map[string]constraint{
	// Rules (CEL) of the definitions.
	"mariadb.replicas":  odd,
	"rabbitmq.replicas": odd,
	"keystone.enabled":  sample(true),
	"memcached.cpu":     sample("50m", int64(2)),
	"rabbitmq":          {fix: offAlone},
	"valkey": {fix: func(o object) {
		offAlone(o)
		sentinel, _ := o["sentinel"].(object)
		if sentinel["enabled"] == true || sentinel["enabled"] == nil && o["replicas"] == int64(2) {
			o["replicas"] = int64(3)
		}
	}},
	// At a Gateway, also at the platform's, nobody asks an issuer.
	"spec.global": {fix: func(o object) {
		exposure, _ := o["exposure"].(object)
		if tls, ok := o["tls"].(object); ok && exposure["type"] != "Ingress" {
			delete(tls, "issuerRef")
		}
	}},
	"resources": amounts, "proxyResources": amounts,
	"passwordSecretRef": secretKeys, "caSecretRef": secretKeys, "clientSecretRef": secretKeys, "rootPasswordSecretRef": secretKeys,
	"credentialsSecretRef": sample(object{"name": ofTenant}, object{"name": longOfTenant}, object{"name": "keystone-admin"}),
	"pullSecrets":          sample(list{}, list{ofTenant}, list{longOfTenant, "mariadb-root"}),
	"restoreFrom": {fix: func(o object) {
		if _, ok := o["rootPasswordSecretRef"]; !ok {
			o["rootPasswordSecretRef"] = object{"name": "old-root", "key": "password"}
		}
	}},
	"memory":                    sample("64Mi", "1500M", "1Gi", int64(1<<30)),
	"identityBackends[].domain": sample("employees", "Partners_2", "a"),
	"exposure": {fix: func(o object) {
		if _, ok := o["gateway"]; !ok {
			o["gateway"] = object{"name": "public", "namespace": "gateways"}
		}
		if o["type"] == "Ingress" {
			delete(o, "routing")
			if _, ok := o["ingressController"]; !ok {
				o["ingressController"] = "other"
			}
		}
	}},
	"spec": {fix: func(o object) {
		global, _ := o["global"].(object)
		exposure, _ := global["exposure"].(object)
		services, _ := o["services"].(object)
		for _, service := range services {
			if service, ok := service.(object); ok && exposure["type"] == "None" {
				delete(service, "hostname")
			}
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
	"introspectionURL": sample("https://id.example.com/introspect", "https://id.example.com:8443/introspect"),
	"tolerations[]": {fix: func(o object) {
		if o["operator"] == "Exists" {
			delete(o, "value")
		} else {
			o["key"] = "dedicated"
		}
	}},
	"ldap": {fix: func(o object) {
		_, user := o["user"]
		if _, password := o["passwordSecretRef"]; user != password {
			delete(o, "user")
			delete(o, "passwordSecretRef")
		}
	}},

	// Options and rules are each service's own, and so are claims that cost more together.
	"services.placement": sample(object{"enabled": true}, object{"enabled": false}),
	"services.glance": sample(object{"enabled": false}, object{
		"enabled": true, "stores": list{object{"name": "main", "file": object{"storageSize": "1Gi"}}},
	}),

	// What the platform offers, and what else only a function can find out.
	"spec.cluster": sample(object{"ref": object{"name": "east"}}, object{"ref": object{"name": "here"}}),
	"schedule":     crons, "rotationSchedule": rotationCrons,
	"tokenExpirationSeconds": sample(int64(300), int64(86400)), "allowExpiredWindowSeconds": sample(int64(0), int64(3600)), "maxActiveKeys": sample(int64(110), int64(200)),
	"processes": sample(int64(1), int64(4)), "tag": sample("a1b2c3d", "0123456789abcdef0123456789abcdef01234567"),
	"suffix": names, "userTreeDN": names, "groupTreeDN": names, "user": names,
	"config": sample(object{}, object{"DEFAULT": object{"max_token_size": int64(512)}}, object{
		"security_compliance": object{"lockout_failure_attempts": int64(6), "unique_last_password_count": int64(5)},
		"token":               object{"allow_rescope_scoped_token": false},
	}),
	"policy":      sample(object{}, object{"identity:list_projects": "rule:admin_required", "identity:get_user": "role:auditor or user_id:%(user_id)s"}),
	"options":     sample(object{}, object{"user_objectclass": "inetOrgPerson", "query_scope": "sub", "page_size": int64(100)}),
	"spec.limits": sample(list{everything}, list{object{"name": "trial", "namespaces": list{"nobody"}, "sizes": list{"development"}}, everything}),
	"ldap.url":    sample("ldap://10.0.0.1:3389", "ldaps://LDAP.example.com", "ldaps://[fd00::1]"),
	"metadataURL": providers, "issuer": providers,
	"s3.endpoint":         sample("s3.example.com", "S3:9000"),
	"spec.providerConfig": sample("in-cluster", "management"),
	"endpoints": sample(
		object{"public": "https://keystone.example.com/v3", "internal": "https://keystone.cloud.svc:5000/v3"},
		object{"public": "http://example.com/identity/v3", "internal": "https://keystone.cloud.svc:5000/v3"},
	),
}

// ofTenant and longOfTenant are Secrets that a tenant names. Nothing of ours is called like them.
const ofTenant = "secret-of-a-tenant"

var longOfTenant = strings.Repeat("of-a-tenant.", 21) + "1"

// secretKeys are keys of Secrets that a tenant may name: his, and such as are called like ours.
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

// everything is a limit that denies nothing.
var everything = func() object {
	o := object{}
	if err := yaml.Unmarshal([]byte(limittest.Everything), &o); err != nil {
		panic(err)
	}
	return runtime.DeepCopyJSON(o)
}()

var providers = sample("https://id.example.com/realms/a", "http://[::1]:8080/a%20b")

// offAlone leaves nothing of what is off but that, and its storage class, which cannot be taken back.
func offAlone(o object) {
	if o["enabled"] != false {
		return
	}
	for field := range o {
		if field != "enabled" && field != "storageClass" {
			delete(o, field)
		}
	}
}

func tagOrDigest(o object) {
	if _, ok := o["digest"]; ok {
		delete(o, "tag")
	}
}

// A definedKind is a kind of ours whose specs are drawn.
type definedKind struct {
	folder, apiVersion, kind string
	// new makes an empty object of the kind's Go type, into which everything that is drawn has to fit.
	new func() any
	// spec is the schema of the spec, as we wrote it: without what Crossplane adds to it.
	spec func() *apiextensionsv1.JSONSchemaProps
}

var (
	claims = &definedKind{
		folder: "controlplane", apiVersion: "crossplane.c5c3.io/v1alpha1", kind: "ControlPlaneCluster",
		new: func() any { return &controlplanev1.ControlPlaneCluster{} },
	}
	keystones = &definedKind{
		folder: "keystone", apiVersion: "keystone.openstack.c5c3.io/v1alpha1", kind: "Keystone",
		new: func() any { return &keystonev1.Keystone{} },
	}
	catalogs = &definedKind{
		folder: "catalog", apiVersion: "keystone.openstack.c5c3.io/v1alpha1", kind: "IdentityCatalog",
		new: func() any { return &catalogv1.IdentityCatalog{} },
	}
	placements = &definedKind{
		folder: "placement", apiVersion: "placement.openstack.c5c3.io/v1alpha1", kind: "Placement",
		new: func() any { return &placementv1.Placement{} },
	}
	glances = &definedKind{
		folder: "glance", apiVersion: "glance.openstack.c5c3.io/v1alpha1", kind: "Glance",
		new: func() any { return &glancev1.Glance{} },
	}
	platforms = &definedKind{
		folder: "platform", apiVersion: "crossplane.c5c3.io/v1alpha1", kind: "PlatformConfig",
		new: func() any { return &platformv1.PlatformConfig{} },
	}
)

func init() { //nolint:gochecknoinits // the table refers to itself
	for _, k := range []*definedKind{claims, keystones, catalogs, placements, glances, platforms} {
		k.spec = sync.OnceValue(func() *apiextensionsv1.JSONSchemaProps {
			s, err := specSchema(k.folder)
			if err != nil {
				panic(err)
			}
			return s
		})
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
	whole := apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(xrd.Spec.Versions[0].Schema.OpenAPIV3Schema.Raw, &whole); err != nil {
		return nil, err
	}
	s := whole.Properties["spec"]
	return &s, nil
}

// drawn counts the specs that were drawn, discarded those that are not valid.
var drawn, discarded atomic.Int64

// draw draws an object that an API server takes, with its defaults. One that it does not take is discarded.
func (k *definedKind) draw(t *rapid.T, namespace, name string) object {
	d := drawer{t: t, constraints: constraints, present: rapid.SampledFrom([]bool{false, true})}
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

// checkType holds that an object fits its Go type, or functions would not see all of it.
func (k *definedKind) checkType(t *rapid.T, o object) {
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatalf("cannot write JSON: %v", err)
	}
	unknown, err := strict.UnmarshalStrict(b, k.new())
	if err != nil || len(unknown) > 0 {
		t.Fatalf("the schema takes what the Go type of %s does not: %v %v in %s", k.kind, err, unknown, b)
	}
}

// TestDraw: nearly all that is drawn is valid. What is not is no case of the other tests.
func TestDraw(t *testing.T) {
	for _, k := range []*definedKind{claims, keystones, catalogs, placements, glances, platforms} {
		t.Run(k.kind, rapid.MakeCheck(func(t *rapid.T) { k.draw(t, "", "example") }))
	}
	if share := 100 * discarded.Load() / drawn.Load(); share > 2 {
		t.Errorf("%d%% of %d specs are not valid", share, drawn.Load())
	}
}
