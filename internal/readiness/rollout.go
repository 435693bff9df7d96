package readiness

import (
	"maps"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// podRollout returns the rollout of pods: their version is the images of their containers. The whole template is delayed, because its
// configuration belongs to the version.
func podRollout(available string) *ready.Rollout {
	template := []string{"spec", "template"}
	return &ready.Rollout{
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
func releaseRollout() *ready.Rollout {
	release := []string{"spec", "openStackRelease"}
	return &ready.Rollout{
		NewVersion: func(last, desired encoded.Struct) bool {
			return last.At(release...).Text() != desired.At(release...).Text()
		},
		Fields:  [][]string{release, {"spec", "image"}, {"spec", "images"}},
		Serving: func(o *observe.Object) bool { return o.String("status", "release") != "" },
	}
}
