package invariants

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/wiretest"
)

// An invalidChange is a change of a spec that functions reject.
type invalidChange struct {
	// make makes it in a world and in its spec.
	make func(w *simulation, spec object)
	// typ is the condition that reports it, and words a part of its message.
	typ, wantMessage string
	// edit: the change is in the spec only.
	edit bool
}

// with merges tables of invalid changes.
func with(tables ...map[string]invalidChange) map[string]invalidChange {
	out := map[string]invalidChange{}
	for _, t := range tables {
		maps.Copy(out, t)
	}
	return out
}

// in returns an invalid change that sets a value at a path of the spec. An unknown value is invalid only if it is not
// admitted.
func in(value any, wantMessage string, path ...string) invalidChange {
	return invalidChange{typ: respond.SpecValid, wantMessage: wantMessage, edit: true, make: func(w *simulation, spec object) {
		// The API server accepts no settings of an external Keystone or database in which an error could be.
		delete(keystoneOf(spec), "external")
		delete(serverOf(spec, "mariadb"), "external")
		if w.name == "Keystone" {
			delete(spec, "external")
		}
		put(spec, value, path...)
		put(spec, false, append(slices.Clone(path[:len(path)-1]), "allowUnknown")...)
	}}
}

// unreachable returns the invalid change of a service that names a pool without a connection to it. Fields with
// references to other pools are removed.
func unreachable(field string, named ...string) invalidChange {
	return invalidChange{typ: respond.SpecValid, wantMessage: "spec.storageClients: ", edit: true, make: func(_ *simulation, spec object) {
		spec[field] = list{object{"name": "a", "ceph": object{"clusterRef": object{"name": "c"}, "pool": "p"}}}
		delete(spec, "storageClients")
		for _, field := range named {
			delete(spec, field)
		}
	}}
}

// put sets a field, and creates missing parent objects.
func put(o object, value any, path ...string) {
	for _, name := range path[:len(path)-1] {
		next, ok := o[name].(object)
		if !ok {
			next = object{}
			o[name] = next
		}
		o = next
	}
	o[path[len(path)-1]] = value
}

// directory returns an identity backend with options.
func directory(options object) list {
	return list{object{"domain": "employees", "ldap": object{"url": "ldaps://x", "suffix": "o=x", "userTreeDN": "o=x", "options": options}}}
}

// status returns an observed resource with a single field in its status.
func status(field, value string) *structpb.Struct {
	inner := &structpb.Struct{Fields: map[string]*structpb.Value{field: structpb.NewStringValue(value)}}
	return &structpb.Struct{Fields: map[string]*structpb.Value{"status": structpb.NewStructValue(inner)}}
}

// invalidChanges are the rejected changes by subject, in addition to the changes that every service rejects.
var invalidChanges = map[string]map[string]invalidChange{
	"HypervisorCluster": invalidHypervisors,
	"StorageCluster":    invalidStorage,
	"KeystoneService":   invalidKeystoneServices,
	"WorkloadCluster":   invalidWorkloadClusters,
	"ControlPlane": with(invalidPools, map[string]invalidChange{
		"a release that is not supported":      in("2024.2", `spec.openStackRelease: OpenStack release "2024.2"`, "openStackRelease"),
		"a size that is none":                  in("huge", `spec.size: "huge" is not a size`, "size"),
		"a cluster that is not offered":        in(object{"ref": object{"name": "north"}}, "is not available in namespace", "cluster"),
		"tests that are not allowed":           in(object{"enabled": true}, "spec.tempest.allowAdministration: ", "tempest"),
		"an option that there is not":          in(object{"DEFAULT": object{"nonsense": true}}, "config.DEFAULT.nonsense: ", "services", "keystone", "config"),
		"an option of another type":            in(object{"token": object{"cache_time": "long"}}, "config.token.cache_time: ", "services", "keystone", "config"),
		"an option that holds a secret":        in(object{"database": object{"connection": "x"}}, "it is a secret", "services", "keystone", "config"),
		"a rule that there is not":             in(object{"identity:nonsense": "@"}, "spec.services.keystone.policy: ", "services", "keystone", "policy"),
		"a directory's option that is not one": in(directory(object{"nonsense": "x"}), "ldap.options", "services", "keystone", "identityBackends"),
		"an option that a field sets":          in(object{"token": object{"expiration": int64(600)}}, "keystone.fernet.tokenExpirationSeconds instead", "services", "keystone", "config"),
		"a day that never comes":               in("0 0 31 2 *", "never comes", "services", "keystone", "trustFlush", "schedule"),
		"too little memory":                    in(object{"limits": object{"memory": "64Mi"}}, "keystone.resources.limits.memory: 64Mi cannot hold", "services", "keystone", "resources"),
		"a minute that is none":                in("61 * * * *", "cannot read schedule", "services", "keystone", "fernet", "rotationSchedule"),
		"a release back": {typ: respond.SpecValid, wantMessage: "spec.openStackRelease: OpenStack cannot go back", make: func(w *simulation, spec object) {
			spec["openStackRelease"], w.observed["keystone"] = "2025.1", status("release", "2026.2")
		}},
		"more than a limit allows": {typ: respond.SpecValid, wantMessage: `spec.size: the platform's limit "poor"`, make: func(w *simulation, spec object) {
			spec["size"] = "large"
			limits := list{object{"name": "poor", "namespaces": list{"*"}, "sizes": list{"development"}}}
			w.require("platform", platformWith(object{"domain": "example.com", "limits": limits}))
			delete(spec, "cluster")
		}},

		"no PlatformConfig":        {typ: respond.Composed, wantMessage: "no PlatformConfig", make: func(w *simulation, _ object) { w.require("platform") }},
		"a PlatformConfig unasked": {typ: respond.Composed, wantMessage: "no PlatformConfig", make: func(w *simulation, _ object) { w.required = nil }},
		"a PlatformConfig like no other": {typ: respond.Composed, wantMessage: "cannot read the PlatformConfig", make: func(w *simulation, _ object) {
			w.require("platform", platformWith(object{"limits": "x", "clusters": "y"}))
		}},
		"no admission policy": {typ: respond.Composed, wantMessage: "ValidatingAdmissionPolicy cobaltcore-claims is missing", make: func(w *simulation, _ object) {
			w.require(admission.PolicyRequirement)
		}},
		"a binding less": {typ: respond.Composed, wantMessage: "ValidatingAdmissionPolicyBinding cobaltcore-claims is missing", make: func(w *simulation, _ object) {
			w.require(admission.BindingRequirement, w.required[admission.BindingRequirement][1:]...)
		}},
		"an older Composition": {typ: respond.Composed, wantMessage: "upgrade the Configuration", make: func(w *simulation, _ object) {
			w.required = map[string][]*structpb.Struct{"platform": w.required["platform"]}
		}},
		"a Keystone of no release": {typ: respond.Composed, wantMessage: `OpenStack release "zed"`, make: func(w *simulation, _ object) {
			w.observed["keystone"] = status("release", "zed")
		}},
		"a spec like no other": {typ: respond.Composed, wantMessage: "cannot read the composite resource", make: func(w *simulation, _ object) { w.xr["spec"] = "text" }},
		"a spec of other types": {typ: respond.Composed, wantMessage: "cannot read the composite resource", make: func(_ *simulation, spec object) {
			put(spec, "x", "infrastructure", "mariadb", "replicas")
			put(spec, "x", "infrastructure", "rabbitmq", "replicas")
			put(spec, "x", "services", "keystone", "replicas")
		}},
	}),
	"Tempest": {
		"a release that is not supported": in("2024.2", `spec.openStackRelease: OpenStack release "2024.2"`, "openStackRelease"),
		"an image that is none":           in(object{"tag": "latest"}, "spec.image: ", "image"),
		"tests of a missing service": {typ: respond.SpecValid, wantMessage: "spec.tests.services[0]: service volume is not enabled", edit: true,
			make: func(_ *simulation, spec object) {
				spec["services"] = list{object{"type": "identity", "internalURL": "https://keystone:5000/v3"}}
				put(spec, list{"volume"}, "tests", "services")
			}},
		"an address that leads nowhere": in(list{object{"type": "identity", "internalURL": "keystone"}}, "spec.services[0].internalURL: ", "services"),
	},
	// Its function rejects nothing that its definition accepts.
	"IdentityCatalog": {},
	"OVNCluster": {
		"too little memory": in("32Mi", "spec.northbound.memory: 32Mi cannot hold a process", "northbound", "memory"),
	},
	"Keystone": {
		"a directory's option that is not one": in(directory(object{"nonsense": "x"}), "spec.identityBackends[0].ldap.options.nonsense: ", "identityBackends"),
	},
	"Nova": {
		"too little memory":     in("64Mi", "spec.api.memory: 64Mi cannot hold", "api", "memory"),
		"a daemon without room": in("64Mi", "spec.scheduler.memory: 64Mi cannot hold a process", "scheduler", "memory"),
	},
	"Neutron": {
		"too little memory":     in("64Mi", "spec.api.memory: 64Mi cannot hold", "api", "memory"),
		"a worker without room": in("64Mi", "spec.maintenance.memory: 64Mi cannot hold a process", "maintenance", "memory"),
		"a plugin for agents":   in(list{"router"}, "spec.servicePlugins[0]: ", "servicePlugins"),
		"OVN that is nowhere":   in("ovn", "spec.ovn.northbound: ", "ovn", "northbound"),
	},
	"Heat": {
		"too little memory":      in("64Mi", "spec.api.memory: 64Mi cannot hold", "api", "memory"),
		"an engine without room": in("64Mi", "spec.engine.memory: 64Mi cannot hold a process", "engine", "memory"),
	},
	"Barbican": {
		"too little memory":     in("64Mi", "spec.api.memory: 64Mi cannot hold", "api", "memory"),
		"a worker without room": in("64Mi", "spec.worker.memory: 64Mi cannot hold a process", "worker", "memory"),
	},
	"Cinder": {
		"too little memory":           in("64Mi", "spec.api.memory: 64Mi cannot hold", "api", "memory"),
		"a daemon without room":       in("64Mi", "spec.scheduler.memory: 64Mi cannot hold a process", "scheduler", "memory"),
		"no backend":                  in(list{}, "spec.backends: ", "backends"),
		"a pool without a connection": unreachable("backends", "defaultVolumeType", "volumeTypes"),
		"a share that is nowhere":     in(list{object{"name": "a", "nfs": object{"shares": list{"x"}}}}, "spec.backends[0].nfs.shares: ", "backends"),
	},
	"NovaCell": {
		"too little memory": in("64Mi", "spec.conductor.memory: 64Mi cannot hold a process", "conductor", "memory"),
	},
	"Glance": {
		"no store":                    in(list{}, "spec.stores: ", "stores"),
		"a pool without a connection": unreachable("stores", "defaultStore"),
	},
}

// invalidServiceChanges are rejected by every service.
var invalidServiceChanges = map[string]invalidChange{
	"a release that is not supported": in("2024.2", `spec.openStackRelease: OpenStack release "2024.2"`, "openStackRelease"),
	"an option that there is not":     in(object{"DEFAULT": object{"nonsense": true}}, "spec.config.DEFAULT.nonsense: ", "config"),
	"a rule that there is not":        in(object{"nonsense:nonsense": "@"}, "spec.policy: ", "policy"),
	"an image that is none":           in(object{"tag": "latest"}, "spec.image: ", "image"),
	"a cache at no port":              in(object{"servers": list{"memcached"}}, "spec.cache.servers[0]: ", "cache"), // Only a builder notices.
	"too little memory":               in(object{"limits": object{"memory": "64Mi"}}, "spec.resources.limits.memory: 64Mi cannot hold", "resources"),
	"a release back": {typ: respond.SpecValid, wantMessage: "spec.openStackRelease: OpenStack cannot go back", make: func(w *simulation, spec object) {
		spec["openStackRelease"], w.observed["schema"] = "2025.1", status("installedRelease", "2026.2")
	}},
	"a spec like no other": {typ: respond.Composed, wantMessage: "cannot read the composite resource", make: func(w *simulation, _ object) { w.xr["spec"] = list{} }},
	"a spec of other types": {typ: respond.Composed, wantMessage: "cannot read the composite resource", make: func(_ *simulation, spec object) {
		put(spec, "x", "replicas")
		put(spec, "x", "database", "port")
		put(spec, "x", "uwsgi", "threads")
	}},
}

// invalidChanges returns the changes that a kind's function rejects.
func (s *subject) invalidChanges() map[string]invalidChange {
	own, known := invalidChanges[s.name]
	if s.claimed || known && len(own) == 0 || slices.Contains([]string{"OVNCluster", "Tempest", "WorkloadCluster"}, s.name) { // None is a service of OpenStack's.
		return own
	}
	out := maps.Clone(invalidServiceChanges)
	if s.name == "Horizon" { // It has neither options nor rules, and no schema that a release cannot go back to.
		for _, name := range []string{"an option that there is not", "a rule that there is not", "a release back"} {
			delete(out, name)
		}
	}
	maps.Copy(out, own)
	return out
}

// require replaces the required resources under a name.
func (w *simulation) require(name string, found ...*structpb.Struct) {
	w.required = maps.Clone(w.required)
	w.required[name] = found
}

func platformWith(spec object) *structpb.Struct {
	s, err := structpb.NewStruct(object{"apiVersion": platforms.apiVersion, "kind": platforms.kind, "metadata": object{"name": "default"}, "spec": spec})
	if err != nil {
		panic(err)
	}
	return s
}

// acceptsAll reports whether there is no invalid change.
func (w *simulation) acceptsAll() bool { return len(w.invalidChanges()) == 0 }

// tryInvalidEdit makes an invalid change in a copy of a simulation. In any state, no new resources may be desired then,
// and the tenant must get an error.
func (w *simulation) tryInvalidEdit(t *rapid.T) {
	if w.acceptsAll() {
		return
	}
	counts.cases.Add(1)
	all := w.invalidChanges()
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "mistake")
	m := all[name]
	wrong := w.copy()
	wrong.xr["spec"] = runtime.DeepCopyJSON(w.xr["spec"].(object))
	m.make(wrong, wrong.xr["spec"].(object))
	req := sent(t, wrong.request(t))
	_, _, err := w.explain(req)
	rsp := w.run(req)
	if err == nil || len(rsp.GetResults()) == 0 {
		t.Fatalf("2: %s results in %d objects", name, len(rsp.GetDesired().GetResources()))
	}
	message := errorOf(rsp)
	if !strings.Contains(message, m.wantMessage) {
		t.Errorf("8: for %s the tenant gets %q, want %q", name, message, m.wantMessage)
	}
	if is := invalid.Is(err); is != (m.typ == respond.SpecValid) {
		t.Errorf("8: %s is reported as the tenant's error: %t", name, is)
	}
	wrong.checkRejected(t, rsp, err)
}

// invalidEdit makes a permanent invalid change in a simulation's spec. The deletion policy may be edited as well.
func invalidEdit(t *rapid.T, w *simulation) {
	if w.acceptsAll() {
		return
	}
	all := w.invalidChanges()
	maps.DeleteFunc(all, func(_ string, m invalidChange) bool { return !m.edit })
	spec := runtime.DeepCopyJSON(w.xr["spec"].(object))
	all[rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "mistake")].make(w, spec)
	switch policy := rapid.SampledFrom([]string{"Retain", "Delete", ""}).Draw(t, "policy"); policy {
	case "":
		delete(spec, "deletionPolicy")
	default:
		spec["deletionPolicy"] = policy
	}
	w.endSegment(t)
	w.xr = maps.Clone(w.xr)
	w.xr["spec"], w.refusable = spec, true
}

// tampered are values that may replace the last valid spec in a status: from another version, or invalid.
var tampered = []any{
	"text", 1.5, nil, list{}, object{}, object{"openStackRelease": 7.0}, object{"openStackRelease": "1999.1"}, object{"services": "none"},
	object{"size": "huge", "deletionPolicy": object{}}, object{"claimRef": object{"namespace": "another", "name": "one"}},
}

// tampered returns the values for a kind. A server prunes the fields that a kind does not have, and an OVNCluster has
// none of these.
func (w *simulation) tampered() []any {
	if w.name != "OVNCluster" {
		return tampered
	}
	return slices.DeleteFunc(slices.Clone(tampered), func(v any) bool {
		o, ok := v.(object)
		return ok && len(o) > 0
	})
}

// tryGarbage damages a simulation's request anywhere. A function must not crash on objects that no API server stores:
// it must return an error or ignore them.
func (w *simulation) tryGarbage(t *rapid.T) {
	counts.cases.Add(1)
	req := proto.CloneOf(w.request(t))
	resources := []*fnv1.Resource{req.GetObserved().GetComposite()}
	for _, name := range w.names() {
		resources = append(resources, req.GetObserved().GetResources()[name])
	}
	for _, r := range req.GetRequiredResources() {
		resources = append(resources, r.GetItems()...)
	}
	for range rapid.IntRange(1, 4).Draw(t, "damaged") {
		damage(t, rapid.SampledFrom(resources).Draw(t, "resource").GetResource())
	}
	rsp := w.run(sent(t, req))
	if message := errorOf(rsp); strings.Contains(message, "a bug of the function") {
		t.Errorf("the function crashes: %s", message)
	}
	if requiresMoreResources(req, rsp) {
		return // It is called again, with the resources that the damaged part names.
	}
	if rsp.GetDesired() == nil {
		if len(rsp.GetConditions()) == 0 {
			t.Fatalf("a fatal response has no condition: %v", rsp)
		}
		checkFatal(t, rsp, rsp.GetConditions()[0].GetType(), errorOf(rsp))
	} else if rsp.GetDesired().GetComposite() == nil || len(rsp.GetDesired().GetResources()) == 0 && !w.acceptsAll() {
		t.Errorf("the response is neither successful nor fatal: %v", rsp)
	}
	if repeated := w.run(proto.CloneOf(req)); !bytes.Equal(marshal(t, repeated), marshal(t, rsp)) {
		t.Errorf("3: the same request gives another answer: %v, then %v", rsp, repeated)
	}
}

// requiresMoreResources reports whether a response only requests resources that are missing in the request.
func requiresMoreResources(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) bool {
	if rsp.GetDesired() != nil || len(rsp.GetResults()) > 0 {
		return false
	}
	for name := range rsp.GetRequirements().GetResources() {
		if _, has := req.GetRequiredResources()[name]; !has {
			return true
		}
	}
	return false
}

// damage replaces a value in an object, at any depth.
func damage(t *rapid.T, s *structpb.Struct) {
	for {
		names := slices.Sorted(maps.Keys(s.GetFields()))
		if len(names) == 0 {
			return
		}
		name := rapid.SampledFrom(names).Draw(t, "field")
		inner := s.GetFields()[name].GetStructValue()
		if inner != nil && rapid.IntRange(0, 4).Draw(t, "deeper") > 0 {
			s = inner
			continue
		}
		v := &structpb.Value{}
		wiretest.Fill(t, v.ProtoReflect())
		s.Fields[name] = v
		return
	}
}
