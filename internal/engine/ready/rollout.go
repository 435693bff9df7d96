package ready

import (
	"maps"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Rollout distinguishes a new version of a workload from other changes of its object, and defines how it is delayed.
type Rollout struct {
	// NewVersion reports whether the desired object is another version than the last desired one.
	NewVersion func(last, desired encoded.Struct) bool
	// Fields keep their values while a new version is delayed. All other fields change.
	Fields [][]string
	// Serving reports whether the running version serves. A version that does not serve is not kept.
	Serving func(o *observe.Object) bool
}

// podRollout returns the rollout of pods: their version is the images of their containers. The whole template is delayed, because its
// configuration belongs to the version.
func podRollout(available string) *Rollout {
	template := []string{"spec", "template"}
	return &Rollout{
		NewVersion: func(last, desired encoded.Struct) bool {
			previous, is := images(last.At(template...)), images(desired.At(template...))
			return slices.ContainsFunc(slices.Collect(maps.Keys(is)), func(container string) bool {
				image, existed := previous[container]
				return existed && image != is[container]
			})
		},
		// minReadySeconds belongs to the new template. With the running pods it would make them unavailable.
		Fields: [][]string{template, {"spec", "minReadySeconds"}, {"spec", "progressDeadlineSeconds"}},
		Serving: func(o *observe.Object) bool {
			n, _ := o.Int("status", available)
			return n > 0
		},
	}
}

// images returns the images of a pod template's containers, by container name.
func images(template encoded.Value) map[string]string {
	out := map[string]string{}
	for _, list := range []string{"initContainers", "containers"} {
		for c := range template.At("spec", list).Elements() {
			out[c.Field("name").Text()] = c.Field("image").Text()
		}
	}
	return out
}

// releaseRollout returns the rollout of a service's composite resource: its version is its release. The images of a release are delayed
// with it.
func releaseRollout() *Rollout {
	release := []string{"spec", "openStackRelease"}
	return &Rollout{
		NewVersion: func(last, desired encoded.Struct) bool {
			return last.At(release...).Text() != desired.At(release...).Text()
		},
		Fields:  [][]string{release, {"spec", "image"}, {"spec", "images"}},
		Serving: func(o *observe.Object) bool { return o.String("status", "release") != "" },
	}
}
