// Package fake simulates the owners of objects: Kubernetes' controllers, third-party operators, Crossplane and the companion. For every
// composed kind it contains the final status that its owner writes, according to the owner's released sources.
//
// It does not use internal/readiness, which evaluates that status: a condition that no owner writes, or a generation that an owner never
// reports, then prevents readiness in the simulation as it would in a cluster.
package fake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds returns the simulated kinds, sorted.
func Kinds() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(statuses), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
}

// Finish writes the final status of its owner into an object in its JSON form, at a time (RFC 3339). Status fields that the owner does not
// write are kept, and so is the time of a condition that was true before. It returns an error if the kind is not simulated.
func Finish(object map[string]any, at string) error {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	gk := schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()
	write, ok := statuses[gk]
	if !ok {
		return fmt.Errorf("the owner of %s is not simulated; add its status to the table of internal/offline/fake", gk)
	}
	if write == nil {
		return nil
	}
	before, _ := object["status"].(map[string]any)
	after := map[string]any{}
	maps.Copy(after, before)
	maps.Copy(after, write(view{object: object, at: at}))
	since(before, after)
	object["status"] = after
	return nil
}

// since keeps the times of conditions that have not changed.
func since(before, after map[string]any) {
	old, _ := before["conditions"].([]any)
	all, _ := after["conditions"].([]any)
	for _, c := range all {
		for _, o := range old {
			is, _ := c.(map[string]any)
			previous, _ := o.(map[string]any)
			if previous["type"] == is["type"] && previous["status"] == is["status"] && previous["lastTransitionTime"] != nil {
				is["lastTransitionTime"] = previous["lastTransitionTime"]
			}
		}
	}
}

// view is an object as read by its owner, and the current time.
type view struct {
	object map[string]any
	at     string
}

func (v view) get(path ...string) any {
	o := v.object
	for _, p := range path[:len(path)-1] {
		o, _ = o[p].(map[string]any)
	}
	return o[path[len(path)-1]]
}

func (v view) text(path ...string) string {
	s, _ := v.get(path...).(string)
	return s
}

// number returns a whole number, or the value of otherwise.
func (v view) number(otherwise int64, path ...string) int64 {
	switch n := v.get(path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return otherwise
}

// first returns the time in a status field, or the current time if it is not set.
func (v view) first(field string) string {
	if at := v.text("status", field); at != "" {
		return at
	}
	return v.at
}

func (v view) name() string      { return v.text("metadata", "name") }
func (v view) generation() int64 { return v.number(0, "metadata", "generation") }
