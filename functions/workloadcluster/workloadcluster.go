// Package workloadcluster composes a WorkloadCluster: the access of provider-kubernetes to a cluster, and a companion in the cluster that
// reports its properties, which are compared with the requirements of roles.
package workloadcluster

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	workloadclusterv1 "github.com/c5c3/crossplane-cobaltcore/apis/workloadcluster/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/respond"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/admission"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/claimed"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/platform"
)

// New returns the function of WorkloadCluster composite resources.
func New() function.Runner {
	return function.Kind[workloadclusterv1.WorkloadCluster, *model]{
		Graph: graph, Rules: readiness.Rules, Requires: requires, Derive: derive, Target: place, Status: status,
		AdvisoryConditions: []function.AdvisoryCondition[*model]{
			{Type: reachableCondition, Verdict: (*model).reachable}, {Type: requirementsCondition, Verdict: (*model).requirementsMet},
		},
	}
}

// Names of components.
const (
	accessComponent     = "access"
	namespaceComponent  = "namespace"
	companionComponent  = "companion"
	checkComponent      = "check"
	monitoringComponent = "monitoring"
)

// graph lists the components of a cluster. Everything after the access is in the cluster itself.
var graph = compose.Graph[*model]{
	{Name: accessComponent, Phase: common.PhasePending, Build: access},
	{Name: namespaceComponent, Phase: common.PhasePending, Needs: []string{accessComponent}, Build: namespace},
	{Name: companionComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent}, Build: companion},
	// The check is created before the companion is ready: without its kind, which the chart installs, the companion does not start.
	{Name: checkComponent, Phase: common.PhaseInfrastructure, Needs: []string{namespaceComponent}, Build: check},
	{
		Name: monitoringComponent, Phase: common.PhaseInfrastructure, Needs: []string{companionComponent, checkComponent},
		Enabled: (*model).isMonitored, Build: monitored,
	},
}.MustValidate()

// model is the input of all builders. derive computes it once per call.
type model struct {
	name string
	// instance is the namespace of the companion in the cluster, and the prefix of the names of Objects.
	instance string
	spec     workloadclusterv1.WorkloadClusterSpec
	// previous is the status of the last call.
	previous workloadclusterv1.WorkloadClusterStatus
	platform *platformv1.PlatformConfigSpec
	observed observe.State
	// report contains the properties of the cluster, and observedAt the time of their observation. Nil: unknown.
	report     *common.ClusterReport
	observedAt *metav1.Time
	clock      freshness.Clock
	// stale is the reason why the report must not be used because of its age. Empty: it is recent, or its age is unknown.
	stale string
	// outdated: the report is of an older version of the check.
	outdated bool
	roles    []workloadclusterv1.RoleStatus
}

func derive(in function.Input[workloadclusterv1.WorkloadCluster]) (*model, error) {
	base, err := claimed.Read(in.Required, in.Claim, in.XR.Name)
	if err != nil {
		return nil, err
	}
	m := &model{
		name: in.XR.Name, instance: base.Instance, spec: in.XR.Spec, previous: in.XR.Status, platform: base.Platform, observed: in.Observed,
		clock: freshness.ReadClock(in.Required),
	}
	if err := platform.CheckWorkloadCluster(m.platform, m.name, m.spec.IPFamily); err != nil {
		return nil, err
	}
	if m.spec.Source.Existing == nil { // Admission rejects it, too.
		return nil, invalid.Field("spec.source", "existing is required: reference a Secret with a kubeconfig of the cluster")
	}
	if err := m.checkExistingAccess(in.Required); err != nil {
		return nil, err
	}
	if err := m.readReport(); err != nil {
		return nil, err
	}
	for _, r := range m.spec.Roles {
		m.roles = append(m.roles, m.roleStatus(r))
	}
	return m, nil
}

// namespace builds the namespace of the companion. As each namespace, it is retained: its deletion would delete objects that others have
// created in it. It does not have the label of control planes' namespaces, for which the platform opens its secret store: the companion
// reads no Secrets.
func namespace(m *model) ([]compose.Stage, error) {
	labels := m.workload().Labels()
	delete(labels, admission.InstanceLabel)
	for _, mode := range []string{"enforce", "warn", "audit"} {
		labels["pod-security.kubernetes.io/"+mode] = "restricted"
	}
	return []compose.Stage{{{Name: namespaceComponent, Retain: true, Object: &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: m.instance, Labels: labels},
	}}}}, nil
}

// place returns the default target of objects: the cluster itself.
func place(m *model) respond.Target {
	return respond.Target{
		Prefix: m.instance, Management: platform.Management(m.platform), Workload: m.name, Remote: true,
	}
}

// Conditions of a WorkloadCluster.
const (
	reachableCondition    = "Reachable"
	requirementsCondition = "RequirementsMet"
)

// reachable reports whether provider-kubernetes and the companion reach the API server of the cluster.
func (m *model) reachable() ready.Result {
	if m.observed.Len() == 0 {
		return ready.Wait("Connecting", "the access to the cluster is not configured yet")
	}
	ref := m.spec.Source.Existing.KubeconfigSecretRef
	for _, name := range connected {
		o, _ := m.observed.Get(name)
		c, ok := o.Wrapper().Condition("Synced")
		if !ok || c.Status == "True" {
			continue
		}
		switch message := oneLine(c.Message); {
		case strings.Contains(message, "forbidden"):
			return ready.Fail("Forbidden", "the cluster rejects the account of the kubeconfig: %s; install the chart with mode workload in the "+
				"cluster, with this account in workload.subjects", message)
		case strings.Contains(message, "no matches for kind"):
			return ready.Fail("ChartMissing", "the cluster lacks the CustomResourceDefinitions of the chart: %s; install the chart with mode "+
				"workload in the cluster, in the version of the function", message)
		default:
			return ready.Fail("ConnectionFailed", "provider-kubernetes cannot reach the cluster: %s; check the server and the credentials in key "+
				"%s of Secret %s in namespace %s, and the network to the server", cmp.Or(message, c.Reason), ref.Key, ref.Name, ref.Namespace)
		}
	}
	o, _ := m.observed.Get(checkComponent)
	switch {
	case !o.Exists():
		return ready.Wait("Connecting", "the ClusterCheck does not exist in the cluster yet")
	case o.LastObservation().IsZero():
		return ready.Wait("NotReported", "the companion in the cluster has not reported yet")
	case !m.clock.Known():
		return ready.Wait("Unknown", "the age of the report is unknown, because %s", freshness.ClockMissing)
	case m.stale != "":
		return ready.Fail("ReportTooOld", "%s", m.stale)
	}
	return ready.Result{Ready: true, Reason: "Connected"}
}

// connected lists the objects in the cluster whose Objects show whether provider-kubernetes can apply them. Objects for Prometheus are not
// included: their kinds may be missing in a cluster that is reachable.
var connected = []string{
	namespaceComponent, checkComponent, "companion-account", "companion-namespace-rights", "companion-cluster-rights",
	"companion-network-policy", "default-deny", companionComponent,
}

// requirementsMet reports whether the cluster meets the requirements of all of its roles.
func (m *model) requirementsMet() ready.Result {
	if m.report == nil {
		return ready.Wait("Unknown", "the companion in the cluster has not reported yet")
	}
	if m.stale != "" {
		return ready.Wait("Unknown", "%s", m.stale)
	}
	for _, r := range m.roles {
		if len(r.Missing) > 0 {
			return ready.Fail("RequirementsMissing", "role %s: %s", r.Role, strings.Join(r.Missing, "; "))
		}
		if r.Ready == nil {
			return ready.Wait("Unknown", "the companion in the cluster has not reported everything that role %s requires", r.Role)
		}
	}
	return ready.Result{Ready: true, Reason: "RequirementsMet"}
}

// oneLine returns a text of the provider as one line with at most 512 bytes, so that the remedy after it is not cut off.
func oneLine(s string) string {
	const limit, more = 512, "…"
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit-len(more)], "") + more
	}
	return s
}

// status returns the status of the WorkloadCluster.
func status(m *model, plan compose.Plan) any {
	return workloadclusterv1.WorkloadClusterStatus{
		Phase: plan.Phase(common.PhaseReady), Components: respond.Components(plan, m.previous.Components), Instance: m.instance,
		Cluster: m.report, ObservedAt: m.observedAt, Roles: m.roles,
	}
}

// readReport reads the report of the companion. While it cannot be read, the last one is kept: conditions show that it is old.
func (m *model) readReport() error {
	m.report, m.observedAt = m.previous.Cluster, m.previous.ObservedAt
	o, _ := m.observed.Get(checkComponent)
	if at := o.LastObservation(); !at.IsZero() {
		report, err := reportOf(o)
		if err != nil {
			return fmt.Errorf("cannot read the status of the ClusterCheck: %w", err)
		}
		m.report, m.observedAt = report, &metav1.Time{Time: at}
		generation, known := o.Int("status", "observedGeneration")
		m.outdated = known && generation < o.Generation()
	}
	if m.observedAt != nil {
		subject := freshness.Subject{Kind: "ClusterCheck", Namespace: m.instance, Name: m.name}
		m.stale = m.clock.StaleReason(subject, m.observedAt.Time, freshness.ClusterReportLimit)
	}
	return nil
}
