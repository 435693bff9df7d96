// Package services defines what a control plane requires of an OpenStack service, as interfaces with defaults, and derives the settings
// that all services share.
package services

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost"
)

// Service is an OpenStack service of a control plane, the same for all control planes. Implementations embed Defaults.
type Service interface {
	// Info returns the properties that do not depend on a claim.
	Info() Info
	// Requested returns the settings of a claim. The zero value means that the service is disabled.
	Requested(s *controlplanev1.Services) Requested
	// Secrets lists the fields of a spec that reference Secrets of the service.
	Secrets(s *controlplanev1.Services) []claim.SecretReference
	// Pools lists the fields of a spec that reference pools of StorageClusters for the service.
	Pools(s *controlplanev1.Services) []infrastructure.PoolReference
	// ExternalReferences lists the references to external systems in a value of the service's types, nil for other types.
	ExternalReferences(path string, value any) []bounds.ExternalReference
	// Conditions lists conditions of the claim that do not affect its readiness.
	Conditions() []Condition
	// Derive returns the model of an enabled service, once for each call.
	Derive(c *Cloud, s *State) Model
}

// Model is an enabled service of a control plane. Implementations embed Common.
type Model interface { //nolint:interfacebloat // Common has a default of ten methods; a service implements those that it needs.
	// Object returns the composite resource.
	Object() (runtime.Object, error)
	// Check returns an error for settings that the service rejects in a release, so that the claim reports it before anything is composed.
	Check(r release.Release) error
	// Pods returns the costs of the pods, Volumes the costs of the volumes without the database.
	Pods() []cost.Item
	Volumes() []cost.Item
	// Locations lists where it stores data outside of the database, so that no two parts use the same location.
	Locations() []bounds.Location
	// Connections returns the maximum number of connections to the shared database.
	Connections() int64
	// Hosts lists the public host names in addition to the API's.
	Hosts() []Host
	// Databases lists the database servers in addition to the control plane's.
	Databases() []infrastructure.DatabaseServer
	// IsUnrestricted reports whether pods violate the restricted Pod Security Standard.
	IsUnrestricted() bool
	// SSOOrigins lists the addresses that receive the tokens of users after login at an identity provider.
	SSOOrigins() []common.URL
	// Publish adds the settings that hypervisors need.
	Publish(to *controlplanev1.HypervisorAccess)
	// Report copies service-specific status to the status of the claim.
	Report(status *controlplanev1.ControlPlaneClusterStatus)
}

// Condition is a condition of the claim that does not affect its readiness.
type Condition struct {
	Type    string
	Verdict func(*Cloud) ready.Result
}

// Defaults are the methods of a service without Secrets, pools, external references and conditions.
type Defaults struct{}

// Secrets returns nil: the service references none.
func (Defaults) Secrets(*controlplanev1.Services) []claim.SecretReference { return nil }

// Pools returns nil: the service uses none.
func (Defaults) Pools(*controlplanev1.Services) []infrastructure.PoolReference { return nil }

// ExternalReferences returns nil: the types of the service have none.
func (Defaults) ExternalReferences(string, any) []bounds.ExternalReference { return nil }

// Conditions returns nil: the service has none.
func (Defaults) Conditions() []Condition { return nil }

// Common is the model of a service that has an API, a database and nothing else. Its fields are not embedded: Cloud and State have fields
// of the same name.
type Common struct {
	Cloud *Cloud
	State *State
}

// Check returns an error for settings that every service rejects.
func (x Common) Check(r release.Release) error {
	return x.State.CheckedSpec().Check(x.State.FieldPath(""), x.State.Name, r)
}

// Pods returns the costs of the API.
func (x Common) Pods() []cost.Item {
	return []cost.Item{{
		Field: x.State.FieldPath(""), Replicas: *x.State.Workload.Replicas, Resources: x.State.Workload.Resources,
		Processes: ptr.Deref(x.State.UWSGI, common.UWSGI{}).Processes,
	}}
}

// Volumes returns nil: the service has none.
func (Common) Volumes() []cost.Item { return nil }

// Locations returns nil: all data is in the database.
func (Common) Locations() []bounds.Location { return nil }

// Connections returns one connection for each thread of the API.
func (x Common) Connections() int64 { return x.State.Threads() }

// Hosts returns nil: only the API has a host name.
func (Common) Hosts() []Host { return nil }

// Databases returns nil: the service uses the control plane's.
func (Common) Databases() []infrastructure.DatabaseServer { return nil }

// IsUnrestricted returns false: all pods meet the standard.
func (Common) IsUnrestricted() bool { return false }

// SSOOrigins returns nil: the service has no login page.
func (Common) SSOOrigins() []common.URL { return nil }

// Publish adds nothing: hypervisors do not use the service.
func (Common) Publish(*controlplanev1.HypervisorAccess) {}

// Report copies nothing.
func (Common) Report(*controlplanev1.ControlPlaneClusterStatus) {}
