//go:build linux

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// claims are the input of a cloud.
type claims struct {
	// plane is the claim of the control plane, pool the one of its hypervisors, and storage the one of their Ceph, if
	// there are any.
	plane, pool, storage []byte
	// stack is a Heat template to boot, if there is one.
	stack   []byte
	release release.Release
}

// readClaims reads files, and the files of folders whose names end with .yaml: one control plane, and at most one of
// every other kind.
func readClaims(paths []string) (claims, error) {
	var out claims
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
				return out, err
			}
		}
		for _, file := range files {
			if err := out.add(file); err != nil {
				return out, fmt.Errorf("cannot read the claim %s: %w", file, err)
			}
		}
	}
	if out.plane == nil {
		return out, fmt.Errorf("there is no ControlPlaneCluster in %s; give the file of one", strings.Join(paths, ", "))
	}
	return out, nil
}

// stackKind is the name of the kind of Heat templates in messages.
const stackKind = "template of Heat"

func (c *claims) add(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		claim := struct {
			Kind  string `json:"kind"`
			Stack string `json:"heat_template_version"` //nolint:tagliatelle // Heat's
			Spec  struct {
				OpenStackRelease release.Release `json:"openStackRelease"`
			} `json:"spec"`
		}{}
		if err := yaml.Unmarshal(doc, &claim); err != nil {
			return err
		}
		if claim.Stack != "" {
			claim.Kind = stackKind
		}
		into := map[string]*[]byte{
			"ControlPlaneCluster": &c.plane, "HypervisorCluster": &c.pool, "StorageCluster": &c.storage, stackKind: &c.stack,
		}[claim.Kind]
		switch {
		case claim.Kind == "": // only comments
			continue
		case into == nil:
			return fmt.Errorf("it is a %s; give a ControlPlaneCluster and, if need be, a HypervisorCluster and a StorageCluster", claim.Kind)
		case *into != nil:
			return fmt.Errorf("it is a second %s, and a cloud has one", claim.Kind)
		}
		*into = doc
		if claim.Kind == "ControlPlaneCluster" {
			c.release = claim.Spec.OpenStackRelease
		}
	}
}
