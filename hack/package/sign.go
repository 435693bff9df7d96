package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// signer signs the artifacts of a release in a registry with cosign, and attests their provenance and their bills of materials.
type signer struct {
	// program is the path of cosign.
	program string
	// key is a private key, with its password in COSIGN_PASSWORD. Empty: a certificate for the identity of the workflow signs, and the
	// public transparency log records the signature.
	key string
	// flags are added to each command that signs.
	flags []string
	// env are additional variables of cosign.
	env []string
}

// formats are the flags of both formats of signatures. Crossplane reads only the first one, in tags of the same repository; cosign prefers
// the second one, Sigstore bundles that refer to the artifact.
var formats = [][]string{
	{"--new-bundle-format=false", "--use-signing-config=false"},
	{"--new-bundle-format=true", "--use-signing-config=false"},
}

// sign signs and attests all artifacts. The attested files are in the folder of the build.
func (s signer) sign(ctx context.Context, registry, folder string, r release) error {
	for _, a := range r.artifacts {
		digest, err := a.appendable().Digest()
		if err != nil {
			return fmt.Errorf("cannot compute the digest of %s: %w", a.repository, err)
		}
		ref := registry + "/" + a.repository + "@" + digest.String()
		commands := [][]string{
			{"sign", ref},
			{"attest", "--type=slsaprovenance1", "--predicate=" + filepath.Join(folder, provenanceFile), ref},
		}
		for _, bill := range a.bills {
			commands = append(commands, []string{"attest", "--type=cyclonedx", "--predicate=" + filepath.Join(folder, bill), ref})
		}
		for _, format := range formats {
			for _, command := range commands {
				if err := s.cosign(ctx, slices.Concat(command, format, s.identity(), s.flags)...); err != nil {
					return fmt.Errorf("cannot %s %s: %w", command[0], ref, err)
				}
			}
		}
	}
	return nil
}

// identity returns the flags of the key, or of a certificate without questions.
func (s signer) identity() []string {
	if s.key == "" {
		return []string{"--yes"}
	}
	return []string{"--yes", "--key=" + s.key}
}

// cosign runs a command, whose output is part of its error.
func (s signer) cosign(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env = append(os.Environ(), s.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", s.program, args[0], err, out.Bytes())
	}
	return nil
}
