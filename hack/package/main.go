// Command package builds the artifacts of an installation, without Docker, from the checked-out commit:
//
//	go run . -root ../.. -out ../../out/packages                                 # build
//	go run . -root ../.. -out ../../out/packages -registry ghcr.io/c5c3 -push    # build and push
//	go run . -root ../.. -out ../../out/packages -push -sign $(../tools/build.sh cosign)    # build, push, sign and attest
//
// It builds an image for each program in programs (linux/amd64 and linux/arm64), which is also a Crossplane package if the program is a
// function; the Configuration package of the API; and the Helm chart. The folder out gets
//
//	oci/             all artifacts as one OCI image layout
//	*.xpkg           the Crossplane packages in the format of `crossplane xpkg push`, a file for each architecture
//	*.tgz            the chart in the format of `helm install`
//	*.cdx.json       the bills of materials (CycloneDX): Go modules of each program, files of the Configuration and the chart
//	provenance.json  the commit and the builder (SLSA)
//	roots/           the packages' sources in the format of `crossplane xpkg build`
//	digests.txt      the digest of every artifact in oci/
//
// The same commit, registry, version and Go toolchain give the same digests, independent of the machine, the time and the path.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// program is a Go program that becomes an image.
type program struct {
	// name of the image, and of the program inside.
	name string
	// main is the folder of its main package, below the root.
	main string
	// title is a short description.
	title string
	// pkg is the folder of its crossplane.yaml, below the root; empty for an image that is no Crossplane package.
	pkg string
	// plainTag: the image's tag has no v before the version. Crossplane packages have one, images that internal/openstack/release names
	// have none.
	plainTag bool
}

// programs are all programs. A row here is all that a new one needs.
var programs = []program{
	{name: "function-cobaltcore", main: "functions", title: "Composition functions of CobaltCore", pkg: "package/function"},
	{name: "crossplane-cobaltcore-companion", main: "companion", title: "Companion controllers of CobaltCore", plainTag: true},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "package:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// run is main without the process.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("package", flag.ContinueOnError)
	root := flags.String("root", ".", "folder of the repository")
	out := flags.String("out", "out/packages", "output folder; its previous content is removed")
	registry := flags.String("registry", "ghcr.io/c5c3", "registry, with a path, that the packages are for: they depend on each other there")
	version := flags.String("version", "", "semantic version; empty: the version of internal/openstack/release")
	push := flags.Bool("push", false, "push all of it to the registry, too")
	s := signer{}
	flags.StringVar(&s.program, "sign", "", "path of cosign, which signs and attests all of it in the registry; requires -push")
	flags.StringVar(&s.key, "key", "", "private key for -sign, with its password in COSIGN_PASSWORD; empty: the identity of the workflow")
	cosignFlags := flags.String("cosign-flags", "", "more flags of cosign for -sign, separated by spaces")
	rehearsal := flags.String("rehearse", "", "path of cosign: push, sign and verify in a registry in memory")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.flags = strings.Fields(*cosignFlags)
	if s.program != "" && !*push {
		return errors.New("-sign requires -push: signatures are stored in the registry")
	}
	if _, set := os.LookupEnv("COSIGN_PASSWORD"); !set && s.key != "" && !strings.Contains(s.key, "://") {
		return errors.New("COSIGN_PASSWORD: is required for -key, because cosign cannot read the password from the terminal; " +
			"set it, also if it is empty")
	}
	src, err := findSource(ctx, *root, *version)
	if err != nil {
		return err
	}
	b := builder{source: src, registry: *registry, programs: programs}
	built, err := b.build(ctx)
	if err != nil {
		return err
	}
	if err := write(*out, built); err != nil {
		return fmt.Errorf("cannot write %s: %w", *out, err)
	}
	digests, err := built.digests()
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, digests)
	if *rehearsal != "" {
		return rehearse(ctx, *rehearsal, *out, built)
	}
	if !*push {
		return nil
	}
	if err := built.push(*registry, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err
	}
	if s.program == "" {
		return nil
	}
	return s.sign(ctx, *registry, *out, built)
}

// builder builds one version for one registry.
type builder struct {
	source   source
	registry string
	programs []program
}

// build makes everything; nothing is written yet.
func (b builder) build(ctx context.Context) (release, error) {
	r := release{files: map[string][]byte{}}
	scratch, err := os.MkdirTemp("", "package-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // a temporary folder
	for _, p := range b.programs {
		if err := b.program(ctx, p, filepath.Join(scratch, p.name), &r); err != nil {
			return r, fmt.Errorf("cannot build %s: %w", p.name, err)
		}
	}
	if err := b.configuration(&r); err != nil {
		return r, fmt.Errorf("cannot build the Configuration package: %w", err)
	}
	if err := b.chart(&r); err != nil {
		return r, fmt.Errorf("cannot build the chart: %w", err)
	}
	r.files[provenanceFile], err = b.provenance(os.Getenv)
	return r, err
}
