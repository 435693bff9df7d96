package controlplane

import (
	"fmt"

	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// operatorImages are the images that operators run: where the platform names one, and which composed resource has it in which field.
var operatorImages = map[string]struct {
	said     func(platformv1.ThirdPartyImages) *common.InfrastructureImage
	resource string
	field    []string
}{
	release.MariaDB: {
		func(i platformv1.ThirdPartyImages) *common.InfrastructureImage { return i.MariaDB }, databaseResource, []string{"spec", "image"},
	},
	release.MariaDBExporter: {
		func(i platformv1.ThirdPartyImages) *common.InfrastructureImage { return i.MariaDBExporter },
		databaseResource, []string{"spec", "metrics", "exporter", "image"},
	},
	release.MaxScale: {
		func(i platformv1.ThirdPartyImages) *common.InfrastructureImage { return i.MaxScale }, proxyResource, []string{"spec", "image"},
	},
	release.MaxScaleExporter: {
		func(i platformv1.ThirdPartyImages) *common.InfrastructureImage { return i.MaxScaleExporter },
		proxyResource, []string{"spec", "metrics", "exporter", "image"},
	},
	release.RabbitMQ: {
		func(i platformv1.ThirdPartyImages) *common.InfrastructureImage { return i.RabbitMQ }, messagingResource, []string{"spec", "image"},
	},
}

// thirdPartyImage is the image of what an operator runs (one of release's constants), or empty where that is the operator's business:
// the platform names neither a mirror nor an image. A claim has no say in it: operators give these pods rights of their own.
func (m *model) thirdPartyImage(name string) (string, error) {
	i := operatorImages[name]
	observedState, _ := m.seen.Get(i.resource)
	named := i.said(ptr.Deref(m.platform.ThirdPartyImages, platformv1.ThirdPartyImages{}))
	o := over(ptr.Deref(m.platform.Images, common.Images{}).Registry, named)
	image, err := release.OperatorImageFor(name, observedState.String(i.field...), o)
	if err != nil {
		return "", fmt.Errorf("the PlatformConfig is wrong: %w", err)
	}
	return image, nil
}

// over is a registry, and an image that is named beside it.
func over(registry string, image *common.InfrastructureImage) release.Override {
	o := release.Override{Registry: registry}
	if image != nil {
		o.Repository, o.Tag, o.Digest = image.Repository, image.Tag, image.Digest
	}
	return o
}
