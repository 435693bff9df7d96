package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// architectures are the architectures of every program.
var architectures = []string{"amd64", "arm64"}

// program builds a program for every architecture and adds its image, its package files and its bills of materials.
func (b builder) program(ctx context.Context, p program, scratch string, r *release) error {
	tag := b.source.tag()
	if p.plainTag {
		tag = b.source.version
	}
	var stream []byte
	if p.pkg != "" {
		var err error
		if stream, err = b.function(p, r); err != nil {
			return err
		}
	}
	var images []v1.Image
	var bills []string
	for _, arch := range architectures {
		image, bill, err := b.built(ctx, p, arch, filepath.Join(scratch, arch))
		if err != nil {
			return err
		}
		bills = append(bills, r.addBill(p.name+"-"+arch, bill))
		if stream != nil {
			if image, err = withPackage(image, stream, b.source.time); err != nil {
				return err
			}
			if r.files[fmt.Sprintf("%s-%s.xpkg", p.name, arch)], err = tarballOf(image); err != nil {
				return err
			}
		}
		images = append(images, image)
	}
	index, err := indexOf(images, b.annotations(p.title))
	if err != nil {
		return err
	}
	r.artifacts = append(r.artifacts, artifact{repository: p.name, tag: tag, index: index, bills: bills})
	return nil
}

// built builds a program for one architecture and gives its image and its bill of materials.
func (b builder) built(ctx context.Context, p program, arch, scratch string) (v1.Image, []byte, error) {
	path := filepath.Join(scratch, p.name)
	if err := compile(ctx, filepath.Join(b.source.root, p.main), path, arch); err != nil {
		return nil, nil, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the build information: %w", err)
	}
	bill, err := materials(p, b.source, arch, info)
	if err != nil {
		return nil, nil, err
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	image, err := b.image(p, arch, binary, bill)
	return image, bill, err
}

// compile builds a static program. It sets all variables that the environment of the machine could change.
func compile(ctx context.Context, folder, path, arch string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", path, ".")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(),
		"CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=-mod=readonly", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off",
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s: %w\n%s", arch, err, out)
	}
	return nil
}
