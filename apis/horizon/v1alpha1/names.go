package v1alpha1

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

// Group of the kinds of this package.
const Group = "horizon.openstack.c5c3.io"

// GroupVersion and GroupVersionKind of the composite resource that a control plane creates.
var (
	GroupVersion     = schema.GroupVersion{Group: Group, Version: "v1alpha1"}
	GroupVersionKind = GroupVersion.WithKind("Horizon")
)

// Constants that a Horizon shares with its creator and its clients. Its Service has the same name as the Horizon.
const (
	// Port on the Service and the pods. Port 443 would require privileges.
	Port = 8443
	// ServiceName is the name of images and objects. Horizon is not in the catalog.
	ServiceName = "horizon"
	// ByPassword is the name of the login method that always exists.
	ByPassword = "credentials"
)

// Types of services that Horizon supports.
const (
	TypeIdentity  = "identity"
	TypeCompute   = "compute"
	TypeImage     = "image"
	TypeNetwork   = "network"
	TypePlacement = "placement"
	TypeVolume    = "volume"
	// TypeOrchestration is Heat, whose panels are a plug-in.
	TypeOrchestration = "orchestration"
)

// InternalURL returns the address inside the cluster. It contains the name of a Service, so it does not depend on the cluster's DNS
// domain.
func InternalURL(name, namespace string) string {
	return fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, Port)
}

// TokenURL returns the address at which a Horizon with a public address receives the token of a user after single sign-on. Keystone must
// trust it.
// https://docs.openstack.org/keystone/latest/admin/federation/configure_federation.html#add-the-trusted-dashboard-s-websso-address
func TokenURL(public common.URL) common.URL {
	return common.URL(strings.TrimSuffix(string(public), "/") + "/auth/websso/")
}
