// Command images builds the container images of package images:
//
//	go run ./hack/images keystone                           # for the newest release
//	go run ./hack/images -release 2025.2 keystone           # for a release
//	go run ./hack/images -release 2025.2 -source DIR nova   # from sources: a clone of a stable branch, or of any commit
//	go run ./hack/images -list                              # list all images, for every release, as JSON
//	go run ./hack/images -name library/mariadb:11.8 DIR     # from any folder with a Containerfile, with any name
//
// They are built with Podman or, if it is missing, with Debian's buildah, and stored in one OCI image layout below the cache: images/oci.
// Without -base, buildah builds on a Debian from mmdebstrap, so that no registry is required; this requires root.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/images"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// options are the values of the flags.
type options struct {
	root, release, source, name, suite, base, engine, out string
}

// run is main without the process. It prints the name of each image in the layout.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.root, "root", ".", "folder of the repository")
	flags.StringVar(&o.release, "release", "", "OpenStack release; empty: the newest")
	flags.StringVar(&o.source, "source", "", "a git work tree of the service, instead of its released version")
	flags.StringVar(&o.name, "name", "", "name and tag of the image of a folder")
	flags.StringVar(&o.suite, "suite", "", "the Debian release of the base; default: the release in the image's row")
	flags.StringVar(&o.base, "base", "", "image that is built on; empty: the public Debian, for buildah one made by mmdebstrap")
	flags.StringVar(&o.engine, "engine", "", "podman or buildah; empty: the first of them that there is")
	flags.StringVar(&o.out, "out", "", "OCI image layout; empty: images/oci in the cache")
	all := flags.Bool("list", false, "print which images there are and build nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *all {
		return list(stdout)
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("specify the images to build: %s", strings.Join(names(), ", "))
	}
	if (o.source != "" || o.name != "") && flags.NArg() > 1 {
		return fmt.Errorf("-source and -name are of one image")
	}
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	if o.out == "" {
		o.out = filepath.Join(cache, "oci")
	}
	e, err := findEngine(ctx, o.engine, cache, stderr)
	if err != nil {
		return err
	}
	for _, name := range flags.Args() {
		j, err := planOf(ctx, name, o)
		if err != nil {
			return err
		}
		if err := e.build(ctx, j, o); err != nil {
			return fmt.Errorf("cannot build the image of %s: %w", name, err)
		}
		fmt.Fprintln(stdout, j.reference)
	}
	return nil
}

// list prints name, release and image of all entries in the table; images that are not part of OpenStack once, with the newest release.
func list(stdout io.Writer) error {
	type entry struct {
		Name    string          `json:"name"`
		Release release.Release `json:"release"`
		Image   string          `json:"image"`
	}
	table, err := images.Table()
	if err != nil {
		return err
	}
	var out []entry
	for _, i := range table {
		for _, r := range release.Releases() {
			if i.Package == "" && r != slices.Max(release.Releases()) {
				continue
			}
			reference, err := i.Reference(r)
			if err != nil {
				return err
			}
			out = append(out, entry{i.Name, r, (&job{reference: reference}).name()})
		}
	}
	return json.NewEncoder(stdout).Encode(out)
}

// job is one image to build.
type job struct {
	image     images.Image
	release   release.Release
	reference string
	// files of the folder that it is built in.
	files map[string]string
	// sources is a git work tree, commit its checked-out commit; empty: the released version.
	sources, commit string
	labels, args    map[string]string
	// suite is the Debian that it is built on.
	suite string
}

// planOf returns the plan of an image: of an entry in the table, or with -name of a folder.
func planOf(ctx context.Context, name string, o options) (*job, error) {
	if o.name == "" {
		return plan(ctx, name, o)
	}
	j := &job{suite: cmp.Or(o.suite, images.Debian), reference: "localhost/" + o.name, files: map[string]string{},
		labels: map[string]string{}, args: map[string]string{}}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(name, e.Name()))
		if err != nil {
			return nil, err
		}
		j.files[e.Name()] = string(data)
	}
	return j, nil
}

// plan returns the plan of an image in the table.
func plan(ctx context.Context, name string, o options) (*job, error) {
	j := &job{files: map[string]string{}, labels: map[string]string{}, args: map[string]string{}}
	var err error
	if j.image, err = images.Find(name); err != nil {
		return j, err
	}
	if j.release = release.Release(o.release); j.release == "" {
		j.release = slices.Max(release.Releases())
	}
	if _, err := release.Parse(string(j.release)); err != nil {
		return j, err
	}
	if j.reference, err = j.image.Reference(j.release); err != nil {
		return j, err
	}
	if j.files["Containerfile"], err = j.image.Containerfile(); err != nil {
		return j, err
	}
	j.suite = cmp.Or(o.suite, j.image.Base())
	j.args["RUNTIME"] = strings.Join(j.image.Runtime, " ")
	if j.image.Package != "" {
		if err := j.service(ctx, o); err != nil {
			return j, err
		}
	}
	const prefix = "org.opencontainers.image."
	j.labels[prefix+"title"] = name
	j.labels[prefix+"version"] = j.reference[strings.LastIndex(j.reference, ":")+1:]
	j.labels[prefix+"source"] = "https://github.com/c5c3/crossplane-cobaltcore"
	j.labels[prefix+"licenses"] = "Apache-2.0"
	j.labels[prefix+"vendor"] = "CobaltCore"
	return j, nil
}

// service plans the build arguments of the recipe of all services.
func (j *job) service(ctx context.Context, o options) error {
	version, err := j.release.Version(j.image.Name)
	if err != nil {
		return err
	}
	folder := ""
	if o.source != "" {
		tag, commit, err := revision(ctx, o.source)
		if err != nil {
			return err
		}
		j.sources, j.commit = o.source, commit
		j.reference = j.reference[:strings.LastIndex(j.reference, ":")] + ":" + tag
		j.labels["org.opencontainers.image.revision"] = commit
		j.args["PBR_VERSION"] = version
		folder = "/context/source"
	}
	constraints, err := os.ReadFile(filepath.Join(o.root, "hack", "registry", "constraints", string(j.release)+".txt"))
	if err != nil {
		return fmt.Errorf("cannot read the constraints of %s: %w", j.release, err)
	}
	overrides, err := j.image.Overrides(j.release)
	if err != nil {
		return err
	}
	if j.files["constraints.txt"], err = images.Constrain(string(constraints), overrides); err != nil {
		return err
	}
	required, err := j.image.Requirements(j.release, version, folder)
	if err != nil {
		return err
	}
	j.files["requirements.txt"] = strings.Join(required, "\n") + "\n"
	patches, err := j.image.Patches(j.release)
	if err != nil {
		return err
	}
	if o.source != "" { // The caller is responsible for its content.
		patches = slices.DeleteFunc(patches, func(p images.Patch) bool { return p.Of == j.image.Package })
	}
	applied := make([]string, len(patches))
	for n, p := range patches {
		applied[n] = p.Of + "/" + p.Name
		j.files[fmt.Sprintf("patches/%03d-%s-%s", n+1, p.Of, p.Name)] = string(p.Text)
	}
	j.labels["io.c5c3.release"] = string(j.release)
	j.labels["io.c5c3.patches"] = strings.Join(applied, " ")
	j.labels["io.c5c3.overrides"] = strings.Join(overrides, " ")
	j.args["COMPILE"] = strings.Join(j.image.Compile, " ")
	j.args["MODULES"] = strings.Join(j.image.Modules, " ")
	j.args["PAGES"] = strings.Join(j.image.Pages, " ")
	j.args["NAME"] = j.image.Name
	j.args["UV"] = uv
	return nil
}

// uv installs Python packages in a tenth of pip's time.
const uv = "uv==0.13.8"

func names() []string {
	all, err := images.Table()
	if err != nil {
		return nil
	}
	out := make([]string, len(all))
	for n, i := range all {
		out[n] = i.Name
	}
	return out
}

// cacheDir returns the folder of the cache.
func cacheDir() (string, error) {
	dir := os.Getenv("COBALTCORE_CACHE")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("cannot find the cache: set COBALTCORE_CACHE: %w", err)
		}
		dir = filepath.Join(home, ".cache", "cobaltcore")
	}
	return filepath.Abs(filepath.Join(dir, "images"))
}
