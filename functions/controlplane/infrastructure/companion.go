package infrastructure

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/ready"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/merge"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// ComposeCompanion composes the companion, which performs the tasks that require state, randomness or a running service. ports are the
// ports of services that it calls, urls their public addresses.
func (inf *Infrastructure) ComposeCompanion(ports []int32, urls []string) ([]compose.Stage, error) {
	w, image, err := inf.ofThePlatform(release.Companion)
	if err != nil {
		return nil, err
	}
	var prometheus []string
	if inf.Monitoring.Enabled {
		prometheus = workload.Names(inf.Neighbours.Monitoring)
	}
	names := []string{"companion-account", "companion-role", "companion-role-binding"}
	var access compose.Stage
	for i, o := range c5c3.Access(w) {
		access = append(access, compose.Resource{Name: names[i], Object: o})
	}
	policy, err := c5c3.Network(w, prometheus, inf.Neighbours.APIServerPorts, ports, urls...)
	if err != nil {
		return nil, err
	}
	run := compose.Stage{
		{Name: "companion", Object: c5c3.Deployment(w, image), Ready: inf.companionReady},
		{Name: "companion-service", Object: c5c3.Service(w)},
		{Name: "companion-disruption-budget", Object: w.DisruptionBudget()},
		{Name: "companion-network-policy", Object: policy},
	}
	return []compose.Stage{access, run}, nil
}

// companionReady evaluates the Deployment of the companion, and whether the companion makes progress: pods are ready while every request of
// theirs waits for an answer.
func (inf *Infrastructure) companionReady(o *observe.Object) ready.Result {
	rule := readiness.Rules[schema.GroupKind{Group: appsv1.GroupName, Kind: "Deployment"}]
	if v := rule.Check(o); !v.Ready {
		return v
	}
	if stale := inf.Observed.CompanionStaleReason(inf.Instance); stale != "" {
		return ready.Wait("NoProgress", "%s", stale)
	}
	return ready.Yes
}

// ofThePlatform returns a workload that has permissions of the platform, and its image. Image, pull secrets, nodes and resources come from
// the PlatformConfig and never from the claim: otherwise a tenant could run code with these permissions.
func (inf *Infrastructure) ofThePlatform(name string) (workload.Workload, string, error) {
	c, images := ptr.Deref(inf.Platform.Companion, platformv1.Companion{}), ptr.Deref(inf.Platform.Images, common.Images{})
	w := inf.Workload(name)
	w.Replicas = inf.Size.Companion
	w.Resources = merge.Overlay(c.Resources, claim.Resources("50m", "128Mi", "256Mi"))
	w.Placement = c.Placement
	w.PullSecrets = inf.PlatformPull
	image, err := release.ImageFor(name, inf.Release, release.Override{Registry: images.Registry})
	return w, image, err
}
