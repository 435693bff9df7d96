//go:build platform

package platform_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/hack/crds"
	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/diagnosis"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// Kinds of the faults below.
var (
	rabbitKind         = schema.GroupVersionKind{Group: "rabbitmq.com", Version: "v1beta1", Kind: "RabbitmqCluster"}
	jobKind            = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	budgetKind         = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}
	functionKind       = schema.GroupVersionKind{Group: "pkg.crossplane.io", Version: "v1", Kind: "Function"}
	crdKind            = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	providerConfigKind = schema.GroupVersionKind{Group: "kubernetes.crossplane.io", Version: "v1alpha1", Kind: "ProviderConfig"}
)

// crossplaneNamespace is the namespace of Crossplane's pods.
const crossplaneNamespace = "crossplane-system"

// cloudFault is a fault of a claim that doctor has to name.
type cloudFault struct {
	name, reason string
	// inject causes the fault, and registers the repair.
	inject func(t *testing.T, p patient)
	// want is the first cause. NS is the namespace of the workloads, TENANT the one of the claim.
	want diagnosis.Cause
}

// patient is a claim with a fault, and the namespace of its workloads.
type patient struct {
	claim     *unstructured.Unstructured
	namespace string
}

// TestDoctorNamesCauseOfFaults checks that cobaltcore doctor names the cause of faults, with an account that has only the documented
// rights: faults of the whole platform before any other test runs, faults of new claims, and faults of ready clouds, one after the other.
func TestDoctorNamesCauseOfFaults(t *testing.T) {
	r, err := diagnosis.Connect(t.Context(), cloud.Client, cloud.Kubeconfig, filepath.Join("..", ".."), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	faults := len(platformFaults) + len(claimFaults)
	for _, f := range platformFaults {
		t.Run(f.name, func(t *testing.T) { f.diagnose(t, r, newPatient(t, f.name)) })
	}
	doctorPrerequisites(t)
	t.Parallel()
	for _, f := range claimFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.diagnose(t, r, newPatient(t, f.name))
		})
	}
	for _, name := range slices.Sorted(maps.Keys(readyFaults)) {
		faults += len(readyFaults[name])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t, name, set("Delete", "spec", "deletionPolicy"))
			order(t, p.claim)
			ready(t, p.claim)
			for _, f := range readyFaults[name] {
				t.Run(f.name, func(t *testing.T) { f.diagnose(t, r, p) })
			}
		})
	}
	if faults < 20 {
		t.Errorf("%d faults", faults)
	}
}

func newPatient(t *testing.T, name string, edits ...edit) patient {
	t.Helper()
	u := claim(t, "tenant-doctor-"+strings.ReplaceAll(name, " ", "-"), edits...)
	return patient{u, names.Instance(u.GetNamespace(), u.GetName())}
}

// diagnoses is the number of consecutive reports that have to name the cause: the first ones can be earlier than the effects of the fault.
const diagnoses = 4

// diagnose injects a fault, and waits until doctor names it.
func (f cloudFault) diagnose(t *testing.T, r doctor.Reader, p patient) {
	t.Helper()
	f.inject(t, p)
	place := strings.NewReplacer("NS", p.namespace, "TENANT", p.claim.GetNamespace())
	want := diagnosis.Cause{Object: place.Replace(f.want.Object), Reason: f.want.Reason, Message: f.want.Message, Next: place.Replace(f.want.Next)}
	claim := p.claim
	if f.name == noControlPlane {
		claim = bare(poolKind, claim.GetNamespace(), claim.GetName())
	}
	text, named := "", 0
	t.Cleanup(func() { t.Logf("%s\n%s", f.reason, text) })
	// The deletion of a claim takes long until it arrives at its database.
	eventually(t, map[bool]time.Duration{true: deletion, false: timeout}[f.want.Reason == "Deleting"], func() (err error) {
		text, err = diagnosis.Run(t.Context(), r, claim, want)
		time.Sleep(time.Second) // A diagnosis reads about a hundred objects.
		if named++; err != nil {
			named = 0
		}
		if err == nil && named < diagnoses {
			return errors.New("the cause has to remain the first one")
		}
		return err
	})
}

// platformFaults are faults of the platform that concern every claim.
var platformFaults = []cloudFault{
	{
		"no platformconfig", "Without its PlatformConfig, no claim is composed.", func(t *testing.T, p patient) {
			config := get(t, cloud.Cluster, platformKind, "", "default")
			if err := cloud.Client.Delete(t.Context(), config.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				config.SetResourceVersion("")
				config.SetUID("")
				config.SetManagedFields(nil)
				// As Helm, which owns its fields: otherwise, an upgrade of the chart has conflicts.
				restored := client.ApplyConfigurationFromUnstructured(config)
				if err := cloud.Client.Apply(contextOf(t), restored, client.FieldOwner("helm"), client.ForceOwnership); err != nil {
					t.Fatal(err)
				}
				discard(t, p.claim)
			})
			order(t, p.claim)
		}, diagnosis.Cause{Object: "PlatformConfig/default", Reason: "Missing", Message: "PlatformConfig", Next: "kubectl get platformconfig.crossplane.c5c3.io default"},
	},
	{
		"inactive function", "Without an active revision of its function, a claim is not composed.", func(t *testing.T, p patient) {
			function := get(t, cloud.Cluster, functionKind, "", "c5c3-function-cobaltcore")
			name, _, _ := unstructured.NestedString(function.Object, "status", "currentRevision")
			revision := bare(functionKind.GroupVersion().WithKind("FunctionRevision"), "", name)
			change := func(policy, state string) {
				t.Helper()
				merge(t, function, `{"spec":{"revisionActivationPolicy":"`+policy+`"}}`)
				merge(t, revision, `{"spec":{"desiredState":"`+state+`"}}`)
			}
			change("Manual", "Inactive")
			t.Cleanup(func() {
				change("Automatic", "Active")
				discard(t, p.claim)
			})
			order(t, p.claim)
		}, diagnosis.Cause{Object: "Function/c5c3-function-cobaltcore", Reason: "InactivePackageRevision", Message: "inactive", Next: "kubectl describe function.pkg.crossplane.io c5c3-function-cobaltcore"},
	},
	{
		"no provider", "Without provider-kubernetes, no Object is created: its pod is the cause.", func(t *testing.T, p patient) {
			resume, err := cloud.Suspend("provider-kubernetes")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := resume(); err != nil {
					t.Fatal(err)
				}
				discard(t, p.claim)
			})
			podStatus(t, crossplaneNamespace, map[string]string{"pkg.crossplane.io/provider": "upbound-provider-kubernetes"},
				waitingStatus("package-runtime", "CrashLoopBackOff", "back-off 5m0s restarting failed container", "cannot list kinds: unauthorized"))
			order(t, p.claim)
		}, diagnosis.Cause{Object: "Pod/upbound-provider-kubernetes-*", Reason: "CrashLoopBackOff", Message: "cannot list kinds: unauthorized", Next: "-c package-runtime -n crossplane-system --previous"},
	},
}

const noControlPlane = "no control plane"

// claimFaults are faults that prevent a new claim from being composed.
var claimFaults = []cloudFault{
	{
		"refused", "The function rejects a misspelled option.", func(t *testing.T, p patient) {
			e := invalidOption()
			if err := unstructured.SetNestedField(p.claim.Object, e.value, e.path...); err != nil {
				t.Fatal(err)
			}
			order(t, p.claim)
		}, diagnosis.Cause{Object: "ControlPlaneCluster/cloud", Reason: "InvalidSpec", Message: "cache_tmie", Next: "kubectl edit controlplanecluster.crossplane.c5c3.io cloud -n TENANT"},
	},
	{
		"paused", "Crossplane does not compose a paused claim.", func(t *testing.T, p patient) {
			namespaceFor(t, p.claim.GetNamespace())
			p.claim.SetAnnotations(map[string]string{"crossplane.io/paused": "true"})
			if err := platformTeam(t).Create(t.Context(), p.claim.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}, diagnosis.Cause{Object: "ControlPlaneCluster/cloud", Reason: "Paused", Message: "crossplane.io/paused", Next: "kubectl annotate controlplanecluster.crossplane.c5c3.io cloud -n TENANT crossplane.io/paused-"},
	},
	{
		"no secret", "The tenant has not created the Secret with the keys of the backups.", func(t *testing.T, p patient) {
			orderWithBackup(t, p)
		}, diagnosis.Cause{Object: "Secret/backup-s3", Reason: "MissingObject", Message: "access-key-id and secret-access-key", Next: "kubectl describe secret backup-s3 -n TENANT"},
	},
	{
		"wrong key", "The tenant has created the Secret with other keys.", func(t *testing.T, p patient) {
			namespaceFor(t, p.claim.GetNamespace())
			if err := cloud.Client.Create(t.Context(), tenantSecret(p.claim.GetNamespace(), "backup-s3", map[string]string{"access_key": "x"})); err != nil {
				t.Fatal(err)
			}
			orderWithBackup(t, p)
		}, diagnosis.Cause{Object: "Secret/backup-s3", Reason: "MissingObject", Message: "access-key-id and secret-access-key", Next: "kubectl describe secret backup-s3 -n TENANT"},
	},
	{
		noControlPlane, "Hypervisors need a control plane.", func(t *testing.T, p patient) {
			u := bare(poolKind, p.claim.GetNamespace(), p.claim.GetName())
			u.Object["spec"] = map[string]any{"controlPlaneRef": map[string]any{"namespace": p.claim.GetNamespace(), "name": "absent"}}
			order(t, u)
		}, diagnosis.Cause{Object: "HypervisorCluster/cloud", Reason: "InvalidSpec", Message: "ControlPlaneCluster absent", Next: "kubectl get controlplanecluster.crossplane.c5c3.io absent -n TENANT"},
	},
	{
		"no kubeconfig", "The Secret with the kubeconfig of the other cluster does not exist.", func(t *testing.T, p patient) {
			orderIn(t, p, "doctor-no-secret")
		}, diagnosis.Cause{Object: "ProviderConfig/doctor-no-secret", Reason: "MissingObject", Message: `"doctor-no-secret" not found`, Next: "kubectl describe secret doctor-no-secret -n " + crossplaneNamespace},
	},
	{
		"unreachable cluster", "No API server responds at the address of the kubeconfig.", func(t *testing.T, p patient) {
			orderIn(t, p, "doctor-unreachable")
		}, diagnosis.Cause{Object: "ProviderConfig/doctor-unreachable", Reason: "ClusterUnreachable", Message: "connection refused", Next: "cluster-info"},
	},
	{
		"rejected credentials", "The kubeconfig has no user.", func(t *testing.T, p patient) {
			orderIn(t, p, "doctor-anonymous")
		}, diagnosis.Cause{Object: "ProviderConfig/doctor-anonymous", Reason: "CredentialsRejected", Message: "cannot get object", Next: "kubectl describe secret doctor-anonymous"},
	},
	{
		"cluster without rights", "The chart has not been installed in the other cluster.", func(t *testing.T, p patient) {
			orderIn(t, p, "doctor-forbidden")
		}, diagnosis.Cause{Object: "Object/*", Reason: "Forbidden", Message: "cannot", Next: "--as stranger"},
	},
}

// readyFaults are faults of ready clouds. The faults of a list are injected into the same cloud.
var readyFaults = map[string][]cloudFault{
	"pods": {
		{
			"image", "The kubelet names the image.", keystonePods(waitingStatus("NAME", "ImagePullBackOff", `Back-off pulling image "registry.example.com/keystone:1"`, "")),
			diagnosis.Cause{Object: "Pod/keystone-*", Reason: "ImagePullBackOff", Message: "registry.example.com/keystone:1", Next: "kubectl describe pod keystone-"},
		},
		{
			"crash", "The termination message has the error.", keystonePods(waitingStatus("NAME", "CrashLoopBackOff", "back-off 5m0s restarting failed container",
				"oslo_config.cfg.ConfigFilesNotFoundError: keystone.conf")),
			diagnosis.Cause{Object: "Pod/keystone-*", Reason: "CrashLoopBackOff", Message: "ConfigFilesNotFoundError", Next: "--previous"},
		},
		{
			"memory", "The limit is in the pod.", keystonePods(`{"phase": "Running", "containerStatuses": [{"name": "NAME", "image": "x", "imageID": "", "ready": false,
				"restartCount": 3, "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}`),
			diagnosis.Cause{Object: "Pod/keystone-*", Reason: "OOMKilled", Message: "memory limit", Next: "--previous"},
		},
		{
			"unschedulable", "The scheduler counts the nodes.", keystonePods(`{"phase": "Pending", "containerStatuses": null, "conditions": [{"type": "PodScheduled",
				"status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient cpu."}]}`),
			diagnosis.Cause{Object: "Pod/keystone-*", Reason: "Unschedulable", Message: "Insufficient cpu", Next: "kubectl get nodes"},
		},
		{
			"probe", "The event has the response of the probe.", func(t *testing.T, p patient) {
				keystonePods(`{"phase": "Running", "containerStatuses": [{"name": "NAME", "image": "x", "imageID": "", "ready": false, "restartCount": 0,
					"state": {"running": {}}}]}`)(t, p)
				for _, pod := range podsOf(t, p.namespace, keystoneLabels) {
					warn(t, &pod, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503")
				}
			}, diagnosis.Cause{Object: "Pod/keystone-*", Reason: "ProbeFailing", Message: "statuscode: 503", Next: "kubectl logs keystone-"},
		},
		{
			"failed job", "The pod of the Job has the error.", func(t *testing.T, p patient) {
				hold(t, podKind, p.namespace)
				for _, job := range list(t, cloud.Cluster, jobKind, p.namespace) {
					if strings.HasPrefix(job.GetName(), "keystone-bootstrap") {
						if err := cloud.Client.Delete(t.Context(), &job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
							t.Fatal(err)
						}
					}
				}
				bootstrap := map[string]string{"app.kubernetes.io/component": "bootstrap"}
				eventually(t, timeout, func() error {
					for _, pod := range podsOf(t, p.namespace, bootstrap) {
						if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase != "Pending" {
							return fmt.Errorf("pod %s of the deleted Job is %s", pod.GetName(), phase)
						}
					}
					return nil
				})
				podStatus(t, p.namespace, bootstrap, `{"phase": "Failed", "containerStatuses": [{"name": "NAME",
					"image": "x", "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": {"exitCode": 1, "reason": "Error",
					"message": "Access denied for user keystone"}}}]}`)
			}, diagnosis.Cause{Object: "Pod/keystone-bootstrap-*", Reason: "ContainerFailed", Message: "Access denied for user keystone", Next: "kubectl logs keystone-bootstrap-"},
		},
		{
			"node down", "All pods of the node have the same cause.", func(t *testing.T, p patient) {
				hold(t, podKind, p.namespace)
				node := bare(schema.GroupVersionKind{Version: "v1", Kind: "Node"}, "", "doctor-node")
				if err := cloud.Client.Create(t.Context(), node); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = cloud.Client.Delete(contextOf(t), node) })
				mergeStatus(t, node, `{"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}]}`)
				for _, pod := range podsOf(t, p.namespace, keystoneLabels) {
					binding := &unstructured.Unstructured{Object: map[string]any{
						"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": pod.GetName(), "namespace": p.namespace},
						"target": map[string]any{"kind": "Node", "name": "doctor-node"},
					}}
					if err := cloud.Client.SubResource("binding").Create(t.Context(), &pod, binding); err != nil {
						t.Fatal(err)
					}
				}
				podStatus(t, p.namespace, keystoneLabels, `{"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}`)
			}, diagnosis.Cause{Object: "Node/doctor-node", Reason: "NodeNotReady", Message: "Kubelet stopped posting", Next: "kubectl describe node doctor-node"},
		},
		{
			"quota", "The ReplicaSet cannot create pods.", func(t *testing.T, p patient) {
				quota := bare(schema.GroupVersionKind{Version: "v1", Kind: "ResourceQuota"}, p.namespace, "compute")
				quota.Object["spec"] = map[string]any{"hard": map[string]any{"pods": "0"}}
				if err := cloud.Client.Create(t.Context(), quota); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = cloud.Client.Delete(contextOf(t), quota) })
				mergeStatus(t, quota, `{"hard": {"pods": "0"}, "used": {"pods": "0"}}`) // its controller does not run
				deletePods(t, p.namespace, keystoneLabels)
			}, diagnosis.Cause{Object: "Deployment/keystone", Reason: "QuotaExceeded", Message: "exceeded quota: compute", Next: "kubectl describe resourcequota compute -n NS"},
		},
	},
	"operators": {
		{
			"database", "The operator of MariaDB reports the state of its cluster.", operatorStatus(mariaDBKind, "mariadb",
				`{"conditions": [{"type": "Ready", "status": "False", "reason": "GaleraNotReady", "message": "Galera cluster has no primary component", "lastTransitionTime": "AT"}]}`),
			diagnosis.Cause{Object: "MariaDB/mariadb", Reason: "GaleraNotReady", Message: "no primary component", Next: "kubectl describe mariadb.k8s.mariadb.com mariadb -n NS"},
		},
		{
			"volume", "The volume is the cause, and not the pod that needs it.", pendingVolume,
			diagnosis.Cause{
				Object: "PersistentVolumeClaim/storage-mariadb-0", Reason: "VolumePending", Message: `storageclass.storage.k8s.io "fast" not found`,
				Next: "kubectl get storageclasses",
			},
		},
		{
			"queue", "RabbitMQ's operator counts pods.", operatorStatus(rabbitKind, "rabbitmq",
				`{"conditions": [{"type": "ClusterAvailable", "status": "False", "reason": "NoEndpointsAvailable", "message": "The service has no endpoints available"},
				{"type": "AllReplicasReady", "status": "False", "reason": "NotAllPodsReady", "message": "0/1 Pods ready"}]}`),
			diagnosis.Cause{Object: "RabbitmqCluster/rabbitmq", Reason: "NotAllPodsReady", Message: "0/1 Pods ready", Next: "kubectl describe rabbitmqcluster.rabbitmq.com rabbitmq -n NS"},
		},
		{
			"catalog", "K-ORC reports the response of Keystone.", operatorStatus(korcUserKind, "admin",
				`{"conditions": [{"type": "Available", "status": "False", "reason": "UnrecoverableError", "message": "error creating resource: 403 Forbidden", "lastTransitionTime": "AT"},
				{"type": "Progressing", "status": "False", "reason": "UnrecoverableError", "message": "error creating resource: 403 Forbidden", "lastTransitionTime": "AT"}]}`),
			diagnosis.Cause{Object: "User/admin", Reason: "UnrecoverableError", Message: "403 Forbidden", Next: "kubectl describe user.openstack.k-orc.cloud admin -n NS"},
		},
		{
			"certificate", "The issuer of the certificate does not exist.", missingIssuer,
			diagnosis.Cause{
				Object: "ClusterIssuer/queues", Reason: "Missing", Message: "Certificate rabbitmq-tls in namespace",
				Next: "kubectl get clusterissuer.cert-manager.io queues",
			},
		},
		{
			"secret store", "The store is the cause of all its PushSecrets.", unavailableStore,
			diagnosis.Cause{
				Object: "ClusterSecretStore/openbao-cluster-store", Reason: "InvalidProviderConfig", Message: "permission denied",
				Next: "kubectl describe clustersecretstore.external-secrets.io openbao-cluster-store",
			},
		},
		{
			"old status", "A companion without progress does not renew statuses.", func(t *testing.T, p patient) {
				hold(t, keysKind, p.namespace)
				mergeStatus(t, bare(keysKind, p.namespace, "keystone-fernet-keys"), `{"lastObservationTime": "`+time.Now().Add(-3*time.Hour).UTC().Format(time.RFC3339)+`"}`)
			}, diagnosis.Cause{Object: "KeyRepository/keystone-fernet-keys", Reason: "StatusOld", Message: "3 hours ago", Next: "kubectl logs deployment/companion -n NS"},
		},
		{
			"companion", "The pod of the companion is the cause of statuses that it does not write.", func(t *testing.T, p patient) {
				hold(t, keysKind, p.namespace)
				podStatus(t, p.namespace, map[string]string{"app.kubernetes.io/component": "companion"},
					waitingStatus("companion", "CrashLoopBackOff", "back-off 5m0s restarting failed container", "cannot create the cache"))
			}, diagnosis.Cause{Object: "Pod/companion-*", Reason: "CrashLoopBackOff", Message: "cannot create the cache", Next: "kubectl logs companion-"},
		},
	},
	"requests": {
		{
			"paused service", "One service of a cloud is paused.", func(t *testing.T, p patient) {
				keystone := bare(keystoneKind, p.namespace, "keystone")
				merge(t, keystone, `{"metadata": {"annotations": {"crossplane.io/paused": "true"}}}`)
				t.Cleanup(func() { merge(t, keystone, `{"metadata": {"annotations": {"crossplane.io/paused": null}}}`) })
			}, diagnosis.Cause{Object: "Keystone/keystone", Reason: "Paused", Message: "crossplane.io/paused", Next: "kubectl annotate keystone.keystone.openstack.c5c3.io keystone -n NS crossplane.io/paused-"},
		},
		{
			"policy", "A policy of the platform rejects a Service.", rejectingPolicy,
			diagnosis.Cause{Object: "Keystone/keystone", Reason: "PolicyRefuses", Message: "Services need a cost center", Next: "kubectl get validatingadmissionpolicy doctor-services"},
		},
		{
			"webhook", "A webhook of the platform does not respond.", silentWebhook,
			diagnosis.Cause{Object: "Keystone/keystone", Reason: "WebhookUnavailable", Message: "webhook.doctor.example.com", Next: "grep doctor.example.com"},
		},
		{
			"finalizer", "The claim is being deleted, and the controller of an object does not run.", func(t *testing.T, p patient) {
				database := bare(mariaDBKind, p.namespace, "mariadb")
				merge(t, database, `{"metadata": {"finalizers": ["doctor.example.com/wait"]}}`)
				if err := cloud.Client.Delete(t.Context(), p.claim.DeepCopy()); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { merge(t, database, `{"metadata": {"finalizers": null}}`) })
			}, diagnosis.Cause{Object: "MariaDB/mariadb", Reason: "Deleting", Message: "doctor.example.com/wait", Next: "kubectl describe mariadb.k8s.mariadb.com mariadb -n NS"},
		},
	},
	"namespace": {
		{
			"terminating", "The namespace of the workloads was deleted, and an object in it remains.", func(t *testing.T, p patient) {
				held := bare(configMapKind, p.namespace, "held")
				held.SetFinalizers([]string{"doctor.example.com/wait"})
				if err := cloud.Client.Create(t.Context(), held.DeepCopy()); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { merge(t, held, `{"metadata": {"finalizers": null}}`) })
				if err := cloud.Client.Delete(t.Context(), bare(namespaceKind, "", p.namespace)); err != nil {
					t.Fatal(err)
				}
			}, diagnosis.Cause{Object: "Namespace/NS", Reason: "Terminating", Message: "doctor.example.com/wait", Next: "kubectl describe namespace NS"},
		},
	},
}

// keystoneLabels select the pods of Keystone's API.
var keystoneLabels = map[string]string{"app.kubernetes.io/name": "keystone", "app.kubernetes.io/component": "api"}

// waitingStatus returns the status of a pod whose container waits after it exited with a message.
func waitingStatus(container, reason, message, last string) string {
	return fmt.Sprintf(`{"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [{"name": %q, "image": "x", "imageID": "",
		"ready": false, "restartCount": 7, "state": {"waiting": {"reason": %q, "message": %q}},
		"lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": %q}}}]}`, container, reason, message, last)
}

// keystonePods returns a fault: the pods of Keystone have a status.
func keystonePods(status string) func(*testing.T, patient) {
	return func(t *testing.T, p patient) {
		t.Helper()
		podStatus(t, p.namespace, keystoneLabels, status)
	}
}

// hold stops the owner of a kind in a namespace until the end of the test.
func hold(t *testing.T, kind schema.GroupVersionKind, namespace string) {
	t.Helper()
	cloud.Operators.PauseOwner(kind.GroupKind(), namespace)
	t.Cleanup(func() { cloud.Operators.Release(kind.GroupKind(), namespace) })
}

// podsOf waits for the pods with labels.
func podsOf(t *testing.T, namespace string, want map[string]string) []unstructured.Unstructured {
	t.Helper()
	var out []unstructured.Unstructured
	eventually(t, timeout, func() error {
		out = slices.DeleteFunc(list(t, cloud.Cluster, podKind, namespace), func(pod unstructured.Unstructured) bool {
			return !labels.SelectorFromSet(want).Matches(labels.Set(pod.GetLabels())) || pod.GetDeletionTimestamp() != nil
		})
		if len(out) == 0 {
			return fmt.Errorf("no pods with %v", want)
		}
		return nil
	})
	return out
}

// podStatus writes the status of pods like a kubelet, until the end of the test. NAME is the name of the first container.
func podStatus(t *testing.T, namespace string, want map[string]string, status string) {
	t.Helper()
	hold(t, podKind, namespace)
	t.Cleanup(func() { deletePods(t, namespace, want) })
	for _, pod := range podsOf(t, namespace, want) {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
		name := containers[0].(map[string]any)["name"].(string)
		mergeStatus(t, &pod, strings.ReplaceAll(status, "NAME", name))
	}
}

// deletePods deletes pods, which their owners create again.
func deletePods(t *testing.T, namespace string, want map[string]string) {
	t.Helper()
	at := int64(0)
	if err := cloud.Client.DeleteAllOf(contextOf(t), bare(podKind, namespace, ""), client.InNamespace(namespace), client.MatchingLabels(want),
		&client.DeleteAllOfOptions{DeleteOptions: client.DeleteOptions{GracePeriodSeconds: &at}}); err != nil {
		t.Error(err)
	}
}

// warn creates an Event about an object.
func warn(t *testing.T, o *unstructured.Unstructured, reason, message string) {
	t.Helper()
	event := bare(schema.GroupVersionKind{Version: "v1", Kind: "Event"}, o.GetNamespace(), o.GetName()+"."+strings.ToLower(reason))
	now := time.Now().UTC().Format(time.RFC3339)
	event.Object["involvedObject"] = map[string]any{
		"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "namespace": o.GetNamespace(), "name": o.GetName(), "uid": string(o.GetUID()),
	}
	event.Object["type"], event.Object["reason"], event.Object["message"] = "Warning", reason, message
	event.Object["firstTimestamp"], event.Object["lastTimestamp"] = now, now
	if err := cloud.Client.Create(t.Context(), event); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}

// operatorStatus returns a fault: an operator reports a status. AT is the time.
func operatorStatus(kind schema.GroupVersionKind, name, status string) func(*testing.T, patient) {
	return func(t *testing.T, p patient) {
		t.Helper()
		hold(t, kind, p.namespace)
		mergeStatus(t, bare(kind, p.namespace, name), strings.ReplaceAll(status, "AT", time.Now().UTC().Format(time.RFC3339)))
	}
}

// pendingVolume makes the operator of MariaDB wait for a volume of a storage class that does not exist.
func pendingVolume(t *testing.T, p patient) {
	operatorStatus(mariaDBKind, "mariadb",
		`{"conditions": [{"type": "Ready", "status": "False", "reason": "StatefulSetNotReady", "message": "Not ready", "lastTransitionTime": "AT"}]}`)(t, p)
	hold(t, podKind, p.namespace)
	database := get(t, cloud.Cluster, mariaDBKind, p.namespace, "mariadb")
	set := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(`{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "mariadb"}, "spec": {"serviceName": "mariadb", "replicas": 1,
		"selector": {"matchLabels": {"doctor": "mariadb"}}, "template": {"metadata": {"labels": {"doctor": "mariadb"}}, "spec": {"containers": [{"name": "mariadb",
		"image": "x"}]}}, "volumeClaimTemplates": [{"metadata": {"name": "storage"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
		"resources": {"requests": {"storage": "1Gi"}}}}]}}`), &set.Object); err != nil {
		t.Fatal(err)
	}
	set.SetNamespace(p.namespace)
	set.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(database, mariaDBKind)})
	if err := cloud.Client.Create(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cloud.Client.Delete(contextOf(t), set, client.PropagationPolicy(metav1.DeletePropagationBackground))
		_ = cloud.Client.Delete(contextOf(t), bare(volumeClaimKind, p.namespace, "storage-mariadb-0"))
	})
	podStatus(t, p.namespace, map[string]string{"doctor": "mariadb"}, `{"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
		"reason": "Unschedulable", "message": "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims."}]}`)
	warn(t, get(t, cloud.Cluster, volumeClaimKind, p.namespace, "storage-mariadb-0"), "ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`)
}

var volumeClaimKind = schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}

// missingIssuer makes cert-manager wait for the issuer of the PlatformConfig, which does not exist.
func missingIssuer(t *testing.T, p patient) {
	t.Helper()
	kind := schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "ClusterIssuer"}
	issuer, err := cloud.Get(t.Context(), kind, types.NamespacedName{Name: "queues"})
	if err != nil {
		t.Fatal(err)
	}
	if issuer != nil { // A guide created it.
		if err := cloud.Client.Delete(t.Context(), issuer.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			issuer.SetResourceVersion("")
			issuer.SetUID("")
			issuer.SetManagedFields(nil)
			if err := cloud.Client.Create(contextOf(t), issuer); err != nil {
				t.Error(err)
			}
		})
	}
	operatorStatus(certificateKind, "rabbitmq-tls", `{"conditions": [
		{"type": "Ready", "status": "False", "reason": "DoesNotExist", "message": "Issuing certificate as Secret does not exist", "lastTransitionTime": "AT"},
		{"type": "Issuing", "status": "True", "reason": "DoesNotExist", "message": "Issuing certificate as Secret does not exist", "lastTransitionTime": "AT"}]}`)(t, p)
}

// unavailableStore makes the store of External Secrets unavailable.
func unavailableStore(t *testing.T, p patient) {
	operatorStatus(pushKind, "keystone-database", `{"conditions": [{"type": "Ready", "status": "False", "reason": "Errored",
		"message": "set secret failed: could not get provider client", "lastTransitionTime": "AT"}]}`)(t, p)
	store := bare(schema.GroupVersionKind{Group: "external-secrets.io", Version: "v1", Kind: "ClusterSecretStore"}, "", "openbao-cluster-store")
	store.Object["spec"] = map[string]any{"provider": map[string]any{"fake": map[string]any{"data": []any{map[string]any{"key": "x", "value": "x"}}}}}
	if err := cloud.Client.Create(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Client.Delete(contextOf(t), store) })
	mergeStatus(t, store, `{"conditions": [{"type": "Ready", "status": "False", "reason": "InvalidProviderConfig",
		"message": "unable to log in with Kubernetes auth: permission denied"}]}`)
}

// rejectingPolicy makes the API server reject Keystone's Service, and deletes it.
func rejectingPolicy(t *testing.T, p patient) {
	if err := cloud.Apply(t.Context(), fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: doctor-services}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [services]}]}
  validations: [{expression: "false", message: Services need a cost center}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: doctor-services}
spec:
  policyName: doctor-services
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}}
`, p.namespace)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cloud.Client.Delete(contextOf(t), bare(bindingKind, "", "doctor-services"))
		_ = cloud.Client.Delete(contextOf(t), bare(bindingKind.GroupVersion().WithKind("ValidatingAdmissionPolicy"), "", "doctor-services"))
	})
	service := get(t, cloud.Cluster, serviceKind, p.namespace, "keystone")
	waitForRejection(t, service, "cost center")
}

// silentWebhook makes the API server call a webhook that does not respond for Keystone's PodDisruptionBudget, and deletes it.
func silentWebhook(t *testing.T, p patient) {
	if err := cloud.Apply(t.Context(), fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: doctor.example.com}
webhooks:
- name: webhook.doctor.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  clientConfig: {url: "https://127.0.0.1:1/"}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}
  rules: [{apiGroups: [policy], apiVersions: [v1], operations: [CREATE], resources: [poddisruptionbudgets]}]
`, p.namespace)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cloud.Client.Delete(contextOf(t), bare(bindingKind.GroupVersion().WithKind("ValidatingWebhookConfiguration"), "", "doctor.example.com"))
	})
	waitForRejection(t, get(t, cloud.Cluster, budgetKind, p.namespace, "keystone"), "doctor.example.com")
}

// waitForRejection waits until the API server rejects an object like this, and then deletes it.
func waitForRejection(t *testing.T, o *unstructured.Unstructured, message string) {
	t.Helper()
	eventually(t, timeout, func() error {
		other := o.DeepCopy()
		other.SetName("doctor")
		other.SetResourceVersion("")
		other.SetUID("")
		unstructured.RemoveNestedField(other.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(other.Object, "spec", "clusterIPs")
		if err := cloud.Client.Create(t.Context(), other, client.DryRunAll); err == nil || !strings.Contains(err.Error(), message) {
			return fmt.Errorf("it is not rejected: %w", err)
		}
		return nil
	})
	if err := cloud.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// orderWithBackup creates the claim with a Secret for backups.
func orderWithBackup(t *testing.T, p patient) {
	t.Helper()
	if err := unstructured.SetNestedMap(p.claim.Object, map[string]any{"s3": map[string]any{
		"bucket": "tenants", "endpoint": "s3.example.com:443", "credentialsSecretRef": map[string]any{"name": "backup-s3"},
	}}, "spec", "infrastructure", "mariadb", "backup"); err != nil {
		t.Fatal(err)
	}
	order(t, p.claim)
}

// orderIn creates the claim in another cluster.
func orderIn(t *testing.T, p patient, cluster string) {
	t.Helper()
	if err := unstructured.SetNestedField(p.claim.Object, cluster, "spec", "cluster", "ref", "name"); err != nil {
		t.Fatal(err)
	}
	order(t, p.claim)
}

// doctorPrerequisites offers clusters that do not work to claims, allows their backups, and defines kinds that only operators use.
func doctorPrerequisites(t *testing.T) {
	t.Helper()
	dir, err := crds.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []schema.GroupKind{
		{Group: "cert-manager.io", Kind: "CertificateRequest"}, {Group: "cert-manager.io", Kind: "ClusterIssuer"},
		{Group: "external-secrets.io", Kind: "ClusterSecretStore"},
	} {
		data, err := os.ReadFile(filepath.Join(dir, crds.FileName(kind)))
		if err != nil {
			t.Fatal(err)
		}
		crd := &unstructured.Unstructured{}
		if err := json.Unmarshal(data, &crd.Object); err != nil {
			t.Fatal(err)
		}
		unstructured.RemoveNestedField(crd.Object, "status")
		if err := cloud.Client.Create(t.Context(), crd); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		eventually(t, timeout, func() error {
			if c, _ := platform.ConditionOf(get(t, cloud.Cluster, crdKind, "", crd.GetName()), "Established"); c.Status != "True" {
				return errors.New("it is not established")
			}
			return nil
		})
	}
	server := func(url string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],`+
			`"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`, url)
	}
	stranger := filepath.Join(t.TempDir(), "kubeconfig")
	if err := diagnosis.Impersonate(cloud.Remote.Kubeconfig, "stranger", stranger); err != nil {
		t.Fatal(err)
	}
	forbidden, err := os.ReadFile(stranger)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfigs := map[string]string{
		"doctor-no-secret": "", "doctor-unreachable": server("https://127.0.0.1:1"), "doctor-anonymous": server(cloud.Remote.Config.Host),
		"doctor-forbidden": string(forbidden),
	}
	for _, name := range slices.Sorted(maps.Keys(kubeconfigs)) {
		for _, kind := range []schema.GroupVersionKind{
			providerConfigKind, {Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: "ClusterProviderConfig"},
		} {
			config := bare(kind, "", name)
			config.Object["spec"] = map[string]any{"credentials": map[string]any{
				"source": "Secret", "secretRef": map[string]any{"namespace": crossplaneNamespace, "name": name, "key": "kubeconfig"},
			}}
			if err := cloud.Client.Create(t.Context(), config); err != nil {
				t.Fatal(err)
			}
		}
		if kubeconfigs[name] != "" {
			if err := cloud.Client.Create(t.Context(), tenantSecret(crossplaneNamespace, name, map[string]string{"kubeconfig": kubeconfigs[name]})); err != nil {
				t.Fatal(err)
			}
		}
		addToPlatform(t, "clusters", fmt.Sprintf(`{"name": %[1]q, "providerConfig": %[1]q, "allowedNamespaces": ["tenant-doctor-*"]}`, name))
	}
	addLimit(t, `{"name": "doctor", "namespaces": ["tenant-doctor-*"], "s3Endpoints": ["s3.example.com:443"],
		"hypervisorNodes": ["node-role.kubernetes.io/hypervisor"]}`)
}

// merge changes an object with a merge patch.
func merge(t *testing.T, o *unstructured.Unstructured, change string) {
	t.Helper()
	if err := cloud.Client.Patch(contextOf(t), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(change))); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// mergeStatus changes the status of an object with a merge patch.
func mergeStatus(t *testing.T, o *unstructured.Unstructured, status string) {
	t.Helper()
	change := client.RawPatch(types.MergePatchType, []byte(`{"status": `+status+`}`))
	if err := cloud.Client.Status().Patch(t.Context(), o.DeepCopy(), change); err != nil {
		t.Fatal(err)
	}
}

// contextOf returns a context that a cleanup can use, too.
func contextOf(t *testing.T) context.Context { return context.WithoutCancel(t.Context()) }

// platformTeam returns a client that may pause claims.
func platformTeam(t *testing.T) client.Client {
	t.Helper()
	c, err := cloud.As("admin", platform.PlatformTeam, "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// discard deletes a claim, without waiting for it.
func discard(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	if err := cloud.Client.Delete(contextOf(t), u.DeepCopy()); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}
