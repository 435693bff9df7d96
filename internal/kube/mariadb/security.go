package mariadb

import (
	"maps"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// serverUser is the user of MariaDB's image, exporterUser the numeric user of the exporters' images. The operator sets the first only if
// the pod has no security context. It selects the user of MaxScale by the version of the image, which is unknown here, so MaxScale gets no
// security context.
const serverUser, exporterUser = 999, 65534

// container and pod return the settings that the restricted Pod Security Standard requires of a container and its pod
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/). The operator does not set them by default.
func container() object.Map {
	return object.Map{"allowPrivilegeEscalation": false, "capabilities": object.Map{"drop": object.List{"ALL"}}}
}

func pod(user int64) object.Map {
	return object.Map{
		"runAsNonRoot": true, "runAsUser": user, "runAsGroup": user, "fsGroup": user,
		"seccompProfile": object.Map{"type": "RuntimeDefault"},
	}
}

// restrict adds both to the spec of an object whose containers run as user: MariaDB, PhysicalBackup, or an exporter of metrics.
func restrict(spec object.Map, user int64) object.Map {
	maps.Copy(spec, object.Map{"podSecurityContext": pod(user), "securityContext": container()})
	return spec
}

// Exporter is the configuration of a metrics exporter.
type Exporter struct {
	Enabled   bool
	Image     string
	Placement common.Placement
}

// object returns the metrics configuration of a server, including the exporter if it is enabled. The exporter's pod gets the pull secrets
// of its server.
func (e Exporter) object() object.Map {
	metrics := object.Map{"enabled": e.Enabled}
	if e.Enabled {
		metrics["exporter"] = restrict(object.WithOptional(object.Map{}, object.Map{
			"image":        e.Image,
			"nodeSelector": object.NodeSelector(e.Placement.NodeSelector),
			"tolerations":  object.Tolerations(e.Placement.Tolerations),
		}), exporterUser)
	}
	return metrics
}
