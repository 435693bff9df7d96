package invariants

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// disturb makes a random change of the kinds that operators, clusters and users make, or changes the spec as a tenant
// would.
func (w *simulation) disturb(t *rapid.T) {
	for range rapid.IntRange(1, 5).Draw(t, "flips") {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(flips))).Draw(t, "flip")
		flips[name](t, w)
	}
}

// flips change the observed state.
var flips = map[string]func(*rapid.T, *simulation){
	"lost": func(t *rapid.T, w *simulation) {
		if name, ok := w.any(t); ok {
			delete(w.observed, name)
		}
	},
	"half lost": func(t *rapid.T, w *simulation) {
		for _, name := range w.names() {
			if rapid.Bool().Draw(t, "lost") {
				delete(w.observed, name)
			}
		}
	},
	"applied by an older version": inObject(func(_ *rapid.T, o object) { annotations(o)["crossplane.c5c3.io/hash"] = "0123456789abcdef" }),
	"without annotations":         inObject(func(_ *rapid.T, o object) { delete(o["metadata"].(object), "annotations") }),
	"edited":                      inObject(func(_ *rapid.T, o object) { o["metadata"].(object)["generation"] = 7.0 }),
	"deleted":                     inObject(deleted),
	"failing":                     inObject(failing),
	"silent":                      inObject(func(_ *rapid.T, o object) { delete(o, "status") }),
	"talking nonsense":            inObject(nonsense),
	"failed for good": inObject(func(_ *rapid.T, o object) {
		o["status"] = object{"phase": "Failed", "conditions": list{object{"type": "Failed", "status": "True", "reason": "Why", "message": "It failed."}}}
	}),
	"its Object edited":  inWrapper(func(_ *rapid.T, o object) { o["metadata"].(object)["generation"] = 7.0 }),
	"its Object deleted": inWrapper(deleted),
	"its Object failing": inWrapper(failing),
	"its Object blind": inWrapper(func(_ *rapid.T, o object) {
		if status, ok := o["status"].(object); ok {
			delete(status, "atProvider")
		}
	}),
	"its Object silent":           inWrapper(func(_ *rapid.T, o object) { delete(o, "status") }),
	"its Object talking nonsense": inWrapper(nonsense),
	"a secret in its status": inObject(func(_ *rapid.T, o object) {
		if status, ok := o["status"].(object); ok {
			status["binding"] = object{"name": marker, "data": object{"password": marker}}
		}
	}),
	"something unknown": func(t *rapid.T, w *simulation) {
		o := rapid.SampledFrom(strangers).Draw(t, "stranger")
		w.observed[fmt.Sprintf("unknown-%d", len(w.observed))] = structOf(t, o)
	},
	"older revisions": olderRevisions,
	"older revisions in a cluster that is not seen": func(t *rapid.T, w *simulation) {
		olderRevisions(t, w)
		for _, name := range w.names() {
			o := w.observed[name].AsMap()
			if status, ok := o["status"].(object); ok && w.isRevision(name) && inside(o) != nil {
				delete(status, "atProvider")
				w.observed[name] = structOf(t, o)
			}
		}
	},
	"another release": anotherRelease,
	"nonsense in the composite resource's status": func(t *rapid.T, w *simulation) {
		w.xr["status"] = rapid.SampledFrom(garbage).Draw(t, "status")
	},
	"another last valid spec in the composite resource's status": func(t *rapid.T, w *simulation) {
		status, ok := w.xr["status"].(object)
		if !ok {
			return
		}
		w.xr, status = maps.Clone(w.xr), maps.Clone(status)
		w.xr["status"], status["lastValidSpec"] = status, rapid.SampledFrom(w.tampered()).Draw(t, "last valid spec")
	},
	"another spec":    anotherSpec,
	"an invalid edit": invalidEdit,
}

// any draws the name of an observed resource, if there is one.
func (w *simulation) any(t *rapid.T) (string, bool) {
	if len(w.observed) == 0 {
		return "", false
	}
	return rapid.SampledFrom(w.names()).Draw(t, "resource"), true
}

// inWrapper returns a flip that changes an observed resource as composed, inObject one that changes the object inside
// the wrapper.
func inWrapper(change func(*rapid.T, object)) func(*rapid.T, *simulation) {
	return func(t *rapid.T, w *simulation) {
		if name, ok := w.any(t); ok {
			o := w.observed[name].AsMap()
			change(t, o)
			w.observed[name] = structOf(t, o)
		}
	}
}

func inObject(change func(*rapid.T, object)) func(*rapid.T, *simulation) {
	return inWrapper(func(t *rapid.T, o object) {
		if inner := inside(o); inner != nil {
			o = inner
		}
		change(t, o)
	})
}

func annotations(o object) object {
	meta := o["metadata"].(object)
	a, ok := meta["annotations"].(object)
	if !ok {
		a = object{}
		meta["annotations"] = a
	}
	return a
}

func deleted(_ *rapid.T, o object) {
	o["metadata"].(object)["deletionTimestamp"] = "2026-01-02T00:00:00Z"
}

// failing sets one of an object's conditions to another status than true.
func failing(t *rapid.T, o object) {
	status, _ := o["status"].(object)
	conditions, _ := status["conditions"].(list)
	if len(conditions) == 0 {
		return
	}
	c, ok := rapid.SampledFrom(conditions).Draw(t, "condition").(object)
	if !ok {
		return
	}
	c["status"] = rapid.SampledFrom([]string{"False", "Unknown", ""}).Draw(t, "status")
	c["reason"] = rapid.SampledFrom([]string{"Why", "", "AReasonThatIsMuchLongerThanAnyStatusOfOursHasEverBeenMadeToTakeSoFar"}).Draw(t, "reason")
	c["message"] = rapid.SampledFrom([]string{"It fails: ä€.", ""}).Draw(t, "message")
}

// garbage are invalid statuses.
var garbage = []any{
	"text", 1.5, true, list{}, list{"text", object{}}, object{}, object{"conditions": "text"}, object{"conditions": list{"text", 1.0, nil, object{"type": 1.0}}},
	object{"components": "text", "phase": 7.0, "updatePhase": object{}}, object{"phase": "Ready", "components": list{object{"name": "api", "phase": "Ready"}}},
	object{"conditions": object{"type": "Ready"}, "observedGeneration": "1", "replicas": "many", "parents": list{nil, "text"}, "atProvider": list{}},
	object{"conditions": list{object{"type": "Ready", "status": true, "observedGeneration": -1.0, "lastTransitionTime": 12.0}}},
}

func nonsense(t *rapid.T, o object) { o["status"] = rapid.SampledFrom(garbage).Draw(t, "status") }

// strangers are resources that no spec wants, especially Secrets.
var strangers = []object{
	{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "a", "namespace": "b"}, "data": object{"password": marker}},
	{
		"apiVersion": "kubernetes.crossplane.io/v1alpha2", "kind": "Object", "metadata": object{"name": "a"},
		"spec": object{"forProvider": object{"manifest": object{
			"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "a"}, "stringData": object{"password": marker},
		}}},
		"status": object{"atProvider": object{"manifest": object{
			"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "a"}, "data": object{"password": marker},
		}}},
	},
	{"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": object{"name": "a"}, "status": object{"binding": object{"name": marker}}},
	{"apiVersion": "example.org/v1", "kind": "Thing", "metadata": object{"name": "a"}},
}

// olderRevisions adds revisions of an earlier spec, which are named after their content.
func olderRevisions(t *rapid.T, w *simulation) {
	older := rapid.SampledFrom([]string{"0000000000", "ffffffffff"}).Draw(t, "revision")
	for _, name := range w.names() {
		if !w.isRevision(name) {
			continue
		}
		old := name[:strings.LastIndex(name, "-")+1] + older
		o := w.observed[name].AsMap()
		if o["kind"] == "Object" && isCut(o["metadata"].(object)["name"].(string), name, old) {
			continue
		}
		for _, part := range []object{o, inside(o)} {
			if meta, ok := part["metadata"].(object); ok {
				meta["name"] = strings.ReplaceAll(meta["name"].(string), name, old)
			}
			spec, _ := part["spec"].(object)
			if template, ok := spec["template"].(object); ok {
				template["metadata"] = object{"creationTimestamp": nil} // As older API servers write it.
			}
		}
		w.observed[old] = structOf(t, o)
	}
}

// isCut reports whether the name of an Object around one of two revisions is truncated, so that the other name cannot
// be derived from it. The limit is in internal/engine/respond.
func isCut(object, name, other string) bool {
	prefix, full := strings.CutSuffix(object, "-"+name)
	return !full || len(prefix+"-"+other) > 128-len("provider-kubernetes/")
}

var runners = kinds.Runners()

// anotherRelease makes a different release appear as installed. The function may refuse an upgrade from it.
func anotherRelease(t *rapid.T, w *simulation) {
	release := rapid.SampledFrom([]string{"2025.1", "2025.2", "2026.1", "2026.2", "zed", ""}).Draw(t, "release")
	for _, name := range w.names() {
		field := "release"
		if name == "schema" {
			field = "installedRelease"
		} else if _, service := runners[compose.KindOf(w.observed[name]).GroupKind().String()]; !service {
			continue
		}
		o := w.observed[name].AsMap()
		inner := o
		if i := inside(o); i != nil {
			inner = i
		}
		if status, ok := inner["status"].(object); ok {
			status[field] = release
			w.observed[name], w.refusable = structOf(t, o), true
		}
	}
}

// anotherSpec changes everything that a tenant may change, and more: admission would reject some changes.
func anotherSpec(t *rapid.T, w *simulation) {
	xr, _ := w.draw(t)
	previous, spec := w.xr["spec"].(object), xr["spec"].(object)
	if externalIn(previous) != externalIn(spec) {
		return // External services stay external.
	}
	for _, field := range w.keep {
		delete(spec, field)
		if v, ok := previous[field]; ok {
			spec[field] = v
		}
	}
	w.endSegment(t)
	w.xr = maps.Clone(w.xr)
	w.xr["spec"], w.refusable = spec, true
}
