// Command image-verification verifies a package by an ImageConfig, with Crossplane's own code and without Sigstore's public instance:
//
//	image-verification TRUST IMAGECONFIG REFERENCE [PUBLIC_KEY]
//
// TRUST is a folder with the certificate of the authority (fulcio.crt.pem) and the public keys of the logs of certificates (ctfe.pub) and
// signatures (rekor.pub). PUBLIC_KEY replaces the Secret of an authority with a key.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg/signature"
	"github.com/crossplane/crossplane/apis/v2/pkg/v1beta1"
	"github.com/google/go-containerregistry/pkg/authn/kubernetes"
	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := verify(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image-verification:", err)
		os.Exit(1)
	}
}

func verify(ctx context.Context, args []string) error {
	if len(args) < 3 || len(args) > 4 {
		return errors.New("usage: image-verification TRUST IMAGECONFIG REFERENCE [PUBLIC_KEY]")
	}
	data, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	config := v1beta1.ImageConfig{}
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		return fmt.Errorf("%s: %w", args[1], err)
	}
	ref, err := name.ParseReference(args[2])
	if err != nil {
		return err
	}
	secret := secrets{}
	if len(args) == 4 {
		if secret.key, err = os.ReadFile(args[3]); err != nil {
			return err
		}
	}
	stop, err := serveTrust(ctx, args[0])
	if err != nil {
		return fmt.Errorf("cannot serve the trusted certificates and keys: %w", err)
	}
	defer stop()
	validator, err := signature.NewCosignValidator(secret, nil, "crossplane-system", kubernetes.NoServiceAccount)
	if err != nil {
		return err
	}
	return validator.Validate(ctx, ref, config.Spec.Verification)
}

// secrets reads every Secret as the public key.
type secrets struct {
	client.Reader

	key []byte
}

// Get fills in a Secret.
func (s secrets) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	secret, ok := object.(*corev1.Secret)
	if !ok || len(s.key) == 0 {
		return fmt.Errorf("there is no %T", object)
	}
	secret.Data = map[string][]byte{"cosign.pub": s.key}
	return nil
}
