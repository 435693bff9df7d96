package invariants

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/definition"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// The numbers of invariants refer to docs/architecture.md.

// endSegment checks invariant 1 over all calls with one spec. An observed resource stays desired if the spec ever wants
// it, and an older revision stays until everything is ready. Nothing else may differ: the resources that a spec wants
// do not depend on the observed state, except for revisions and lingering resources.
func (w *simulation) endSegment(t *rapid.T) {
	latest := map[string]bool{}
	for _, s := range w.steps {
		for name := range s.latest {
			latest[name] = true
		}
	}
	for i, s := range w.steps {
		for name := range s.observed {
			switch {
			case s.desired[name]:
			case slices.Contains(w.lingering, name):
			case w.isRevision(name) && !s.ready:
				t.Errorf("1: call %d: the revision %s is observed but not desired, while not all is ready", i, name)
			case w.isRevision(name): // A revision of a release that was requested before it was known that a downgrade is impossible.
			case latest[name]:
				t.Errorf("1: call %d: %s is observed and wanted, but not desired: it would be deleted", i, name)
			}
		}
	}
	w.steps = nil
}

// note records a call for endSegment, and checks that a resource keeps its object.
func (w *simulation) note(t *rapid.T, rsp *fnv1.RunFunctionResponse, plan compose.Plan) {
	s := step{observed: map[string]bool{}, desired: map[string]bool{}, latest: map[string]bool{}, ready: plan.Ready()}
	for name := range w.observed {
		s.observed[name] = true
	}
	for name, r := range rsp.GetDesired().GetResources() {
		s.desired[name] = true
		if o := w.observed[name]; o != nil && identity(o) != identity(r.GetResource()) {
			t.Errorf("1: %s is %s and becomes %s: Crossplane would delete the first", name, identity(o), identity(r.GetResource()))
		}
	}
	for _, p := range plan.Parts {
		for _, i := range p.Items {
			s.latest[i.Name] = true
		}
	}
	w.steps = append(w.steps, s)
}

// checkFatal checks invariants 2 and 8 for an error response.
func checkFatal(t *rapid.T, rsp *fnv1.RunFunctionResponse, typ, message string) {
	if rsp.GetDesired() != nil {
		t.Errorf("2: an error leaves %d objects desired: the others would be deleted", len(rsp.GetDesired().GetResources()))
	}
	conditions, results := rsp.GetConditions(), rsp.GetResults()
	if len(conditions) < 3 || len(results) != 2 {
		t.Fatalf("8: an error gives %d conditions and %d results, want 3 or more and 2: %v", len(conditions), len(results), rsp)
	}
	c, warning, fatal := conditions[0], results[0], results[1]
	for _, other := range []string{respond.SpecValid, respond.Composed, respond.Current} {
		if n := len(slices.DeleteFunc(slices.Clone(conditions), func(c *fnv1.Condition) bool { return c.GetType() != other })); n != 1 {
			t.Errorf("8: an error sets condition %s %d times", other, n)
		}
	}
	if c.GetType() != typ || c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || c.GetMessage() != message || c.GetReason() == "" {
		t.Errorf("8: the condition of an error is %v, want %s False: %s", c, typ, message)
	}
	if warning.GetSeverity() != fnv1.Severity_SEVERITY_WARNING || fatal.GetSeverity() != fnv1.Severity_SEVERITY_FATAL {
		t.Errorf("8: the results of an error are %v, want a warning and then a fatal one", results)
	}
	for _, reported := range []interface{ GetTarget() fnv1.Target }{c, warning, fatal} {
		if reported.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
			t.Errorf("8: the claim does not report %v", reported)
		}
	}
	if warning.GetMessage() != message || fatal.GetMessage() != message {
		t.Errorf("8: the results of an error are %v, want the message %s", results, message)
	}
	if rsp.GetMeta().GetTtl().AsDuration() != time.Minute {
		t.Errorf("7: the TTL is %v", rsp.GetMeta().GetTtl().AsDuration())
	}
}

// checkLastValid checks the invariants of the response to an invalid spec, if the last valid one can be composed: the
// desired state is exactly that of the last valid spec, as composed for the control request.
func (w *simulation) checkLastValid(t *rapid.T, rsp, control *fnv1.RunFunctionResponse, message string) {
	want, got := control.GetDesired(), rsp.GetDesired()
	if !bytes.Equal(marshal(t, &fnv1.RunFunctionResponse{Desired: &fnv1.State{Resources: want.GetResources()}}),
		marshal(t, &fnv1.RunFunctionResponse{Desired: &fnv1.State{Resources: got.GetResources()}})) {
		t.Errorf("1: an invalid spec results in other objects than the last valid one")
	}
	if got.GetComposite().GetReady() != fnv1.Ready_READY_FALSE {
		t.Errorf("7: the composite resource is %v while its spec is invalid", got.GetComposite().GetReady())
	}
	if ttl := rsp.GetMeta().GetTtl().AsDuration(); ttl != time.Minute {
		t.Errorf("7: the TTL is %v", ttl)
	}
	results := rsp.GetResults()
	if len(results) != 1 || results[0].GetSeverity() != fnv1.Severity_SEVERITY_WARNING || results[0].GetMessage() != message {
		t.Errorf("8: the results are %v, want a warning: %s", results, message)
	}
	previous := map[string]*fnv1.Condition{}
	for _, c := range control.GetConditions() {
		previous[c.GetType()] = c
	}
	for _, c := range rsp.GetConditions() {
		switch typ := c.GetType(); typ {
		case respond.SpecValid, respond.Current:
			if c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || c.GetMessage() == "" || typ == respond.SpecValid && c.GetMessage() != message {
				t.Errorf("8: the condition is %v, want False: %s", c, message)
			}
		default:
			if !proto.Equal(c, previous[typ]) {
				t.Errorf("8: the condition is %v, want it unchanged: %v", c, previous[typ])
			}
		}
		delete(previous, c.GetType())
	}
	if len(previous) > 0 {
		t.Errorf("8: the conditions %v are missing", previous)
	}
}

// checkData checks invariant 9: data is retained unless the spec requests its deletion, and the status is correct about
// it.
func (w *simulation) checkData(t *rapid.T, rsp *fnv1.RunFunctionResponse, plan compose.Plan) {
	requested := policyOf(w.xr["spec"])
	inForce := rsp.GetDesired().GetComposite().GetResource().GetFields()["status"].GetStructValue().GetFields()["deletionPolicy"].GetStringValue()
	for _, i := range plan.Items() {
		if !i.Retain {
			continue
		}
		composed := deletes(rsp.GetDesired().GetResources()[i.Name].GetResource())
		if composed && requested != "Delete" {
			t.Errorf("9: %s is composed to be deleted with the claim, whose policy is %q", i.Name, requested)
		}
		if o := w.observed[i.Name]; inForce == "Retain" && (composed || o != nil && deletes(o)) {
			t.Errorf("9: the status reports that data is retained, but %s would be deleted", i.Name)
		}
	}
}

// policyOf returns the deletion policy of a spec, if the spec is an object.
func policyOf(spec any) string {
	s, _ := spec.(object)
	policy, _ := s["deletionPolicy"].(string)
	return policy
}

// deletes reports whether a resource with data would be deleted with its composite resource: only an Object can be
// retained.
func deletes(s *structpb.Struct) bool {
	if !wrapper.IsObject(encoded.Of(s)) {
		return true
	}
	policies := encoded.Of(s).At("spec", "managementPolicies").List()
	return len(policies) == 0 || slices.Contains(policies, any("*")) || slices.Contains(policies, any("Delete"))
}

// checkReported checks invariants 7 and 8 for a successful response.
func checkReported(t *rapid.T, rsp *fnv1.RunFunctionResponse, plan compose.Plan) {
	ready, ttl := fnv1.Ready_READY_FALSE, 2*time.Minute
	if plan.Ready() {
		ready, ttl = fnv1.Ready_READY_TRUE, 10*time.Minute
	}
	if got := rsp.GetDesired().GetComposite().GetReady(); got != ready {
		t.Errorf("7: the composite resource is %v, want %v", got, ready)
	}
	if got := rsp.GetMeta().GetTtl().AsDuration(); got != ttl {
		t.Errorf("7: the TTL is %v, want %v", got, ttl)
	}
	for name, r := range rsp.GetDesired().GetResources() {
		if plan.Ready() && r.GetReady() != fnv1.Ready_READY_TRUE {
			t.Errorf("7: all is ready, but %s is %v", name, r.GetReady())
		}
	}
	if len(rsp.GetResults()) > 0 {
		t.Errorf("8: a successful response has results: %v", rsp.GetResults())
	}
	status := map[string]fnv1.Status{}
	for _, c := range rsp.GetConditions() {
		status[c.GetType()] = c.GetStatus()
		if c.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
			t.Errorf("8: the claim does not report %v", c)
		}
		if c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE && c.GetMessage() == "" {
			t.Errorf("8: %v has no message", c)
		}
	}
	for _, typ := range []string{respond.SpecValid, respond.Composed} {
		if status[typ] != fnv1.Status_STATUS_CONDITION_TRUE {
			t.Errorf("8: %s is %v in a successful response: an earlier False would stay", typ, status[typ])
		}
	}
	if got := status[respond.Current] == fnv1.Status_STATUS_CONDITION_TRUE; got != plan.Ready() {
		t.Errorf("8: Current is True: %t, want %t", got, plan.Ready())
	}
	for _, p := range plan.Parts {
		if got := status[p.ConditionType()] == fnv1.Status_STATUS_CONDITION_TRUE; got != p.IsReady() {
			t.Errorf("8: the condition of %s is True: %t, want %t", p.Name, got, p.IsReady())
		}
	}
}

// checkGates checks the first half of invariant 6: the dependencies of new resources are met, as in the orders. The
// next revision of a file is not new.
func (w *simulation) checkGates(t *rapid.T, plan compose.Plan) {
	items := plan.Items()
	for _, i := range items {
		if w.observed[i.Name] != nil || i.Kind.Kind == "ConfigMap" && w.replaces(i.Name) {
			continue
		}
		then := called(i.Body)
		for _, o := range ownOrders(w.name) {
			if !matches(o.then, then) {
				continue
			}
			for _, first := range items {
				if existing := first.Readiness.Ready || o.exists && first.Observed; !existing && matches(o.first, called(first.Body)) {
					t.Errorf("6: %s is new, but %s is not ready: %s", then, called(first.Body), o.why)
				}
			}
		}
	}
}

// revised matches a name with the hash of its contents as suffix.
var revised = regexp.MustCompile("^(.+)-[0-9a-f]{10}$")

// checkFiles checks that existing pods reference only files that exist: a file with an existing earlier revision is
// desired with them. Files that the pods use already may have been deleted by a user.
func (w *simulation) checkFiles(t *rapid.T, plan compose.Plan) {
	desired, earlier := map[string]bool{}, map[string]bool{}
	for _, i := range plan.Items() {
		if i.Kind.Kind != "ConfigMap" {
			continue
		}
		name := i.Body.At("metadata", "name").Text()
		desired[name] = true
		if stem := revised.FindStringSubmatch(name); stem != nil && i.Observed {
			earlier[stem[1]] = true
		}
	}
	for _, i := range plan.Items() {
		for _, v := range i.Body.At("spec", "template", "spec", "volumes").List() {
			volume, _ := v.(map[string]any)
			source, _ := volume["configMap"].(map[string]any)
			name, _ := source["name"].(string)
			stem := revised.FindStringSubmatch(name)
			if stem == nil || !i.Observed || !earlier[stem[1]] || desired[name] {
				continue
			}
			if before := w.observed[i.Name].String(); !strings.Contains(before, name) {
				t.Errorf("6: pods of %s exist, and would read ConfigMap %s, which does not", called(i.Body), name)
			}
		}
	}
}

// checkHashes checks the second half of invariant 6: a ready resource is up to date according to its hash. Resources
// that are only observed have no hash.
func (w *simulation) checkHashes(t *rapid.T, plan compose.Plan) {
	for _, p := range plan.Parts {
		for _, i := range p.Items {
			hash := i.Body.At("metadata", "annotations", compose.HashAnnotation).Text()
			body, key := i.Body, i.Name+" "+hash
			if other, ok := w.hashed[key]; (hash == "") != i.Observe || ok && !bytes.Equal(other, body) {
				t.Errorf("6: %s has changed, but not its hash %q", i.Name, hash)
			}
			w.hashed[key] = body
			if !i.Readiness.Ready {
				continue
			}
			outer := w.observed[i.Name]
			o := outer
			if wrapper.IsObject(encoded.Of(outer)) {
				o = outer.GetFields()["status"].GetStructValue().GetFields()["atProvider"].GetStructValue().GetFields()["manifest"].GetStructValue()
			}
			if annotation(o) != hash {
				t.Errorf("6: %s is called ready, but it was applied with hash %q, and today's is %s", i.Name, annotation(o), hash)
			}
			if metadata(o)["deletionTimestamp"] != nil || metadata(outer)["deletionTimestamp"] != nil {
				t.Errorf("6: %s is called ready, but it is being deleted", i.Name)
			}
		}
	}
}

func annotation(s *structpb.Struct) string {
	return metadata(s)["annotations"].GetStructValue().GetFields()[compose.HashAnnotation].GetStringValue()
}

// checkDeterministic checks invariant 3: the same request results in the same bytes, decoded or not, in whatever order
// its maps were filled.
func (w *simulation) checkDeterministic(t *rapid.T, response []byte) {
	req := w.request(t)
	for how, r := range map[string]*fnv1.RunFunctionRequest{"decoded": proto.CloneOf(req), "sent again": sent(t, req)} {
		if !bytes.Equal(response, marshal(t, w.run(r))) {
			t.Errorf("3: the same request, %s, gives another answer", how)
		}
	}
}

func marshal(t *rapid.T, rsp *fnv1.RunFunctionResponse) []byte {
	b, err := wire.MarshalResponse(rsp)
	if err != nil {
		t.Fatalf("cannot marshal the answer: %v", err)
	}
	return b
}

// checkSecrets checks invariant 4.
func checkSecrets(t *rapid.T, rsp *fnv1.RunFunctionResponse, response []byte) {
	if bytes.Contains(response, []byte(marker)) {
		t.Errorf("4: a secret that is observed stands in the answer")
	}
	for name, r := range rsp.GetDesired().GetResources() {
		each(structpb.NewStructValue(r.GetResource()), "", func(path string, v *structpb.Value) {
			s := v.GetStructValue()
			if s != nil && compose.KindOf(s).GroupKind().String() == "Secret" && compose.KindOf(s).Version == "v1" && s.GetFields()["metadata"] != nil {
				t.Errorf("4: %s%s is a Secret", name, path)
			}
			if value := s.GetFields()["value"].GetStringValue(); value != "" && secretName.MatchString(s.GetFields()["name"].GetStringValue()) {
				t.Errorf("4: %s%s has a value: %s", name, path, value)
			}
			if text := v.GetStringValue(); text != "" {
				checkText(t, name+path, text)
			}
		})
	}
}

var (
	// secretName is the name of an environment variable whose value is secret.
	secretName = regexp.MustCompile(`(?i)passw|passphrase|secret|private_?key`)
	// secretField is the path of a field whose value is secret.
	secretField = regexp.MustCompile(`(?i)\.(password|passphrase|secret|privatekey)$`)
	// secretLine matches a line with a secret in a file, in INI, YAML and Apache's format. A policy's rule may be named
	// secret:delete.
	secretLine = regexp.MustCompile(`(?im)^\s*[a-z0-9_.]*(?:password|passphrase|secret)(?:\s*=\s*|\s*:\s+|\s+)(\S.*)$`)
	// secretURL is an address with a password in it.
	secretURL = regexp.MustCompile(`://[^/\s:@]*:([^@\s/]*)@`)
	// placeholder matches the values that Kubernetes, Apache, the companion or Nova replaces by a secret, and booleans.
	placeholder = regexp.MustCompile(`^"?(true|false|\$\([A-Z_]+\)|\$\{[A-Z_]+\}|\{password\}|\{\{ \.[a-z0-9]+(?: \| quote)? \}\})"?$`)
)

func checkText(t *rapid.T, path, text string) {
	var found []string
	if secretField.MatchString(path) {
		found = append(found, text)
	}
	for _, expr := range []*regexp.Regexp{secretLine, secretURL} {
		for _, m := range expr.FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
	}
	for _, value := range found {
		if !placeholder.MatchString(value) {
			t.Errorf("4: %s looks as if it held a secret: %s", path, value)
		}
	}
}

// each visits every value in a value.
func each(v *structpb.Value, path string, visit func(path string, v *structpb.Value)) {
	visit(path, v)
	for name, e := range v.GetStructValue().GetFields() {
		each(e, path+"."+name, visit)
	}
	for _, e := range v.GetListValue().GetValues() {
		each(e, path+"[]", visit)
	}
}

// serverOwnedMetadata are the metadata fields that servers own.
var serverOwnedMetadata = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid",
}

// checkFields checks invariant 5: only fields that the function owns.
func checkFields(t *rapid.T, rsp *fnv1.RunFunctionResponse) {
	for name, r := range rsp.GetDesired().GetResources() {
		objects := []*structpb.Struct{r.GetResource()}
		if inner, ok := wrapper.Desired(encoded.Of(r.GetResource())); ok {
			objects = append(objects, inner.Tree())
		}
		for _, o := range objects {
			if o.GetFields()["status"] != nil {
				t.Errorf("5: %s has a status", name)
			}
			for _, field := range serverOwnedMetadata {
				if metadata(o)[field] != nil {
					t.Errorf("5: %s has metadata.%s", name, field)
				}
			}
			if metadata(o)["name"].GetStringValue() == "" || compose.KindOf(o).Kind == "" {
				t.Errorf("5: %s has no name or kind: %v", name, o)
			}
		}
		each(structpb.NewStructValue(r.GetResource()), "", func(path string, v *structpb.Value) {
			if _, null := v.GetKind().(*structpb.Value_NullValue); null || v.GetKind() == nil {
				t.Errorf("5: %s%s is null", name, path)
			}
		})
	}
}

// checkStatus checks that an API server accepts the status: a rejected status keeps Crossplane from writing anything.
func checkStatus(t *rapid.T, rsp *fnv1.RunFunctionResponse) {
	got := rsp.GetDesired().GetComposite().GetResource().AsMap()
	v, err := definition.Validator(got["apiVersion"].(string), got["kind"].(string))
	if err != nil {
		t.Fatalf("cannot check the status: %v", err)
	}
	// The spec of the composite resource may be one that a server would not take.
	got["metadata"], got["spec"] = object{"name": "example"}, got["status"].(object)["lastValidSpec"]
	if errs := v.ValidateStatus(got); len(errs) > 0 {
		t.Errorf("7: the status is not valid: %v", errs)
	}
}

// checkTenantNames checks that a Secret's name given by a tenant refers to that Secret only: in the permission to read
// it, and in the copy of it. All other readers read the copy.
func checkTenantNames(t *rapid.T, rsp *fnv1.RunFunctionResponse) {
	for name, r := range rsp.GetDesired().GetResources() {
		o := r.GetResource().AsMap()
		if inner, ok := wrapper.Desired(encoded.Of(r.GetResource())); ok {
			o = inner.Map()
		}
		kind, _ := o["kind"].(string)
		var walk func(v any, path ...string)
		walk = func(v any, path ...string) {
			switch v := v.(type) {
			case object:
				for k, e := range v {
					walk(e, append(slices.Clone(path), k)...)
				}
			case list:
				for _, e := range v {
					walk(e, path...)
				}
			case string:
				right := kind == "Role" && slices.Equal(path, []string{"rules", "resourceNames"})
				source := kind == "ExternalSecret" && slices.Equal(path, []string{"spec", "data", "remoteRef", "key"})
				if (v == ofTenant || v == longOfTenant) && !right && !source {
					t.Errorf("%s (%s) names a tenant's Secret by the tenant's name, in %v", name, kind, path)
				}
			}
		}
		walk(o)
	}
}
