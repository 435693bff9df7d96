package emitted

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// pods are all pod specs in an object, however deep they lie.
func pods(v any) []corev1.PodSpec {
	var out []corev1.PodSpec
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["containers"].([]any); ok {
			data, err := json.Marshal(v)
			p := corev1.PodSpec{}
			if err == nil && json.Unmarshal(data, &p) == nil {
				return []corev1.PodSpec{p}
			}
		}
		for _, member := range v {
			out = append(out, pods(member)...)
		}
	case []any:
		for _, item := range v {
			out = append(out, pods(item)...)
		}
	}
	return out
}

// A rule is one control of the restricted Pod Security Standard, those of the baseline included
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/), or one of ours.
type rule struct {
	name string
	// pod and container tell whether the control is broken. Nil: there is nothing to look at.
	pod       func(corev1.PodSpec) bool
	container func(corev1.PodSpec, corev1.Container) bool
}

var rules = []rule{
	{name: "host namespaces", pod: func(p corev1.PodSpec) bool { return p.HostNetwork || p.HostPID || p.HostIPC }},
	{name: "host processes", pod: func(p corev1.PodSpec) bool {
		return p.SecurityContext != nil && p.SecurityContext.WindowsOptions != nil
	}, container: func(_ corev1.PodSpec, c corev1.Container) bool { return security(c).WindowsOptions != nil }},
	{name: "host ports", container: func(_ corev1.PodSpec, c corev1.Container) bool {
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				return true
			}
		}
		return false
	}},
	{name: "privileged containers", container: func(_ corev1.PodSpec, c corev1.Container) bool { return ptr.Deref(security(c).Privileged, false) }},
	{name: "SELinux", pod: func(p corev1.PodSpec) bool {
		return p.SecurityContext != nil && p.SecurityContext.SELinuxOptions != nil
	},
		container: func(_ corev1.PodSpec, c corev1.Container) bool { return security(c).SELinuxOptions != nil }},
	{name: "AppArmor", container: func(_ corev1.PodSpec, c corev1.Container) bool { return security(c).AppArmorProfile != nil }},
	{name: "proc mount", container: func(_ corev1.PodSpec, c corev1.Container) bool { return security(c).ProcMount != nil }},
	{name: "sysctls", pod: func(p corev1.PodSpec) bool { return p.SecurityContext != nil && len(p.SecurityContext.Sysctls) > 0 }},
	{name: "volume types", pod: func(p corev1.PodSpec) bool {
		for _, v := range p.Volumes {
			if v.ConfigMap == nil && v.Secret == nil && v.EmptyDir == nil && v.Projected == nil && v.PersistentVolumeClaim == nil && v.DownwardAPI == nil {
				return true
			}
		}
		return false
	}},
	{name: "privilege escalation", container: func(_ corev1.PodSpec, c corev1.Container) bool {
		return ptr.Deref(security(c).AllowPrivilegeEscalation, true)
	}},
	{name: "running as non-root", container: func(p corev1.PodSpec, c corev1.Container) bool {
		return !ptr.Deref(security(c).RunAsNonRoot, p.SecurityContext != nil && ptr.Deref(p.SecurityContext.RunAsNonRoot, false))
	}},
	{name: "running as non-root user", pod: func(p corev1.PodSpec) bool {
		return p.SecurityContext != nil && ptr.Deref(p.SecurityContext.RunAsUser, 1) == 0
	}, container: func(_ corev1.PodSpec, c corev1.Container) bool { return ptr.Deref(security(c).RunAsUser, 1) == 0 }},
	{name: "seccomp", container: func(p corev1.PodSpec, c corev1.Container) bool {
		profile := security(c).SeccompProfile
		if profile == nil && p.SecurityContext != nil {
			profile = p.SecurityContext.SeccompProfile
		}
		return profile == nil || profile.Type != corev1.SeccompProfileTypeRuntimeDefault && profile.Type != corev1.SeccompProfileTypeLocalhost
	}},
	{name: "capabilities", container: func(_ corev1.PodSpec, c corev1.Container) bool {
		caps := security(c).Capabilities
		return caps == nil || len(caps.Add) > 0 || len(caps.Drop) != 1 || caps.Drop[0] != "ALL"
	}},

	// Ours.
	{name: "read-only root", container: func(_ corev1.PodSpec, c corev1.Container) bool {
		return !ptr.Deref(security(c).ReadOnlyRootFilesystem, false)
	}},
	{name: "service account token", pod: func(p corev1.PodSpec) bool {
		return ptr.Deref(p.AutomountServiceAccountToken, true) && p.ServiceAccountName == ""
	}},
	{name: "service links", pod: func(p corev1.PodSpec) bool { return ptr.Deref(p.EnableServiceLinks, true) }},
	{name: "latest image", container: func(_ corev1.PodSpec, c corev1.Container) bool {
		return strings.HasSuffix(c.Image, ":latest") || !strings.Contains(c.Image[strings.LastIndex(c.Image, "/")+1:], ":") && !strings.Contains(c.Image, "@")
	}},
	{name: "requests and limits of memory", pod: func(p corev1.PodSpec) bool {
		r := p.Containers[0].Resources
		return p.RestartPolicy == "" && (r.Requests.Memory().IsZero() || r.Limits.Memory().IsZero()) && r.Requests.Cpu().IsZero()
	}},
}

// security is a container's security context, never nil.
func security(c corev1.Container) corev1.SecurityContext {
	return ptr.Deref(c.SecurityContext, corev1.SecurityContext{})
}

// broken are the names of the rules that a pod breaks.
func broken(p corev1.PodSpec) []string {
	var out []string
	for _, r := range rules {
		bad := r.pod != nil && r.pod(p)
		for _, c := range append(p.InitContainers, p.Containers...) {
			bad = bad || r.container != nil && r.container(p, c)
		}
		if bad {
			out = append(out, r.name)
		}
	}
	return out
}

// TestPods: every pod of ours passes.
func TestPods(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			found := 0
			for _, o := range c.Objects {
				for _, p := range pods(o.Manifest.AsMap()) {
					found++
					for _, name := range broken(p) {
						t.Errorf("%s %s breaks: %s", o.Kind, o.Name, name)
					}
				}
			}
			// Companion, memcached, schema, bootstrap, API, trust flush.
			if found < 6 {
				t.Errorf("only %d pods", found)
			}
		})
	}
}

// TestRules: each rule finds what breaks it.
func TestRules(t *testing.T) {
	good := func() corev1.PodSpec {
		for _, o := range cases(t)[0].Objects {
			if p := pods(o.Manifest.AsMap()); o.Kind == "Deployment" && len(p) == 1 {
				return p[0]
			}
		}
		t.Fatal("there is no Deployment")
		return corev1.PodSpec{}
	}()
	first := func(f func(*corev1.SecurityContext)) func(*corev1.PodSpec) {
		return func(p *corev1.PodSpec) { f(p.Containers[0].SecurityContext) }
	}
	for name, breaking := range map[string]func(*corev1.PodSpec){
		"host namespaces":       func(p *corev1.PodSpec) { p.HostNetwork = true },
		"host processes":        first(func(s *corev1.SecurityContext) { s.WindowsOptions = &corev1.WindowsSecurityContextOptions{} }),
		"host ports":            func(p *corev1.PodSpec) { p.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} },
		"privileged containers": first(func(s *corev1.SecurityContext) { s.Privileged = new(true) }),
		"SELinux":               first(func(s *corev1.SecurityContext) { s.SELinuxOptions = &corev1.SELinuxOptions{} }),
		"AppArmor":              first(func(s *corev1.SecurityContext) { s.AppArmorProfile = &corev1.AppArmorProfile{} }),
		"proc mount":            first(func(s *corev1.SecurityContext) { s.ProcMount = ptr.To(corev1.UnmaskedProcMount) }),
		"sysctls":               func(p *corev1.PodSpec) { p.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "kernel.msgmax"}} },
		"volume types": func(p *corev1.PodSpec) {
			p.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}
		},
		"privilege escalation":          first(func(s *corev1.SecurityContext) { s.AllowPrivilegeEscalation = nil }),
		"running as non-root":           func(p *corev1.PodSpec) { p.SecurityContext.RunAsNonRoot = nil },
		"running as non-root user":      first(func(s *corev1.SecurityContext) { s.RunAsUser = ptr.To[int64](0) }),
		"seccomp":                       func(p *corev1.PodSpec) { p.SecurityContext.SeccompProfile.Type = corev1.SeccompProfileTypeUnconfined },
		"capabilities":                  first(func(s *corev1.SecurityContext) { s.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"} }),
		"read-only root":                first(func(s *corev1.SecurityContext) { s.ReadOnlyRootFilesystem = nil }),
		"service account token":         func(p *corev1.PodSpec) { p.AutomountServiceAccountToken, p.ServiceAccountName = nil, "" },
		"service links":                 func(p *corev1.PodSpec) { p.EnableServiceLinks = nil },
		"latest image":                  func(p *corev1.PodSpec) { p.Containers[0].Image = "registry:5000/keystone" },
		"requests and limits of memory": func(p *corev1.PodSpec) { p.Containers[0].Resources = corev1.ResourceRequirements{} },
	} {
		t.Run(name, func(t *testing.T) {
			p := *good.DeepCopy()
			if got := broken(p); len(got) > 0 {
				t.Fatalf("a good pod breaks %v", got)
			}
			breaking(&p)
			if got := broken(p); len(got) != 1 || got[0] != name {
				t.Errorf("found %v, want %s", got, name)
			}
		})
	}
	if tested := 19; len(rules) != tested {
		t.Errorf("%d rules, of which %d are tested", len(rules), tested)
	}
}
