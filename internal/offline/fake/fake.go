// Package fake stands in for those who own objects: Kubernetes' controllers, other projects' operators, Crossplane and our companion. Of
// every kind that we emit it knows the status that its owner has written when it is done, as far as the owner's released sources say.
//
// It does not know internal/engine/ready, which decides by that status: a condition that no owner writes, or a generation that one never
// reports, then keeps what is faked from becoming ready, as it would in a cluster.
package fake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds are the kinds that are faked, sorted.
func Kinds() []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(statuses), func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
}

// Finish writes into an object, in its JSON form, what its owner has written when it is done at a time (RFC 3339). Fields of the status
// that the owner does not write stay, and so does the time of a condition that was true before. The error is that nobody fakes the kind.
func Finish(object map[string]any, at string) error {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	gk := schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()
	write, ok := statuses[gk]
	if !ok {
		return fmt.Errorf("nobody fakes the owner of %s: add what it writes to the table of internal/offline/fake", gk)
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

// since keeps the times at which conditions became true.
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

// view is an object as its owner sees it, and the time.
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

// number is a whole number, or another where there is none.
func (v view) number(otherwise int64, path ...string) int64 {
	switch n := v.get(path...).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return otherwise
}

// first is a time that stays as it was written first.
func (v view) first(field string) string {
	if at := v.text("status", field); at != "" {
		return at
	}
	return v.at
}

func (v view) name() string      { return v.text("metadata", "name") }
func (v view) generation() int64 { return v.number(0, "metadata", "generation") }
