package infrastructure

import (
	"fmt"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// operatorImages lists the images that operators run: the setting of the platform, and the composed resource and field that contain the
// image.
var operatorImages = map[string]struct {
	override func(platformv1.ThirdPartyImages) *common.InfrastructureImage
	resource string
	field    []string
}{
	release.MariaDB: {
		func(i platformv1.ThirdPartyImages) *common.InfrastructureImage { return i.MariaDB }, DatabaseResource, []string{"spec", "image"},
	},
	release.MariaDBExporter: {
		func(i platformv1.ThirdPartyImages) *common.InfrastructureImage { return i.MariaDBExporter },
		DatabaseResource, []string{"spec", "metrics", "exporter", "image"},
	},
	release.MaxScale: {
		func(i platformv1.ThirdPartyImages) *common.InfrastructureImage { return i.MaxScale }, proxyResource, []string{"spec", "image"},
	},
	release.MaxScaleExporter: {
		func(i platformv1.ThirdPartyImages) *common.InfrastructureImage { return i.MaxScaleExporter },
		proxyResource, []string{"spec", "metrics", "exporter", "image"},
	},
	release.RabbitMQ: {
		func(i platformv1.ThirdPartyImages) *common.InfrastructureImage { return i.RabbitMQ }, MessagingResource, []string{"spec", "image"},
	},
}

// thirdPartyImage returns the image that an operator runs (one of release's constants), or empty for the default of the operator if the
// platform sets neither a mirror nor an image. A claim cannot set it: operators grant permissions to these pods.
func (inf *Infrastructure) thirdPartyImage(name string) (string, error) {
	i := operatorImages[name]
	observedState, _ := inf.Observed.Get(i.resource)
	named := i.override(ptr.Deref(inf.Platform.ThirdPartyImages, platformv1.ThirdPartyImages{}))
	o := over(ptr.Deref(inf.Platform.Images, common.Images{}).Registry, named)
	image, err := release.OperatorImageFor(name, observedState.String(i.field...), o)
	if err != nil {
		return "", fmt.Errorf("the PlatformConfig is invalid: %w", err)
	}
	return image, nil
}

// over combines a registry with an image that overrides it.
func over(registry string, image *common.InfrastructureImage) release.Override {
	o := release.Override{Registry: registry}
	if image != nil {
		o.Repository, o.Tag, o.Digest = image.Repository, image.Tag, image.Digest
	}
	return o
}
