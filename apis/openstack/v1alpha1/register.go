package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of the kinds of this package.
var GroupVersion = schema.GroupVersion{Group: "openstack.c5c3.io", Version: "v1alpha1"}

// AddToScheme adds the kinds of this package to a scheme. internal/kindregistry reads them from it: another list of them is not necessary.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&CellMapping{}, &CellMappingList{},
		&ComputeCatalog{}, &ComputeCatalogList{},
		&DatabaseSync{}, &DatabaseSyncList{},
		&EndpointRegion{}, &EndpointRegionList{},
		&HypervisorRecovery{}, &HypervisorRecoveryList{},
		&IdentityCheck{}, &IdentityCheckList{},
		&KeyRepository{}, &KeyRepositoryList{},
		&NodeMaintenance{}, &NodeMaintenanceList{},
		&OVNSync{}, &OVNSyncList{},
		&RoleAssignment{}, &RoleAssignmentList{},
		&ServiceCheck{}, &ServiceCheckList{},
		&TestReport{}, &TestReportList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
