package nova

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/compute"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// archive removes deleted rows: first they are moved to the shadow tables of their database, then purged. The first command exits with 1
// if it has moved rows, the second with 3 if there are no rows to purge.
// https://docs.openstack.org/nova/latest/cli/nova-manage.html#db-archive-deleted-rows
func archive(m *model) (service.Archive, error) {
	script := fmt.Sprintf(`before=$(date -d '-%d days' +%%F)
nova-manage db archive_deleted_rows --all-cells --until-complete --before "$before" || [ $? -eq 1 ] || exit 1
nova-manage db purge --all-cells --before "$before" || [ $? -eq 3 ]
`, m.spec.Archive.AfterDays)
	return service.Archive{Archive: m.spec.Archive, Command: []string{"sh", "-c", script}}, nil
}

// jobs allows egress of the upgrade check to Keystone and to the services that it looks up there, in addition to the databases, which all
// Jobs reach.
func jobs(m *model) ([]compose.Stage, error) {
	keystone, err := service.ToKeystone(&m.Spec.Identity.KeystoneReference)
	if err != nil {
		return nil, err
	}
	pods := metav1.LabelSelector{MatchLabels: m.CheckWorkload().Selector()}
	outbound := []workload.Flow{keystone, compute.EndpointFlow(compute.UpgradeCheckEndpoints())}
	return service.SingleObjectComponent("jobs-network-policy", workload.NetworkPolicy(m.Meta(m.Sub("jobs")), pods, nil, outbound)), nil
}
