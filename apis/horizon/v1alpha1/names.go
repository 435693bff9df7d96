package v1alpha1

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Group of the kinds of this package.
const Group = "horizon.openstack.c5c3.io"

// GroupVersion of the kinds of this package, and the one that a control plane makes.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Horizon")
)

// What a Horizon and those who make it, or build on it, have to agree on. It is known by its name, which its Service has, too.
const (
	// Port on the Service and the pods. Nobody without rights of the system listens at 443.
	Port = 8443
	// ServiceName is what images and objects call it. The catalog does not know it.
	ServiceName = "horizon"
	// ByPassword is the name of the way to log in that is always there.
	ByPassword = "credentials"
)

// Types of services that a Horizon knows.
const (
	TypeIdentity  = "identity"
	TypeCompute   = "compute"
	TypeImage     = "image"
	TypeNetwork   = "network"
	TypePlacement = "placement"
	TypeVolume    = "volume"
	// TypeOrchestration is Heat, which has panels of a plug-in.
	TypeOrchestration = "orchestration"
)

// InternalURL is the address inside the cluster. It names a Service, so that it holds whatever the cluster's DNS domain is.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, Port)
}

// TokenURL is where a Horizon at a public address takes the token of a user who has logged in elsewhere: what Keystone has to trust.
// https://docs.openstack.org/keystone/latest/admin/federation/configure_federation.html#add-the-trusted-dashboard-s-websso-address
func TokenURL(public common.URL) common.URL {
	return common.URL(strings.TrimSuffix(string(public), "/") + "/auth/websso/")
}
