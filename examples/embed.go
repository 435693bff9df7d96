// Package examples holds examples of every kind that users write. The command line shows the small ones by default.
package examples

import "embed"

// Files are the examples, by path.
//
//go:embed */*.yaml
var Files embed.FS

// Copies are the scripts that copy the images of Ceph pools, and restore them.
//
//go:embed copies/*.sh
var Copies embed.FS

// Claim is the smallest ControlPlaneCluster, Platform the PlatformConfig for it.
//
//go:embed controlplane/claim.yaml
var Claim []byte

// Platform is a PlatformConfig.
//
//go:embed platform/platformconfig.yaml
var Platform []byte

// Admission are the admission policies of the chart, for rendering without a cluster.
//
//go:embed platform/admission.yaml
var Admission []byte
