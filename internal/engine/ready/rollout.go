package ready

import (
	"maps"
	"slices"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// Rollout is how a new version of what runs is told from another change of an object, and held back.
type Rollout struct {
	// NewVersion reports whether what is desired is another version than what was desired last.
	NewVersion func(last, desired encoded.Struct) bool
	// Fields stay as they were while a new version is held back. All others change.
	Fields [][]string
	// Serving reports whether the version that is there does anything. One that does not has nothing to lose.
	Serving func(o *observe.Object) bool
}

// podRollout is that of pods: their version is that of their images. The template is held back as a whole, since a configuration is one of
// a version, too.
func podRollout(available string) *Rollout {
	template := []string{"spec", "template"}
	return &Rollout{
		NewVersion: func(last, desired encoded.Struct) bool {
			previous, is := images(last.At(template...)), images(desired.At(template...))
			return slices.ContainsFunc(slices.Collect(maps.Keys(is)), func(container string) bool {
				image, there := previous[container]
				return there && image != is[container]
			})
		},
		// How long a pod is ready before it counts is said of the template that is rolled out, and would make what runs count for nothing.
		Fields: [][]string{template, {"spec", "minReadySeconds"}, {"spec", "progressDeadlineSeconds"}},
		Serving: func(o *observe.Object) bool {
			n, _ := o.Int("status", available)
			return n > 0
		},
	}
}

// images are the images of a pod template's containers, by their names.
func images(template encoded.Value) map[string]string {
	out := map[string]string{}
	for _, list := range []string{"initContainers", "containers"} {
		for c := range template.At("spec", list).Elements() {
			out[c.Field("name").Text()] = c.Field("image").Text()
		}
	}
	return out
}

// releaseRollout is that of a service's composite resource: its version is its release. The images of a release are held back with it.
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
