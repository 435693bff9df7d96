package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor/dump"
	"github.com/c5c3/crossplane-cobaltcore/internal/freshness"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encode"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// now is the time at which the objects are read.
var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// cloud is a composed cloud in which objects can be broken. The functions report the consequences.
type cloud struct {
	t       *testing.T
	cluster *simulate.Cluster
	// claim is edited after the functions ran, extra are other objects of the cluster, and removed are objects that do not exist.
	claim   map[string]any
	extra   []map[string]any
	removed map[string]bool
	changed map[string]map[string]any
}

// composed is the example, composed once.
var composed = sync.OnceValues(func() (*simulate.Cluster, error) {
	w, err := preview.NewCluster(examples.Claim, examples.Platform, kinds.Runners())
	if err != nil {
		return nil, err
	}
	clock, err := structpb.NewStruct(map[string]any{
		"apiVersion": "batch/v1", "kind": "CronJob", "metadata": map[string]any{"name": "cobaltcore-clock", "namespace": "kube-system"},
		"status": map[string]any{"lastScheduleTime": now.Format(time.RFC3339)},
	})
	if err != nil {
		return nil, err
	}
	w.Required[freshness.Requirement] = []*structpb.Struct{clock}
	return w, w.Run(func(simulate.Step) {})
})

func newCloud(t *testing.T) *cloud {
	t.Helper()
	w, err := composed()
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{t: t, cluster: w.Clone(nil), claim: map[string]any{}, removed: map[string]bool{}, changed: map[string]map[string]any{}}
	if err := yaml.Unmarshal(examples.Claim, &c.claim); err != nil {
		t.Fatal(err)
	}
	return c
}

func objectID(kind, name string) string { return kind + "/" + name }

// edit changes a composed object, by kind and name, and updates the statuses of the composite resources above it.
func (c *cloud) edit(kind, name string, change func(o map[string]any)) {
	c.t.Helper()
	if !c.editIn(c.cluster, kind, name, change) {
		c.t.Fatalf("the cloud has no %s %s", kind, name)
	}
}

func (c *cloud) editIn(w *simulate.Cluster, kind, name string, change func(o map[string]any)) bool {
	for _, resource := range slices.Sorted(maps.Keys(w.Observed)) {
		o := w.Observed[resource].Map()
		inner, isInside := inside(o)
		switch nested := w.NestedCluster(resource); {
		case isInside && matches(inner, kind, name):
			change(inner)
		case matches(o, kind, name):
			change(o)
		case nested != nil && c.editIn(nested, kind, name, change):
			o = nested.XR.AsMap()
		default:
			continue
		}
		s, err := encode.Struct(o)
		if err != nil {
			c.t.Fatal(err)
		}
		w.Observed[resource] = s
		if nested := w.NestedCluster(resource); nested != nil {
			nested.XR = s.Tree()
		}
		c.refresh(w)
		return true
	}
	return false
}

// inside returns the object inside an Object of provider-kubernetes.
func inside(o map[string]any) (map[string]any, bool) {
	inner, ok, _ := unstructured.NestedMap(o, "status", "atProvider", "manifest")
	if !ok || o["kind"] != "Object" {
		return nil, false
	}
	status := o["status"].(map[string]any)["atProvider"].(map[string]any)
	status["manifest"] = inner // NestedMap returns a copy.
	return inner, true
}

// matches reports whether an object has a name and a kind, which can be followed by the group.
func matches(o map[string]any, kind, name string) bool {
	u := unstructured.Unstructured{Object: o}
	kind, group, hasGroup := strings.Cut(kind, ".")
	return u.GetKind() == kind && u.GetName() == name && (!hasGroup || u.GroupVersionKind().Group == group)
}

func id(o map[string]any) string {
	u := unstructured.Unstructured{Object: o}
	return objectID(u.GetKind(), u.GetName())
}

// refresh calls the function of a composite resource, whose status changes.
func (c *cloud) refresh(w *simulate.Cluster) {
	c.t.Helper()
	xr := w.XR.AsMap()
	gvk := schema.FromAPIVersionAndKind(xr["apiVersion"].(string), xr["kind"].(string))
	rsp, _, err := w.Explain(w.Kinds[gvk.GroupKind().String()])
	if err != nil {
		c.t.Fatal(err)
	}
	status := rsp.Composite.Object.Tree().AsMap()["status"].(map[string]any)
	state := map[bool]string{true: "True", false: "False"}
	conditions := []any{
		condition("Synced", "True", "ReconcileSuccess", ""), condition("Ready", state[rsp.Composite.Ready], "Available", ""),
	}
	names := map[fnv1.Status]string{fnv1.Status_STATUS_CONDITION_TRUE: "True", fnv1.Status_STATUS_CONDITION_FALSE: "False"}
	for _, is := range rsp.Conditions {
		conditions = append(conditions, condition(is.GetType(), names[is.GetStatus()], is.GetReason(), is.GetMessage()))
	}
	status["conditions"] = conditions
	xr["status"] = status
	s, err := structpb.NewStruct(xr)
	if err != nil {
		c.t.Fatal(err)
	}
	w.XR = s
}

func condition(typ, status, reason, message string) map[string]any {
	return map[string]any{"type": typ, "status": status, "reason": reason, "message": message}
}

// set sets a condition of an object.
func set(typ, status, reason, message string) func(map[string]any) {
	return func(o map[string]any) {
		s, _ := o["status"].(map[string]any)
		if s == nil {
			s = map[string]any{}
			o["status"] = s
		}
		list, _ := s["conditions"].([]any)
		list = slices.DeleteFunc(list, func(c any) bool { return c.(map[string]any)["type"] == typ })
		s["conditions"] = append(list, condition(typ, status, reason, message))
	}
}

// objects returns the objects of the cluster.
func (c *cloud) objects() []unstructured.Unstructured {
	c.refresh(c.cluster)
	bound, err := preview.Bound(examples.Claim, c.cluster.XR)
	if err != nil {
		c.t.Fatal(err)
	}
	claim := bound[0].AsMap()
	claim["status"] = c.cluster.XR.AsMap()["status"]
	for k, v := range c.claim {
		if k == "status" || k == "metadata" {
			claim[k] = v
		}
	}
	all := slices.Concat(c.extra, []map[string]any{claim}, c.objectsOf(c.cluster, "resourceRefs"))
	var out []unstructured.Unstructured
	for _, o := range all {
		if changed, ok := c.changed[id(o)]; ok {
			o = changed
		}
		if !c.removed[id(o)] {
			out = append(out, unstructured.Unstructured{Object: o})
		}
	}
	return out
}

func (c *cloud) objectsOf(w *simulate.Cluster, path ...string) []map[string]any {
	var refs []any
	var out []map[string]any
	for _, resource := range slices.Sorted(maps.Keys(w.Observed)) {
		if nested := w.NestedCluster(resource); nested != nil {
			xr := w.Observed[resource]
			nested.XR = xr.Tree()
			out = append(out, c.objectsOf(nested, "crossplane", "resourceRefs")...)
			refs = append(refs, reference(xr))
			continue
		}
		o := w.Observed[resource].Map()
		refs = append(refs, reference(w.Observed[resource]))
		out = append(out, o)
		if inner, ok := inside(o); ok {
			out = append(out, inner)
		}
	}
	xr := w.XR.AsMap()
	if err := unstructured.SetNestedSlice(xr, refs, append([]string{"spec"}, path...)...); err != nil {
		c.t.Fatal(err)
	}
	return append(out, xr)
}

func reference(o encoded.Struct) map[string]any {
	out := map[string]any{"apiVersion": o.At("apiVersion").Text(), "kind": o.At("kind").Text(), "name": o.At("metadata", "name").Text()}
	if namespace := o.At("metadata", "namespace").Text(); namespace != "" {
		out["namespace"] = namespace
	}
	return out
}

// parse returns an object in YAML.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// namespace of the example's workloads.
func (c *cloud) namespace() string {
	text, _, _ := unstructured.NestedString(c.cluster.XR.AsMap(), "status", "instance")
	return text
}

// down makes a workload unavailable, with a pod that has a status.
func (c *cloud) down(kind, name, status string) {
	c.edit(kind, name, func(o map[string]any) {
		s := o["status"].(map[string]any)
		for _, field := range []string{"availableReplicas", "readyReplicas", "numberAvailable", "numberReady"} {
			if _, ok := s[field]; ok {
				s[field] = int64(0)
			}
		}
		labels, _, _ := unstructured.NestedMap(o, "spec", "selector", "matchLabels")
		c.pod(name+"-0", labels, nil, status)
	})
}

func (c *cloud) pod(name string, labels map[string]any, owner map[string]any, status string) {
	p := parse(c.t, "{apiVersion: v1, kind: Pod, spec: {containers: [{name: api, resources: {limits: {memory: 512Mi}}}]}, status: "+status+"}")
	p["metadata"] = map[string]any{"name": name, "namespace": c.namespace(), "labels": labels}
	if owner != nil {
		p["metadata"].(map[string]any)["ownerReferences"] = []any{owner}
	}
	c.extra = append(c.extra, p)
}

func (c *cloud) event(kind, name, reason, message string) {
	c.extra = append(c.extra, map[string]any{
		"apiVersion": "v1", "kind": "Event", "metadata": map[string]any{"name": name + "." + reason, "namespace": c.namespace()},
		"involvedObject": map[string]any{"kind": kind, "name": name}, "reason": reason, "message": message, "type": "Warning",
		"lastTimestamp": now.Format(time.RFC3339),
	})
}

// waiting is the status of a pod whose container waits.
func waiting(reason, message string) string {
	return fmt.Sprintf(`{phase: Pending, containerStatuses: [{name: api, ready: false, image: registry.example.com/api:1, restartCount: 7,
  state: {waiting: {reason: %s, message: %q}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}`, reason, message)
}

// pendingVolume adds a member of MariaDB that is not scheduled, with a volume that is not provisioned.
func (c *cloud) pendingVolume(scheduler string) {
	c.edit("MariaDB", "mariadb", set("Ready", "False", "StatefulSetNotReady", "Not ready"))
	c.extra = append(c.extra, parse(c.t, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: mariadb, namespace: `+c.namespace()+`,
  generation: 1, ownerReferences: [{apiVersion: k8s.mariadb.com/v1alpha1, kind: MariaDB, name: mariadb}]},
  spec: {replicas: 1, selector: {matchLabels: {app: mariadb}}}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}}`))
	c.pod("mariadb-0", map[string]any{"app": "mariadb"}, nil, fmt.Sprintf(unscheduled, scheduler))
	c.extra[len(c.extra)-1]["spec"] = parse(c.t, "{volumes: [{name: s, persistentVolumeClaim: {claimName: storage-mariadb-0}}]}")
	c.extra = append(c.extra, parse(c.t, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: storage-mariadb-0,
  namespace: `+c.namespace()+`}, spec: {storageClassName: fast}, status: {phase: Pending}}`))
}

const unscheduled = `{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: %q}]}`

// TestDoctorFindsCauseOfEachFault breaks one object of a composed cloud each, and expects its cause as the first one, with the next
// command.
func TestDoctorFindsCauseOfEachFault(t *testing.T) {
	const workload, kind = "keystone", "Deployment"
	tests := map[string]struct {
		reason string
		fault  func(c *cloud)
		// object and cause are expected of the first cause, message and next as parts.
		object, cause, message, next string
	}{
		"crashing container": {
			"The log of the previous container has the error.", func(c *cloud) {
				c.down(kind, workload, waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"))
			}, "Pod/keystone-0", "CrashLoopBackOff", "exits with code 1", "kubectl logs keystone-0 -c api -n NS --previous",
		},
		"image not found": {
			"The message names the image.", func(c *cloud) {
				c.down(kind, workload, waiting("ImagePullBackOff", `Back-off pulling image "registry.example.com/api:1"`))
			}, "Pod/keystone-0", "ImagePullBackOff", "registry.example.com/api:1", "kubectl describe pod keystone-0 -n NS",
		},
		"out of memory": {
			"The limit is in the pod.", func(c *cloud) {
				c.down(kind, workload, `{phase: Running, containerStatuses: [{name: api, ready: false, restartCount: 3, state: {running: {}},
  lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}`)
			}, "Pod/keystone-0", "OOMKilled", "memory limit 512Mi", "kubectl logs keystone-0 -c api -n NS --previous",
		},
		"failing probe": {
			"The event has the response of the probe.", func(c *cloud) {
				c.down(kind, workload, `{phase: Running, containerStatuses: [{name: api, ready: false, state: {running: {}}}]}`)
				c.event("Pod", "keystone-0", "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503\x1b[2J")
			}, "Pod/keystone-0", "ProbeFailing", "statuscode: 503", "kubectl logs keystone-0 -c api -n NS",
		},
		"missing Secret": {
			"The kubelet names the Secret.", func(c *cloud) {
				c.down(kind, workload, waiting("CreateContainerConfigError", `secret "keystone-db" not found`))
			}, "Pod/keystone-0", "MissingObject", "keystone-db", "kubectl describe secret keystone-db -n NS",
		},
		"missing key": {
			"The kubelet names the key.", func(c *cloud) {
				c.down(kind, workload, waiting("CreateContainerConfigError", "couldn't find key password in Secret cloud/keystone-db"))
			}, "Pod/keystone-0", "MissingObject", "key password", "kubectl describe secret keystone-db -n NS",
		},
		"missing ConfigMap of a volume": {
			"The event names the ConfigMap.", func(c *cloud) {
				c.down(kind, workload, `{phase: Pending, containerStatuses: [{name: api, state: {waiting: {reason: ContainerCreating}}}]}`)
				c.event("Pod", "keystone-0", "FailedMount", `MountVolume.SetUp failed for volume "config" : configmap "keystone-1" not found`)
			}, "Pod/keystone-0", "MissingObject", "keystone-1", "kubectl describe configmap keystone-1 -n NS",
		},
		"unschedulable pod": {
			"The scheduler counts the nodes.", func(c *cloud) {
				c.down(kind, workload, fmt.Sprintf(unscheduled, "0/3 nodes are available: 3 Insufficient memory."))
			}, "Pod/keystone-0", "Unschedulable", "Insufficient memory", "kubectl get nodes",
		},
		"pending volume": {
			"The volume is the cause, not the pod.", func(c *cloud) {
				c.pendingVolume("pod has unbound immediate PersistentVolumeClaims")
				c.event("PersistentVolumeClaim", "storage-mariadb-0", "ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`)
			}, "PersistentVolumeClaim/storage-mariadb-0", "VolumePending", `"fast" not found`,
			"kubectl describe persistentvolumeclaim storage-mariadb-0 -n NS",
		},
		"pending volume of a pod without a node": {
			"The volume is provisioned once the pod has a node.", func(c *cloud) {
				c.pendingVolume("0/3 nodes are available: 3 Insufficient memory.")
			}, "Pod/mariadb-0", "Unschedulable", "Insufficient memory", "kubectl get nodes",
		},
		"exceeded quota": {
			"The event of the ReplicaSet has the quota.", func(c *cloud) {
				c.down(kind, workload, "{}")
				c.extra = nil
				c.event("ReplicaSet", "keystone-6d4", "FailedCreate", `pods "keystone-6d4-x" is forbidden: exceeded quota: compute, `+
					"requested: limits.memory=1Gi, used: limits.memory=64Gi, limited: limits.memory=64Gi")
			}, "Deployment/keystone", "QuotaExceeded", "exceeded quota: compute", "kubectl describe resourcequota compute -n NS",
		},
		"pod refused by a webhook": {
			"The condition of the Deployment has the webhook.", func(c *cloud) {
				c.down(kind, workload, "{}")
				c.extra = nil
				c.edit(kind, workload, set("ReplicaFailure", "True", "FailedCreate",
					`admission webhook "validate.kyverno.svc-fail" denied the request: labels are missing`))
			}, "Deployment/keystone", "WebhookRefuses", "labels are missing", "grep kyverno.svc-fail",
		},
		"node down": {
			"All pods of the node have the same cause.", func(c *cloud) {
				c.down(kind, workload, `{phase: Running, conditions: [{type: Ready, status: "False"}]}`)
				c.extra[0]["spec"] = map[string]any{"nodeName": "node-1"}
				c.extra = append(c.extra, parse(c.t, `{apiVersion: v1, kind: Node, metadata: {name: node-1}, status: {conditions: [{type: Ready,
  status: Unknown, message: Kubelet stopped posting node status.}]}}`))
			}, "Node/node-1", "NodeNotReady", "Kubelet stopped", "kubectl describe node node-1",
		},
		"failed Job": {
			"A failed Job does not run again.", func(c *cloud) {
				c.edit("Job", c.first("Job"), func(o map[string]any) {
					o["status"] = map[string]any{"conditions": []any{condition("Failed", "True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")}}
				})
			}, "Job/*", "JobFailed", "backoff limit", "kubectl describe job.batch",
		},
		"database not ready": {
			"The operator reports the reason.", func(c *cloud) {
				c.edit("MariaDB", "mariadb", set("Ready", "False", "PodNotReady", "Galera cluster is not healthy"))
			}, "MariaDB/mariadb", "PodNotReady", "Galera cluster is not healthy", "kubectl describe mariadb.k8s.mariadb.com mariadb -n NS",
		},
		"operator not running": {
			"Without an operator, an object has no status.", func(c *cloud) {
				c.edit("MariaDB", "mariadb", func(o map[string]any) { delete(o, "status") })
			}, "MariaDB/mariadb", "NoStatus", "mariadb-operator", "kubectl get deployments -A | grep mariadb-operator",
		},
		"queue not available": {
			"RabbitMQ has no condition Ready.", func(c *cloud) {
				c.edit("RabbitmqCluster", "rabbitmq", set("ClusterAvailable", "False", "NoEndpointsAvailable", "The service has no endpoints available"))
			}, "RabbitmqCluster/rabbitmq", "NoEndpointsAvailable", "no endpoints", "kubectl describe rabbitmqcluster.rabbitmq.com rabbitmq -n NS",
		},
		"secret not synced": {
			"External Secrets reports the error of the store.", func(c *cloud) {
				c.edit("ExternalSecret", c.first("ExternalSecret"), set("Ready", "False", "SecretSyncedError", "could not get secret data from provider"))
			}, "ExternalSecret/*", "SecretSyncedError", "could not get secret data", "kubectl describe externalsecret.external-secrets.io",
		},
		"certificate not issued": {
			"cert-manager reports the issuer.", func(c *cloud) {
				c.edit("Certificate", c.first("Certificate"), set("Ready", "False", "DoesNotExist", `Issuing certificate as Secret does not exist`))
			}, "Certificate/*", "DoesNotExist", "Issuing certificate", "kubectl describe certificate.cert-manager.io",
		},
		"Keystone refuses": {
			"K-ORC reports the response of Keystone.", func(c *cloud) {
				c.edit("User.openstack.k-orc.cloud", c.firstOf("openstack.k-orc.cloud", "User"), set("Available", "False", "UnrecoverableError", "error creating resource: 403"))
			}, "User/*", "UnrecoverableError", "403", "kubectl describe user.openstack.k-orc.cloud",
		},
		"companion object not ready": {
			"The companion reports the state of keys.", func(c *cloud) {
				c.edit("KeyRepository", c.first("KeyRepository"), set("Ready", "False", "NoKeys", "there are no keys yet"))
			}, "KeyRepository/*", "NoKeys", "there are no keys", "kubectl logs deployment/companion -n NS",
		},
		"companion not running": {
			"The pod of the companion is the cause of the missing status.", func(c *cloud) {
				c.edit("KeyRepository", c.first("KeyRepository"), set("Ready", "False", "NoKeys", "there are no keys yet"))
				c.down(kind, "companion", waiting("ImagePullBackOff", "Back-off pulling image"))
			}, "Pod/companion-0", "ImagePullBackOff", "Back-off", "kubectl describe pod companion-0 -n NS",
		},
		"old status": {
			"A companion without progress does not renew statuses.", func(c *cloud) {
				old := now.Add(-3 * time.Hour).Format(time.RFC3339)
				name := c.first("KeyRepository")
				c.edit("KeyRepository", name, func(o map[string]any) { o["status"].(map[string]any)[freshness.Field] = old })
			}, "KeyRepository/*", "StatusOld", "3 hours ago", "kubectl logs deployment/companion -n NS",
		},
		"object refused by a webhook": {
			"Crossplane reports why it cannot apply an object.", func(c *cloud) {
				c.edit("Keystone", "keystone", set("Synced", "False", "ReconcileError",
					`cannot compose resources: cannot apply composed resource "api": admission webhook "vmariadb.example.com" denied the request: no`))
			}, "Keystone/keystone", "WebhookRefuses", "denied the request", "grep example.com",
		},
		"Crossplane has no right": {
			"The message names the right.", func(c *cloud) {
				c.edit("Keystone", "keystone", set("Synced", "False", "ReconcileError",
					`jobs.batch "x" is forbidden: User "system:serviceaccount:crossplane-system:crossplane" cannot patch resource "jobs" in API group`))
			}, "Keystone/keystone", "Forbidden", "cannot patch", "kubectl auth can-i patch jobs -n NS --as system:serviceaccount:crossplane-system:crossplane",
		},
		"paused claim": {
			"An edit of a paused claim has no effect.", func(c *cloud) {
				c.claim["metadata"].(map[string]any)["annotations"] = map[string]any{"crossplane.io/paused": "true"}
				c.claim["metadata"].(map[string]any)["generation"] = int64(2)
				c.claim["status"] = map[string]any{"conditions": []any{condition("Synced", "False", "ReconcilePaused", "")}}
			}, "ControlPlaneCluster/*", "Paused", "crossplane.io/paused", "kubectl annotate controlplanecluster.crossplane.c5c3.io",
		},
		"paused object": {
			"A nested resource can be paused alone.", func(c *cloud) {
				c.edit("Keystone", "keystone", func(o map[string]any) {
					o["metadata"].(map[string]any)["annotations"] = map[string]any{"crossplane.io/paused": "true"}
					set("Synced", "False", "ReconcilePaused", "")(o)
				})
			}, "Keystone/keystone", "Paused", "crossplane.io/paused", "kubectl annotate keystone.keystone.openstack.c5c3.io keystone -n NS crossplane.io/paused-",
		},
		"invalid spec": {
			"The message names the field.", func(c *cloud) {
				c.claim["status"] = map[string]any{"conditions": []any{
					condition("SpecValid", "False", "InvalidSpec", "spec.size: must be one of small, medium"), condition("Current", "False", "InvalidSpec", ""),
				}}
			}, "ControlPlaneCluster/*", "InvalidSpec", "spec.size", "kubectl edit controlplanecluster.crossplane.c5c3.io",
		},
		"unhealthy function": {
			"Without its function, a claim is not composed. Packages of others do not matter.", func(c *cloud) {
				c.claim["status"] = map[string]any{"conditions": []any{condition("Current", "Unknown", "FatalError", "")}}
				c.extra = append(c.extra, parse(c.t, `{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: a-function},
  spec: {package: "example.com/a-function:v1"}, status: {conditions: [{type: Healthy, status: "False", message: another cause}]}}`), parse(c.t, `{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: function-cobaltcore},
  spec: {package: "ghcr.io/c5c3/function-cobaltcore:v1"}, status: {conditions: [{type: Installed, status: "True"},
  {type: Healthy, status: "False", reason: UnhealthyPackageRevision, message: cannot unpack package}]}}`))
			}, "Function/function-cobaltcore", "UnhealthyPackageRevision", "cannot unpack", "kubectl describe function.pkg.crossplane.io function-cobaltcore",
		},
		"deleted object": {
			"Crossplane creates it again, unless it cannot.", func(c *cloud) {
				c.removed["MariaDB/mariadb"] = true
				c.edit("MariaDB", "mariadb", set("Ready", "False", "x", "x"))
			}, "MariaDB/mariadb", "Missing", "does not exist", "kubectl get mariadb.k8s.mariadb.com mariadb -n NS",
		},
		"object that is being deleted": {
			"The finalizer shows who has to act.", func(c *cloud) {
				c.edit("MariaDB", "mariadb", func(o map[string]any) {
					o["metadata"].(map[string]any)["deletionTimestamp"] = now.Format(time.RFC3339)
					o["metadata"].(map[string]any)["finalizers"] = []any{"mariadb.example.com/wait"}
				})
			}, "MariaDB/mariadb", "Deleting", "mariadb.example.com/wait", "kubectl describe mariadb.k8s.mariadb.com mariadb -n NS",
		},
		"claim without composite resource": {
			"Crossplane does not run.", func(c *cloud) {
				c.claim["status"] = map[string]any{}
				c.removed["XControlPlaneCluster/"+c.cluster.XR.AsMap()["metadata"].(map[string]any)["name"].(string)] = true
			}, "XControlPlaneCluster/*", "Missing", "does not exist", "kubectl describe controlplanecluster",
		},
		"failed pod beside a starting one": {
			"The Job has created another pod, which has not failed yet.", func(c *cloud) {
				name := c.first("Job")
				c.edit("Job", name, func(o map[string]any) { o["status"] = map[string]any{"active": int64(1), "failed": int64(1)} })
				owner := map[string]any{"apiVersion": "batch/v1", "kind": "Job", "name": name}
				c.pod("a-new", nil, owner, "{phase: Pending}")
				c.pod("b-old", nil, owner, `{phase: Failed, containerStatuses: [{name: api, ready: false, state: {terminated: {exitCode: 1, reason: Error,
  message: Access denied}}}]}`)
			}, "Pod/b-old", "ContainerFailed", "Access denied", "kubectl logs b-old -c api -n NS",
		},
		"rejected composed resource": {
			"The condition names the composed resource, and only an Event has the error.", func(c *cloud) {
				c.edit("Keystone", "keystone", set("Synced", "False", "ReconcileError", "Unsynced resources: service"))
				c.event("Keystone", "keystone", "ComposeResources", `cannot apply composed resource "service": services "keystone" is forbidden: `+
					"ValidatingAdmissionPolicy 'services' with binding 'services' denied request: Services need a cost center")
			}, "Keystone/keystone", "PolicyRefuses", "need a cost center", "kubectl get validatingadmissionpolicy services -o yaml",
		},
		"rejected composed resource without Event": {
			"Events are deleted after an hour.", func(c *cloud) {
				c.edit("Keystone", "keystone", set("Synced", "False", "ReconcileError", "Unsynced resources: service"))
			}, "Keystone/keystone", "ReconcileError", "Unsynced resources: service", "kubectl get events -n NS --field-selector type=Warning,involvedObject.name=keystone",
		},
		"Crossplane without pods": {
			"A claim is not reconciled while Crossplane is scaled to zero.", func(c *cloud) {
				c.claim["metadata"].(map[string]any)["generation"] = int64(2)
				old := condition("Synced", "True", "ReconcileSuccess", "")
				old["observedGeneration"] = int64(1)
				c.claim["status"] = map[string]any{"conditions": []any{old, condition("Ready", "True", "Available", "")}}
				c.extra = append(c.extra, parse(c.t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: crossplane, namespace: crossplane-system}, spec: {replicas: 0}}"))
			}, "Deployment/crossplane", "ScaledToZero", "spec.replicas is 0", "kubectl scale deployment.apps crossplane -n crossplane-system --replicas=1",
		},
		"claim without PlatformConfig": {
			"The PlatformConfig is the cause, and not the claim.", func(c *cloud) {
				c.composite(set("Composed", "False", "FatalError", "there is no PlatformConfig named default; the platform team must create it"))
			}, "PlatformConfig/default", "Missing", "the platform team must create it", "kubectl get platformconfig.crossplane.c5c3.io default",
		},
		"inactive function": {
			"Crossplane cannot call the function: the package is the origin.", func(c *cloud) {
				c.composite(set("Synced", "False", "ReconcileError", `cannot compose resources: cannot run Composition pipeline step "compose": cannot get `+
					`gRPC client connection for Function "function-cobaltcore": cannot find an active FunctionRevision`))
				c.extra = append(c.extra, parse(c.t, `{apiVersion: pkg.crossplane.io/v1, kind: Function, metadata: {name: function-cobaltcore},
  status: {conditions: [{type: Installed, status: "False", reason: InactivePackageRevision, message: Package is inactive}]}}`))
			}, "Function/function-cobaltcore", "InactivePackageRevision", "inactive", "kubectl get functionrevision.pkg.crossplane.io",
		},
		"provider not running": {
			"Objects are not observed: the pod of the provider is the origin.", func(c *cloud) {
				c.edit("Object", c.first("Object"), func(o map[string]any) { o["status"] = map[string]any{} })
				c.extra = append(c.extra, parse(c.t, `{apiVersion: pkg.crossplane.io/v1, kind: Provider, metadata: {name: provider-kubernetes},
  status: {currentRevision: provider-kubernetes-1, conditions: [{type: Installed, status: "True"}, {type: Healthy, status: "True"}]}}`),
					parse(c.t, `{apiVersion: pkg.crossplane.io/v1, kind: ProviderRevision, metadata: {name: provider-kubernetes-1}}`),
					parse(c.t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: provider-kubernetes-1, namespace: crossplane-system, generation: 1,
  ownerReferences: [{apiVersion: pkg.crossplane.io/v1, kind: ProviderRevision, name: provider-kubernetes-1}]},
  spec: {replicas: 1, selector: {matchLabels: {provider: kubernetes}}}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1}}`))
				c.pod("provider-kubernetes-1-x", map[string]any{"provider": "kubernetes"}, nil, waiting("CrashLoopBackOff", "back-off"))
				c.extra[len(c.extra)-1]["metadata"].(map[string]any)["namespace"] = "crossplane-system"
			}, "Pod/provider-kubernetes-1-x", "CrashLoopBackOff", "exits with code 1", "kubectl logs provider-kubernetes-1-x -c api -n crossplane-system --previous",
		},
		"Secret of the tenant": {
			"The tenant has to create the Secret that the function waits for.", func(c *cloud) {
				c.composite(func(o map[string]any) {
					status := o["status"].(map[string]any)
					status["components"] = append(status["components"].([]any), map[string]any{
						"name": "secrets", "phase": "Progressing", "reason": "WaitingForSecret", "message": "waits for Secret backup-s3 with the keys access-key-id and " +
							"secret-access-key in namespace tenant-a, which spec.infrastructure.mariadb.backup.s3 names: create it there",
					})
					set("Ready", "False", "Creating", "")(o)
				})
			}, "Secret/backup-s3", "MissingObject", "access-key-id and secret-access-key", "kubectl describe secret backup-s3 -n tenant-a",
		},
		"absent control plane": {
			"The next command lists the claim that the reference names.", func(c *cloud) {
				c.claim["status"] = map[string]any{"conditions": []any{condition("SpecValid", "False", "InvalidSpec",
					"spec.controlPlaneRef: there is no ControlPlaneCluster prod in namespace team-a that claims of namespace \"x\" may join")}}
			}, "ControlPlaneCluster/*", "InvalidSpec", "there is no ControlPlaneCluster prod", "kubectl get controlplanecluster.crossplane.c5c3.io prod -n team-a",
		},
		"kubeconfig of a cluster": {
			"The Secret belongs to the configuration of the provider.", func(c *cloud) {
				c.unapplied(`connect failed: cannot build kube client for provider config: cannot get credentials secret: Secret "west" not found`)
			}, "ProviderConfig/in-cluster", "MissingObject", `Secret "west" not found`, "kubectl describe secret west -n crossplane-system",
		},
		"unreachable cluster": {
			"The API server does not respond.", func(c *cloud) {
				c.unapplied(`observe failed: cannot get object: Get "https://west.example.com": dial tcp 192.0.2.1:443: connect: connection refused`)
			}, "ProviderConfig/in-cluster", "ClusterUnreachable", "connection refused", "kubectl --kubeconfig KUBECONFIG_OF_IN_CLUSTER cluster-info",
		},
		"expired token of a cluster": {
			"The API server rejects the token.", func(c *cloud) {
				c.unapplied("observe failed: cannot get object: the server has asked for the client to provide credentials")
			}, "ProviderConfig/in-cluster", "CredentialsRejected", "provide credentials", "kubectl describe secret west -n crossplane-system",
		},
		"anonymous user in a cluster": {
			"Without a user, not even the kinds can be listed.", func(c *cloud) {
				c.unapplied("observe failed: cannot get object: failed to get server groups: unknown")
			}, "ProviderConfig/in-cluster", "CredentialsRejected", "server groups", "kubectl --kubeconfig KUBECONFIG_OF_IN_CLUSTER cluster-info",
		},
		"no rights in a cluster": {
			"The next command tests the right in that cluster.", func(c *cloud) {
				c.unapplied(`create failed: cannot create object: namespaces "x" is forbidden: User "crossplane" cannot create resource "namespaces" in API group`)
			}, "Object/*", "Forbidden", "cannot create", "kubectl --kubeconfig KUBECONFIG_OF_IN_CLUSTER auth can-i create namespaces",
		},
		"management cluster with a kubeconfig": {
			"The provider config of the PlatformConfig is of the management cluster, so that pods are followed.", func(c *cloud) {
				c.extra = append(c.extra, parse(c.t, `{apiVersion: crossplane.c5c3.io/v1alpha1, kind: PlatformConfig, metadata: {name: default}, spec: {providerConfig: in-cluster}}`),
					parse(c.t, `{apiVersion: kubernetes.crossplane.io/v1alpha1, kind: ProviderConfig, metadata: {name: in-cluster}, spec: {credentials: {source: Secret}}}`),
					parse(c.t, `{apiVersion: kubernetes.m.crossplane.io/v1alpha1, kind: ClusterProviderConfig, metadata: {name: in-cluster}, spec: {credentials: {source: Secret}}}`))
				c.edit("MariaDB", "mariadb", func(o map[string]any) { delete(o, "status") })
			}, "MariaDB/mariadb", "NoStatus", "mariadb-operator", "kubectl describe mariadb.k8s.mariadb.com mariadb -n NS",
		},
		"missing issuer": {
			"The message of a Certificate does not name its issuer.", func(c *cloud) {
				name := c.unissued()
				c.edit("Certificate", name, func(o map[string]any) {
					o["spec"].(map[string]any)["issuerRef"] = map[string]any{"kind": "ClusterIssuer", "name": "letsencrypt"}
				})
			}, "ClusterIssuer/letsencrypt", "Missing", "refers to it", "kubectl get clusterissuer.cert-manager.io letsencrypt",
		},
		"failed CertificateRequest": {
			"The request has the response of the issuer.", func(c *cloud) {
				name := c.unissued()
				issuer := ""
				c.edit("Certificate", name, func(o map[string]any) {
					issuer = o["spec"].(map[string]any)["issuerRef"].(map[string]any)["name"].(string)
				})
				for created, message := range []string{"an earlier request", "order 429: too many certificates"} {
					c.extra = append(c.extra, parse(c.t, fmt.Sprintf(`{apiVersion: cert-manager.io/v1, kind: CertificateRequest, metadata: {name: %s-%d, namespace: %s,
  creationTimestamp: "2026-01-02T11:0%[2]d:00Z", ownerReferences: [{apiVersion: cert-manager.io/v1, kind: Certificate, name: %[1]s}]},
  status: {conditions: [{type: Ready, status: "False", reason: Failed, message: %[4]q}]}}`, name, created, c.namespace(), message)))
				}
				c.extra = append(c.extra, parse(c.t, fmt.Sprintf(`{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: %s},
  status: {conditions: [{type: Ready, status: "True"}]}}`, issuer)))
			}, "CertificateRequest/*", "Failed", "429: too many certificates", "kubectl get orders.acme.cert-manager.io",
		},
		"secret store": {
			"The store is the cause of all its ExternalSecrets.", func(c *cloud) {
				c.edit("ExternalSecret", c.first("ExternalSecret"), set("Ready", "False", "SecretSyncedError", "could not get secret data from provider"))
				c.edit("ExternalSecret", c.first("ExternalSecret"), func(o map[string]any) {
					o["spec"].(map[string]any)["secretStoreRef"] = map[string]any{"kind": "ClusterSecretStore", "name": "vault"}
				})
				c.extra = append(c.extra, parse(c.t, `{apiVersion: external-secrets.io/v1, kind: ClusterSecretStore, metadata: {name: vault},
  status: {conditions: [{type: Ready, status: "False", reason: InvalidProviderConfig, message: permission denied}]}}`))
			}, "ClusterSecretStore/vault", "InvalidProviderConfig", "permission denied", "kubectl describe clustersecretstore.external-secrets.io vault",
		},
		"terminating namespace": {
			"Its condition has the finalizers of the remaining objects; nothing can be created in it.", func(c *cloud) {
				c.edit("Namespace", c.namespace(), func(o map[string]any) {
					o["metadata"].(map[string]any)["deletionTimestamp"] = now.Format(time.RFC3339)
					o["status"] = map[string]any{"phase": "Terminating", "conditions": []any{
						condition("NamespaceDeletionContentFailure", "True", "ContentDeletionFailed", strings.Repeat("Failed to delete all resource types. ", 20)+
							`admission webhook "nousages.protection.crossplane.io" denied the request: in use`),
						condition("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain",
							"Some content in the namespace has finalizers remaining: example.com/wait in 1 resource instances"),
					}}
				})
				c.edit("Keystone", "keystone", set("Synced", "False", "ReconcileError", `cannot apply composed resource "x": configmaps "x" is forbidden: `+
					"unable to create new content in namespace "+c.namespace()+" because it is being terminated"))
			}, "Namespace/*", "Terminating", "example.com/wait", "kubectl describe namespace NS",
		},
		"deletion with a finalizer": {
			"Objects that are deleted already block nothing.", func(c *cloud) {
				c.removed["Keystone/keystone"] = true
				c.edit("Namespace", c.namespace(), func(o map[string]any) {
					o["metadata"].(map[string]any)["deletionTimestamp"] = now.Format(time.RFC3339)
				})
				c.edit("MariaDB", "mariadb", func(o map[string]any) {
					o["metadata"].(map[string]any)["deletionTimestamp"] = now.Format(time.RFC3339)
					o["metadata"].(map[string]any)["finalizers"] = []any{"mariadb.example.com/wait"}
				})
				c.deleting()
			}, "MariaDB/mariadb", "Deleting", "mariadb.example.com/wait", "kubectl describe mariadb.k8s.mariadb.com mariadb -n NS",
		},
		"deletion of an object in use": {
			"A Usage protects the object.", func(c *cloud) {
				c.edit("Keystone", "keystone", func(o map[string]any) {
					o["metadata"].(map[string]any)["labels"] = map[string]any{"crossplane.io/in-use": "true"}
				})
				c.deleting()
			}, "Keystone/keystone", "InUse", "a Usage protects it", "| grep keystone",
		},
	}
	if len(tests) < 20 {
		t.Fatalf("%d faults", len(tests))
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			tc.fault(c)
			report := c.diagnose()
			if report.Ready || len(report.Causes) == 0 {
				t.Fatalf("%s\nready: %t, %d causes", tc.reason, report.Ready, len(report.Causes))
			}
			var text bytes.Buffer
			if err := report.Print(&text, "text"); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text.String(), "\x1b") {
				t.Errorf("%s\na text of the cluster changes the terminal: %q", tc.reason, text.String())
			}
			first := report.Causes[0]
			next := strings.ReplaceAll(tc.next, "NS", c.namespace())
			is := objectID(first.Object.Kind, first.Object.Name)
			if kind, prefix := strings.CutSuffix(tc.object, "*"); prefix && !strings.HasPrefix(is, kind) || !prefix && is != tc.object ||
				first.Reason != tc.cause || !strings.Contains(first.Message, tc.message) ||
				!slices.ContainsFunc(first.Next, func(s string) bool { return strings.Contains(s, next) }) {
				t.Errorf("%s\nwant %s, %s: …%s…, next: %s\ngot:\n%s", tc.reason, tc.object, tc.cause, tc.message, next, text.String())
			}
			if first.Runbook == "" {
				t.Errorf("%s has no runbook", first.Object)
			}
		})
	}
}

// composite changes the composite resource of the claim.
func (c *cloud) composite(change func(o map[string]any)) {
	c.t.Helper()
	for _, o := range c.objects() {
		if o.GetKind() == "XControlPlaneCluster" {
			change(o.Object)
			c.changed[id(o.Object)] = o.Object
		}
	}
	if len(c.changed) == 0 {
		c.t.Fatal("the cloud has no composite resource")
	}
	c.claim["status"] = map[string]any{"conditions": []any{condition("Current", "False", "Creating", "")}}
}

// deleting marks the claim and its composite resource as deleted.
func (c *cloud) deleting() {
	mark := func(o map[string]any) { o["metadata"].(map[string]any)["deletionTimestamp"] = now.Format(time.RFC3339) }
	c.composite(mark)
	mark(c.claim)
}

// unapplied makes an Object belong to the cluster west, in which it cannot be applied.
func (c *cloud) unapplied(message string) {
	c.edit("Object", c.first("Object"), set("Synced", "False", "ReconcileError", message))
	for _, kind := range []string{"kubernetes.crossplane.io/v1alpha1, kind: ProviderConfig", "kubernetes.m.crossplane.io/v1alpha1, kind: ClusterProviderConfig"} {
		c.extra = append(c.extra, parse(c.t, `{apiVersion: `+kind+`, metadata: {name: in-cluster},
  spec: {credentials: {source: Secret, secretRef: {namespace: crossplane-system, name: west, key: kubeconfig}}}}`))
	}
}

// unissued makes a Certificate wait, and returns its name.
func (c *cloud) unissued() string {
	name := c.first("Certificate")
	c.edit("Certificate", name, set("Ready", "False", "DoesNotExist", "Issuing certificate as Secret does not exist"))
	return name
}

// first returns the name of a composed object of a kind.
func (c *cloud) first(kind string) string { return c.firstOf("", kind) }

func (c *cloud) firstOf(group, kind string) string {
	c.t.Helper()
	for _, o := range c.objects() {
		if o.GetKind() == kind && (group == "" || o.GroupVersionKind().Group == group) {
			return o.GetName()
		}
	}
	c.t.Fatalf("the cloud has no %s", kind)
	return ""
}

// TestDoctorCrossplaneNamespace checks that Crossplane can run in any namespace, which commands then name.
func TestDoctorCrossplaneNamespace(t *testing.T) {
	c := newCloud(t)
	name := c.claim["metadata"].(map[string]any)
	name["generation"] = int64(2)
	old := condition("Synced", "True", "ReconcileSuccess", "")
	old["observedGeneration"] = int64(1)
	c.claim["status"] = map[string]any{"conditions": []any{old}}
	c.extra = append(c.extra, parse(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: crossplane, namespace: upbound-system}, spec: {replicas: 0}}"))
	var got []string
	for _, cause := range c.diagnoseWith(doctor.Options{CrossplaneNamespace: "upbound-system"}).Causes {
		got = append(got, cause.Reason+": "+cause.Next[len(cause.Next)-1])
	}
	want := []string{
		"ScaledToZero: kubectl scale deployment.apps crossplane -n upbound-system --replicas=1",
		"NotReconciled: kubectl logs deployment/crossplane -n upbound-system",
	}
	if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// diagnose diagnoses the claim, with Crossplane in its usual namespace.
func (c *cloud) diagnose() *doctor.Report {
	c.t.Helper()
	return c.diagnoseWith(doctor.Options{})
}

func (c *cloud) diagnoseWith(options doctor.Options) *doctor.Report {
	c.t.Helper()
	objects := c.objects()
	r := dump.New(now, objects...)
	claim, ok := r.Claim()
	if !ok {
		c.t.Fatal("the objects contain no claim")
	}
	recorded := &recordingReader{Reader: r, requests: map[string]bool{}}
	report, _, err := doctor.Diagnose(c.t.Context(), recorded, claim.GroupVersionKind(), claim.Namespace, claim.Name, options)
	if err != nil {
		c.t.Fatal(err)
	}
	rules := documentedRules(c.t, "doctor")
	for request := range recorded.requests {
		if !rules[request] {
			c.t.Errorf("docs/reference/doctor-permissions.md does not grant %s", request)
		}
	}
	return report
}

// recordingReader records the permissions that requests need, as "<verb> <group>/<resource>".
type recordingReader struct {
	doctor.Reader

	mu       sync.Mutex
	requests map[string]bool
}

func (r *recordingReader) record(verb string, kind schema.GroupVersionKind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[permission(verb, kind.GroupKind())] = true
}

func (r *recordingReader) Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	r.record("get", kind)
	return r.Reader.Get(ctx, kind, namespace, name)
}

func (r *recordingReader) List(ctx context.Context, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	r.record("list", kind)
	return r.Reader.List(ctx, kind, namespace)
}

// permission returns the permission for a verb and a kind.
func permission(verb string, kind schema.GroupKind) string {
	resource, _ := meta.UnsafeGuessKindToResource(kind.WithVersion("v1"))
	name := strings.Replace(resource.Resource, "valkeies", "valkeys", 1) // an irregular name
	return verb + " " + kind.Group + "/" + name
}

// TestDoctorRoleReadsAllKindsExceptSecrets checks that the ClusterRole in the documentation grants to read, and nothing else, all kinds
// that are composed and all claims and composite resources, and no Secrets.
func TestDoctorRoleReadsAllKindsExceptSecrets(t *testing.T) {
	rules := documentedRules(t, "doctor")
	kinds := readiness.Rules.Kinds()
	for _, kind := range doctor.Kinds() {
		kinds = append(kinds, kind.GroupKind())
	}
	for _, kind := range kinds {
		if request := permission("get", kind); !rules[request] {
			t.Errorf("the documentation does not grant %s", request)
		}
	}
	for rule := range rules {
		if !strings.HasPrefix(rule, "get ") && !strings.HasPrefix(rule, "list ") || strings.HasSuffix(rule, "/secrets") || strings.HasSuffix(rule, "*") {
			t.Errorf("the documentation grants %s", rule)
		}
	}
}

// TestDoctorFindsNoCauseInReadyCloud tests that a composed cloud has no cause: the rules of the functions and of the doctor are the same.
func TestDoctorFindsNoCauseInReadyCloud(t *testing.T) {
	if report := newCloud(t).diagnose(); !report.Ready || len(report.Causes) > 0 {
		t.Errorf("ready: %t, causes: %v", report.Ready, report.Causes)
	}
}

// TestDoctorCaptureHidesSecretsAndRetainsDiagnosis tests that the command writes an archive of a folder's objects without secrets, and that
// the archive has the same diagnosis.
func TestDoctorCaptureHidesSecretsAndRetainsDiagnosis(t *testing.T) {
	const secret = "S3CR3T"
	c := newCloud(t)
	c.down("Deployment", "keystone", waiting("CrashLoopBackOff", "cannot connect to mysql://nova:"+secret+"@mariadb/nova"))
	c.event("Pod", "keystone-0", "Unhealthy", "password="+secret+" is wrong")
	objects := c.objects()
	planted := 0
	for _, o := range objects {
		planted += plantSecret(o.Object, secret)
	}
	if planted < 500 {
		t.Fatalf("%d values are planted", planted)
	}
	dir := t.TempDir()
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{}}
	for _, o := range objects {
		list["items"] = append(list["items"].([]any), o.Object)
	}
	list["items"] = append(list["items"].([]any), map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "keystone-db", "namespace": c.namespace()},
		"data": map[string]any{"password": secret},
	})
	data, err := yaml.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "all.yaml"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "dump.tar.gz")
	var out, errOut bytes.Buffer
	if code := run([]string{"doctor", "--from", dir, "--capture", archive}, strings.NewReader(""), &out, &errOut); code != exitInvalid {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	if strings.Contains(out.String()+errOut.String(), secret) {
		t.Errorf("the output contains a secret: %s%s", out.String(), errOut.String())
	}
	if !strings.Contains(errOut.String(), "report.txt") || !strings.Contains(out.String(), "CrashLoopBackOff") {
		t.Errorf("output: %s%s", out.String(), errOut.String())
	}
	files := unpacked(t, archive)
	for name, content := range files {
		if strings.Contains(content, secret) {
			at := strings.Index(content, secret)
			t.Errorf("%s contains a secret: …%s…", name, content[max(0, at-100):min(len(content), at+20)])
		}
	}
	if len(files) < 20 {
		t.Errorf("the archive has %d files", len(files))
	}
	var again bytes.Buffer
	if code := run([]string{"doctor", "--from", archive}, strings.NewReader(""), &again, &errOut); code != exitInvalid || again.String() != out.String() {
		t.Errorf("exit code %d, the archive has another diagnosis:\n%s\nthan the folder:\n%s", code, again.String(), out.String())
	}
}
