package v1alpha1

import (
	"fmt"
	"regexp"
	"strings"
)

// Names of the parts of a cloud, which are the names of composed resources. The name of a pool follows PoolPrefix.
const (
	PartStorage      = "storage"
	PartControlPlane = "control-plane"
	PoolPrefix       = "pool-"
)

// Field returns the field of a part of the cloud. Empty: the cloud has no such part.
func (s *OpenStackClusterSpec) Field(part string) string {
	switch part {
	case PartStorage:
		return "spec.storage"
	case PartControlPlane:
		return "spec.controlPlane"
	}
	for i, p := range s.HypervisorPools {
		if part == PoolPrefix+p.Name {
			return fmt.Sprintf("spec.hypervisorPools[%d]", i)
		}
	}
	return ""
}

// errorField matches the path of the field at the start of each error about a claim.
var errorField = regexp.MustCompile(`(?m)(^|; )spec((\.[A-Za-z]|\[)[^\s:]*)?: `)

// InCloud returns errors about the composed claim of a part, which has the given field in the cloud, and names fields of the
// cloud in them.
func InCloud(field, message string) string {
	return errorField.ReplaceAllStringFunc(message, func(match string) string {
		at := strings.Index(match, "spec")
		switch path := match[at:]; {
		case field == "spec.controlPlane" && (path == "spec.openStackRelease: " || path == "spec.size: "):
			return match
		case path == "spec.controlPlaneRef: ":
			return match[:at] + "spec.controlPlane: "
		}
		return match[:at] + field + "." + match[at:]
	})
}
