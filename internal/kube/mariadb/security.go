package mariadb

import (
	"maps"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

// Users of MariaDB's image and, by number, of the exporters'. The operator takes the first itself only where nothing is said of a pod's
// security. It chooses MaxScale's by the image's version, which we do not know, so that nothing can be said of that.
const serverUser, exporterUser = 999, 65534

// container and pod are what the restricted Pod Security Standard asks of a container and of its pod
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/). The operator asks for neither by itself.
func container() object.Map {
	return object.Map{"allowPrivilegeEscalation": false, "capabilities": object.Map{"drop": object.List{"ALL"}}}
}

func pod(user int64) object.Map {
	return object.Map{
		"runAsNonRoot": true, "runAsUser": user, "runAsGroup": user, "fsGroup": user,
		"seccompProfile": object.Map{"type": "RuntimeDefault"},
	}
}

// restrict adds both to the spec of something whose containers run as a user: MariaDB, PhysicalBackup, or an exporter of metrics.
func restrict(spec object.Map, user int64) object.Map {
	maps.Copy(spec, object.Map{"podSecurityContext": pod(user), "securityContext": container()})
	return spec
}

// Exporter serves metrics.
type Exporter struct {
	Enabled   bool
	Image     string
	Placement common.Placement
}

// object is the configuration of metrics and of the pod that serves them, where they are wanted. That pod gets the pull secrets of what it
// asks.
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
