package release

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Version is the version of this project. Its own images are released together with the functions that use them.
const Version = "0.1.0"

// Images of third-party software and of this project. Valkey is not included: its operator has no field for an image.
const (
	Ceph               = "ceph"
	Companion          = "companion"
	FederationProxy    = "keystone-federation-proxy"
	HypervisorOperator = "openstack-hypervisor-operator"
	KVMNodeAgent       = "kvm-node-agent"
	LabelsInjector     = "labels-injector"
	Libvirt            = "libvirt"
	Memcached          = "memcached"
	MariaDB            = "mariadb"
	MariaDBExporter    = "mariadb-exporter"
	MaxScale           = "maxscale"
	MaxScaleExporter   = "maxscale-exporter"
	OVN                = "ovn"
	OVSAgent           = "ovs-agent"
	RabbitMQ           = "rabbitmq"
)

// Parts of services that run on nodes.
const (
	NovaCompute   = "nova-compute"
	NeutronAgents = "neutron-agents"
	OVNAgent      = "neutron-ovn-agent"
)

// Location of the images of OpenStack services, with one repository for each service.
const (
	serviceRegistry = "ghcr.io"
	serviceFolder   = "c5c3/"
)

// image is the default reference of an image. The registry is separate, because a mirror replaces it.
type image struct{ registry, path, tag string }

// others are the images that are not OpenStack services. Images that an operator runs are the defaults of mariadb-operator
// v25.10.4 (deploy/charts/mariadb-operator/values.yaml) and of RabbitMQ's cluster operator v2.20.0 (cmd/main.go); the Ceph
// version is supported by every Rook from 1.18 to 1.20 (https://rook.io/docs/rook/latest/Upgrade/ceph-upgrade/). Digests
// are not included: the digest in a mirror differs, and is set in the PlatformConfig.
var others = map[string]image{
	Ceph:               {"quay.io", "ceph/ceph", "v19.2.3"},
	Companion:          {"ghcr.io", "c5c3/crossplane-cobaltcore-companion", Version},
	FederationProxy:    {"ghcr.io", "c5c3/keystone-federation-proxy", Version},
	HypervisorOperator: {"ghcr.io", "cobaltcore-dev/openstack-hypervisor-operator", "v1.2.3"},
	KVMNodeAgent:       {"ghcr.io", "cobaltcore-dev/kvm-node-agent", "v0.2.0"},
	// Its releases have no tags in the registry: this is the commit of v1.3.0.
	LabelsInjector:   {"ghcr.io", "cobaltcore-dev/labels-injector", "sha-867137fb7b8efc99c5c5077705363d6b4ba89f52"},
	Libvirt:          {"ghcr.io", "c5c3/libvirt", Version},
	Memcached:        {"docker.io", "library/memcached", "1.6.39"},
	MariaDB:          {"docker-registry1.mariadb.com", "library/mariadb", "11.8.5"},
	MariaDBExporter:  {"docker.io", "prom/mysqld-exporter", "v0.15.1"},
	MaxScale:         {"docker-registry2.mariadb.com", "mariadb/maxscale", "23.08.5"},
	MaxScaleExporter: {"docker-registry2.mariadb.com", "mariadb/maxscale-prometheus-exporter-ubi", "v0.0.1"},
	OVN:              {"ghcr.io", "c5c3/ovn", Version},
	OVSAgent:         {"ghcr.io", "c5c3/ovs-agent", ""}, // It has no released version.
	RabbitMQ:         {"docker.io", "library/rabbitmq", "4.1.3-management"},
}

// Others returns the names of the images that are not OpenStack services, in alphabetical order.
func Others() []string { return slices.Sorted(maps.Keys(others)) }

// Override contains the image settings of a spec. Empty fields keep the default.
type Override struct {
	// Registry, with an optional path, that mirrors the default registry: registry.example.com/mirror.
	Registry string
	// Repository with its registry, without a tag: registry.example.com/openstack/keystone. It takes precedence over
	// Registry.
	Repository string
	// Tag, or Digest (sha256:…), but not both.
	Tag, Digest string
}

// ImageFor returns the image reference of a service in a release, or of one of the constants above, whose images are the
// same in every release. An override changes the image that runs; it does not change the properties of the release.
//
// The error names the invalid part of the override, or the unknown image or release.
func ImageFor(name string, r Release, o Override) (string, error) {
	i, own := others[name]
	if !own {
		version, err := r.Version(name)
		if err != nil {
			return "", fmt.Errorf("cannot find the image of %q: %w", name, err)
		}
		i = image{serviceRegistry, serviceFolder + name, version}
	}
	if err := o.check(!own); err != nil {
		return "", err
	}
	repository, suffix := i.registry+"/"+i.path, ":"+i.tag
	switch {
	case o.Repository != "":
		repository = o.Repository
	case o.Registry != "":
		repository = o.Registry + "/" + i.path
	}
	switch {
	case o.Digest != "":
		suffix = "@" + o.Digest
	case o.Tag != "":
		suffix = ":" + o.Tag
	case own && i.tag == "":
		return "", fmt.Errorf("no version of %q is released; give the tag or the digest of an image", name)
	}
	return repository + suffix, nil
}

// OperatorImageFor returns the image reference of software that an operator runs, one of the constants above, for the image
// field of the operator's object. Without an override, it is empty and the operator uses its default. A mirror or another
// repository changes the location of the image, not its version: running software keeps its tag or digest, because a
// database cannot return to an older version than the one that wrote its files. running is the current image of the
// operator's object; empty: it does not exist.
func OperatorImageFor(name, running string, o Override) (string, error) {
	if o == (Override{}) {
		return "", nil
	}
	if o.Tag == "" && o.Digest == "" {
		o.Tag, o.Digest = version(running)
	}
	return ImageFor(name, "", o)
}

// version returns the tag or the digest of a reference.
func version(reference string) (tag, digest string) {
	if _, digest, ok := strings.Cut(reference, "@"); ok {
		return "", digest
	}
	_, tag, _ = strings.Cut(reference[strings.LastIndex(reference, "/")+1:], ":")
	return tag, ""
}

// CheckTag returns an error for a tag of a service's image that belongs to another release: a version of another series, or
// another branch. A commit does not identify a release, and neither does an empty tag.
func CheckTag(name string, r Release, tag string) error {
	version, err := r.Version(name)
	if err != nil {
		return err
	}
	if branch, ok := strings.CutPrefix(tag, "stable-"); ok {
		if branch == string(r) {
			return nil
		}
		return fmt.Errorf("%s is the branch of another release than openStackRelease %s; give stable-%[2]s, a version %s.x, or no tag",
			tag, r, series(name, version))
	}
	if !versionForm.MatchString(tag) || series(name, tag) == series(name, version) {
		return nil
	}
	of := "no release that is supported"
	for _, other := range releases {
		if v, _ := other.Version(name); series(name, v) == series(name, tag) {
			of = "OpenStack " + string(other)
		}
	}
	return fmt.Errorf("%s %s belongs to %s, and openStackRelease is %s, which has %s; give a tag of that, or another release",
		name, tag, of, r, version)
}

var versionForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+`)

// series returns the part of a version that identifies the release: the first number, or the first two if a service keeps
// the first for several releases, as Horizon did.
func series(name, version string) string {
	parts := strings.SplitN(version, ".", 3)
	shared := 0
	for _, v := range versions[name] {
		if strings.HasPrefix(v, parts[0]+".") {
			shared++
		}
	}
	if shared > 1 && len(parts) > 1 {
		return parts[0] + "." + parts[1]
	}
	return parts[0]
}

// Grammar of image names: https://github.com/distribution/reference/blob/main/reference.go, without features that are not
// needed (upper case in host names, IPv6 addresses, other digests).
const (
	host    = `[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]{1,5})?`
	folders = `(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)`
)

var (
	registryForm   = regexp.MustCompile(`^` + host + folders + `*$`)
	repositoryForm = regexp.MustCompile(`^` + host + folders + `+$`)
	digestForm     = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	tagForm        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)
	// Tags of images of OpenStack services: a version, patched or not, a branch, a commit.
	serviceTagForm = regexp.MustCompile(`^([0-9]+\.[0-9]+\.[0-9]+(-p[0-9]+)?|stable-20[0-9]{2}\.[12]|[0-9a-f]{7,40})$`)
)

// check returns an error for an invalid override. ofService restricts the tag to the formats of OpenStack services.
func (o Override) check(ofService bool) error {
	type rule struct {
		field, value string
		form         *regexp.Regexp
		want         string
	}
	tag := rule{"tag", o.Tag, tagForm, "letters, digits, _ . and -"}
	if ofService {
		tag.form = serviceTagForm
		tag.want = "a version (28.1.0), a patched one (28.1.0-p1), a branch (stable-2025.2) or a commit (7 to 40 hex digits)"
	}
	for _, r := range []rule{
		{"registry", o.Registry, registryForm, "a host, with a path if need be, such as registry.example.com/mirror"},
		{"repository", o.Repository, repositoryForm, "a host and a path without a tag, such as registry.example.com/openstack/keystone"},
		tag,
		{"digest", o.Digest, digestForm, "sha256: and 64 hex digits"},
	} {
		if r.value != "" && !r.form.MatchString(r.value) {
			return fmt.Errorf("the image's %s %q is not valid: give %s", r.field, r.value, r.want)
		}
	}
	if o.Tag != "" && o.Digest != "" {
		return errors.New("the image has a tag and a digest: give one of them")
	}
	return nil
}
