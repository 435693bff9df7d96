package readiness_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// TestFunctionAndProviderAgree changes finished objects of every kind at random, as far as their servers would let such a change through.
// The function and provider-kubernetes must agree on the result, otherwise an Object is polled rarely while the function
// waits for it. A result that is not ready has a message.
func TestFunctionAndProviderAgree(t *testing.T) {
	for _, kind := range kinds() {
		rule, _ := readiness.Rules.For(kind)
		t.Run(kind.String(), rapid.MakeCheck(func(t *rapid.T) {
			o := asJSON(t, finished(t, kind))
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				change := rapid.SampledFrom(slices.Sorted(maps.Keys(changes))).Draw(t, "change")
				changes[change](t, o)
			}
			result := checked(t, rule, o)
			if got := query(t, rule, o); got != result.Ready {
				t.Errorf("Check(...) = %+v, but %s is %t, of %v", result, rule.CEL, got, o)
			}
			if !result.Ready && (result.Reason == "" || result.Message == "") {
				t.Errorf("Check(...) = %+v has no reason or message, for %v", result, o)
			}
		}))
	}
}

// changes contains possible changes of an object.
var changes = map[string]func(t *rapid.T, o map[string]any){
	"delete": func(_ *rapid.T, o map[string]any) {
		o["metadata"].(map[string]any)["deletionTimestamp"] = "2025-10-01T12:00:00Z"
	},
	"edit the spec": func(_ *rapid.T, o map[string]any) {
		meta := o["metadata"].(map[string]any)
		meta["generation"] = meta["generation"].(float64) + 1
	},
	"tolerate nodes": func(t *rapid.T, o map[string]any) {
		percentage := rapid.SampledFrom([]string{"1", "5", "50"}).Draw(t, "percentage")
		o["metadata"].(map[string]any)["annotations"] = map[string]any{readiness.MaxUnavailableAnnotation: percentage}
	},
	"lose the status":        func(_ *rapid.T, o map[string]any) { delete(o, "status") },
	"lose a field":           loseField,
	"change a field":         changeField,
	"lose a condition":       loseCondition,
	"change a condition":     changeCondition,
	"get a condition":        getCondition,
	"lose all parents":       func(_ *rapid.T, o map[string]any) { status(o)["parents"] = []any{} },
	"empty the conditions":   func(_ *rapid.T, o map[string]any) { status(o)["conditions"] = []any{} },
	"get an unknown message": func(_ *rapid.T, o map[string]any) { status(o)["message"] = "Something else." },
}

// status returns the status of an object, and creates it if necessary.
func status(o map[string]any) map[string]any {
	s, ok := o["status"].(map[string]any)
	if !ok {
		s = map[string]any{}
		o["status"] = s
	}
	return s
}

// gen draws an element, or returns false for an empty list.
func gen[T any](t *rapid.T, label string, from []T) (T, bool) {
	if len(from) == 0 {
		return *new(T), false
	}
	return rapid.SampledFrom(from).Draw(t, label), true
}

func loseField(t *rapid.T, o map[string]any) {
	if name, ok := gen(t, "field", slices.Sorted(maps.Keys(status(o)))); ok {
		delete(status(o), name)
	}
}

func changeField(t *rapid.T, o map[string]any) {
	name, _ := gen(t, "field", slices.Sorted(maps.Keys(status(o))))
	switch status(o)[name].(type) {
	case float64:
		status(o)[name] = float64(rapid.IntRange(0, 4).Draw(t, "number"))
	case string:
		status(o)[name] = rapid.SampledFrom([]string{"", "Active", "Ready", "Failed", "Pending", "Done"}).Draw(t, "text")
	}
}

// holders returns the parents of conditions in an object: its status, and the status of each Gateway.
func holders(o map[string]any) []map[string]any {
	out := []map[string]any{status(o)}
	parents, _ := status(o)["parents"].([]any)
	for _, p := range parents {
		out = append(out, p.(map[string]any))
	}
	return out
}

// aCondition draws a condition, and returns its parent.
func aCondition(t *rapid.T, o map[string]any) (holder map[string]any, at int, ok bool) {
	holder, _ = gen(t, "holder", holders(o))
	conditions, _ := holder["conditions"].([]any)
	if len(conditions) == 0 {
		return nil, 0, false
	}
	return holder, rapid.IntRange(0, len(conditions)-1).Draw(t, "condition"), true
}

func loseCondition(t *rapid.T, o map[string]any) {
	if holder, at, ok := aCondition(t, o); ok {
		conditions := holder["conditions"].([]any)
		holder["conditions"] = slices.Concat(conditions[:at], conditions[at+1:])
	}
}

func changeCondition(t *rapid.T, o map[string]any) {
	holder, at, ok := aCondition(t, o)
	if !ok {
		return
	}
	c := holder["conditions"].([]any)[at].(map[string]any)
	switch rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		c["status"] = rapid.SampledFrom([]string{"True", "False", "Unknown"}).Draw(t, "status")
	case 1:
		c["observedGeneration"] = float64(rapid.IntRange(0, 5).Draw(t, "generation"))
	case 2:
		delete(c, "observedGeneration")
	}
}

// getCondition adds a condition of a type that is not there: servers hold one of each.
func getCondition(t *rapid.T, o map[string]any) {
	holder, _ := gen(t, "holder", holders(o))
	conditions, _ := holder["conditions"].([]any)
	var types []string
	for _, typ := range []string{"Ready", "Synced", "SpecValid", "Responsive", "Failed", "Complete", "Available", "Accepted", "Other"} {
		if !slices.ContainsFunc(conditions, func(c any) bool { return c.(map[string]any)["type"] == typ }) {
			types = append(types, typ)
		}
	}
	typ, ok := gen(t, "type", types)
	if !ok {
		return
	}
	status := rapid.SampledFrom([]string{"True", "False", "Unknown"}).Draw(t, "status")
	holder["conditions"] = append(conditions, map[string]any{
		"type": typ, "status": status, "reason": "Drawn", "message": fmt.Sprintf("%s is %s.", typ, status),
	})
}
