package release

import (
	"regexp"
	"strings"
	"testing"
)

// TestOthers checks the repositories of images that are not OpenStack services. Their tags are versions, which are set in
// one place only.
func TestOthers(t *testing.T) {
	repositories := map[string]string{
		Ceph:               "quay.io/ceph/ceph",
		Companion:          "ghcr.io/c5c3/crossplane-cobaltcore-companion",
		FederationProxy:    "ghcr.io/c5c3/keystone-federation-proxy",
		HypervisorOperator: "ghcr.io/cobaltcore-dev/openstack-hypervisor-operator",
		KVMNodeAgent:       "ghcr.io/cobaltcore-dev/kvm-node-agent",
		LabelsInjector:     "ghcr.io/cobaltcore-dev/labels-injector",
		Libvirt:            "ghcr.io/c5c3/libvirt",
		Memcached:          "docker.io/library/memcached",
		MariaDB:            "docker-registry1.mariadb.com/library/mariadb",
		MariaDBExporter:    "docker.io/prom/mysqld-exporter",
		MaxScale:           "docker-registry2.mariadb.com/mariadb/maxscale",
		MaxScaleExporter:   "docker-registry2.mariadb.com/mariadb/maxscale-prometheus-exporter-ubi",
		OVN:                "ghcr.io/c5c3/ovn",
		RabbitMQ:           "docker.io/library/rabbitmq",
	}
	tag := regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[a-z]+)?$|^sha-[0-9a-f]{40}$`)
	for name, want := range repositories {
		image, err := ImageFor(name, "", Override{})
		if err != nil {
			t.Fatal(err)
		}
		at := strings.LastIndex(image, ":")
		if image[:at] != want || !tag.MatchString(image[at+1:]) {
			t.Errorf("%s is %s, want %s and a version", name, image, want)
		}
		mirrored, err := ImageFor(name, "", Override{Registry: "registry.example.com/mirror"})
		if _, path, _ := strings.Cut(image, "/"); err != nil || mirrored != "registry.example.com/mirror/"+path {
			t.Errorf("%s in a mirror is %s (%v)", name, mirrored, err)
		}
	}
	if len(others) != len(repositories)+1 { // plus the image below
		t.Errorf("there are %d images, and %d here", len(others), len(repositories))
	}
}

// TestUnreleasedImagesRequireTagOrDigest checks that an image without a released version requires a tag or a digest.
func TestUnreleasedImagesRequireTagOrDigest(t *testing.T) {
	if got, err := ImageFor(OVSAgent, "", Override{Registry: "registry.example.com"}); err == nil || !strings.Contains(err.Error(), "give the tag or the digest") {
		t.Errorf("it is %q (%v)", got, err)
	}
	digest := "sha256:" + strings.Repeat("0f", 32)
	for want, o := range map[string]Override{
		"registry.example.com/c5c3/ovs-agent:1": {Registry: "registry.example.com", Tag: "1"}, "ghcr.io/c5c3/ovs-agent@" + digest: {Digest: digest},
	} {
		if got, err := ImageFor(OVSAgent, "", o); err != nil || got != want {
			t.Errorf("it is %q (%v), want %s", got, err, want)
		}
	}
}

// TestMirrorRetainsRunningVersion checks that the image of an operator moves to a mirror and keeps its version, whether this is a tag, a
// digest, or unknown.
func TestMirrorRetainsRunningVersion(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0f", 32)
	own, err := ImageFor(MariaDB, "", Override{})
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(own, "mariadb:")
	for running, want := range map[string]string{
		"":                                    "m/library/mariadb:" + version,
		"docker.io/library/mariadb:10.11":     "m/library/mariadb:10.11",
		"docker.io:5000/library/mariadb":      "m/library/mariadb:" + version,
		"docker.io/library/mariadb@" + digest: "m/library/mariadb@" + digest,
		"mariadb:10.6":                        "m/library/mariadb:10.6",
	} {
		if got, err := OperatorImageFor(MariaDB, running, Override{Registry: "m"}); err != nil || got != want {
			t.Errorf("%q becomes %q (%v), want %q", running, got, err, want)
		}
	}
	if got, err := OperatorImageFor(MariaDB, "a:1", Override{}); got != "" || err != nil {
		t.Errorf("without an override: got %q (%v)", got, err)
	}
}

// TestImageErrorDescribesFormat checks that the error for each part of a reference describes its format.
func TestImageErrorDescribesFormat(t *testing.T) {
	for want, o := range map[string]Override{
		`the image's registry "A b" is not valid: give a host, with a path if need be, such as registry.example.com/mirror`:              {Registry: "A b"},
		`the image's repository "a" is not valid: give a host and a path without a tag, such as registry.example.com/openstack/keystone`: {Repository: "a"},
		`the image's tag "-" is not valid: give letters, digits, _ . and -`:                                                              {Tag: "-"},
		`the image's digest "sha256:0" is not valid: give sha256: and 64 hex digits`:                                                     {Digest: "sha256:0"},
	} {
		if _, err := ImageFor(Memcached, "", o); err == nil || err.Error() != want {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}
