package wiring

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// TestPodRules checks that each rule finds its violation, and that a valid pod has no findings.
func TestPodRules(t *testing.T) {
	r, err := preview.Run(examples.Claim, examples.Platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	var c Cloud
	for _, o := range r.Objects {
		c.Objects = append(c.Objects, Object{Stage: o.Stage, Manifest: o.Manifest.AsMap()})
	}
	first := func(f func(*corev1.Container)) func(*pod) { return func(p *pod) { f(&p.spec.Containers[0]) } }
	secured := func(f func(*corev1.SecurityContext)) func(*pod) {
		return first(func(c *corev1.Container) { f(c.SecurityContext) })
	}
	for message, breaking := range map[string]func(*pod){
		"uses a namespace of its host":   func(p *pod) { p.spec.HostNetwork = true },
		"is a process of a Windows host": secured(func(s *corev1.SecurityContext) { s.WindowsOptions = &corev1.WindowsSecurityContextOptions{} }),
		"takes a port of its host":       first(func(c *corev1.Container) { c.Ports[0].HostPort = 80 }),
		"is privileged":                  secured(func(s *corev1.SecurityContext) { s.Privileged = new(true) }),
		"sets SELinux options":           secured(func(s *corev1.SecurityContext) { s.SELinuxOptions = &corev1.SELinuxOptions{} }),
		"sets an AppArmor profile":       secured(func(s *corev1.SecurityContext) { s.AppArmorProfile = &corev1.AppArmorProfile{} }),
		"sets a mount of /proc":          secured(func(s *corev1.SecurityContext) { s.ProcMount = ptr.To(corev1.UnmaskedProcMount) }),
		"sets sysctls":                   func(p *pod) { p.spec.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "kernel.msgmax"}} },
		"mounts a volume of a kind that the restricted standard does not allow": func(p *pod) {
			p.spec.Volumes[0].VolumeSource = corev1.VolumeSource{ISCSI: &corev1.ISCSIVolumeSource{}}
		},
		"mounts a share that its host mounts for it": func(p *pod) {
			p.spec.Volumes[0].VolumeSource = corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{}}
		},
		"mounts a path of its host": func(p *pod) {
			p.spec.Volumes[0].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}
		},
		"may gain privileges":            secured(func(s *corev1.SecurityContext) { s.AllowPrivilegeEscalation = nil }),
		"may run as root":                func(p *pod) { p.spec.SecurityContext.RunAsNonRoot = nil },
		"runs as root":                   func(p *pod) { p.spec.SecurityContext.RunAsUser = ptr.To[int64](0) },
		"is root":                        secured(func(s *corev1.SecurityContext) { s.RunAsUser = ptr.To[int64](0) }),
		"has a capability":               secured(func(s *corev1.SecurityContext) { s.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"} }),
		"has no seccomp profile":         func(p *pod) { p.spec.SecurityContext.SeccompProfile.Type = corev1.SeccompProfileTypeUnconfined },
		"does not drop all capabilities": secured(func(s *corev1.SecurityContext) { s.Capabilities.Drop = nil }),
		"writes to its root file system": secured(func(s *corev1.SecurityContext) { s.ReadOnlyRootFilesystem = nil }),
		"has a token of the API server, and no separate service account": func(p *pod) {
			p.spec.AutomountServiceAccountToken, p.spec.ServiceAccountName = nil, ""
		},
		"gets the addresses of all Services as environment variables": func(p *pod) { p.spec.EnableServiceLinks = nil },
		"runs an image of no fixed version":                           first(func(c *corev1.Container) { c.Image = "registry:5000/keystone" }),
		"does not request CPU":                                        first(func(c *corev1.Container) { delete(c.Resources.Requests, corev1.ResourceCPU) }),
		"does not request memory":                                     first(func(c *corev1.Container) { delete(c.Resources.Requests, corev1.ResourceMemory) }),
		"has no limit of memory":                                      first(func(c *corev1.Container) { c.Resources.Limits = nil }),
		"has no liveness probe":                                       first(func(c *corev1.Container) { c.LivenessProbe = nil }),
		"has ports and no readiness probe":                            first(func(c *corev1.Container) { c.ReadinessProbe = nil }),
		"has no startup probe, and no reason to have none":            first(func(c *corev1.Container) { c.StartupProbe = nil }),
		"has a probe at a port that no container of its pod has": first(func(c *corev1.Container) {
			c.StartupProbe.HTTPGet.Port.StrVal = "other"
		}),
		"has a probe without TLS at a port with TLS, or the other way":             first(func(c *corev1.Container) { c.StartupProbe.HTTPGet.Scheme = "" }),
		"stops before it is out of the Services, and has no reason to":             first(func(c *corev1.Container) { c.Lifecycle = nil }),
		"is killed before its requests are finished":                               func(p *pod) { p.spec.TerminationGracePeriodSeconds = ptr.To[int64](30) },
		"is not spread over nodes and zones":                                       func(p *pod) { p.spec.TopologySpreadConstraints = p.spec.TopologySpreadConstraints[:1] },
		"listens at a port that no file, argument or default of its program names": first(func(c *corev1.Container) { c.Ports[0].ContainerPort = 5002 }),
	} {
		t.Run(message, func(t *testing.T) {
			w := newInventory(c)
			i := slices.IndexFunc(w.pods, func(p *pod) bool { return p.String() == "Deployment keystone" })
			w.pods = w.pods[i : i+1]
			if w.checkPods(); len(w.findings) > 0 {
				t.Fatalf("a good pod is not: %q", w.findings)
			}
			breaking(w.pods[0])
			w.checkPods()
			if !slices.ContainsFunc(w.findings, func(f string) bool { return strings.Contains(f, " "+message+".") }) {
				t.Errorf("found %q", w.findings)
			}
		})
	}
	if broken := 34; len(podRules) != broken {
		t.Errorf("%d rules, of which %d are broken", len(podRules), broken)
	}
}

// TestPrivileges checks that a container may break a rule if its pod gives a reason, that other containers may not, and
// that no other rule may be broken.
func TestPrivileges(t *testing.T) {
	if privilegeAnnotation != workload.PrivilegeAnnotation {
		t.Errorf("reasons are looked for in %s, and given in %s", privilegeAnnotation, workload.PrivilegeAnnotation)
	}
	agent := func(annotation string) *pod {
		return &pod{privileges: privileges(annotation), spec: &corev1.PodSpec{
			HostNetwork: true, EnableServiceLinks: new(false), AutomountServiceAccountToken: new(false),
			Volumes: []corev1.Volume{{Name: "run", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/run"}}}},
			Containers: []corev1.Container{
				{Name: "agent", SecurityContext: &corev1.SecurityContext{RunAsUser: ptr.To[int64](0), Privileged: new(true)}},
				{Name: "other", VolumeMounts: []corev1.VolumeMount{{Name: "run", MountPath: "/run"}}},
			},
		}}
	}
	for name, tc := range map[string]struct{ annotation, finds, passes string }{
		"no reason":      {"", "uses a namespace of its host", ""},
		"empty reason":   {"agent: ", "container agent is privileged", ""},
		"reason":         {"agent: it makes devices", "container other mounts a path of its host", "container agent is privileged"},
		"of the pod":     {"agent: it makes devices", "container other mounts a path of its host", "uses a namespace of its host"},
		"both":           {"agent: it makes devices\nother: it calls agent", "container agent writes to its root file system", "mounts a path of its host"},
		"something else": {"agent: it makes devices", "container agent does not drop all capabilities", "is root"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newInventory(Cloud{})
			w.pods = []*pod{agent(tc.annotation)}
			w.checkPods()
			found := strings.Join(w.findings, "\n")
			if !strings.Contains(found, tc.finds) || tc.passes != "" && strings.Contains(found, tc.passes) {
				t.Errorf("found:\n%s\nwant %q and not %q", found, tc.finds, tc.passes)
			}
		})
	}
}
