package ovn

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/monitoring"
)

// dashboard builds the dashboard of the metrics that the alerts use.
func (m *model) dashboard() (runtime.Object, error) {
	in := fmt.Sprintf(`namespace=%q`, m.namespace)
	of := func(metric string) string {
		return fmt.Sprintf(`%s{%s,name=~"%s|%s"}`, metric, in, m.north.workload.Name, m.south.workload.Name)
	}
	pods := func(metric string) string { return fmt.Sprintf(`%s{%s,deployment=~"%s-.+"}`, metric, in, m.name) }
	panels := []monitoring.Panel{
		{Title: "Members by what they are", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: of("companion_raft_cluster_members"), Legend: "{{name}} {{state}}"},
		}},
		{Title: "Leaders, and conditions that are not true", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: of("companion_raft_cluster_leaders"), Legend: "{{name}} leaders"},
			{Expr: of("companion_raft_cluster_condition") + " == 0", Legend: "{{name}} not {{condition}}"},
		}},
		{Title: "Nodes", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: of("companion_raft_cluster_chassis"), Legend: "{{state}}"},
		}},
		{Title: "Pods of northd and of relays", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: pods("kube_deployment_status_replicas_available"), Legend: "{{deployment}} available"},
			{Expr: pods("kube_deployment_spec_replicas"), Legend: "{{deployment}} wanted"},
		}},
		{Title: "Memory, of what each may use", Unit: monitoring.Number, Lines: []monitoring.Query{
			{Expr: m.memoryUsed(), Legend: "{{pod}}"},
		}},
		{Title: "Room on the volumes, in bytes", Unit: monitoring.Number, Lines: []monitoring.Query{
			{
				Expr: fmt.Sprintf(`kubelet_volume_stats_available_bytes{%s,persistentvolumeclaim=~"data-(%s|%s)-.+"}`,
					in, m.north.workload.Name, m.south.workload.Name),
				Legend: "{{persistentvolumeclaim}}",
			},
		}},
	}
	if m.spec.Backup != nil {
		panels = append(panels, monitoring.Panel{Title: "Since the last copy", Unit: monitoring.Seconds, Lines: []monitoring.Query{
			{Expr: fmt.Sprintf(`time() - max(kube_job_status_completion_time{%s,job_name=~"%s-[0-9]+"})`, in, m.sub(snapshot)), Legend: "copy"},
		}})
	}
	return monitoring.Dashboard(m.meta(m.sub("dashboard")), m.spec.Monitoring, "OVN of "+m.namespace, panels...)
}

// memoryUsed returns the share of its memory limit that each pod uses.
func (m *model) memoryUsed() string {
	in := fmt.Sprintf(`namespace=%q,pod=~"%s-.+",container="ovn"`, m.namespace, m.name)
	return fmt.Sprintf(`max by (namespace, pod) (container_memory_working_set_bytes{%[1]s}) / `+
		`max by (namespace, pod) (kube_pod_container_resource_limits{%[1]s,resource="memory"})`, in)
}
