package composed

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	tempestv1 "github.com/c5c3/crossplane-cobaltcore/apis/tempest/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kindregistry"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// facts are what the tables of testdata hold, by what they are about and their names: the options of a file, or the processes of an object.
type facts map[string]map[string]string

func (f facts) set(about, name, value string) {
	if f[about] == nil {
		f[about] = map[string]string{}
	}
	f[about][name] = strings.ReplaceAll(value, "\n", `\n`)
}

var (
	// revision matches the hash in the name of an object or a file that changes with its content.
	revision = regexp.MustCompile(`-[0-9a-f]{10}\b`)
	// instance matches the namespace of an instance, which has a hash of the names of its claim.
	instance = regexp.MustCompile(`\btenant-a-[a-z0-9-]+-[0-9a-f]{20}\b`)
	// public matches the domain of a claim.
	public = regexp.MustCompile(`\b[a-z0-9-]+\.tenant-a\.example\.com\b`)
)

// general removes from a text what differs between claims.
func general(text string) string {
	text = instance.ReplaceAllString(text, "NAMESPACE")
	return revision.ReplaceAllString(public.ReplaceAllString(text, "DOMAIN"), "")
}

// foreign are files without options: programs, policies, and settings that other tests run.
var foreign = regexp.MustCompile(`(\.py|\.sh|\.json|\.yaml|\.types|/sudo|ca\.crt|paste\.ini|ceph\.conf)$`)

// optionFacts returns the options of all configuration files of a cloud.
func optionFacts(t *testing.T, c *cloud) facts {
	t.Helper()
	out := facts{}
	for _, o := range c.objects {
		if o.Kind != "ConfigMap" || !strings.Contains(o.Name, "-config") {
			continue
		}
		data, _ := o.at("data").(map[string]any)
		for file, text := range data {
			about := general(o.Name)
			about = strings.TrimSuffix(about, "-config") + "/" + file
			if foreign.MatchString(about) {
				continue
			}
			parsed, err := oslo.Parse(fmt.Sprint(text))
			if err != nil {
				t.Fatalf("%s: %s: %v", o, file, err)
			}
			for group, options := range parsed {
				for option, values := range options {
					out.set(about, "["+group+"] "+option, general(strings.Join(values, " and ")))
				}
			}
		}
	}
	return out
}

// podOf returns the pod template of an object, and the object that the template belongs to.
func podOf(t *testing.T, o object) (pod corev1.PodSpec, ok bool) {
	t.Helper()
	path := []string{"spec", "template", "spec"}
	if o.Kind == "CronJob" {
		path = append([]string{"spec", "jobTemplate"}, path...)
	}
	template := o.at(path...)
	if len(list(at(template, "containers"))) == 0 {
		return pod, false
	}
	data, err := json.Marshal(template)
	if err == nil {
		err = json.Unmarshal(data, &pod)
	}
	if err != nil {
		t.Fatalf("%s: %v", o, err)
	}
	return pod, true
}

// processFacts returns how the processes of a cloud run.
func processFacts(t *testing.T, c *cloud) facts {
	t.Helper()
	out := facts{}
	for _, o := range c.objects {
		pod, ok := podOf(t, o)
		if !ok {
			continue
		}
		about := o.Kind + "/" + general(o.Name)
		for _, name := range []string{
			"replicas", "minReadySeconds", "progressDeadlineSeconds", "podManagementPolicy", "strategy", "updateStrategy", "schedule",
			"concurrencyPolicy", "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit", "suspend", "timeZone",
			"backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "steps", "expand", "contract", "sync", "check", "version",
		} {
			for _, in := range [][]string{{"spec"}, {"spec", "jobTemplate", "spec"}} {
				if v := o.at(append(in, name)...); v != nil {
					out.set(about, name, written(t, v))
				}
			}
		}
		describe(t, out, about, pod)
	}
	return out
}

// describe adds the facts of a pod.
func describe(t *testing.T, out facts, about string, pod corev1.PodSpec) {
	t.Helper()
	if g := pod.TerminationGracePeriodSeconds; g != nil {
		out.set(about, "grace", fmt.Sprint(*g))
	}
	var rights []string
	for right, has := range map[string]bool{
		"hostNetwork": pod.HostNetwork, "hostPID": pod.HostPID, "hostIPC": pod.HostIPC,
		"token": pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken,
	} {
		if has {
			rights = append(rights, right)
		}
	}
	slices.Sort(rights)
	out.set(about, "rights", strings.Join(append(rights, pod.ServiceAccountName, pod.PriorityClassName), " "))
	out.set(about, "security", written(t, pod.SecurityContext))
	for kind, containers := range map[string][]corev1.Container{"": pod.Containers, "init": pod.InitContainers} {
		for _, c := range containers {
			in := strings.TrimSpace(kind+" "+c.Name) + " "
			out.set(about, in+"command", written(t, append(slices.Clone(c.Command), c.Args...)))
			out.set(about, in+"security", written(t, c.SecurityContext))
			out.set(about, in+"limits", written(t, c.Resources.Limits))
			out.set(about, in+"requests", written(t, c.Resources.Requests))
			for name, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
				if probe != nil {
					out.set(about, in+name, written(t, probe))
				}
			}
			if c.Lifecycle != nil {
				out.set(about, in+"lifecycle", written(t, c.Lifecycle))
			}
			for _, p := range c.Ports {
				out.set(about, in+"port "+p.Name, fmt.Sprint(p.ContainerPort))
			}
			for _, m := range c.VolumeMounts {
				out.set(about, in+"mount "+m.MountPath, source(t, pod, m))
			}
			for _, e := range c.Env {
				value := e.Value
				if e.ValueFrom != nil {
					value = written(t, e.ValueFrom)
				}
				out.set(about, in+"env "+e.Name, general(value))
			}
		}
	}
}

func written(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return general(string(data))
}

// source returns what a mount shows.
func source(t *testing.T, pod corev1.PodSpec, m corev1.VolumeMount) string {
	t.Helper()
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
	text := m.Name // A volume of a claim template.
	if i >= 0 {
		text = written(t, pod.Volumes[i].VolumeSource)
	}
	if m.SubPath != "" {
		text += " " + m.SubPath
	}
	if m.ReadOnly {
		text += " read-only"
	}
	if m.MountPropagation != nil {
		text += " " + string(*m.MountPropagation)
	}
	return text
}

// judged are kinds whose meaning other tests check: what claims are composed of (their own objects are in the tables), policies and
// references of Secrets (test/wiring), alerts (test/emitted), and rights (test/emitted, hack/chart).
var judged = regexp.MustCompile(`^(ConfigMap|NetworkPolicy|PrometheusRule|Role|RoleBinding|ClusterRoleBinding|ServiceAccount|ExternalSecret|PushSecret|Password|` +
	`SecretStore|Namespace|Deployment|StatefulSet|DaemonSet|Job|CronJob|RemoteConsumer|Service|HTTPRoute|BackendTLSPolicy|SecretAggregate|Usage` +
	compositeKinds() + `)$`)

// compositeKinds returns the kinds of composite resources that functions compose, except Tempest: nothing else judges its tests.
func compositeKinds() string {
	var out strings.Builder
	for _, k := range kindregistry.WithForm(kindregistry.Composed) {
		if k.GroupVersionKind != tempestv1.GroupVersionKind {
			out.WriteString("|" + k.Kind)
		}
	}
	return out.String()
}

// objectFacts returns the specs of all other objects.
func objectFacts(t *testing.T, c *cloud) facts {
	t.Helper()
	out := facts{}
	for _, o := range c.objects {
		if judged.MatchString(o.Kind) {
			continue
		}
		spec, _ := o.at("spec").(map[string]any)
		spec = maps.Clone(spec)
		delete(spec, "template")
		flatten(t, out, o.Kind+"/"+general(o.Name), "spec", spec)
	}
	return out
}

// flatten adds the fields of a value; a list is one field, unless its elements are objects.
func flatten(t *testing.T, out facts, about, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for key, e := range v {
			flatten(t, out, about, path+"."+key, e)
		}
	case []any:
		for i, e := range v {
			if _, ok := e.(map[string]any); !ok {
				out.set(about, path, written(t, v))
				return
			}
			flatten(t, out, about, fmt.Sprintf("%s[%d]", path, i), e)
		}
	default:
		out.set(about, path, general(fmt.Sprint(v)))
	}
}
