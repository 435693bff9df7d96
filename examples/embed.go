// Package examples holds examples of every kind that a person writes. The small ones are what the command line shows when it
// is given nothing else.
package examples

import "embed"

// Files are the examples, by path.
//
//go:embed */*.yaml
var Files embed.FS

// Copies are the scripts that copy what is in pools of Ceph, and make it again.
//
//go:embed copies/*.sh
var Copies embed.FS

// Claim is the smallest ControlPlaneCluster, Platform the PlatformConfig beside it.
//
//go:embed controlplane/claim.yaml
var Claim []byte

// Platform is a PlatformConfig.
//
//go:embed platform/platformconfig.yaml
var Platform []byte

// Admission are the admission policies as the chart installs them, for whoever renders without a cluster.
//
//go:embed platform/admission.yaml
var Admission []byte
