package keystoneservice

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"sigs.k8s.io/yaml"

	keystoneservicev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystoneservice/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

var update = flag.Bool("update", false, "write the golden files again")

var kind = servicetest.Kind{
	KeepsNoData:      true,
	GroupVersionKind: keystoneservicev1.CompositeGroupVersionKind,
	Runner:           New(), Name: "limes-x7d2f",
	Cluster: func(w *simulate.Cluster) {
		around(w, claimOf("{namespace: quotas, name: limes, type: resources, additionalTypes: [s3], allowAdministration: true}"), controlPlaneYAML)
	},
}

// controlPlaneYAML is the composite resource of the control plane; claimOf returns its claim with some grants.
const controlPlaneYAML = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: XControlPlaneCluster
metadata: {name: cloud-abcde}
spec: {claimRef: {namespace: tenant-a, name: cloud}, global: {region: eu-de-1}}
status:
  instance: tenant-a-cloud-1a2b3
  endpoints: [{service: keystone, internal: "https://keystone.tenant-a-cloud-1a2b3.svc:5000/v3"}]
  components: [{name: catalog, phase: Ready}]
`

func claimOf(grants string) string {
	return "{apiVersion: crossplane.c5c3.io/v1alpha1, kind: ControlPlaneCluster, metadata: {namespace: tenant-a, name: cloud}, " +
		"spec: {resourceRef: {name: cloud-abcde}, allowedNamespaces: ['*'], keystoneServices: [" + grants + "]}}"
}

func TestObjectsMatchGoldens(t *testing.T) { kind.Objects(t, *update) }

// around adds further objects to the input of claim limes in namespace quotas.
func around(w *simulate.Cluster, others ...string) {
	w.XR.GetFields()["spec"].GetStructValue().Fields["claimRef"] = structpb.NewStructValue(parsed("{namespace: quotas, name: limes}"))
	delete(w.XR.GetFields()["metadata"].GetStructValue().GetFields(), "namespace")
	w.Required = admission.Requirements()
	w.Required["platform"] = []*structpb.Struct{parsed("{metadata: {name: default}, spec: {domain: example.com}}")}
	w.RequiredResources = nil
	for _, o := range others {
		w.RequiredResources = append(w.RequiredResources, parsed(o))
	}
}

// parsed returns an object from YAML.
func parsed(text string) *structpb.Struct {
	m := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &m); err != nil {
		panic(text + ": " + err.Error())
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}
	return s
}

func newCluster(spec string, others ...string) *simulate.Cluster {
	w := &simulate.Cluster{Kinds: map[string]function.Runner{kind.GroupKind().String(): New()}}
	w.XR = parsed("{apiVersion: crossplane.c5c3.io/v1alpha1, kind: XKeystoneService, metadata: {name: limes-x7d2f}, spec: " + spec + "}")
	around(w, others...)
	return w
}

const (
	least      = "{controlPlaneRef: {namespace: tenant-a, name: cloud}}"
	entry      = "catalog: {type: resources, name: limes, endpoints: {public: 'https://l.example.com', internal: 'https://l.example.com'}}"
	additional = "additionalCatalog: [{type: s3, name: s3, endpoints: {public: 'https://s.example.com', internal: 'https://s.example.com'}}]"
	granted    = "{namespace: quotas, name: limes}"
	notAllowed = "spec.controlPlaneRef: there is no ControlPlaneCluster cloud in namespace tenant-a that KeystoneService limes of namespace quotas may " +
		"join; correct the reference, or ask its owner to add this claim to spec.keystoneServices"
)

// more returns a claim with further fields.
func more(fields string) string { return strings.TrimSuffix(least, "}") + ", " + fields + "}" }

// TestControlPlaneRequiresConsent verifies that a control plane allows the claims in its grants only. Other claims get the error of a
// missing control plane; permission for a namespace is not sufficient.
func TestControlPlaneRequiresConsent(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		others       []string
		want         string
	}{
		"Named":     {"It is named.", least, []string{claimOf(granted), controlPlaneYAML}, ""},
		"None":      {"It does not exist.", least, nil, notAllowed},
		"Another":   {"Only a claim in another namespace is allowed.", least, []string{claimOf("{namespace: other, name: limes}"), controlPlaneYAML}, notAllowed},
		"Neighbour": {"Another one of its namespace is named.", least, []string{claimOf("{namespace: quotas, name: castellum}"), controlPlaneYAML}, notAllowed},
		"Nobody":    {"Its namespace may have hypervisors there.", least, []string{claimOf(""), controlPlaneYAML}, notAllowed},
		"Not back": {
			"A claim refers to the composite resource of another claim.", least,
			[]string{claimOf(granted), strings.Replace(controlPlaneYAML, "namespace: tenant-a", "namespace: tenant-c", 1)}, notAllowed,
		},
		"Type": {
			"It may have an account, and no catalog entry.", more(entry), []string{claimOf(granted), controlPlaneYAML},
			`spec.catalog.type: the control plane cloud of namespace tenant-a does not allow service type "resources" for this claim; ask its owner to add ` +
				"type: resources to spec.keystoneServices, or remove catalog",
		},
		"Another type": {
			"It may have an entry of another type.", more(entry), []string{claimOf("{namespace: quotas, name: limes, type: metering}"), controlPlaneYAML},
			`spec.catalog.type: the control plane cloud of namespace tenant-a does not allow service type "resources" for this claim; ask its owner to add ` +
				"type: resources to spec.keystoneServices, or remove catalog",
		},
		"Additional": {
			"Both are granted.", more(entry + ", " + additional),
			[]string{claimOf("{namespace: quotas, name: limes, type: resources, additionalTypes: [s3]}"), controlPlaneYAML}, "",
		},
		"Additional type": {
			"It may have one place, and not the other.", more(entry + ", " + additional),
			[]string{claimOf("{namespace: quotas, name: limes, type: resources}"), controlPlaneYAML},
			`spec.additionalCatalog[0].type: the control plane cloud of namespace tenant-a does not allow service type "s3" for this claim; ask its owner to add ` +
				"additionalTypes: [s3] to spec.keystoneServices, or remove it",
		},
		"Additional reserved": {
			"A service of type network receives the tokens of all users.", more(entry + ", " + strings.Replace(additional, "type: s3", "type: network", 1)),
			[]string{claimOf("{namespace: quotas, name: limes, type: resources, additionalTypes: [network]}"), controlPlaneYAML},
			`spec.additionalCatalog[0].type: "network" is the type of a service of OpenStack's own; choose another`,
		},
		"Reserved": {
			"A service of type compute receives the tokens of all users; it cannot be granted.",
			strings.Replace(more(entry), "type: resources", "type: compute", 1),
			[]string{claimOf("{namespace: quotas, name: limes, type: compute}"), controlPlaneYAML},
			`spec.catalog.type: "compute" is the type of a service of OpenStack's own; choose another`,
		},
		"Unset": {"The schema was not applied.", "{}", nil, "spec.controlPlaneRef: it names no control plane; give its namespace and name"},
		"Administrator": {
			"Role admin must be granted.", more("account: {roles: [admin]}"), []string{claimOf(granted), controlPlaneYAML},
			"spec.account.roles: role admin is not allowed by the control plane cloud of namespace tenant-a; " +
				"remove it, or ask its owner to set allowAdministration: true in spec.keystoneServices",
		},
		"Allowed": {
			"It is granted.", more("account: {roles: [admin]}"),
			[]string{claimOf("{namespace: quotas, name: limes, allowAdministration: true}"), controlPlaneYAML}, "",
		},
		"Other cluster": {
			"Its workloads are in another cluster.", least, []string{claimOf(granted), strings.Replace(controlPlaneYAML, "global:", "cluster: {ref: {name: west}}, global:", 1)},
			"spec.controlPlaneRef: the control plane runs in another cluster; a KeystoneService for such a control plane is not implemented in this " +
				"version; select another control plane",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := newCluster(tc.spec, tc.others...).Run(func(simulate.Step) {})
			if tc.want == "" {
				if err != nil {
					t.Errorf("%s\n%v", tc.reason, err)
				}
				return
			}
			if err == nil || !invalid.Is(err) || err.Error() != tc.want {
				t.Errorf("%s\n got %v\nwant %s", tc.reason, err, tc.want)
			}
		})
	}
}

// TestRequestsControlPlaneOnlyWithConsent verifies that the composite resource of a control plane without consent is not requested.
func TestRequestsControlPlaneOnlyWithConsent(t *testing.T) {
	w := newCluster(least, claimOf(""), controlPlaneYAML)
	if err := w.Run(func(simulate.Step) {}); err == nil {
		t.Fatal("it is not refused")
	}
	if got := w.Request().Required; got["control-plane"] != nil || len(got["control-plane-claim"]) != 1 {
		t.Errorf("it requires %v", got)
	}
}

// TestRequiresClaimForNamespace verifies that a claim is required: without it, the Secret has no namespace.
func TestRequiresClaimForNamespace(t *testing.T) {
	w := newCluster(least, claimOf(granted), controlPlaneYAML)
	delete(w.XR.GetFields()["spec"].GetStructValue().GetFields(), "claimRef")
	if err := w.Run(func(simulate.Step) {}); err == nil || !strings.Contains(err.Error(), "make a claim (KeystoneService)") {
		t.Error(err)
	}
}

// fullGrant is a claim with all fields, all of which are granted.
const fullGrant = "{namespace: quotas, name: limes, type: resources, allowAdministration: true}"

// TestRevokedGrantRemovesObjects verifies that exactly the objects of a revoked grant are removed. While the control plane cannot be read,
// existing objects stay, and no further ones are created.
func TestRevokedGrantRemovesObjects(t *testing.T) {
	full := more(entry + ", account: {roles: [service, admin]}")
	for name, tc := range map[string]struct {
		reason, spec string
		others       []string
		// deleted are the removed resources, waits is the message.
		deleted []string
		waits   string
	}{
		"Nothing": {"Nothing has changed.", full, []string{claimOf(fullGrant), controlPlaneYAML}, nil, ""},
		"All": {
			"It names the claim no more.", full, []string{claimOf(""), controlPlaneYAML},
			[]string{
				"catalog-service", "companion-role", "companion-role-binding", "endpoint-internal", "endpoint-public", "imported-admin",
				"imported-service", "in-use", "login", "network-policy", "region-internal", "region-public", "role-admin", "role-service", "secret",
				"secret-account", "secret-role", "secret-role-binding", "secret-store", "user", "user-generator", "user-of-control-plane", "user-secret",
			},
			notAllowed,
		},
		"The place": {
			"It does not grant catalog entries any more.", full, []string{claimOf("{namespace: quotas, name: limes, allowAdministration: true}"), controlPlaneYAML},
			[]string{"catalog-service", "endpoint-internal", "endpoint-public", "region-internal", "region-public"}, "spec.catalog.type: ",
		},
		"Administration": {
			"It allows that no more.", full, []string{claimOf("{namespace: quotas, name: limes, type: resources}"), controlPlaneYAML},
			[]string{"imported-admin", "role-admin"}, "spec.account.roles: ",
		},
		"Gone":     {"It is not there, and has taken nothing back.", full, nil, nil, notAllowed},
		"Unbound":  {"Nothing is composed of it.", full, []string{strings.Replace(claimOf(fullGrant), "resourceRef: {name: cloud-abcde}, ", "", 1)}, nil, "waiting for control plane cloud of namespace tenant-a, for which no objects are composed yet"},
		"NoStatus": {"It has no status.", full, []string{claimOf(fullGrant), strings.Split(controlPlaneYAML, "status:")[0]}, nil, "waiting for the catalog of the control plane cloud of namespace tenant-a"},
		"Not back": {"It is bound to another claim's resource.", full, []string{claimOf(fullGrant), strings.Replace(controlPlaneYAML, "namespace: tenant-a", "namespace: tenant-c", 1)}, nil, notAllowed},
		"More": {
			"Its grant cannot be read.", more(entry + ", account: {roles: [service, reader, admin]}"), nil, nil, notAllowed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCluster(full, claimOf(fullGrant), controlPlaneYAML)
			changed(t, w, tc.reason, tc.spec, tc.others, tc.deleted, tc.waits)
		})
	}
}

// TestNoFurtherSteps verifies that a claim gets no additional rights while the control plane cannot be read.
func TestNoFurtherSteps(t *testing.T) {
	w := newCluster(least, claimOf(fullGrant), controlPlaneYAML)
	changed(t, w, "It has neither.", more(entry+", account: {roles: [service, admin]}"), nil, nil, "spec.catalog.type: ")
}

// TestAdditionalCatalogRemoved verifies that only the revoked catalog entry is removed, and none while the control plane cannot be read.
func TestAdditionalCatalogRemoved(t *testing.T) {
	const both = "{namespace: quotas, name: limes, type: resources, additionalTypes: [s3]}"
	spec := more(entry + ", " + additional)
	for name, tc := range map[string]struct {
		reason  string
		others  []string
		deleted []string
		waits   string
	}{
		"One": {
			"It has the first still.", []string{claimOf("{namespace: quotas, name: limes, type: resources}"), controlPlaneYAML},
			[]string{"catalog-service-s3", "endpoint-internal-s3", "endpoint-public-s3", "region-internal-s3", "region-public-s3"},
			"spec.additionalCatalog[0].type: ",
		},
		"The first": {
			"It has the other still.", []string{claimOf("{namespace: quotas, name: limes, additionalTypes: [s3]}"), controlPlaneYAML},
			[]string{"catalog-service", "endpoint-internal", "endpoint-public", "region-internal", "region-public"}, "spec.catalog.type: ",
		},
		"Gone": {"It is not there, and has taken nothing back.", nil, nil, notAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			changed(t, newCluster(spec, claimOf(both), controlPlaneYAML), tc.reason, spec, tc.others, tc.deleted, tc.waits)
		})
	}
}

// changed makes a claim ready, and then changes its spec and the required objects. It compares removed resources and the message; no
// resource may be added.
func changed(t *testing.T, w *simulate.Cluster, reason, spec string, others, removed []string, waiting string) {
	t.Helper()
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	before := slices.Sorted(maps.Keys(w.Observed))
	status := w.XR.GetFields()["status"]
	w.XR = newCluster(spec).XR
	w.XR.Fields["status"] = status
	around(w, others...)
	req := w.Request()
	for _, name := range []string{"control-plane-claim", "control-plane"} {
		req.Required[name] = nil
	}
	for _, o := range w.RequiredResources {
		name := map[string]string{"ControlPlaneCluster": "control-plane-claim", "XControlPlaneCluster": "control-plane"}[o.GetFields()["kind"].GetStringValue()]
		req.Required[name] = []*structpb.Struct{o}
	}
	rsp, plan, err := New().Explain(req)
	if err != nil {
		t.Fatalf("%s\n%v", reason, err)
	}
	after := slices.Sorted(maps.Keys(rsp.Composed))
	if diff := cmp.Diff(named(removed), named(without(before, after))); diff != "" {
		t.Errorf("%s\nwhat goes (-want +got):\n%s", reason, diff)
	}
	for _, name := range without(after, before) {
		if name != "imported-reader" { // It is only imported.
			t.Errorf("%s\n%s comes", reason, name)
		}
	}
	part, _ := plan.ComponentStatus(controlPlaneComponent)
	requested := fmt.Sprint(part.Items[0].Readiness.Message)
	if !strings.HasPrefix(requested, waiting) || (requested == "") != (waiting == "") || rsp.Composite.Ready != (waiting == "") {
		t.Errorf("%s\nmessage %q, ready: %v; want %q", reason, requested, rsp.Composite.Ready, waiting)
	}
	if account := rsp.Composite.Object.At("status", "account", "user").Text(); (account == "") != (len(removed) > 20) {
		t.Errorf("%s\nthe account is %q", reason, account)
	}
}

// named returns resource names without the instance name.
func named(all []string) []string {
	const instance = "quotas-limes-f09386cc167a82ce6aae"
	short := strings.NewReplacer(instance+"-limes-keystone", "secret", instance, "secret", "limes-keystone-in-use", "in-use")
	out := []string{}
	for _, name := range all {
		out = append(out, short.Replace(name))
	}
	slices.Sort(out)
	return out
}

func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(others, name) })
}

// TestSimilarClaimsShareNoNames verifies that claims with similar names have no common object names in a control plane's namespace, or in
// Keystone.
func TestSimilarClaimsShareNoNames(t *testing.T) {
	of := func(namespace, name string) map[string]encoded.Struct {
		w := newCluster(least, claimOf(fmt.Sprintf("{namespace: %s, name: %s}", namespace, name)), controlPlaneYAML)
		w.XR.GetFields()["spec"].GetStructValue().Fields["claimRef"] = structpb.NewStructValue(parsed(fmt.Sprintf("{namespace: %s, name: %s}", namespace, name)))
		if err := w.Run(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
		out := map[string]encoded.Struct{}
		for _, o := range w.Observed {
			if inner := o.At("spec", "forProvider", "manifest"); inner.Map() != nil {
				o = encoded.Of(structOf(t, inner.Map()))
			}
			out[fmt.Sprint(o.At("kind").Text(), " ", o.At("metadata", "namespace").Text(), "/", o.At("metadata", "name").Text())] = o
		}
		return out
	}
	a, b := of("a-b", "c"), of("a", "b-c")
	for name := range a {
		if _, ok := b[name]; ok {
			t.Errorf("both have %s", name)
		}
	}
}

func structOf(t *testing.T, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
