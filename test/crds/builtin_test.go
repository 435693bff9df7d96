package crds_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/test/crds"
)

const (
	container = "{name: a, image: i}"
	workload  = "spec: {template: {spec: %s}}"
)

// TestBuiltin violates each check in a Kubernetes object, and expects exactly its error.
func TestBuiltin(t *testing.T) {
	cases := map[string]struct{ sample, patch, want string }{
		"UnknownField":    {"Deployment/keystone", "spec: {replica: 1}", "spec.replica: Forbidden: unknown field"},
		"UnknownInList":   {"Deployment/keystone", pod("{containers: [{name: a, image: i, comand: [x]}], initContainers: null, volumes: null}"), "spec.template.spec.containers[0].comand: Forbidden: unknown field"},
		"CaseOfField":     {"Deployment/keystone", "spec: {minreadyseconds: 1}", "spec.minreadyseconds: Forbidden: unknown field"},
		"WrongType":       {"Deployment/keystone", `spec: {replicas: "1"}`, `spec.replicas: Invalid value: "string": must be of type int32`},
		"Quantity":        {"PersistentVolumeClaim/p", "spec: {resources: {requests: {storage: 1 GB}}}", "quantities must match the regular expression"},
		"Name":            {"ConfigMap/c", "metadata: {name: a_b}", "metadata.name: Invalid value"},
		"NoName":          {"ConfigMap/c", "metadata: {name: null}", "metadata.name: Required value"},
		"ServiceName":     {"Service/keystone", "metadata: {name: 1st}", "metadata.name: Invalid value"},
		"CronJobName":     {"CronJob/purge", "metadata: {name: " + strings.Repeat("a", 53) + "}", "must be no more than 52"},
		"StatefulSetName": {"StatefulSet/ovn-nb", "metadata: {name: " + strings.Repeat("a", 53) + "}", "must be no more than 52"},
		"NamespaceOfRole": {"Namespace/node", "metadata: {namespace: x}", "metadata.namespace: Forbidden: not allowed on this type"},
		"Label":           {"Deployment/keystone", "metadata: {labels: {app: a b}}", "metadata.labels: Invalid value"},
		"PodLabel":        {"Job/db-sync", "spec: {template: {metadata: {labels: {a: b c}}}}", "spec.template.metadata.labels: Invalid value"},
		"Status":          {"Deployment/keystone", "status: {}", "status: Forbidden: only controllers write it"},
		"ManagedFields":   {"Deployment/keystone", "metadata: {creationTimestamp: null, uid: u}", "metadata.uid: Forbidden: only the API server writes it"},

		"NoContainer":        {"Job/db-sync", pod("{containers: []}"), "spec.template.spec.containers: Required value: a pod has a container"},
		"NoImage":            {"Job/db-sync", pod("{containers: [{name: a}]}"), "spec.template.spec.containers[0].image: Required value"},
		"ContainerName":      {"Job/db-sync", pod("{containers: [{name: A, image: i}]}"), "spec.template.spec.containers[0].name: Invalid value"},
		"ContainerTwice":     {"Job/db-sync", pod("{initContainers: [" + container + "], containers: [" + container + "]}"), `spec.template.spec.containers[0].name: Duplicate value: "a"`},
		"VolumeWithoutKind":  {"Job/db-sync", pod("{volumes: [{name: v}]}"), `spec.template.spec.volumes[0]: Invalid value: "v": a volume has one source and a unique name`},
		"VolumeTwice":        {"Job/db-sync", pod("{volumes: [{name: v, emptyDir: {}}, {name: v, emptyDir: {}}]}"), `spec.template.spec.volumes[1].name: Duplicate value: "v"`},
		"MountWithoutVolume": {"Deployment/keystone", pod("{volumes: [{name: tmp, emptyDir: {}}]}"), `spec.template.spec.containers[0].volumeMounts[0].name: Not found: "config"`},
		"MountTwice":         {"StatefulSet/ovn-nb", pod("{containers: [{name: a, image: i, volumeMounts: [{name: data, mountPath: /a}, {name: data, mountPath: /a}]}]}"), `volumeMounts[1].mountPath: Duplicate value: "/a"`},
		"PortName":           {"Job/db-sync", pod("{containers: [{name: a, image: i, ports: [{containerPort: 1, name: longer-than-fifteen}]}]}"), "ports[0].name: Invalid value"},
		"PortNumber":         {"Job/db-sync", pod("{containers: [{name: a, image: i, ports: [{containerPort: 0}]}]}"), "ports[0].containerPort: Invalid value: 0"},
		"PortTwice":          {"Job/db-sync", pod("{containers: [{name: a, image: i, ports: [{containerPort: 1}, {containerPort: 1, protocol: TCP}]}]}"), "ports[1]: Duplicate value"},
		"Protocol":           {"Job/db-sync", pod("{containers: [{name: a, image: i, ports: [{containerPort: 1, protocol: tcp}]}]}"), `protocol: Unsupported value: "tcp"`},
		"EnvName":            {"Job/db-sync", pod("{containers: [{name: a, image: i, env: [{name: 1 A}]}]}"), "env[0].name: Invalid value"},
		"EnvTwice":           {"Job/db-sync", pod("{containers: [{name: a, image: i, env: [{name: A}, {name: A}]}]}"), `env[1].name: Duplicate value: "A"`},
		"EnvTwoSources":      {"Job/db-sync", pod("{containers: [{name: a, image: i, env: [{name: A, value: v, valueFrom: {fieldRef: {fieldPath: p}}}]}]}"), `env[0].valueFrom: Invalid value: "A": an environment variable has`},
		"EnvFromNothing":     {"Job/db-sync", pod("{containers: [{name: a, image: i, envFrom: [{prefix: P_}]}]}"), "envFrom[0]: Invalid value"},
		"ProbePort":          {"Job/db-sync", pod("{containers: [{name: a, image: i, livenessProbe: {tcpSocket: {port: http}}}]}"), `livenessProbe.tcpSocket.port: Not found: "http"`},
		"ProbeHandlers":      {"Job/db-sync", pod("{containers: [{name: a, image: i, readinessProbe: {exec: {}, tcpSocket: {port: 1}}}]}"), "readinessProbe: Invalid value: must have one handler"},
		"ProbeThreshold":     {"Job/db-sync", pod("{containers: [{name: a, image: i, startupProbe: {successThreshold: 2, exec: {}}}]}"), "startupProbe.successThreshold: Invalid value: 2: must be 1"},
		"PreStop":            {"Job/db-sync", pod("{containers: [{name: a, image: i, lifecycle: {preStop: {}}}]}"), "lifecycle.preStop: Invalid value: must have one handler"},
		"Resources":          {"Job/db-sync", pod("{containers: [{name: a, image: i, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}"), `resources.requests[cpu]: Invalid value: "2": requests stay within limits`},
		"JobRestart":         {"Job/db-sync", pod("{restartPolicy: Always}"), `spec.template.spec.restartPolicy: Unsupported value: "Always"`},
		"JobNoRestart":       {"Job/db-sync", pod("{restartPolicy: null}"), `spec.template.spec.restartPolicy: Unsupported value: ""`},
		"DeploymentRestart":  {"Deployment/keystone", pod("{restartPolicy: Never}"), `spec.template.spec.restartPolicy: Unsupported value: "Never"`},

		"NoSelector":     {"Deployment/keystone", "spec: {selector: null}", "spec.selector: Required value"},
		"Selector":       {"StatefulSet/ovn-nb", "spec: {selector: {matchLabels: {app: other}}}", "spec.template.metadata.labels: Invalid value"},
		"Replicas":       {"Deployment/keystone", "spec: {replicas: -1}", "spec.replicas: Invalid value: -1: must not be negative"},
		"Stuck":          {"Deployment/keystone", "spec: {strategy: {rollingUpdate: {maxSurge: 0%}}}", "maxUnavailable: Invalid value"},
		"Recreate":       {"Deployment/keystone", "spec: {strategy: {type: Recreate}}", "spec.strategy.rollingUpdate: Forbidden"},
		"Strategy":       {"Deployment/keystone", "spec: {strategy: {type: Big}}", `spec.strategy.type: Unsupported value: "Big"`},
		"ClaimSize":      {"StatefulSet/ovn-nb", "spec: {volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]}", "spec.volumeClaimTemplates[0].spec.resources.requests[storage]: Required value"},
		"ClaimAccess":    {"PersistentVolumeClaim/p", "spec: {accessModes: []}", "spec.accessModes: Required value"},
		"Schedule":       {"CronJob/purge", "spec: {schedule: 0 3 * *}", "spec.schedule: Invalid value"},
		"ScheduleZone":   {"CronJob/purge", "spec: {schedule: TZ=UTC 0 3 * * *}", "the time zone belongs into timeZone"},
		"TimeZone":       {"CronJob/purge", "spec: {timeZone: Moon/North}", "spec.timeZone: Invalid value"},
		"CronJobRestart": {"CronJob/purge", "spec: {jobTemplate: {spec: {template: {spec: {restartPolicy: Always}}}}}", "spec.jobTemplate.spec.template.spec.restartPolicy: Unsupported value"},

		"Key":         {"ConfigMap/c", "data: {a/b: x}", "data[a/b]: Invalid value"},
		"KeyTwice":    {"ConfigMap/c", "binaryData: {keystone.conf: AAAA}", "binaryData[keystone.conf]: Duplicate value"},
		"Size":        {"ConfigMap/c", "data: {a: " + strings.Repeat("a", 1<<20) + "}", "data: Too long"},
		"SecretKeys":  {"Secret/s", "type: kubernetes.io/tls", "data[tls.crt]: Required value: a Secret has the keys of its type"},
		"SecretBytes": {"Secret/s", "data: {a: not base64}", "illegal base64"},

		"ServiceNoPort":    {"Service/keystone", "spec: {ports: []}", "spec.ports: Required value"},
		"ServicePortName":  {"Service/keystone", "spec: {ports: [{port: 1}, {port: 2, name: b}]}", "spec.ports[0].name: Invalid value"},
		"ServicePortTwice": {"Service/keystone", "spec: {ports: [{port: 1, name: a}, {port: 1, name: b}]}", "spec.ports[1]: Duplicate value"},
		"ServiceTarget":    {"Service/keystone", "spec: {ports: [{port: 1, targetPort: Http_}]}", "spec.ports[0].targetPort: Invalid value"},
		"PolicyPeer":       {"NetworkPolicy/keystone", "spec: {ingress: [{from: [{}]}]}", "spec.ingress[0].from[0]: Required value"},
		"PolicyBlock":      {"NetworkPolicy/keystone", "spec: {egress: [{to: [{ipBlock: {cidr: 192.0.2.0}}]}]}", "spec.egress[0].to[0].ipBlock.cidr: Invalid value"},
		"PolicyType":       {"NetworkPolicy/keystone", "spec: {policyTypes: [In]}", `spec.policyTypes[0]: Unsupported value: "In"`},
		"PolicyPort":       {"NetworkPolicy/keystone", "spec: {ingress: [{ports: [{port: 5, endPort: 4}]}]}", "spec.ingress[0].ports[0].endPort: Invalid value: 4"},
		"PolicySelector":   {"NetworkPolicy/keystone", "spec: {podSelector: {matchLabels: {a b: c}}}", "spec.podSelector.matchLabels: Invalid value"},
		"BudgetTwoLimits":  {"PodDisruptionBudget/keystone", "spec: {minAvailable: 1}", "spec: Invalid value: must have minAvailable or maxUnavailable"},
		"BudgetPercent":    {"PodDisruptionBudget/keystone", "spec: {maxUnavailable: half}", `spec.maxUnavailable: Invalid value: "half"`},
		"Autoscaler":       {"HorizontalPodAutoscaler/h", "spec: {maxReplicas: 1}", "spec.maxReplicas: Invalid value: 1: an autoscaler has"},

		"NoVerb":      {"Role/c5c3:companion", "rules: [{apiGroups: [a], resources: [b]}]", "rules[0].verbs: Required value"},
		"NoResource":  {"Role/c5c3:companion", "rules: [{apiGroups: [a], verbs: [get]}]", "rules[0].resources: Required value"},
		"RoleURL":     {"Role/c5c3:companion", "rules: [{nonResourceURLs: [/a], verbs: [get]}]", "rules[0].nonResourceURLs: Forbidden"},
		"NoRole":      {"RoleBinding/companion", "roleRef: {name: null}", "roleRef.name: Required value"},
		"RoleGroup":   {"RoleBinding/companion", "roleRef: {apiGroup: null}", "roleRef.apiGroup: Unsupported value"},
		"Subject":     {"RoleBinding/companion", "subjects: [{kind: ServiceAccount, name: a}]", "subjects[0].namespace: Required value"},
		"SubjectKind": {"RoleBinding/companion", "subjects: [{kind: Robot, name: a}]", "subjects[0].kind: Unsupported value"},

		"CRD": {"CustomResourceDefinition/things.test.example.org", "spec: {group: other.example.org}", `must be spec.names.plural+"."+spec.group`},
	}
	set, all := crds.Load(t), samples(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sample := all["kubernetes/"+tc.sample]
			if sample == nil {
				t.Fatalf("there is no sample %s in %v", tc.sample, slices.Sorted(maps.Keys(all)))
			}
			patched := merge(sample, parse(t, tc.patch))
			got := sentences(set.Validate(patched))
			if len(got) != 1 || !strings.Contains(got[0], tc.want) {
				t.Errorf("Validate(...): want one error with\n%s\ngot %d:\n%s", tc.want, len(got), strings.Join(got, "\n"))
			}
		})
	}
}

// pod returns a patch of a workload's pod.
func pod(spec string) string { return strings.Replace(workload, "%s", spec, 1) }
