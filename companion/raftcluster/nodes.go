package raftcluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	ovnchassisv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovnchassis/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/condition"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

const (
	// heartbeatEvery is the minimum age difference for writing a heartbeat: nodes report every minute, and each write
	// triggers all watches.
	heartbeatEvery = 5 * time.Minute
	// writesLimit is the maximum number of objects written in one pass. The members of the cluster, on which others wait, are
	// queried again after that.
	writesLimit = 50
)

// host is a registered node.
type host struct {
	spec ovnchassisv1.OVNChassisSpec
	// active is set if its controller has applied the configuration or is within the grace period. heartbeat is the time of
	// its last report; zero if it never reported.
	active    bool
	heartbeat time.Time
}

// registration is a row of the table Chassis, and tunnel is a row of Encap.
// https://www.ovn.org/support/dist-docs/ovn-sb.5.html
type registration struct {
	Name     string   `json:"name"`
	Hostname string   `json:"hostname"`
	Config   settings `json:"other_config"`
}

type tunnel struct {
	Chassis string `json:"chassis_name"`
	Type    string `json:"type"`
	IP      string `json:"ip"`
}

// settings is an OVSDB map: ["map", [[key, value], ...]]. https://www.rfc-editor.org/rfc/rfc7047#section-5.1
type settings map[string]string

// UnmarshalJSON parses an OVSDB map.
func (s *settings) UnmarshalJSON(data []byte) error {
	var outer []json.RawMessage
	var pairs [][2]string
	if err := json.Unmarshal(data, &outer); err != nil || len(outer) != 2 {
		return errors.Join(err, errors.New("not an OVSDB map"))
	}
	if err := json.Unmarshal(outer[1], &pairs); err != nil {
		return err
	}
	*s = settings{}
	for _, p := range pairs {
		(*s)[p[0]] = p[1]
	}
	return nil
}

// nodeOf converts a row and its tunnels to a host.
func nodeOf(r registration, tunnels []tunnel) host {
	out := host{spec: ovnchassisv1.OVNChassisSpec{SystemID: r.Name, Hostname: r.Hostname}}
	for _, t := range tunnels {
		if t.Chassis == r.Name {
			out.spec.Encapsulations = append(out.spec.Encapsulations, ovnchassisv1.Encapsulation{Type: t.Type, IP: t.IP})
		}
	}
	slices.SortFunc(out.spec.Encapsulations, func(a, b ovnchassisv1.Encapsulation) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.IP, b.IP))
	})
	for pair := range strings.SplitSeq(r.Config["ovn-bridge-mappings"], ",") {
		if network, bridge, ok := strings.Cut(pair, ":"); ok {
			out.spec.BridgeMappings = append(out.spec.BridgeMappings, ovnchassisv1.BridgeMapping{PhysicalNetwork: network, Bridge: bridge})
		}
	}
	slices.SortFunc(out.spec.BridgeMappings, func(a, b ovnchassisv1.BridgeMapping) int {
		return cmp.Compare(a.PhysicalNetwork, b.PhysicalNetwork)
	})
	out.spec.Gateway = slices.Contains(strings.Split(r.Config["ovn-cms-options"], ","), "enable-chassis-as-gw")
	return out
}

// known returns the OVNChassis of the cluster by name; nil if they cannot be listed, for example with the CRDs or the
// permissions of an earlier version. The RaftCluster is reconciled anyway.
func (obs *observation) known(ctx context.Context, reader client.Reader) map[string]*ovnchassisv1.OVNChassis {
	list := &ovnchassisv1.OVNChassisList{}
	if err := reader.List(ctx, list, client.InNamespace(obs.cluster.Namespace)); err != nil {
		if !meta.IsNoMatchError(err) && !apierrors.IsForbidden(err) {
			log.FromContext(ctx).Error(err, "cannot list the OVNChassis")
		}
		return nil
	}
	out := map[string]*ovnchassisv1.OVNChassis{}
	for i := range list.Items {
		if o := &list.Items[i]; metav1.IsControlledBy(o, obs.cluster) {
			out[o.Name] = o
		}
	}
	return out
}

// objectName returns the system ID, or a hash of it if it is not a valid object name.
func objectName(systemID string) string {
	const digits = 20
	if len(validation.IsDNS1123Subdomain(systemID)) == 0 {
		return systemID
	}
	return "chassis-" + names.Hash(digits, systemID)
}

// show returns the action that makes the OVNChassis match the database; nil if they match.
func (obs *observation) show() controller.Action {
	if obs.chassis == nil || obs.objects == nil {
		return nil
	}
	var writes, heartbeats []controller.Action
	removed := maps.Clone(obs.objects)
	for _, n := range obs.nodes {
		name := objectName(n.spec.SystemID)
		delete(removed, name)
		o := obs.objects[name]
		switch {
		case o == nil:
			writes = append(writes, obs.register(name, n))
		case !equality.Semantic.DeepEqual(o.Spec, n.spec):
			own := o.DeepCopy()
			own.Spec = n.spec
			writes = append(writes, func(ctx context.Context, env *controller.Env) error { return env.Client.Update(ctx, own) })
		default:
			own := o.DeepCopy()
			switch judged, last := obs.updateControllerState(own, n), own.Status.LastHeartbeat; {
			case judged:
				updateHeartbeat(own, n)
				writes = append(writes, status(own))
			case (last == nil || n.heartbeat.Sub(last.Time) >= heartbeatEvery) && updateHeartbeat(own, n):
				heartbeats = append(heartbeats, status(own))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(removed)) {
		writes = append(writes, controller.Delete(removed[name], metav1.DeletePropagationBackground))
	}
	writes = append(writes, heartbeats...)
	if len(writes) == 0 {
		return nil
	}
	return func(ctx context.Context, env *controller.Env) error {
		for _, write := range writes[:min(len(writes), writesLimit)] {
			// A failed write is retried in the next pass: these objects are informational and must not block other steps.
			if err := write(ctx, env); err != nil {
				log.FromContext(ctx).Error(err, "cannot write an OVNChassis")
			}
		}
		return nil
	}
}

// register creates the object of a node.
func (obs *observation) register(name string, n host) controller.Action {
	return func(ctx context.Context, env *controller.Env) error {
		o := &ovnchassisv1.OVNChassis{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: obs.cluster.Namespace,
				Labels: map[string]string{"app.kubernetes.io/part-of": "openstack", "app.kubernetes.io/managed-by": "cobaltcore-companion"},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "c5c3.io/v1alpha1", Kind: "RaftCluster", Name: obs.cluster.Name, UID: obs.cluster.UID, Controller: new(true),
				}},
			},
			Spec: n.spec,
		}
		if err := env.Client.Create(ctx, o); err != nil {
			return fmt.Errorf("cannot create OVNChassis %s: %w", name, err)
		}
		obs.updateControllerState(o, n)
		updateHeartbeat(o, n)
		return env.Client.Status().Update(ctx, o)
	}
}

func status(o *ovnchassisv1.OVNChassis) controller.Action {
	return func(ctx context.Context, env *controller.Env) error { return env.Client.Status().Update(ctx, o) }
}

// updateControllerState sets the condition of the node's controller and reports whether it changed.
func (obs *observation) updateControllerState(o *ovnchassisv1.OVNChassis, n host) bool {
	state := condition.True("Active", "ovn-controller on the node is up to date")
	switch {
	case !n.active && n.heartbeat.IsZero():
		state = condition.False("NoConfigurationApplied", "the node is registered, but its ovn-controller has not applied any configuration yet")
	case !n.active:
		state = condition.False("ChassisOutOfDate",
			"ovn-controller on the node has been out of date for more than two minutes: it is stopped or disconnected")
	}
	previous := o.Status.DeepCopy()
	condition.Set(&o.Status.Conditions, conditionReady, o.Generation, obs.now, state)
	return !equality.Semantic.DeepEqual(*previous, o.Status)
}

// updateHeartbeat sets the time of the last report and reports whether it changed.
func updateHeartbeat(o *ovnchassisv1.OVNChassis, n host) bool {
	at := metav1.Time{Time: n.heartbeat.UTC().Truncate(time.Second)}
	if n.heartbeat.IsZero() || o.Status.LastHeartbeat != nil && o.Status.LastHeartbeat.Equal(&at) {
		return false
	}
	o.Status.LastHeartbeat = &at
	return true
}
