package infrastructure

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// TestThirdPartyImage checks that the operator selects an image unless the platform or a mirror sets it, and that a mirror never changes
// the version of a running image.
func TestThirdPartyImage(t *testing.T) {
	const mirror = "{domain: a.b, images: {registry: registry.example.com/mirror}}"
	for name, tc := range map[string]struct{ reason, image, platform, observed, want string }{
		"Operator's": {"The platform sets none.", release.MariaDB, bare, "", ""},
		"Runs":       {"The observed image is kept.", release.MariaDB, bare, "{image: 'docker-registry1.mariadb.com/library/mariadb:11.4.2'}", ""},
		"Mirror":     {"The mirror applies to every image.", release.MariaDB, mirror, "", "registry.example.com/mirror/library/mariadb:11.8.5"},
		"MirrorOfRunning": {
			"A database cannot be downgraded.", release.MariaDB, mirror, "{image: 'docker-registry1.mariadb.com/library/mariadb:12.1.2'}",
			"registry.example.com/mirror/library/mariadb:12.1.2",
		},
		"MirrorOfDigest": {
			"A digest identifies a version, too.", release.MariaDB, mirror,
			"{image: 'mariadb@sha256:0000000000000000000000000000000000000000000000000000000000000000'}",
			"registry.example.com/mirror/library/mariadb@sha256:0000000000000000000000000000000000000000000000000000000000000000",
		},
		"Exporter": {
			"The field is nested.", release.MariaDBExporter, mirror, "{metrics: {exporter: {image: 'prom/mysqld-exporter:v0.17.0'}}}",
			"registry.example.com/mirror/prom/mysqld-exporter:v0.17.0",
		},
		"Named": {
			"The image of the platform is used.", release.MariaDB, "{domain: a.b, thirdPartyImages: {mariadb: {repository: registry.example.com/mariadb, " +
				"digest: 'sha256:1111111111111111111111111111111111111111111111111111111111111111'}}}", "{image: 'mariadb:12.1.2'}",
			"registry.example.com/mariadb@sha256:1111111111111111111111111111111111111111111111111111111111111111",
		},
		"NamedTag":        {"The image is in its own registry.", release.RabbitMQ, "{domain: a.b, thirdPartyImages: {rabbitmq: {tag: 4.2.1-management}}}", "", "docker.io/library/rabbitmq:4.2.1-management"},
		"NamedRepository": {"The image has the observed version.", release.RabbitMQ, "{domain: a.b, thirdPartyImages: {rabbitmq: {repository: r.example.com/q}}}", "{image: 'rabbitmq:4.1.5'}", "r.example.com/q:4.1.5"},
	} {
		t.Run(name, func(t *testing.T) {
			observed := map[string]*structpb.Struct{}
			maps.Copy(observed, observedAs(t, operatorImages[tc.image].resource, tc.observed))
			// Image settings of the claim apply to services only.
			const spec = "{infrastructure: {rabbitmq: {replicas: 3, storageSize: 10Gi}}, global: {images: {registry: mine.example.com}}}"
			m, err := derive(t, spec, open(tc.platform), observed)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := m.thirdPartyImage(tc.image); err != nil || got != tc.want {
				t.Errorf("%s\ngot %q (%v), want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}

// TestCacheImage checks that the claim's image overrides the platform's, and that both override a mirror.
func TestCacheImage(t *testing.T) {
	const platform = "{domain: a.b, images: {registry: registry.example.com}, thirdPartyImages: {memcached: {tag: 1.6.40}}}"
	for name, tc := range map[string]struct{ spec, platform, want string }{
		"Default":  {"{}", bare, "docker.io/library/memcached:1.6.39"},
		"Platform": {"{}", platform, "registry.example.com/library/memcached:1.6.40"},
		"Claim":    {"{infrastructure: {memcached: {image: {repository: a.example.com/m, tag: 1.6.1}}}}", platform, "a.example.com/m:1.6.1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := derived(t, tc.spec, open(tc.platform)).cacheImage(); err != nil || got != tc.want {
				t.Errorf("got %q (%v), want %q", got, err, tc.want)
			}
		})
	}
}

// TestOperatorImages checks that the observed image is read from the object and the field that contain it.
func TestOperatorImages(t *testing.T) {
	want := map[string]string{
		release.MariaDB: "database spec.image", release.MariaDBExporter: "database spec.metrics.exporter.image",
		release.MaxScale: "database-proxy spec.image", release.MaxScaleExporter: "database-proxy spec.metrics.exporter.image",
		release.RabbitMQ: "messaging spec.image",
	}
	got := map[string]string{}
	for name, image := range operatorImages {
		got[name] = image.resource + " " + strings.Join(image.field, ".")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
