//go:build linux

package clouds

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/hypervisors"
	"google.golang.org/protobuf/types/known/structpb"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	controlplanev1 "github.com/c5c3/crossplane-cobaltcore/apis/controlplane/v1alpha1"
	hypervisorv1 "github.com/c5c3/crossplane-cobaltcore/apis/hypervisor/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// A Pool is the running result of a claim for hypervisors.
type Pool struct {
	// Namespace of everything.
	Namespace string
	// Uplinks are bridges of this machine, each at the other end of the cables of an interface of the nodes that the claim names, by the name
	// of that.
	Uplinks map[string]string

	simulation *simulate.Cluster
	spec       hypervisorv1.HypervisorClusterSpec
}

// Outside returns the name of the first external network, and the interface of this machine in it. Both are empty if
// there is none.
func (p *Pool) Outside() (network, link string) {
	for _, b := range ptr.Deref(p.spec.Networks, hypervisorv1.Networks{}).BridgeMappings {
		if b.Interface != "" {
			return string(b.PhysicalNetwork), p.Uplinks[string(b.Interface)]
		}
	}
	return "", ""
}

// Pool returns the pool of the cloud; nil if it has none.
func (c *Cloud) Pool() *Pool { return c.pool }

// addPool runs the pool's pods on its nodes, in addition to the control plane.
func (c *Cloud) addPool(ctx context.Context) error {
	claim := hypervisorv1.HypervisorCluster{}
	if err := yaml.Unmarshal(c.Options.Pool, &claim); err != nil {
		return fmt.Errorf("cannot read the claim of hypervisors: %w", err)
	}
	w, err := preview.NewCluster(c.Options.Pool, c.Options.Platform, kinds.Runners())
	if err != nil {
		return err
	}
	if w.RequiredResources, err = preview.Bound(c.Options.Claim, c.Simulation.XR); err != nil {
		return err
	}
	w.RequiredResources = append(w.RequiredResources, c.Options.OtherClaims...)
	c.pool = &Pool{simulation: w, spec: claim.Spec, Uplinks: map[string]string{}}
	c.Cluster.Nodes = map[string]map[string]string{}
	for i := range max(c.Options.Nodes, 1) {
		c.Cluster.Nodes[fmt.Sprintf("node-%d", i)] = nodeLabels(&claim.Spec, i == 0)
	}
	if err := c.plug(); err != nil {
		return err
	}
	w.Reconcile, w.Remove = c.Simulation.Reconcile, c.Simulation.Remove
	w.Reports = func(kind, name string) map[string]any {
		switch kind {
		case "ServiceCheck":
			return c.counted(ctx, name)
		case "RemoteConsumer":
			return c.inUse(ctx, name)
		}
		return c.daemons(ctx, kind, name)
	}
	err = w.Run(func(simulate.Step) {})
	c.pool.Namespace = w.XR.GetFields()["status"].GetStructValue().GetFields()["instance"].GetStringValue()
	if err == nil {
		c.logStep("the hypervisors are ready")
	}
	return err
}

// ComposePool composes the claim of a pool whose pods do not run. It creates only the objects of the control plane's companion, so that
// tests can replace the DaemonSet of nova-compute. Every other object counts as ready. The claim of the control plane, with all
// services that a pool needs, may differ from the running one: it is simulated.
func (c *Cloud) ComposePool(ctx context.Context, controlPlane, claim []byte) (*Pool, error) {
	plane, err := preview.NewCluster(controlPlane, c.Options.Platform, kinds.Runners())
	if err != nil {
		return nil, err
	}
	if err := plane.Run(func(simulate.Step) {}); err != nil {
		return nil, err
	}
	w, err := preview.NewCluster(claim, c.Options.Platform, kinds.Runners())
	if err != nil {
		return nil, err
	}
	if w.RequiredResources, err = preview.Bound(controlPlane, plane.XR); err != nil {
		return nil, err
	}
	p := &Pool{simulation: w}
	w.Reconcile = func(desired []map[string]any) error {
		for _, o := range desired {
			if o["kind"] != "ServiceCheck" {
				continue
			}
			check := &openstackv1.ServiceCheck{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, check); err != nil {
				return err
			}
			if err := c.Cluster.Apply(ctx, check); err != nil {
				return err
			}
		}
		return nil
	}
	w.Reports = func(kind, name string) map[string]any {
		if kind != "ServiceCheck" {
			return nil
		}
		return c.counted(ctx, name)
	}
	err = w.Run(func(simulate.Step) {})
	p.Namespace = w.XR.GetFields()["status"].GetStructValue().GetFields()["instance"].GetStringValue()
	return p, err
}

// FollowPool calls the functions of a composed pool with the companion's latest report.
func (c *Cloud) FollowPool(p *Pool) error {
	c.setClock(p)
	return p.simulation.Refresh(func(simulate.Step) {})
}

// ChangePool changes the pool to another version of its claim.
func (c *Cloud) ChangePool(claim []byte) error {
	next, err := preview.NewCluster(claim, c.Options.Platform, kinds.Runners())
	if err != nil {
		return err
	}
	spec := hypervisorv1.HypervisorCluster{}
	if err := yaml.Unmarshal(claim, &spec); err != nil {
		return fmt.Errorf("cannot read the claim of hypervisors: %w", err)
	}
	c.pool.spec, c.pool.simulation.XR.Fields["spec"] = spec.Spec, next.XR.GetFields()["spec"]
	if err := c.plug(); err != nil {
		return err
	}
	return c.Follow()
}

// plug adds the interfaces that the pool's claim names to the nodes.
func (c *Cloud) plug() error {
	for _, name := range interfaces(&c.pool.spec) {
		if c.pool.Uplinks[name] != "" {
			continue
		}
		uplink, err := c.Cluster.Uplink(name)
		if err != nil {
			return fmt.Errorf("cannot give nodes their interface %s: %w", name, err)
		}
		c.pool.Uplinks[name] = uplink
	}
	return nil
}

// WaitForHypervisors waits until Nova has all nodes, in their cell. Compute is a client of it.
func (c *Cloud) WaitForHypervisors(ctx context.Context, compute *gophercloud.ServiceClient) error {
	var observed []hypervisors.Hypervisor
	queried := time.Time{}
	err := c.Cluster.Wait(ctx, operators.Timeout, "the hypervisors", func(ctx context.Context) (bool, error) {
		if time.Since(queried) > 5*time.Second { // The companion calls Nova once a minute, by its clock.
			c.Operators.Forward(2 * time.Minute)
			queried = time.Now()
		}
		page, err := hypervisors.List(compute, nil).AllPages(ctx)
		if err != nil {
			return false, err
		}
		observed, err = hypervisors.ExtractHypervisors(page)
		down := func(h hypervisors.Hypervisor) bool { return h.State != "up" }
		return len(observed) == max(c.Options.Nodes, 1) && !slices.ContainsFunc(observed, down), err
	})
	if err != nil {
		return fmt.Errorf("%.300w: %+v", err, observed)
	}
	return nil
}

// nodeLabels returns the labels of a node that belongs to a pool, in no slice of it, and is a gateway if required.
func nodeLabels(s *hypervisorv1.HypervisorClusterSpec, gateway bool) map[string]string {
	out := map[string]string{"node-role.kubernetes.io/hypervisor": ""}
	for k, v := range s.NodeSelector {
		out[k] = string(v)
	}
	if s.Region != "" {
		out[corev1.LabelTopologyRegion] = string(s.Region)
	}
	if g := ptr.Deref(s.Networks, hypervisorv1.Networks{}).Gateway; g != nil && gateway {
		for k, v := range g.NodeSelector {
			out[k] = string(v)
		}
	}
	return out
}

// interfaces returns the additional interfaces of the pool's nodes.
func interfaces(s *hypervisorv1.HypervisorClusterSpec) []string {
	var out []string
	for _, b := range ptr.Deref(s.Networks, hypervisorv1.Networks{}).BridgeMappings {
		if b.Interface != "" {
			out = append(out, string(b.Interface))
		}
	}
	for _, d := range s.PCIDevices {
		if d.Interface != "" {
			out = append(out, string(d.Interface))
		}
	}
	return out
}

// daemons returns the status of a DaemonSet.
func (c *Cloud) daemons(ctx context.Context, kind, name string) map[string]any {
	d := &appsv1.DaemonSetList{}
	if kind != "DaemonSet" || c.Cluster.Client.List(ctx, d, client.MatchingFields{}) != nil {
		return nil
	}
	for i := range d.Items {
		if d.Items[i].Name != name {
			continue
		}
		status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&d.Items[i].Status)
		if err != nil {
			return nil
		}
		delete(status, "observedGeneration") // counted by the cluster
		return status
	}
	return nil
}

// counted returns the companion's report about the pool's nodes, with their names.
func (c *Cloud) counted(ctx context.Context, name string) map[string]any {
	check := &openstackv1.ServiceCheck{}
	if c.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, check) != nil {
		return nil
	}
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&check.Status)
	if err != nil {
		return nil
	}
	out := map[string]any{"capacity": status["capacity"], "nodes": status["nodes"], freshness.Field: status[freshness.Field]}
	conditions := []any{map[string]any{"type": "Ready", "status": "True", "reason": "Up"}} // The pool does not wait for processes.
	reported, _ := status["conditions"].([]any)
	for _, r := range reported {
		if c, _ := r.(map[string]any); c != nil && c["type"] != "Ready" {
			delete(c, "observedGeneration") // The simulated object has another generation.
			conditions = append(conditions, c)
		}
	}
	out["conditions"] = conditions
	return out
}

// setClock sets the time that the function of the pool reads to the companion's.
func (c *Cloud) setClock(p *Pool) {
	p.simulation.Required[freshness.Requirement] = []*structpb.Struct{{Fields: map[string]*structpb.Value{
		"status": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"lastScheduleTime": structpb.NewStringValue(c.Operators.Now().UTC().Format(time.RFC3339)),
		}}),
	}}}
}

// inUse returns the credentials that the companion reports as in use.
func (c *Cloud) inUse(ctx context.Context, name string) map[string]any {
	consumer := &c5c3v1.RemoteConsumer{}
	if c.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, consumer) != nil {
		return nil
	}
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&consumer.Status)
	if err != nil {
		return nil
	}
	return map[string]any{"credentials": status["credentials"]}
}

// Status returns the status of the pool's claim.
func (p *Pool) Status() map[string]any {
	return maps.Clone(p.simulation.XR.GetFields()["status"].GetStructValue().AsMap())
}

// Status returns the status of the control plane's claim.
func (c *Cloud) Status() map[string]any {
	return maps.Clone(c.Simulation.XR.GetFields()["status"].GetStructValue().AsMap())
}

// ConditionMessage returns status and reason of a condition of the pool's claim.
func (p *Pool) ConditionMessage(condition string) string {
	return conditionMessage(p.simulation, hypervisorv1.CompositeGroupVersionKind.GroupKind().String(), condition)
}

// ConditionMessage returns status and reason of a condition of the control plane's claim.
func (c *Cloud) ConditionMessage(condition string) string {
	return conditionMessage(c.Simulation, controlplanev1.CompositeGroupVersionKind.GroupKind().String(), condition)
}

func conditionMessage(w *simulate.Cluster, kind, condition string) string {
	if c := conditionOf(w, kind, condition); c != nil {
		return c.GetStatus().String() + " " + c.GetReason()
	}
	return ""
}

// Condition reports whether a condition of the pool's claim is true, with its reason and message.
func (p *Pool) Condition(condition string) (isTrue bool, text string) {
	c := conditionOf(p.simulation, hypervisorv1.CompositeGroupVersionKind.GroupKind().String(), condition)
	return c.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE, c.GetReason() + ": " + c.GetMessage()
}

// conditionOf returns a condition of a claim; nil if it has none.
func conditionOf(w *simulate.Cluster, kind, condition string) *fnv1.Condition {
	for _, c := range kinds.Runners()[kind].Run(w.Request()).Conditions {
		if c.GetType() == condition {
			return c
		}
	}
	return nil
}
