package rabbitmq

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// versionTag matches a tag of RabbitMQ's images: 4.1.3, 4.1.3-management, 4-management.
var versionTag = regexp.MustCompile(`^v?([0-9]+)(?:\.([0-9]+))?(?:[.-].*)?$`)

// queriesKubernetes reports whether the members find each other through the API server, for which they need a token: RabbitMQ before 4.1.
// Later versions join the member 0 of their StatefulSet, and ignore the settings of the operator
// (https://github.com/rabbitmq/rabbitmq-server/pull/13050, deps/rabbitmq_peer_discovery_k8s).
//
// The version is the one of the tag. A tag or a digest without a version may be an earlier one. Without an image, the operator uses its
// default, which is 4.1 or later since version 2.14, and reports it: with an earlier one, the members get the token then.
func (c Cluster) queriesKubernetes() bool {
	const major, minor = 4, 1
	image := cmp.Or(c.Image, c.Running)
	if image == "" {
		return false
	}
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	m := versionTag.FindStringSubmatch(tag)
	if m == nil || m[2] == "" { // A tag such as 4-management is a version that is not known here.
		return true
	}
	first, err := strconv.Atoi(m[1])
	if err != nil {
		return true
	}
	second, err := strconv.Atoi(m[2])
	return err != nil || first < major || first == major && second < minor
}
