package crds

import (
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A check is something that an API server rejects although the Go type allows it. The name is the requirement; it is
// the message of the error if the check returns none.
type check struct {
	name string
	run  func(o object) field.ErrorList
}

// checks are all checks of built-in kinds. Checks that an API server does not make state their reason.
var checks = []check{
	{"name, labels and annotations are valid", metadata},

	{"a pod has a container", ofPod(hasContainer)},
	{"a container has an image and a unique name", ofPod(containerNames)},
	{"a volume has one source and a unique name", ofPod(volumes)},
	{"a volume mount names a volume, one for each path", ofPod(ofContainer(volumeMounts))},
	{"a container port is valid and unique", ofPod(ofContainer(ports))},
	{"an environment variable has a valid name and one source, and is unique", ofPod(ofContainer(environment))},
	{"a probe has one kind, and a port of the container", ofPod(ofContainer(probes))},
	{"requests stay within limits", ofPod(ofContainer(resources))},
	{"the restart policy suits the owner", ofPod(restartPolicy)},
	{"labels of pods are valid", ofPod(podLabels)},

	{"the selector exists and selects the pods of the template", selector},
	{"counts are not negative", counts},
	{"the update strategy can make progress", strategy},
	{"a volume claim has access modes and a size", volumeClaims},
	{"a schedule is a cron expression in a known time zone", schedule},

	{"keys are valid and the data fits into 1 MiB", data},
	{"a Secret has the keys of its type", secretType},

	{"service ports are valid and have names of their own", servicePorts},
	{"a network policy has valid selectors, ports and blocks", networkPolicy},
	{"a disruption budget has one limit", disruptionBudget},
	{"an autoscaler has a target and a maximum not below its minimum", autoscaler},

	{"a rule has verbs and resources", policyRules},
	{"a binding names a role and subjects", roleBinding},

	{"a CustomResourceDefinition is one that an API server serves", customResourceDefinition},
}

// serverOwned is metadata that a client never sends.
var serverOwned = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
	"managedFields", "resourceVersion", "selfLink", "uid",
}

// clientsOnly rejects fields that only the server writes, null or not: under server-side apply the client would own
// them.
func clientsOnly(obj map[string]any) field.ErrorList {
	var errs field.ErrorList
	meta, _ := obj["metadata"].(map[string]any)
	for _, key := range serverOwned {
		if _, ok := meta[key]; ok {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", key), "only the API server writes it"))
		}
	}
	if _, ok := obj["status"]; ok {
		errs = append(errs, field.Forbidden(field.NewPath("status"), "only controllers write it"))
	}
	return errs
}

// pathSegment accepts names that are a segment of a URL's path, as the API server does for the kinds of RBAC.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// nameRules are the rules for names, of the kinds whose names are more than a DNS subdomain or less.
var nameRules = map[string]apivalidation.ValidateNameFunc{
	"Namespace":          apivalidation.NameIsDNSLabel,
	"Service":            apivalidation.NameIsDNS1035Label,
	"Role":               pathSegment,
	"RoleBinding":        pathSegment,
	"ClusterRole":        pathSegment,
	"ClusterRoleBinding": pathSegment,
	// The names of its Jobs are 11 characters longer.
	"CronJob": atMost(52, apivalidation.NameIsDNSSubdomain),
	// An API server takes longer ones. But the name and a hash become a label of the pods, and then none starts.
	"StatefulSet": atMost(52, apivalidation.NameIsDNSLabel),
}

var clusterScoped = sets.New(
	"Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "StorageClass", "CSIDriver",
	"VolumeAttachment", "IngressClass", "CustomResourceDefinition",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
)

func atMost(length int, rule apivalidation.ValidateNameFunc) apivalidation.ValidateNameFunc {
	return func(name string, prefix bool) []string {
		errs := rule(name, prefix)
		if len(name) > length {
			errs = append(errs, validation.MaxLenError(length))
		}
		return errs
	}
}

// metadata accepts a namespaced object without a namespace: the request sets it.
func metadata(o object) field.ErrorList {
	rule := nameRules[o.kind]
	if rule == nil {
		rule = apivalidation.NameIsDNSSubdomain
	}
	namespaced := !clusterScoped.Has(o.kind)
	if namespaced && o.GetNamespace() == "" {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	return apivalidation.ValidateObjectMetaAccessor(o.Object, namespaced, rule, field.NewPath("metadata"))
}
