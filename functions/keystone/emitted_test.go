package keystone

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// TestServiceAndProbesUseContainerPorts verifies that the Service and all probes with named ports use ports that a container of the pod
// listens on.
func TestServiceAndProbesUseContainerPorts(t *testing.T) {
	for _, file := range []string{"small", "federation"} {
		m := derived(t, xr(t, file))
		stages, err := service.API[*model](nil).Build(m)
		if err != nil {
			t.Fatal(err)
		}
		ports := map[string]int32{}
		var containers []corev1.Container
		var service *corev1.Service
		for _, r := range stages[0] {
			switch o := r.Object.(type) {
			case *appsv1.Deployment:
				containers = o.Spec.Template.Spec.Containers
			case *corev1.Service:
				service = o
			}
		}
		for _, c := range containers {
			for _, p := range c.Ports {
				ports[p.Name] = p.ContainerPort
			}
		}
		if p := service.Spec.Ports; len(p) != 1 || p[0].Port != 5000 || ports[p[0].TargetPort.StrVal] != 5000 || p[0].Name != p[0].TargetPort.StrVal {
			t.Errorf("%s: the Service leads by %v to pods with %v", file, p, ports)
		}
		for _, c := range containers {
			for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				if probe != nil && probe.HTTPGet.Port.StrVal != "" && ports[probe.HTTPGet.Port.StrVal] == 0 {
					t.Errorf("%s: the probe of %s uses port %s, want one of %v", file, c.Name, probe.HTTPGet.Port.StrVal, ports)
				}
			}
		}
	}
}

// TestPodsMountKeysOfRepositories verifies that the object, the Secret and the resource of a repository have the same name, and that pods
// mount the written keys.
func TestPodsMountKeysOfRepositories(t *testing.T) {
	m := derived(t, xr(t, "small"))
	stages, err := keys(m)
	if err != nil {
		t.Fatal(err)
	}
	mounted := map[string]bool{}
	for _, v := range m.APIPod().Volumes {
		if v.Secret != nil {
			mounted[v.Secret.SecretName] = true
		}
	}
	got := map[string]string{}
	for _, r := range stages[0] {
		o := r.Object.(*openstackv1.KeyRepository)
		got[o.Name] = o.Spec.Type
		if o.Name != m.Sub(r.Name) || string(o.Spec.SecretName) != o.Name || !r.Retain || !mounted[o.Name] {
			t.Errorf("%s is %s and writes Secret %s, kept: %t; pods mount %v", r.Name, o.Name, o.Spec.SecretName, r.Retain, mounted)
		}
		if (o.Spec.Migrate != nil) != (o.Spec.Type == openstackv1.KeyTypeCredential) {
			t.Errorf("%s: stored data is re-encrypted with %v", o.Name, o.Spec.Migrate)
		}
	}
	want := map[string]string{"keystone-fernet-keys": openstackv1.KeyTypeFernet, "keystone-credential-keys": openstackv1.KeyTypeCredential}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBootstrapJobHasNameAndLabels verifies the name and the labels of the Job, which network policies and alerts select.
func TestBootstrapJobHasNameAndLabels(t *testing.T) {
	m := derived(t, xr(t, "small"))
	stages, err := bootstrap(m)
	if err != nil {
		t.Fatal(err)
	}
	r := stages[0][0]
	job := r.Object.(*batchv1.Job)
	suffix, ok := strings.CutPrefix(job.Name, "keystone-bootstrap-")
	if !ok || r.Name != "bootstrap-"+suffix || r.Revisions != "bootstrap" || *job.Spec.BackoffLimit != 6 {
		t.Errorf("resource %s (%s) is Job %s, tried %d times", r.Name, r.Revisions, job.Name, *job.Spec.BackoffLimit)
	}
	if got := job.Spec.Template.Labels["app.kubernetes.io/component"]; got != "bootstrap" {
		t.Errorf("its pods are of component %q", got)
	}
	c := job.Spec.Template.Spec.Containers[0]
	if command := slices.Concat(c.Command, c.Args); len(command) < 2 || command[0] != "keystone-manage" || command[1] != "bootstrap" {
		t.Errorf("it runs %v", command)
	}
}

// TestTemplatesUseOnlyTheirSources verifies that templates of a SecretAggregate insert only names of its sources.
func TestTemplatesUseOnlyTheirSources(t *testing.T) {
	inserted := regexp.MustCompile(`\.([a-zA-Z_][a-zA-Z0-9_]*)`)
	for _, file := range []string{"small", "federation", "federation-tokens", "directories"} {
		count := 0
		for name, o := range desired(t, ready(t, xr(t, file))) {
			if o["kind"] != "SecretAggregate" {
				continue
			}
			count++
			sources, used := map[string]bool{}, map[string]bool{}
			list, _ := at(o, "spec", "sources").([]any)
			for _, s := range list {
				n, _ := at(s, "name").(string)
				sources[n] = true
			}
			templates, _ := at(o, "spec", "template").(map[string]any)
			for _, text := range templates {
				for _, action := range regexp.MustCompile(`\{\{[^}]*\}\}`).FindAllString(text.(string), -1) {
					for _, m := range inserted.FindAllStringSubmatch(action, -1) {
						used[m[1]] = true
					}
				}
			}
			for source := range used {
				if !sources[source] {
					t.Errorf("%s: %s inserts %s, and its sources are %v", file, name, source, sources)
				}
			}
			if len(used) == 0 {
				t.Errorf("%s: %s inserts nothing", file, name)
			}
		}
		if count == 0 {
			t.Errorf("%s has no SecretAggregate", file)
		}
	}
	m := derived(t, xr(t, "federation"))
	client := m.federationClient().(*c5c3v1.SecretAggregate)
	if diff := cmp.Diff(map[string]c5c3v1.SecretTemplate{"client-secret": "{{ ." + c5c3v1.SecretTemplate(client.Spec.Sources[0].Name) + " }}"}, client.Spec.Template); diff != "" {
		t.Errorf("the client's secret (-want +got):\n%s", diff)
	}
}

// TestScopesDefaultToUserIdentity verifies the default scope, which requests the user's identity.
func TestScopesDefaultToUserIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		scopes []any
		want   string
	}{
		"None":   {nil, `OIDCScope "openid email profile"`},
		"Claims": {[]any{"openid", "groups"}, `OIDCScope "openid groups"`},
	} {
		t.Run(name, func(t *testing.T) {
			conf := derived(t, xr(t, "federation", set(tc.scopes, "federation", "scopes"))).Files.Data[httpdConf]
			if !strings.Contains(conf, tc.want+"\n") {
				t.Errorf("no line %s in\n%s", tc.want, conf)
			}
		})
	}
}

// TestErrorOfOverrideContainsField verifies that the error for an unknown option or rule names the field of the override.
func TestErrorOfOverrideContainsField(t *testing.T) {
	for field, change := range map[string]func(map[string]any){
		"spec.config.token.nothing": set("a", "config", "token", "nothing"),
		"spec.policy":               set("@", "policy", "identity:none"),
	} {
		_, err := derive(input(t, xr(t, "small", change), nil))
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("error %v, want one about %s", err, field)
		}
	}
}
