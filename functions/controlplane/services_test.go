package controlplane

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// all enables services with their dependencies.
const all = `placement: {enabled: true}, glance: {enabled: true, stores: [{name: main, file: {storageSize: 100Gi}}]}`

// pods matches identifiers in which placement means scheduling of pods.
var pods = regexp.MustCompile(`^Placement$`)

// TestServicesAreNamedInTheirPackage checks that a service is named only in the list and in its own file or package, so that a new service
// changes no other file.
func TestServicesAreNamedInTheirPackage(t *testing.T) {
	names := release.Services()
	word := regexp.MustCompile(`(?i)` + strings.Join(names, "|"))
	var files []string
	for _, pattern := range []string{"*.go", "*/*.go"} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, matches...)
	}
	read := 0
	for _, file := range files {
		name, _, isPackage := strings.Cut(filepath.ToSlash(file), "/")
		if !isPackage {
			name = strings.TrimSuffix(file, ".go")
		}
		if strings.HasSuffix(file, "_test.go") || name == "services" || name == "table" || slices.Contains(names, name) {
			continue
		}
		read++
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		check := func(at token.Pos, text string) {
			if word.MatchString(text) && !pods.MatchString(text) {
				t.Errorf("%s names a service: %s; move it to the package of the service in functions/controlplane", set.Position(at), text)
			}
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				check(n.Pos(), n.Name)
			case *ast.BasicLit:
				check(n.Pos(), n.Value)
			case *ast.Comment:
				check(n.Pos(), n.Text)
			}
			return true
		})
	}
	if read < 40 {
		t.Errorf("only %d files", read)
	}
}

// TestRowsOfServices checks that each service follows its dependencies in the list, and that names, kinds, paths and addresses are unique.
func TestRowsOfServices(t *testing.T) {
	if serviceTable[0].Info().Name != services.IdentityService {
		t.Errorf("the first is %s", serviceTable[0].Info().Name)
	}
	observedState := map[string]string{}
	for _, each := range serviceTable {
		s := each.Info()
		for property, value := range map[string]string{
			"name": s.Name, "kind": s.Kind.String(), "path": s.PublicPath, "internal address": s.Internal(s.Name, "cloud"),
		} {
			if other, exists := observedState[property+value]; exists && value != "" || value == "" && property != "path" {
				t.Errorf("%s %q of %s is used by %s", property, value, s.Name, other)
			}
			observedState[property+value] = s.Name
		}
		if !strings.HasPrefix(s.Kind.Group, s.Name+".") || !strings.HasPrefix(s.Internal(s.Name, "cloud"), "https://"+s.Name+".cloud.svc:") {
			t.Errorf("%s is a %v at %s", s.Name, s.Kind, s.Internal(s.Name, "cloud"))
		}
	}
}

// TestEnabledServicesGetCompleteSpec checks that each enabled service gets a complete spec, and is created after its entities in Keystone.
func TestEnabledServicesGetCompleteSpec(t *testing.T) {
	const (
		gateway  = "{type: GatewayAPI, gateway: {name: public, namespace: gateways}}"
		keystone = "https://keystone." + instance + ".svc:5000/v3"
	)
	spec := "{size: medium, services: {" + all + "}, korc: {credentialRotation: {intervalDays: 30}}, global: {region: eu, domain: a.org, exposure: " + gateway + "}}"
	objects := desired(t, readyCluster(t, spec, bare))
	identity := map[string]any{
		"internalURL": keystone, "publicURL": "https://keystone.a.org/v3",
		"caSecretRef":        map[string]any{"name": "keystone-tls", "key": "ca.crt"},
		"caConfigMapRef":     map[string]any{"name": "keystone-ca"},
		"adminCloudRef":      map[string]any{"secretName": "keystone-clouds", "cloudName": "admin"},
		"korcCloudRef":       map[string]any{"secretName": "keystone-korc-clouds", "cloudName": "korc"},
		"credentialRotation": map[string]any{"intervalDays": 30.0, "preRotationDays": 7.0, "gracePeriodDays": 1.0},
	}
	for name, want := range map[string]map[string]any{
		"placement": {
			"endpoints": map[string]any{"internal": "https://placement." + instance + ".svc:8778", "public": "https://placement.a.org"},
			"identity":  identity, "uwsgi": map[string]any{"processes": 4.0},
		},
		"glance": {
			"endpoints": map[string]any{"internal": "https://glance." + instance + ".svc:9292", "public": "https://glance.a.org"},
			"identity":  identity, "uwsgi": map[string]any{"processes": 4.0, "threads": 4.0},
			"stores": []any{map[string]any{"name": "main", "file": map[string]any{"storageSize": "100Gi", "accessMode": "ReadWriteMany"}}},
		},
	} {
		o := objects[name].Map()
		got, _ := o["spec"].(map[string]any)
		keystone, _ := at(objects["keystone"].Map(), "spec").(map[string]any)
		for _, field := range []string{
			"openStackRelease", "replicas", "resources", "region", "database", "issuerRef", "target", "deletionPolicy",
		} {
			want[field] = keystone[field]
		}
		var servers []any
		for i := range 3 {
			servers = append(servers, fmt.Sprintf("memcached-%d.memcached.%s.svc:11211", i, instance))
		}
		want["cache"] = map[string]any{"servers": servers}
		want["monitoring"], want["images"] = keystone["monitoring"], keystone["images"]
		exposure := maps.Clone(keystone["exposure"].(map[string]any))
		exposure["hostname"] = name + ".a.org"
		want["exposure"] = exposure
		maps.DeleteFunc(want, func(_ string, v any) bool { return v == nil })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		meta := objects["keystone"].Map()["metadata"].(map[string]any)
		if diff := cmp.Diff(meta["finalizers"], at(o, "metadata", "finalizers")); diff != "" || at(o, "metadata", "namespace") != instance {
			t.Errorf("%s lies in %v, finalizers (-want +got):\n%s", name, at(o, "metadata", "namespace"), diff)
		}
	}
	var endpoints []string
	_, status := answer(t, readyCluster(t, spec, bare))
	for _, e := range status["endpoints"].([]any) {
		endpoints = append(endpoints, at(e, "service").(string)+" "+at(e, "public").(string))
	}
	want := []string{"keystone https://keystone.a.org/v3", "placement https://placement.a.org", "glance https://glance.a.org"}
	if diff := cmp.Diff(want, endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

// TestSharedHostUsesPathsOfDevstack checks that services with a shared host name use the paths of devstack.
func TestSharedHostUsesPathsOfDevstack(t *testing.T) {
	m := derived(t, "{services: {"+all+"}, global: {domain: a.org, exposure: {type: GatewayAPI, routing: Paths, gateway: {name: a, namespace: b}}}}", bare)
	want := []string{"https://a.org/identity/v3", "https://a.org/placement", "https://a.org/image"}
	var got []string
	for _, s := range m.Services {
		got = append(got, s.Endpoints.Public)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHostnamesOfServicesAreUnique checks that host names of services are unique.
func TestHostnamesOfServicesAreUnique(t *testing.T) {
	const spec = "{services: {keystone: {hostname: api.a.org}, placement: {enabled: true, hostname: api.a.org}}, global: {exposure: {type: GatewayAPI, routing: %, gateway: {name: a, namespace: b}}}}"
	_, err := derive(input(t, strings.ReplaceAll(spec, "%", "Hostnames"), bare, nil))
	requireFieldError(t, "The routes of both services would match.", err, "spec.services.placement.hostname", "keystone uses api.a.org already")
	derived(t, strings.ReplaceAll(spec, "%", "Paths"), bare)
	_, err = derive(input(t, "{global: {exposure: {type: GatewayAPI, gateway: {name: a, namespace: b}}, domain: "+strings.Repeat("abcdefghi.", 24)+"example.org}}", bare, nil))
	requireFieldError(t, "The name is too long for DNS.", err, "spec.global.domain", "at most 253 are allowed")
}

// TestServicesFollowTheirDependencies checks that a service is created after the objects that it references are ready, and its Usage
// immediately after it.
func TestServicesFollowTheirDependencies(t *testing.T) {
	stage, calls := map[string]int{}, 0
	w := newCluster(t, "{services: {"+all+"}}", bare)
	if err := w.Run(func(s simulate.Step) {
		calls++
		for _, name := range s.New {
			stage[name] = calls
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"placement", "glance"} {
		for _, first := range []string{"keystone", "catalog"} {
			if stage[first] == 0 || stage[first] >= stage[name] {
				t.Errorf("%s comes in call %d, and %s in %d", name, stage[name], first, stage[first])
			}
		}
		if usage := name + "-uses-keystone"; stage[usage] != stage[name]+1 {
			t.Errorf("%s comes in call %d, and its Usage in %d", name, stage[name], stage[usage])
		}
	}
	if at(w.XR.AsMap(), "status", "phase") != "Ready" {
		t.Errorf("status %v", w.XR.AsMap()["status"])
	}
}

// TestSwitchedOffService checks that a disabled service is removed with its Usage, and that no component waits for it.
func TestSwitchedOffService(t *testing.T) {
	w := edited(t, readyCluster(t, "{services: {"+all+"}}", bare), "{services: {glance: {enabled: false}}}")
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	objects, status := answer(t, w)
	for _, removed := range []string{"placement", "glance", "placement-uses-keystone", "glance-uses-keystone"} {
		if _, ok := objects[removed]; ok {
			t.Errorf("%s is still there", removed)
		}
	}
	if status["phase"] != "Ready" || objects["keystone"] == nil || len(status["endpoints"].([]any)) != 1 {
		t.Errorf("status %v", status)
	}
}

// TestRejectsInvalidServiceSettings checks that the claim reports values that a service would reject.
func TestRejectsInvalidServiceSettings(t *testing.T) {
	for field, spec := range map[string]string{
		"spec.services.placement.image.tag":               "{services: {placement: {enabled: true, image: {tag: 13.0.0}}}}",
		"spec.services.placement.uwsgi.processes":         "{services: {placement: {enabled: true, uwsgi: {processes: 9}}}}",
		"spec.services.glance.stores[0].file.storageSize": "{services: {glance: {enabled: true, stores: [{name: a, file: {storageSize: 3Ti}}]}}}",
		"spec.services.glance.imageCache.storageSize":     "{services: {glance: {enabled: true, replicas: 3, stores: [{name: a, s3: {}}], imageCache: {storageSize: 1Ti}}}}",
		"spec.services.glance.import.staging.storageSize": "{services: {glance: {enabled: true, replicas: 3, stores: [{name: a, s3: {}}], import: {staging: {storageSize: 1Ti}}}}}",
		"spec.services.glance.replicas":                   "{services: {glance: {enabled: true, replicas: 10}}}",
	} {
		_, err := derive(input(t, spec, "{domain: example.com}", nil))
		requireFieldError(t, spec, err, field, "")
	}
}

// TestGlanceVolumesDefaultToPlatformStorageClass checks that a volume uses the platform's storage class by default, and that an existing
// volume keeps its own.
func TestGlanceVolumesDefaultToPlatformStorageClass(t *testing.T) {
	const spec = `{services: {glance: {enabled: true, stores: [{name: a, file: {storageSize: 1Gi}}, {name: b, file: {storageSize: 1Gi, storageClass: gold}}],
		import: {staging: {storageSize: 1Gi}}, imageCache: {storageSize: 1Gi}}}}`
	classes := func(m *model) []string {
		s := xrOf[*glancev1.Glance](t, m, glancev1.ServiceName).Spec.Storage
		return []string{
			string(s.Stores[0].File.StorageClass), string(s.Stores[1].File.StorageClass), string(s.Import.Staging.StorageClass), string(s.ImageCache.StorageClass),
		}
	}
	fast := bare[:len(bare)-1] + ", storageClass: fast}"
	if diff := cmp.Diff([]string{"fast", "gold", "fast", "fast"}, classes(derived(t, spec, fast))); diff != "" {
		t.Errorf("new (-want +got):\n%s", diff)
	}
	m, err := derive(input(t, spec, fast, observedAs(t, "glance", `{stores: [{name: a, file: {storageClass: slow}}], imageCache: {storageSize: 1Gi}}`)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"slow", "gold", "fast", ""}, classes(m)); diff != "" {
		t.Errorf("there (-want +got):\n%s", diff)
	}
}

// connectionLimit returns the connection limit of the composed database.
func connectionLimit(t *testing.T, spec string) int64 {
	t.Helper()
	config, _ := ordered(t, spec, bare, "")["myCnf"].(string)
	_, after, _ := strings.Cut(config, "max_connections=")
	line, _, _ := strings.Cut(after, "\n")
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestConnectionLimitCoversAllServices checks that the connection limit of the database covers all services.
func TestConnectionLimitCoversAllServices(t *testing.T) {
	const many = "replicas: 9, uwsgi: {processes: 8, threads: 8}"
	of := func(others string) int64 {
		return connectionLimit(t, "{infrastructure: {mariadb: {resources: {limits: {memory: 64Gi}}}}, services: {keystone: {"+many+"}"+others+"}}")
	}
	one, three := of(""), of(", placement: {enabled: true, "+many+"}, glance: {enabled: true, stores: [{name: a, file: {storageSize: 1Gi}}], "+many+"}")
	// Old and new pods run at the same time, and a hundred connections are reserved for other clients.
	if one != 2048 || three != 100+3*2*9*8*8 {
		t.Errorf("%d connections of one service, of three %d", one, three)
	}
}
