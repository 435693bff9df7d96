package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/registry"
)

// rehearse pushes and signs a release like the workflow, but to a registry in memory and with a temporary key, and verifies all signatures.
func rehearse(ctx context.Context, program, folder string, r release) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := http.Server{ //nolint:gosec // It serves this process and its children.
		Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)),
	}
	defer server.Close() //nolint:errcheck // The process ends.
	go func() { _ = server.Serve(listener) }()
	host := listener.Addr().String() + "/rehearsal"
	if err := r.push(host); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "rehearsal-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // a temporary folder
	prefix := filepath.Join(scratch, "cosign")
	s := signer{program: program, env: []string{"COSIGN_PASSWORD="}}
	if err := s.cosign(ctx, "generate-key-pair", "--output-key-prefix="+prefix); err != nil {
		return err
	}
	s.key, s.flags = prefix+".key", []string{"--tlog-upload=false"}
	if err := s.sign(ctx, host, folder, r); err != nil {
		return err
	}
	for _, a := range r.artifacts {
		ref := host + "/" + a.repository + ":" + a.tag
		for _, command := range [][]string{
			{"verify"}, {"verify-attestation", "--type=slsaprovenance1"}, {"verify-attestation", "--type=cyclonedx"},
		} {
			for _, format := range formats {
				args := slices.Concat(command, []string{format[0], "--key=" + prefix + ".pub", "--insecure-ignore-tlog=true", ref})
				if err := s.cosign(ctx, args...); err != nil {
					return fmt.Errorf("cannot verify %s:%s: %w", a.repository, a.tag, err)
				}
			}
		}
	}
	return nil
}
