package service

import (
	"cmp"
	"slices"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// releases derives the target and the effective release and their images.
func (b *Base) releases(observed observe.State) error {
	var err error
	if b.TargetRelease, err = release.Parse(b.Spec.OpenStackRelease); err != nil {
		return invalid.Field("spec.openStackRelease", "%s", err)
	}
	if err := b.schemaReleases(observed); err != nil {
		return invalid.Field("spec.openStackRelease", "%s", err)
	}
	if b.Image, err = b.ImageOf(b.App, b.Effective, b.Spec.Image, "spec.image"); err != nil {
		return err
	}
	if b.SchemaImage, err = b.ImageOf(b.App, b.TargetRelease, b.Spec.Image, "spec.image"); err != nil {
		return err
	}
	if b.Effective != b.TargetRelease {
		// The pods must not change until the schema supports the new release; an image in the spec may belong to the new
		// release.
		b.running = func(resource string) string { return b.runningImage(observed, resource) }
		main := b.pods()
		if b.Main != "" {
			main = b.Main
		}
		b.Image = cmp.Or(b.running(main), b.Image)
	}
	return nil
}

// schemaReleases derives the effective release, which is the lowest release that the schemas of all databases allow, and
// the fallback release that all of them still support.
func (b *Base) schemaReleases(observed observe.State) error {
	type schema struct{ installed, previous string }
	var schemas []schema
	if len(b.Databases) == 0 {
		b.Effective = b.TargetRelease // There is no schema to wait for.
	}
	for i := range b.Databases {
		sync, _ := observed.Get(b.databaseResource(schemaResource, i))
		is := schema{sync.String("status", "installedRelease"), sync.String("status", "previousRelease")}
		schemas = append(schemas, is)
		if quiesce, _ := sync.Bool("status", "quiesce"); quiesce {
			b.Quiesced = true
		}
		effective, err := release.Effective(b.TargetRelease, is.installed, is.previous)
		if err != nil {
			return err
		}
		if b.Effective == "" || effective < b.Effective {
			b.Effective = effective
		}
	}
	for _, is := range schemas {
		if is.previous != "" && !slices.ContainsFunc(schemas, func(other schema) bool {
			return other.previous != is.previous && other.installed != is.previous
		}) {
			b.Fallback = is.previous
		}
	}
	return nil
}

// runningImage returns the image of the observed pods of a workload, or an empty string if it does not exist.
func (b *Base) runningImage(observed observe.State, resource string) string {
	d, ok := observed.Get(resource)
	if !ok {
		return ""
	}
	for _, c := range d.List("spec", "template", "spec", "containers") {
		if m, _ := c.(map[string]any); m["name"] == b.App {
			image, _ := m["image"].(string)
			return image
		}
	}
	return ""
}

// ImageOf returns an image of a release: the image in a field of the spec, or the default image in the registry of the
// spec.
func (b *Base) ImageOf(name string, r release.Release, over *common.Image, field string) (string, error) {
	o := release.Override{Registry: b.Spec.Images.Registry}
	if over != nil {
		o.Repository, o.Tag, o.Digest = over.Repository, over.Tag, over.Digest
	}
	image, err := release.ImageFor(name, r, o)
	if err != nil {
		return "", invalid.Field(field, "%s", err)
	}
	return image, nil
}
