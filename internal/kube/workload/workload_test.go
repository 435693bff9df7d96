package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

var api = Workload{Name: "keystone", Namespace: "cloud", App: "keystone", Instance: "keystone", Component: "api", Replicas: 2}

func pod() Pod {
	return Pod{UserID: 42, Containers: []corev1.Container{{Name: "main"}, {Name: "proxy"}}, InitContainers: []corev1.Container{{Name: "init"}}}
}

// TestSelector compares selectors with recorded ones, because they are immutable in a cluster. Workloads of one service do not select each
// other's pods.
func TestSelector(t *testing.T) {
	want := map[string]string{"app.kubernetes.io/name": "keystone", "app.kubernetes.io/instance": "keystone", "app.kubernetes.io/component": "api"}
	if diff := cmp.Diff(want, api.Selector()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	job := api.With("keystone-bootstrap", "bootstrap")
	if got := job.Labels()["app.kubernetes.io/component"]; got != "bootstrap" || job.Name != "keystone-bootstrap" || job.Namespace != "cloud" {
		t.Errorf("component %q of %s/%s", got, job.Namespace, job.Name)
	}
	if _, ok := (Workload{App: "a", Instance: "b"}).Selector()["app.kubernetes.io/component"]; ok {
		t.Error("an empty component is a label")
	}
	api.Labels()["a"] = "b"
	if len(api.Labels()) != 5 {
		t.Errorf("labels %v", api.Labels())
	}
	d := api.Deployment(pod())
	for _, selector := range []map[string]string{
		d.Spec.Selector.MatchLabels, api.Service().Spec.Selector, api.DisruptionBudget().Spec.Selector.MatchLabels, api.NetworkPolicy(nil, nil).Spec.PodSelector.MatchLabels,
	} {
		if diff := cmp.Diff(want, selector); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for k, v := range want {
		if d.Spec.Template.Labels[k] != v {
			t.Errorf("pods are labelled %v", d.Spec.Template.Labels)
		}
	}
}

// TestTemplate tests that the settings of a pod are kept, and that every container is restricted and has a writable directory.
func TestTemplate(t *testing.T) {
	w := api
	w.Resources = &common.Resources{Requests: &common.ResourceAmounts{Memory: new(resource.MustParse("1Gi"))}}
	w.PullSecrets = []common.ObjectName{"a"}
	w.Placement = common.Placement{
		NodeSelector: map[string]common.LabelValue{"b": "c"},
		Tolerations:  []common.Toleration{{Key: "d", Operator: "Exists", Effect: "NoSchedule", TolerationSeconds: ptr.To[int64](5)}},
	}
	p := pod()
	p.Volumes = []corev1.Volume{ConfigVolume("config", "map")}
	p.Containers[0].VolumeMounts = []corev1.VolumeMount{Mount("config", "/etc")}
	spec := w.Template(p).Spec
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		if !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation || c.VolumeMounts[0].MountPath != "/tmp" {
			t.Errorf("container %s: %v, %v", c.Name, c.SecurityContext, c.VolumeMounts)
		}
	}
	if s := spec.SecurityContext; *s.RunAsUser != 42 || *s.FSGroup != 42 || !*s.RunAsNonRoot {
		t.Errorf("security %v", s)
	}
	if !spec.Containers[1].Resources.Requests.Memory().IsZero() || spec.Containers[0].Resources.Requests.Memory().String() != "1Gi" {
		t.Errorf("resources are the main container's: %v, %v", spec.Containers[0].Resources, spec.Containers[1].Resources)
	}
	if len(spec.Volumes) != 2 || len(spec.Containers[0].VolumeMounts) != 2 || spec.ImagePullSecrets[0].Name != "a" || spec.NodeSelector["b"] != "c" {
		t.Errorf("pod %v", spec)
	}
	want := []corev1.Toleration{{Key: "d", Operator: "Exists", Effect: "NoSchedule", TolerationSeconds: ptr.To[int64](5)}}
	if diff := cmp.Diff(want, spec.Tolerations); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
	if len(p.Containers[0].VolumeMounts) != 1 || p.Containers[0].SecurityContext != nil {
		t.Errorf("the caller's container is changed: %v", p.Containers[0])
	}
	if *w.Template(p).Spec.AutomountServiceAccountToken {
		t.Error("a token is mounted without APIAccess")
	}
}

// TestSpread tests that permanent pods are spread over nodes and zones, and pods of Jobs are not.
func TestSpread(t *testing.T) {
	spread := func(p corev1.PodTemplateSpec) []string {
		var keys []string
		for _, c := range p.Spec.TopologySpreadConstraints {
			keys = append(keys, c.TopologyKey)
			if c.WhenUnsatisfiable != corev1.ScheduleAnyway {
				t.Errorf("a cluster with one zone would run one pod: %v", c)
			}
		}
		return keys
	}
	both := []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}
	for name, tc := range map[string]struct{ got, want []string }{
		"Deployment":  {spread(api.Deployment(pod()).Spec.Template), both},
		"StatefulSet": {spread(api.StatefulSet(pod()).Spec.Template), both},
		"DaemonSet":   {spread(api.DaemonSet(pod(), "OnDelete").Spec.Template), nil},
		"Job":         {spread(api.Job(pod(), 3).Spec.Template), nil},
		"CronJob":     {spread(api.CronJob(pod(), "* * * * *", false).Spec.JobTemplate.Spec.Template), nil},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNetworkPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		flow   Flow
		want   string
	}{
		"this namespace": {"No namespace is this one.", Flow{Ports: []int32{5000}}, "pods of all here; 5000"},
		"some pods":      {"Labels narrow it.", Flow{Pods: map[string]string{"a": "b"}, Ports: []int32{1, 2}}, "pods of a=b here; 1 2"},
		"namespaces":     {"Each of them, by the label that Kubernetes sets.", Flow{Namespaces: []string{"x", "y"}, Ports: []int32{1}}, "pods of all in x, pods of all in y; 1"},
		"blocks":         {"Addresses alone are no pods.", Flow{Blocks: []string{"10.0.0.0/24", "fd00::/8"}, Ports: []int32{1}}, "10.0.0.0/24, fd00::/8; 1"},
		"blocks, pods":   {"Addresses are added to pods.", Flow{Blocks: []string{"10.0.0.0/24"}, Pods: map[string]string{"a": "b"}, Ports: []int32{1}}, "10.0.0.0/24, pods of a=b here; 1"},
		"blocks, space":  {"And to namespaces.", Flow{Blocks: []string{"10.0.0.0/24"}, Namespaces: []string{"x"}, Ports: []int32{1}}, "10.0.0.0/24, pods of all in x; 1"},
		"UDP":            {"Ports of both protocols.", Flow{Ports: []int32{1}, UDP: []int32{6081}}, "pods of all here; 1 UDP/6081"},
		"anywhere":       {"No peers are all peers.", Flow{Anywhere: true, Ports: []int32{443}}, "all; 443"},
	} {
		t.Run(name, func(t *testing.T) {
			p := api.NetworkPolicy([]Flow{tc.flow}, []Flow{tc.flow})
			in, out := p.Spec.Ingress, p.Spec.Egress
			if len(in) != 1 || len(out) != 2 {
				t.Fatalf("%d rules in, %d out: DNS is always allowed", len(in), len(out))
			}
			if got := describe(in[0].From, in[0].Ports); got != tc.want {
				t.Errorf("%s\nin: %q, want %q", tc.reason, got, tc.want)
			}
			if got := describe(out[1].To, out[1].Ports); got != tc.want {
				t.Errorf("%s\nout: %q, want %q", tc.reason, got, tc.want)
			}
			if got := describe(out[0].To, out[0].Ports); got != "all; UDP/53 53" {
				t.Errorf("names: %q", got)
			}
		})
	}
	if p := api.NetworkPolicy(nil, nil); len(p.Spec.Ingress) > 0 || len(p.Spec.PolicyTypes) != 2 {
		t.Errorf("ingress without flows: %v", p.Spec)
	}
}

// describe formats a rule of a network policy.
func describe(sources []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) string {
	var who, where []string
	for _, p := range sources {
		if p.IPBlock != nil {
			who = append(who, p.IPBlock.CIDR)
			continue
		}
		pods := "all"
		for k, v := range p.PodSelector.MatchLabels {
			pods = k + "=" + v
		}
		at := "here"
		if p.NamespaceSelector != nil {
			at = "in " + p.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]
		}
		who = append(who, "pods of "+pods+" "+at)
	}
	if len(who) == 0 {
		who = []string{"all"}
	}
	for _, p := range ports {
		port := p.Port.String()
		if *p.Protocol != corev1.ProtocolTCP {
			port = string(*p.Protocol) + "/" + port
		}
		where = append(where, port)
	}
	return strings.Join(who, ", ") + "; " + strings.Join(where, " ")
}

// TestGracePeriodCoversDrainAndRequests tests that the grace period covers drain, running requests and a margin.
func TestGracePeriodCoversDrainAndRequests(t *testing.T) {
	c := corev1.Container{}
	Drain(&c)
	requests := time.Minute
	drain := c.Lifecycle.PreStop.Sleep.Seconds
	if grace := *Grace(requests); drain <= 0 || grace <= drain+int64(requests.Seconds()) {
		t.Errorf("grace of %d s, of which %d s drain and %s finish", grace, drain, requests)
	}
}

func TestRequirements(t *testing.T) {
	q := func(s string) *resource.Quantity { return new(resource.MustParse(s)) }
	got := Requirements(&common.Resources{
		Requests: &common.ResourceAmounts{CPU: q("1"), Memory: q("1Gi"), EphemeralStorage: q("2Gi")}, Limits: &common.ResourceAmounts{},
	})
	want := corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": *q("1"), "memory": *q("1Gi"), "ephemeral-storage": *q("2Gi")}, Limits: corev1.ResourceList{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(corev1.ResourceRequirements{}, Requirements(nil)); diff != "" {
		t.Errorf("of none (-want +got):\n%s", diff)
	}
}

// TestRequestedResourcesTakePrecedence tests that requested values take precedence, and that defaults are adapted to them.
func TestRequestedResourcesTakePrecedence(t *testing.T) {
	q := func(s string) *resource.Quantity { return new(resource.MustParse(s)) }
	for name, tc := range map[string]struct {
		reason          string
		requested       *common.Resources
		cpu, memory, up string
	}{
		"None":    {"They are enough.", nil, "50m", "64Mi", "256Mi"},
		"Request": {"The limit is raised to it.", &common.Resources{Requests: &common.ResourceAmounts{Memory: q("1Gi")}}, "50m", "1Gi", "1Gi"},
		"Limit":   {"The request is lowered to it.", &common.Resources{Limits: &common.ResourceAmounts{Memory: q("32Mi")}}, "50m", "32Mi", "32Mi"},
		"Both": {
			"They stand.", &common.Resources{
				Requests: &common.ResourceAmounts{CPU: q("1"), Memory: q("100Mi")}, Limits: &common.ResourceAmounts{Memory: q("100Mi")},
			}, "1", "100Mi", "100Mi",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := MergeRequirements(tc.requested, Resources("50m", "64Mi", "256Mi"))
			got := []string{r.Requests.Cpu().String(), r.Requests.Memory().String(), r.Limits.Memory().String()}
			if diff := cmp.Diff([]string{tc.cpu, tc.memory, tc.up}, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSecretsReadableByPodGroupOnly tests that only the pod's group can read a Secret, and that keys can be selected.
func TestSecretsReadableByPodGroupOnly(t *testing.T) {
	s := SecretVolume("tls", "keystone-tls", "tls.crt", "tls.key").Secret
	if *s.DefaultMode != 0o440 || len(s.Items) != 2 || s.Items[1].Path != "tls.key" {
		t.Errorf("%v", s)
	}
	if s := SecretVolume("keys", "fernet").Secret; s.Items != nil {
		t.Errorf("all keys are some: %v", s.Items)
	}
	if m := MountFile("config", "/etc/a.conf", "a.conf"); m.SubPath != "a.conf" || !m.ReadOnly {
		t.Errorf("%v", m)
	}
	if e := SecretEnv("PASSWORD", "a", "b"); e.Value != "" || e.ValueFrom.SecretKeyRef.Name != "a" || e.ValueFrom.SecretKeyRef.Key != "b" {
		t.Errorf("%v", e)
	}
}

// TestWorkloadsHaveSafeDefaults tests the main fields of each kind.
func TestWorkloadsHaveSafeDefaults(t *testing.T) {
	if d := api.Deployment(pod()); *d.Spec.Replicas != 2 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntVal != 0 || d.Spec.Strategy.RollingUpdate.MaxSurge.IntVal != 1 {
		t.Errorf("a roll-out loses requests: %v", d.Spec.Strategy)
	}
	if h := api.HeadlessService(Port("a", 1)); h.Spec.ClusterIP != "None" || !h.Spec.PublishNotReadyAddresses || h.Name != api.StatefulSet(pod()).Spec.ServiceName {
		t.Errorf("members do not find each other: %v", h.Spec)
	}
	if j := api.Job(pod(), 3); *j.Spec.BackoffLimit != 3 || j.Spec.TTLSecondsAfterFinished != nil || j.Spec.Template.Spec.RestartPolicy != "Never" {
		t.Errorf("a Job that goes away runs again: %v", j.Spec)
	}
	c := api.CronJob(pod(), "1 2 * * *", true)
	if c.Spec.Schedule != "1 2 * * *" || !*c.Spec.Suspend || c.Spec.ConcurrencyPolicy != "Forbid" || c.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy != "Never" {
		t.Errorf("%v", c.Spec)
	}
	if m := api.ConfigMap("keystone-config-1", map[string]string{"a": "b"}); !*m.Immutable || m.Name != "keystone-config-1" || m.Data["a"] != "b" {
		t.Errorf("%v", m)
	}
	if b := api.DisruptionBudget(); b.Spec.MaxUnavailable.IntVal != 1 {
		t.Errorf("%v", b.Spec)
	}
	if a := api.ServiceAccount(); *a.AutomountServiceAccountToken {
		t.Error("a token is mounted without APIAccess")
	}
}

// TestUWSGIHasRequiredOptions tests the options of every API process, with the failure without each.
func TestUWSGIHasRequiredOptions(t *testing.T) {
	config := UWSGI{Module: "a.b:c", Listen: ":5000"}.Config()
	if !strings.HasPrefix(config, "[uwsgi]\n") {
		t.Errorf("uWSGI reads its own section alone:\n%s", config)
	}
	for line, reason := range map[string]string{
		"master = true":         "A worker that exits is not restarted.",
		"enable-threads = true": "Threads of Python do not run between requests.",
		"lazy-apps = true":      "Workers share connections that the first of them opened.",
		"thunder-lock = true":   "All workers wake up for each request.",
		"need-app = true":       "A process without its module responds with 500 forever.",
		"buffer-size = 65535":   "Long headers, as federated tokens have them, are refused.",
		"die-on-term = true":    "A stop reloads the process.",

		"exit-on-reload = false": "A renewed certificate ends the process.",
		"hook-master-start = unix_signal:15 gracefully_kill_them_all": "A stop breaks off running requests.",
		"hook-post-fork = unix_signal:1 end_me":                       "A worker that loads the module continues after SIGTERM.",

		"add-header = Connection: close": "Clients send the next request on a connection that is closed.",
		"log-x-forwarded-for = true":     "The log has the proxy's address instead of the client's.",
		"disable-logging = false":        "Requests are not logged.",
	} {
		if !strings.Contains(config, "\n"+line+"\n") {
			t.Errorf("%s: there is no line %q in:\n%s", reason, line, config)
		}
	}
}

// TestSpreadsOnlyPermanentPods tests that only permanent pods are spread.
func TestSpreadsOnlyPermanentPods(t *testing.T) {
	for policy, want := range map[corev1.RestartPolicy]int{
		"": 2, corev1.RestartPolicyAlways: 2, corev1.RestartPolicyOnFailure: 0, corev1.RestartPolicyNever: 0,
	} {
		if got := (Workload{Name: "a"}).spread(Pod{RestartPolicy: policy}); len(got) != want {
			t.Errorf("pods of restart policy %q are spread by %v, want %d rules", policy, got, want)
		}
	}
}

// TestUWSGI tests the configurable lines; functions/keystone contains whole files.
func TestUWSGI(t *testing.T) {
	u := UWSGI{Module: "a.b:c", Listen: ":5000", Processes: 3, Threads: 2, Harakiri: 90 * time.Second, TerminationGracePeriod: time.Minute}
	basic := u.Config()
	u.CertFile, u.KeyFile = "/tls.crt", "/tls.key"
	secure := u.Config()
	for _, line := range []string{"module = a.b:c", "processes = 3", "threads = 2", "harakiri = 90", "worker-reload-mercy = 60", "need-app = true"} {
		if !strings.Contains(basic, "\n"+line+"\n") || !strings.Contains(secure, "\n"+line+"\n") {
			t.Errorf("no line %q in:\n%s", line, basic)
		}
	}
	if !strings.Contains(basic, "\nhttp-socket = :5000\n") || strings.Contains(basic, "touch-reload") {
		t.Errorf("basic:\n%s", basic)
	}
	if !strings.Contains(secure, "\nhttps-socket = :5000,/tls.crt,/tls.key\n") || !strings.Contains(secure, "\ntouch-reload = /tls.crt\n") {
		t.Errorf("secure:\n%s", secure)
	}
}

// TestUWSGIOptionsChangeOnlyOwnLines tests that optional settings change only their own lines.
func TestUWSGIOptionsChangeOnlyOwnLines(t *testing.T) {
	basic := UWSGI{Module: "a.b:c", Listen: ":5000", TerminationGracePeriod: time.Minute}
	for name, tc := range map[string]struct {
		reason string
		change func(*UWSGI)
		want   string
	}{
		"none":      {"Without options, the file does not change.", func(*UWSGI) {}, ""},
		"start":     {"The placeholder is uWSGI's own.", func(u *UWSGI) { u.StartTime = true }, "start-time = %t\n"},
		"arguments": {"One line, as on a command line.", func(u *UWSGI) { u.Arguments = []string{"--config-dir", "/etc/a"} }, "pyargv = --config-dir /etc/a\n"},
		"import":    {"Before the module.", func(u *UWSGI) { u.Import = "/etc/x/chunks.py" }, "import = /etc/x/chunks.py\n"},
		"uploads":   {"Large chunks and slow clients.", func(u *UWSGI) { u.Uploads, u.Pause = true, time.Minute }, "chunked-input-limit = 67108864\nchunked-input-timeout = 60\nsocket-timeout = 60\n"},
		"pause":     {"Slow clients.", func(u *UWSGI) { u.Pause = time.Minute }, "socket-timeout = 60\n"},
		"backlog":   {"Connections that wait.", func(u *UWSGI) { u.Backlog = 7 }, "listen = 7\n"},
		"health": {
			"A separate process responds, which ends after the last worker.",
			func(u *UWSGI) {
				u.Health = HealthEndpoint{Address: ":1717", File: "/etc/a/health.py", Hung: 150 * time.Second, Absent: 50 * time.Second}
			},
			"mule = /etc/a/health.py\nmule-reload-mercy = 70\nhealth-address = :1717\nhealth-hung = 150\nhealth-absent = 50\n",
		},
		"JSON": {
			"One object a request, and its end of line.", func(u *UWSGI) { u.JSON = true },
			"req-logger = stdio\n" +
				`log-req-encoder = json {"asctime":"${strftime:%%Y-%%m-%%dT%%H:%%M:%%S%%z}","name":"uwsgi","levelname":"INFO","message":"${msg}"}` +
				"\nlog-req-encoder = nl\n",
		},
		"upkeep": {"Once at a time.", func(u *UWSGI) { u.Upkeep = "prune" }, "cron2 = minute=-10,unique=1 prune\n"},
		"static": {
			"In order, as maps have none.", func(u *UWSGI) { u.Static = map[string]string{"/b": "/srv/b", "/a": "/srv/a"} },
			"static-map = /a=/srv/a\nstatic-map = /b=/srv/b\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := basic
			tc.change(&u)
			if diff := cmp.Diff(basic.Config()+tc.want, u.Config()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSelf tests that a pod gets its own URL, with the name of its headless Service.
func TestSelf(t *testing.T) {
	w := api
	for headless, want := range map[string]string{
		"":              "https://$(POD_NAME).keystone.cloud.svc:9292",
		"keystone-pods": "https://$(POD_NAME).keystone-pods.cloud.svc:9292",
	} {
		w.Headless = headless
		if got := w.SelfURL(9292); got != want {
			t.Errorf("SelfURL() = %q, want %q", got, want)
		}
		if set, service := w.StatefulSet(pod()).Spec.ServiceName, w.HeadlessService().Name; !strings.Contains(want, "."+set+".") || service != set {
			t.Errorf("the Service of the pods is %q and the headless Service is %q, want %q", set, service, want)
		}
	}
	got := map[string]string{}
	for _, e := range Self() {
		got[e.Name] = e.ValueFrom.FieldRef.FieldPath
	}
	if diff := cmp.Diff(map[string]string{"POD_NAME": "metadata.name", "POD_IP": "status.podIP"}, got); diff != "" {
		t.Errorf("Self() (-want +got):\n%s", diff)
	}
}
