// Package c5c3 builds the objects of the companion controller, and the custom resources that it reconciles.
package c5c3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
)

const (
	openstackAPI = "openstack.c5c3.io/v1alpha1"
	c5c3API      = "c5c3.io/v1alpha1"
)

// KeyRepository builds a KeyRepository, a set of rotating keys.
func KeyRepository(meta object.Meta, spec openstackv1.KeyRepositorySpec) *openstackv1.KeyRepository {
	return &openstackv1.KeyRepository{TypeMeta: kind(openstackAPI, "KeyRepository"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// DatabaseSync builds a DatabaseSync, which migrates the schema of a service's databases.
func DatabaseSync(meta object.Meta, spec openstackv1.DatabaseSyncSpec) *openstackv1.DatabaseSync {
	return &openstackv1.DatabaseSync{TypeMeta: kind(openstackAPI, "DatabaseSync"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// RoleAssignment builds a RoleAssignment, a role of a user or a group.
func RoleAssignment(meta object.Meta, spec openstackv1.RoleAssignmentSpec) *openstackv1.RoleAssignment {
	return &openstackv1.RoleAssignment{TypeMeta: kind(openstackAPI, "RoleAssignment"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// EndpointRegion builds an EndpointRegion, which sets the region of an endpoint.
func EndpointRegion(meta object.Meta, spec openstackv1.EndpointRegionSpec) *openstackv1.EndpointRegion {
	return &openstackv1.EndpointRegion{TypeMeta: kind(openstackAPI, "EndpointRegion"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// IdentityCheck builds an IdentityCheck, which requests tokens of Keystone regularly.
func IdentityCheck(meta object.Meta, spec openstackv1.IdentityCheckSpec) *openstackv1.IdentityCheck {
	return &openstackv1.IdentityCheck{TypeMeta: kind(openstackAPI, "IdentityCheck"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// CellMapping builds a CellMapping, which maps a cell in Nova.
func CellMapping(meta object.Meta, spec openstackv1.CellMappingSpec) *openstackv1.CellMapping {
	return &openstackv1.CellMapping{TypeMeta: kind(openstackAPI, "CellMapping"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// ComputeCatalog builds a ComputeCatalog of flavors and host aggregates.
func ComputeCatalog(meta object.Meta, spec openstackv1.ComputeCatalogSpec) *openstackv1.ComputeCatalog {
	return &openstackv1.ComputeCatalog{TypeMeta: kind(openstackAPI, "ComputeCatalog"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// OVNSync builds an OVNSync, which compares Neutron with OVN.
func OVNSync(meta object.Meta, spec openstackv1.OVNSyncSpec) *openstackv1.OVNSync {
	return &openstackv1.OVNSync{TypeMeta: kind(openstackAPI, "OVNSync"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// ServiceCheck builds a ServiceCheck, which checks the processes of a service regularly.
func ServiceCheck(meta object.Meta, spec openstackv1.ServiceCheckSpec) *openstackv1.ServiceCheck {
	return &openstackv1.ServiceCheck{TypeMeta: kind(openstackAPI, "ServiceCheck"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// TestReport builds a TestReport of test results.
func TestReport(meta object.Meta, spec openstackv1.TestReportSpec) *openstackv1.TestReport {
	return &openstackv1.TestReport{TypeMeta: kind(openstackAPI, "TestReport"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// SecretAggregate builds a SecretAggregate, a Secret with data of other Secrets.
func SecretAggregate(meta object.Meta, spec c5c3v1.SecretAggregateSpec) *c5c3v1.SecretAggregate {
	return &c5c3v1.SecretAggregate{TypeMeta: kind(c5c3API, "SecretAggregate"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// CredentialRotation builds a CredentialRotation, a credential that is replaced regularly.
func CredentialRotation(meta object.Meta, spec c5c3v1.CredentialRotationSpec) *c5c3v1.CredentialRotation {
	return &c5c3v1.CredentialRotation{TypeMeta: kind(c5c3API, "CredentialRotation"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// RemoteConsumer builds a RemoteConsumer, which uses credentials in another cluster.
func RemoteConsumer(meta object.Meta, spec c5c3v1.RemoteConsumerSpec) *c5c3v1.RemoteConsumer {
	return &c5c3v1.RemoteConsumer{TypeMeta: kind(c5c3API, "RemoteConsumer"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// RaftCluster builds a RaftCluster, which keeps the state of a clustered database.
func RaftCluster(meta object.Meta, spec c5c3v1.RaftClusterSpec) *c5c3v1.RaftCluster {
	return &c5c3v1.RaftCluster{TypeMeta: kind(c5c3API, "RaftCluster"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// ClusterCheck builds a ClusterCheck, which observes the cluster that it is in.
func ClusterCheck(meta object.Meta, spec c5c3v1.ClusterCheckSpec) *c5c3v1.ClusterCheck {
	return &c5c3v1.ClusterCheck{TypeMeta: kind(c5c3API, "ClusterCheck"), ObjectMeta: objectMeta(meta), Spec: spec}
}

// NodeIssuer builds a NodeIssuer, which issues certificates to the nodes of a pool.
func NodeIssuer(meta object.Meta, spec c5c3v1.NodeIssuerSpec) *c5c3v1.NodeIssuer {
	return &c5c3v1.NodeIssuer{TypeMeta: kind(c5c3API, "NodeIssuer"), ObjectMeta: objectMeta(meta), Spec: spec}
}

func kind(apiVersion, name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: name}
}

func objectMeta(m object.Meta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: m.Annotations}
}
