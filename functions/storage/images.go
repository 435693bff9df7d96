package storage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// storageImages limits the images that claims may run on storage nodes. Ceph's pods control the node.
var storageImages = limit.List{
	Name: "storageImages", Of: func(l *platformv1.Limit) []string { return limit.Texts(l.StorageImages) }, Allows: limit.Match,
}

// findImage selects the image of Ceph: the claim's, as far as a limit allows it, the platform's, or the default of this version. A running
// version is never replaced by an older one, which could not read its data.
func (m *model) findImage() (string, error) {
	o := release.Override{Registry: ptr.Deref(m.platform.Images, common.Images{}).Registry}
	if i := ptr.Deref(m.platform.ThirdPartyImages, platformv1.ThirdPartyImages{}).Ceph; i != nil {
		o.Repository, o.Tag, o.Digest = i.Repository, i.Tag, i.Digest
	}
	image, err := m.imageFor(o)
	if err != nil {
		return "", fmt.Errorf("the PlatformConfig is invalid: %w", err)
	}
	field, requested := m.ownImage(o)
	if field == "" {
		return image, nil
	}
	own, err := m.imageFor(requested)
	if err != nil {
		return "", invalid.Field(field, "%v", err)
	}
	if own == image {
		return image, nil
	}
	if running := m.version(); m.spec.Image != nil && isOlderVersion(strings.TrimPrefix(m.spec.Image.Tag, "v"), running) {
		return "", invalid.Field("spec.image.tag", "Ceph %s is running and cannot be downgraded; set this version or a newer one", running)
	}
	limits := limit.In(m.platform.Limits, m.claim.Namespace)
	return own, storageImages.CheckAny(limits, m.claim.Namespace, field, []string{own})
}

// ownImage returns the platform's image with the claim's overrides, and the field of the override. Empty field: there is no override.
func (m *model) ownImage(o release.Override) (string, release.Override) {
	field := ""
	if i := m.spec.Images; i != nil && i.Registry != "" {
		// The claim's registry replaces every registry, including the platform's registry and repository of this image.
		field, o.Registry, o.Repository = "spec.images.registry", i.Registry, ""
	}
	if i := m.spec.Image; i != nil && *i != (common.InfrastructureImage{}) {
		field, o.Repository = "spec.image", cmp.Or(i.Repository, o.Repository)
		if i.Tag != "" || i.Digest != "" {
			o.Tag, o.Digest = i.Tag, i.Digest
		}
	}
	return field, o
}

// imageFor returns the image. Without a requested version, it keeps the running version if the default is older.
func (m *model) imageFor(o release.Override) (string, error) {
	image, err := release.ImageFor(release.Ceph, "", o)
	if err != nil || o.Tag != "" || o.Digest != "" {
		return image, err
	}
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if running := m.version(); isOlderVersion(strings.TrimPrefix(tag, "v"), running) {
		o.Tag = "v" + running
		return release.ImageFor(release.Ceph, "", o)
	}
	return image, nil
}

// isOlderVersion reports whether a version precedes another one. It is false for invalid versions.
func isOlderVersion(a, b string) bool {
	numbers := func(v string) (out []int) {
		for part := range strings.SplitSeq(v, ".") {
			n, err := strconv.Atoi(part)
			if err != nil {
				return nil
			}
			out = append(out, n)
		}
		return out
	}
	x, y := numbers(a), numbers(b)
	return x != nil && y != nil && slices.Compare(x, y) < 0
}
