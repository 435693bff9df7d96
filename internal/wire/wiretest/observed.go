package wiretest

import (
	"fmt"
	"maps"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"
)

// Request returns a request with n observed composed resources as the API server returns them, with status and
// managedFields: in turn Deployments, Services, ConfigMaps and Jobs, every second one in a provider-kubernetes Object.
func Request(n int) *fnv1.RunFunctionRequest {
	req := &fnv1.RunFunctionRequest{
		Meta:     &fnv1.RequestMeta{Tag: "tag", Capabilities: []fnv1.Capability{fnv1.Capability_CAPABILITY_CONDITIONS}},
		Observed: &fnv1.State{Composite: &fnv1.Resource{Resource: object(composite())}, Resources: map[string]*fnv1.Resource{}},
		Desired:  &fnv1.State{},
	}
	for i, o := range objects(n) {
		req.Observed.Resources[fmt.Sprintf("resource-%03d", i)] = &fnv1.Resource{Resource: object(o)}
	}
	return req
}

// Response returns a response with n desired composed resources: the resources of Request without the fields added by the
// cluster.
func Response(n int) *fnv1.RunFunctionResponse {
	rsp := &fnv1.RunFunctionResponse{
		Meta:    &fnv1.ResponseMeta{Tag: "tag"},
		Desired: &fnv1.State{Composite: &fnv1.Resource{Resource: object(composite())}, Resources: map[string]*fnv1.Resource{}},
		Results: []*fnv1.Result{{Severity: fnv1.Severity_SEVERITY_NORMAL, Message: "composed"}},
	}
	for i, o := range objects(n) {
		delete(o, "status")
		o["metadata"] = map[string]any{"name": fmt.Sprintf("resource-%03d", i), "annotations": map[string]any{"c5c3.io/hash": "0123456789abcdef"}}
		rsp.Desired.Resources[fmt.Sprintf("resource-%03d", i)] = &fnv1.Resource{Resource: object(o), Ready: fnv1.Ready_READY_TRUE}
	}
	return rsp
}

func objects(n int) []map[string]any {
	makers := []func(string) map[string]any{deployment, service, configMap, job}
	out := make([]map[string]any, n)
	for i := range out {
		out[i] = observed(makers[i/2%len(makers)](fmt.Sprintf("resource-%03d", i)))
		if i%2 == 1 {
			out[i] = wrapped(out[i])
		}
	}
	return out
}

func object(o map[string]any) *structpb.Struct {
	s, err := structpb.NewStruct(o)
	if err != nil {
		panic(err)
	}
	return s
}

// observed adds the metadata that a server adds to an object.
func observed(o map[string]any) map[string]any {
	m := o["metadata"].(map[string]any)
	m["managedFields"] = []any{
		map[string]any{"manager": "apiextensions.crossplane.io/composed/0123", "operation": "Apply", "apiVersion": o["apiVersion"], "fieldsType": "FieldsV1", "time": "2025-10-01T12:00:00Z", "fieldsV1": fieldsOf(map[string]any{"metadata": map[string]any{"labels": m["labels"]}, "spec": o["spec"], "data": o["data"]})},
		map[string]any{"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "apiVersion": o["apiVersion"], "fieldsType": "FieldsV1", "time": "2025-10-01T12:00:05Z", "fieldsV1": fieldsOf(map[string]any{"status": o["status"]})},
	}
	m["annotations"] = map[string]any{"c5c3.io/hash": "0123456789abcdef", "crossplane.io/composition-resource-name": m["name"], "deployment.kubernetes.io/revision": "3"}
	m["uid"] = "5f0f3ab1-7c7b-4a2c-9a50-4e5d2f9f0c11"
	m["resourceVersion"] = "184467"
	m["generation"] = 4
	m["creationTimestamp"] = "2025-10-01T12:00:00Z"
	m["ownerReferences"] = []any{map[string]any{"apiVersion": "keystone.openstack.c5c3.io/v1alpha1", "kind": "Keystone", "name": "cloud", "uid": "0d4f", "controller": true, "blockOwnerDeletion": true}}
	return o
}

// fieldsOf converts a tree to the format of managedFields.
func fieldsOf(tree any) map[string]any {
	out := map[string]any{}
	switch tree := tree.(type) {
	case map[string]any:
		for k, v := range tree {
			if v != nil {
				out["f:"+k] = fieldsOf(v)
			}
		}
	case []any:
		for i, v := range tree {
			out[fmt.Sprintf("k:{%q:\"%d\"}", "name", i)] = fieldsOf(v)
		}
	}
	return out
}

func wrapped(o map[string]any) map[string]any {
	forProvider := maps.Clone(o)
	delete(forProvider, "status")
	forProvider["metadata"] = meta(o["metadata"].(map[string]any)["name"].(string))
	return observed(map[string]any{
		"apiVersion": "kubernetes.m.crossplane.io/v1alpha1", "kind": "Object",
		"metadata": map[string]any{"name": o["metadata"].(map[string]any)["name"], "namespace": "team-a-cloud-1a2b3", "labels": labels()},
		"spec":     map[string]any{"forProvider": map[string]any{"manifest": forProvider}, "managementPolicies": []any{"*"}, "readiness": map[string]any{"policy": "DeriveFromObject"}},
		"status":   map[string]any{"atProvider": map[string]any{"manifest": o}, "conditions": []any{condition("Ready", "True", 0), condition("Synced", "True", 4)}, "observedGeneration": 4},
	})
}

func condition(kind, status string, generation int) map[string]any {
	c := map[string]any{"type": kind, "status": status, "reason": "Available", "message": "It is as it should be.", "lastTransitionTime": "2025-10-01T12:00:05Z"}
	if generation > 0 {
		c["observedGeneration"] = generation
	}
	return c
}

func labels() map[string]any {
	return map[string]any{"app.kubernetes.io/name": "keystone", "app.kubernetes.io/component": "api", "app.kubernetes.io/instance": "cloud", "crossplane.io/composite": "cloud-x7k2p"}
}

func meta(name string) map[string]any {
	return map[string]any{"name": name, "namespace": "team-a-cloud-1a2b3", "labels": labels()}
}

func composite() map[string]any {
	return observed(map[string]any{
		"apiVersion": "keystone.openstack.c5c3.io/v1alpha1", "kind": "Keystone", "metadata": meta("cloud"),
		"spec":   map[string]any{"openStackRelease": "2025.2", "replicas": 3},
		"status": map[string]any{"conditions": []any{condition("Ready", "True", 4), condition("Synced", "True", 4)}},
	})
}

func podTemplate() map[string]any {
	var env, mounts []any
	for i := range 4 {
		env = append(env, map[string]any{"name": fmt.Sprintf("OS_SECTION__OPTION_%d", i), "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "keystone", "key": "password"}}})
	}
	for i := range 3 {
		mounts = append(mounts, map[string]any{"name": fmt.Sprintf("volume-%d", i), "mountPath": fmt.Sprintf("/etc/keystone/%d", i), "readOnly": true})
	}
	probe := map[string]any{"httpGet": map[string]any{"path": "/v3", "port": "http", "scheme": "HTTP"}, "failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}
	return map[string]any{
		"metadata": map[string]any{"labels": labels()},
		"spec": map[string]any{
			"containers": []any{map[string]any{
				"name": "api", "image": "registry.example.org/keystone@sha256:" + strings.Repeat("0", 64), "command": []any{"httpd", "-D", "FOREGROUND"},
				"env": env, "volumeMounts": mounts, "livenessProbe": probe, "readinessProbe": probe, "ports": []any{map[string]any{"name": "http", "containerPort": 5000, "protocol": "TCP"}},
				"resources":       map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "256Mi"}, "limits": map[string]any{"memory": "512Mi"}},
				"securityContext": map[string]any{"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true}, "terminationMessagePath": "/dev/termination-log", "imagePullPolicy": "IfNotPresent",
			}},
			"volumes":       []any{map[string]any{"name": "tmp", "emptyDir": map[string]any{}}, map[string]any{"name": "config", "configMap": map[string]any{"name": "keystone-1f2e3d", "defaultMode": 420}}},
			"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "serviceAccountName": "keystone", "terminationGracePeriodSeconds": 30,
		},
	}
}

func deployment(name string) map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(name),
		"spec":   map[string]any{"replicas": 3, "selector": map[string]any{"matchLabels": labels()}, "template": podTemplate(), "progressDeadlineSeconds": 600, "revisionHistoryLimit": 10, "strategy": map[string]any{"type": "RollingUpdate"}},
		"status": map[string]any{"observedGeneration": 4, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3, "conditions": []any{condition("Available", "True", 0), condition("Progressing", "True", 0)}},
	}
}

func job(name string) map[string]any {
	return map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": meta(name),
		"spec":   map[string]any{"backoffLimit": 6, "completions": 1, "parallelism": 1, "template": podTemplate()},
		"status": map[string]any{"succeeded": 1, "startTime": "2025-10-01T12:00:00Z", "completionTime": "2025-10-01T12:00:05Z", "conditions": []any{condition("SuccessCriteriaMet", "True", 0), condition("Complete", "True", 0)}},
	}
}

func service(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": meta(name),
		"spec":   map[string]any{"clusterIP": "10.96.0.10", "ports": []any{map[string]any{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}}, "selector": labels(), "type": "ClusterIP"},
		"status": map[string]any{"loadBalancer": map[string]any{}},
	}
}

func configMap(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(name), "immutable": true,
		"data": map[string]any{"keystone.conf": strings.Repeat("[section]\noption = a value of some length\n", 30)},
	}
}
