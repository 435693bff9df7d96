//go:build node && linux

package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/node"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// nodeName is the name of the node.
const nodeName = "node"

// stored is a Ceph cluster that the released Rook creates for a claim.
type stored struct {
	*broken
	t *testing.T
}

// TestStorage checks that a claim becomes a healthy Ceph, with the released Rook on a device of the node. Users have
// exactly the configured permissions, an external client reads its data with only the claim's status and a key, and the
// claim reports current errors.
func TestStorage(t *testing.T) {
	if !selected("Storage") {
		t.Skip("it needs a separate platform: make test-e2e RUN=TestStorage")
	}
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 60*time.Minute)
	defer cancel()
	claim := decode(t, "testdata/storage.yaml")
	s := &stored{broken: &broken{claim: claim}, t: t}
	// With -running it may exist already.
	if existing, err := s.now(ctx); err == nil {
		for _, field := range []string{"nodes", "pools"} {
			value, _, _ := unstructured.NestedSlice(existing.Object, "spec", field)
			s.set(value, field)
		}
	} else {
		const size = 8 << 30
		device, err := cluster.Device(size)
		if err != nil {
			t.Fatal(err)
		}
		s.set([]any{map[string]any{"name": nodeName, "devices": []any{map[string]any{"name": device}}}}, "nodes")
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: claim.GetNamespace()}}
	if err := cluster.Client.Create(ctx, namespace); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	s.history = s.listen(ctx, t)
	started := time.Now()
	apply(ctx, t, s.claim)
	s.ready(ctx, 15*time.Minute)
	t.Logf("ready after %.0f s", time.Since(started).Seconds())
	s.logChanges(started)
	s.namespace = instance(ctx, t, claim)
	for _, step := range []struct {
		name string
		run  func(context.Context, *testing.T)
	}{
		{"Rook", s.testRook},
		{"Users", s.testUsers},
		{"Outsider", s.testOutsider},
		{"Faults", s.testFaults},
		{"External", s.testExternal},
		{"Full", s.testFull},
		{"Key", s.testKey},
		{"Pool", s.testPool},
		{"Mirroring", s.testMirroring},
		{"Retain", s.testRetain},
		{"Delete", s.testDelete},
	} {
		if !t.Run(step.name, func(t *testing.T) { s.t = t; step.run(ctx, t) }) {
			t.Logf("%s\n%s", cluster.Waiting(ctx, s.namespace), cluster.FailedContainerLogs(ctx, s.namespace))
		}
	}
}

// set changes a field of the claim's spec, which apply then applies.
func (s *stored) set(value any, path ...string) {
	s.t.Helper()
	if err := unstructured.SetNestedField(s.claim.Object, value, append([]string{"spec"}, path...)...); err != nil {
		s.t.Fatal(err)
	}
}

// now returns the current claim.
func (s *stored) now(ctx context.Context) (*unstructured.Unstructured, error) {
	u := s.claim.DeepCopy()
	return u, cluster.Client.Get(ctx, client.ObjectKeyFromObject(u), u)
}

// is returns an error unless every condition of the claim is true, for its latest edit.
func (s *stored) is(ctx context.Context) error {
	u, err := s.now(ctx)
	if err != nil {
		return err
	}
	if c, ok := platform.ConditionOf(u, "Ready"); !ok || c.ObservedGeneration != 0 && c.ObservedGeneration != u.GetGeneration() {
		return errors.New("the claim's last edit was not seen yet")
	}
	if text := untrue(u); text != "" {
		return errors.New(text)
	}
	return nil
}

func (s *stored) ready(ctx context.Context, timeout time.Duration) {
	s.t.Helper()
	if err := within(ctx, timeout, func() error { return s.is(ctx) }); err != nil {
		s.logChanges(time.Time{})
		s.t.Fatalf("the claim is not ready after %.0f s: %v\n%s", timeout.Seconds(), err, s.waiting(ctx))
	}
}

// waiting returns the reasons why pods of the cluster wait.
func (s *stored) waiting(ctx context.Context) string {
	namespace, err := workloads(ctx, s.claim)
	if err != nil {
		return err.Error()
	}
	return cluster.Waiting(ctx, namespace) + "\n" + cluster.FailedContainerLogs(ctx, namespace)
}

// logChanges logs the claim's reports since a time.
func (s *stored) logChanges(since time.Time) {
	s.t.Helper()
	s.history.check(s.t, since, nil)
}

// ceph runs a Ceph command as administrator, in the pod of Rook's operator. The output is JSON.
func (s *stored) ceph(ctx context.Context, out any, args ...string) error {
	folder := "/var/lib/rook/" + s.namespace
	text, err := kubectl(ctx, append([]string{"exec", "-n", "rook-ceph", "deploy/rook-ceph-operator", "--", "ceph", "--connect-timeout=10",
		"--conf=" + folder + "/" + s.namespace + ".config", "--name=client.admin", "--keyring=" + folder + "/client.admin.keyring",
		"--format=json"}, args...)...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), out)
}

// rbd runs an rbd command as Ceph's administrator.
func (s *stored) rbd(ctx context.Context, args ...string) error {
	folder := "/var/lib/rook/" + s.namespace
	_, err := kubectl(ctx, append([]string{"exec", "-n", "rook-ceph", "deploy/rook-ceph-operator", "--", "timeout", "60", "rbd",
		"--conf=" + folder + "/" + s.namespace + ".config", "--id=admin", "--keyring=" + folder + "/client.admin.keyring"}, args...)...)
	return err
}

// kubectl returns the output of kubectl.
func kubectl(ctx context.Context, args ...string) (string, error) {
	folder, err := node.Folder()
	if err != nil {
		return "", err
	}
	args = append([]string{"--kubeconfig=" + cluster.Kubeconfig}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(folder, "bin", "kubectl"), args...)
	requested := &strings.Builder{}
	cmd.Stderr = requested
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, requested)
	}
	return string(out), nil
}

var cephKinds = []string{"CephCluster", "CephBlockPool", "CephClient", "CephObjectStore"}

func cephKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: kind}
}

func (s *stored) objects(ctx context.Context, kind string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(cephKind(kind))
	err := cluster.Client.List(ctx, list, client.InNamespace(s.namespace))
	return list.Items, err
}

// health returns Ceph's health status, and the names of its failed checks.
func (s *stored) health(ctx context.Context) (string, []string, error) {
	var requested struct {
		Status string         `json:"status"`
		Checks map[string]any `json:"checks"`
	}
	err := s.ceph(ctx, &requested, "health")
	var checks []string
	for name := range requested.Checks {
		checks = append(checks, name)
	}
	slices.Sort(checks)
	return requested.Status, checks, err
}

// testRook checks that Rook reports each object as ready, and Ceph no errors.
func (s *stored) testRook(ctx context.Context, t *testing.T) {
	for _, kind := range cephKinds {
		all, err := s.objects(ctx, kind)
		if err != nil || len(all) == 0 {
			t.Fatalf("there is no %s: %v", kind, err)
		}
		for i := range all {
			phase, _, _ := unstructured.NestedString(all[i].Object, "status", "phase")
			t.Logf("%s %s: %s, status %.600s", kind, all[i].GetName(), phase, fmt.Sprint(all[i].Object["status"]))
			if phase != "Ready" {
				t.Errorf("Rook reports %s %s as %s", kind, all[i].GetName(), phase)
			}
		}
	}
	health, checks, err := s.health(ctx)
	if err != nil || health != "HEALTH_OK" {
		t.Errorf("Ceph reports %s %v, %v", health, checks, err)
	}
}

// testUsers checks that users have the configured capabilities in Ceph.
func (s *stored) testUsers(ctx context.Context, t *testing.T) {
	all, err := s.objects(ctx, "CephClient")
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		name := all[i].GetName()
		want, _, _ := unstructured.NestedStringMap(all[i].Object, "spec", "caps")
		if diff := cmp.Diff(want, s.caps(ctx, t, name)); diff != "" {
			t.Errorf("user %s: -want +got\n%s", name, diff)
		}
	}
}

// caps returns the capabilities of a user in Ceph.
func (s *stored) caps(ctx context.Context, t *testing.T, user string) map[string]string {
	t.Helper()
	var got []struct {
		Caps map[string]string `json:"caps"`
	}
	if err := s.ceph(ctx, &got, "auth", "get", "client."+user); err != nil || len(got) != 1 {
		t.Fatalf("user %s: %v", user, err)
	}
	return got[0].Caps
}

// access is the used part of the claim's status.access.
type access struct {
	FSID      string   `json:"fsid"`
	Monitors  []string `json:"monitors"`
	Consumers []struct {
		Pools []struct {
			Pool string `json:"pool"`
		} `json:"pools"`
		Clients []struct {
			Service    string `json:"service"`
			User       string `json:"user"`
			SecretName string `json:"secretName"`
		} `json:"clients"`
	} `json:"consumers"`
}

func (s *stored) access(ctx context.Context, t *testing.T) access {
	t.Helper()
	claim, err := s.now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	requested, _, _ := unstructured.NestedMap(claim.Object, "status", "access")
	data, err := json.Marshal(requested)
	if err != nil {
		t.Fatal(err)
	}
	out := access{}
	if err := json.Unmarshal(data, &out); err != nil || len(out.Consumers) != 1 {
		t.Fatalf("access is %s: %v", data, err)
	}
	return out
}

// outsider is a pod in the tenant's namespace, with the claim's status and a key. It writes continuously.
const outsider = `
apiVersion: v1
kind: Pod
metadata: {namespace: %[1]s, name: outsider}
spec:
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: client
    image: quay.io/ceph/ceph:v18.2.7
    command:
    - sh
    - -c
    - |
      while sleep 1; do timeout 15 rados --id cinder -p volumes put probe /etc/hostname 2>/dev/null && echo "wrote $(date +%%s)"; done
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: ceph, mountPath: /etc/ceph}, {name: tmp, mountPath: /tmp}]
  volumes: [{name: ceph, secret: {secretName: ceph}}, {name: tmp, emptyDir: {}}]
`

// out runs a command in the pod of the outsider.
func (s *stored) out(ctx context.Context, command ...string) (string, error) {
	return kubectl(ctx, append([]string{"exec", "-n", s.claim.GetNamespace(), "outsider", "--", "timeout", "300"}, command...)...)
}

// testOutsider checks that with the claim's status and the key of Cinder's user, a client writes and reads in its pool,
// and not in the pool of images.
func (s *stored) testOutsider(ctx context.Context, t *testing.T) {
	known := s.access(ctx, t)
	var id map[string]any
	if err := s.ceph(ctx, &id, "fsid"); err != nil || id["fsid"] != known.FSID {
		t.Errorf("the claim reports cluster %s, and it is %v: %v", known.FSID, id["fsid"], err)
	}
	key := ""
	for _, c := range known.Consumers[0].Clients {
		if c.Service == "cinder" {
			key = string(secret(ctx, t, s.namespace, c.SecretName)["userKey"])
		}
	}
	if key == "" {
		t.Fatalf("the claim reports no user for Cinder: %+v", known)
	}
	files := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.claim.GetNamespace(), Name: "ceph"},
		StringData: map[string]string{
			"ceph.conf":                  "[global]\nfsid = " + known.FSID + "\nmon_host = " + strings.Join(known.Monitors, ",") + "\n",
			"ceph.client.cinder.keyring": keyring(key),
		},
	}
	if err := cluster.Client.Create(ctx, files); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Apply(ctx, fmt.Appendf(nil, outsider, s.claim.GetNamespace())); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, 3*time.Minute, func() error { return s.wrote(ctx, time.Now().Add(-10*time.Second)) })
	script := `set -e
echo hello >/tmp/in
rados --id cinder -p volumes put object /tmp/in
rados --id cinder -p volumes get object /tmp/out
cmp /tmp/in /tmp/out
rbd --id cinder create volumes/v1 --size 64M
rbd --id cinder bench --io-type write --io-size 1M --io-total 32M volumes/v1 | tail -1
rbd --id cinder snap create --no-progress volumes/v1@s
rbd --id cinder ls volumes
rbd --id cinder ls images`
	text, err := s.out(ctx, "sh", "-c", script)
	if err != nil {
		t.Errorf("the user of Cinder cannot work: %v", err)
	}
	t.Log(text)
	for _, rejected := range []string{
		"rados --id cinder -p images put object /tmp/in", "rbd --id cinder create images/i --size 1M", "ceph --id cinder auth ls",
	} {
		if text, err := s.out(ctx, "sh", "-c", rejected); err == nil {
			t.Errorf("it may: %s\n%s", rejected, text)
		}
	}
}

// wrote returns an error unless the outsider has written since a time.
func (s *stored) wrote(ctx context.Context, since time.Time) error {
	text, err := kubectl(ctx, "logs", "-n", s.claim.GetNamespace(), "outsider", "--tail=1")
	if err != nil {
		return err
	}
	var at int64
	if _, err := fmt.Sscanf(text, "wrote %d", &at); err != nil || at <= since.Unix() {
		return fmt.Errorf("the outsider has written nothing since %s: %q", since.Format(time.TimeOnly), text)
	}
	return nil
}

// outages returns the times in which the outsider's writes were interrupted.
func (s *stored) outages(ctx context.Context, since time.Time) ([]outage, error) {
	text, err := kubectl(ctx, "logs", "-n", s.claim.GetNamespace(), "outsider")
	if err != nil {
		return nil, err
	}
	var out []outage
	const usual = 8 * time.Second
	last := since
	for line := range strings.Lines(text) {
		var seconds int64
		if _, err := fmt.Sscanf(line, "wrote %d", &seconds); err != nil {
			continue
		}
		at := time.Unix(seconds, 0)
		if at.Before(since) {
			continue
		}
		if at.Sub(last) > usual {
			out = append(out, outage{from: last, to: at})
		}
		last = at
	}
	return out, nil
}

// daemons are the daemons of the cluster, by name: labels of their pods, their Deployment, and the claim's report while
// they are stopped.
var daemons = []struct{ name, pods, deployment, history string }{
	{"the daemon of the device", "app=rook-ceph-osd", "rook-ceph-osd-0", "ClusterReady=False OSD_DOWN"},
	{"the monitor", "app=rook-ceph-mon", "rook-ceph-mon-a", "HEALTH_ERR"},
	{"the manager", "app=rook-ceph-mgr", "rook-ceph-mgr-a", "MGR_DOWN"},
}

// testFaults kills each daemon, and then stops it for a while. It must recover without intervention, and the claim must
// report the error meanwhile.
func (s *stored) testFaults(ctx context.Context, t *testing.T) {
	for _, d := range daemons {
		t.Run(strings.ReplaceAll(d.name, " ", "_")+"_is_killed", func(t *testing.T) {
			s.t = t
			s.sufferCeph(ctx, func() error { return crash(d.pods)(ctx, s.broken) }, nil)
		})
		t.Run(strings.ReplaceAll(d.name, " ", "_")+"_is_away", func(t *testing.T) {
			s.t = t
			since := time.Now()
			s.sufferCeph(ctx, func() error { return s.scale(ctx, d.deployment, 0) }, func() error {
				if err := within(ctx, detection, func() error {
					if after, ok := s.history.firstReport(d.history, since); ok {
						t.Logf("the claim reports %s after %.0f s", d.history, after.Seconds())
						return nil
					}
					return fmt.Errorf("the claim does not report %s while %s is stopped", d.history, d.name)
				}); err != nil {
					t.Error(err)
				}
				health, checks, err := s.health(ctx)
				t.Logf("Ceph reports %s %v, %v", health, checks, err)
				return s.scale(ctx, d.deployment, 1)
			})
		})
	}
}

// firstReport returns when the claim first reported a text, after a time.
func (s *history) firstReport(text string, since time.Time) (after time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.all {
		if w.at.After(since) && strings.Contains(w.why, text) {
			return w.at.Sub(since), true
		}
	}
	return 0, false
}

func (s *stored) scale(ctx context.Context, name string, replicas int32) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	return cluster.Client.Patch(ctx, d, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, replicas)))
}

// sufferCeph causes a fault, waits until the client writes again and Ceph is healthy, and logs the claim's reports.
func (s *stored) sufferCeph(ctx context.Context, strike, repair func() error) {
	t := s.t
	t.Helper()
	started := time.Now()
	if err := strike(); err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	if repair != nil {
		if err := repair(); err != nil {
			t.Fatal(err)
		}
		t.Logf("repaired after %.0f s", time.Since(started).Seconds())
		from = time.Now()
	}
	eventually(ctx, t, 10*time.Minute, func() error { return s.wrote(ctx, from.Add(3*time.Second)) })
	t.Logf("written again after %.0f s", time.Since(from).Seconds())
	eventually(ctx, t, 10*time.Minute, func() error {
		health, checks, err := s.health(ctx)
		if err == nil && health != "HEALTH_OK" {
			err = fmt.Errorf("%s %v", health, checks)
		}
		return err
	})
	t.Logf("healthy after %.0f s", time.Since(from).Seconds())
	eventually(ctx, t, 10*time.Minute, func() error { return s.is(ctx) })
	t.Logf("the claim reports it after %.0f s", time.Since(from).Seconds())
	outages, err := s.outages(ctx, started)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outages {
		t.Logf("nothing was written from %.0f s to %.0f s", o.from.Sub(started).Seconds(), o.to.Sub(started).Seconds())
	}
	t.Logf("not ready for %.0f s", s.history.check(t, started, outages).Seconds())
}

// testFull fills devices, and checks that the claim reports it before Ceph does, and also when Ceph warns. Both reports
// end once data is removed.
func (s *stored) testFull(ctx context.Context, t *testing.T) {
	started := time.Now()
	for i, step := range []struct {
		percent int64
		history string
	}{{77, "CapacitySufficient=False NearFull"}, {87, "OSD_NEARFULL"}} {
		s.fill(ctx, t, fmt.Sprintf("fill%d", i), step.percent)
		from := time.Now()
		eventually(ctx, t, detection, func() error {
			if _, ok := s.history.firstReport(step.history, started); !ok {
				claim, err := s.now(ctx)
				return errors.Join(fmt.Errorf("the claim does not report %q", step.history), err, errors.New(untrue(claim)))
			}
			return nil
		})
		claim, err := s.now(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d %% are used: the claim reports after %.0f s:%s", step.percent, time.Since(from).Seconds(), untrue(claim))
		if c, _ := platform.ConditionOf(claim, "Ready"); c.Status != "True" {
			t.Errorf("everything can be written, and the claim is not ready: %s", c.Message)
		}
	}
	for i := range 2 {
		if text, err := s.out(ctx, "rados", "--id", "cinder", "-p", "volumes", "cleanup", "--run-name", fmt.Sprintf("fill%d", i)); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	removed := time.Now()
	eventually(ctx, t, 5*time.Minute, func() error { return s.is(ctx) })
	t.Logf("the claim no longer reports it after %.0f s", time.Since(removed).Seconds())
	s.history.check(t, started, nil)
}

// fill writes until some percent of the devices are used.
func (s *stored) fill(ctx context.Context, t *testing.T, name string, percent int64) {
	t.Helper()
	var df struct {
		Stats struct {
			Total int64 `json:"total_bytes"`
			Used  int64 `json:"total_used_raw_bytes"`
		} `json:"stats"`
	}
	if err := s.ceph(ctx, &df, "df"); err != nil {
		t.Fatal(err)
	}
	const object = 4 << 20
	missing := (df.Stats.Total/100*percent - df.Stats.Used) / object
	started := time.Now()
	text, err := s.out(ctx, "rados", "--id", "cinder", "-p", "volumes", "bench", "280", "write", "--no-cleanup", "-b", strconv.Itoa(object),
		"-t", "4", "--run-name", name, "--max-objects", strconv.FormatInt(missing, 10))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := s.ceph(ctx, &df, "df"); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d objects of 4 MiB written in %.0f s: %d of %d bytes are used", missing, time.Since(started).Seconds(), df.Stats.Used, df.Stats.Total)
}

// foreign is a claim of the same Ceph as an external one.
const foreign = `
apiVersion: crossplane.c5c3.io/v1alpha1
kind: StorageCluster
metadata: {namespace: %[1]s, name: foreign}
spec:
  external:
    fsid: %[2]s
    monitors: [%[3]q]
    publicCIDRs: [10.96.0.0/16, 10.245.0.0/24]
    clients:
    - {service: cinder, secretRef: {name: foreign}}
  pools:
  - {name: images}
  - {name: volumes}
`

// testExternal checks that an external Ceph is used with the tenant's key, and that the claim reports whether the key
// is valid.
func (s *stored) testExternal(ctx context.Context, t *testing.T) {
	known := s.access(ctx, t)
	key := ""
	for _, c := range known.Consumers[0].Clients {
		if c.Service == "cinder" {
			key = string(secret(ctx, t, s.namespace, c.SecretName)["userKey"])
		}
	}
	objects, err := platform.Decode(fmt.Appendf(nil, foreign, s.claim.GetNamespace(), known.FSID, strings.Join(known.Monitors, ",")))
	if err != nil {
		t.Fatal(err)
	}
	other := &stored{broken: &broken{claim: objects[0]}, t: t}
	give := func(key string) {
		t.Helper()
		tenants := &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: s.claim.GetNamespace(), Name: "foreign"}, Data: map[string][]byte{"userKey": []byte(key)},
		}
		data, err := json.Marshal(tenants)
		if err != nil {
			t.Fatal(err)
		}
		if err := cluster.Apply(ctx, data); err != nil {
			t.Fatal(err)
		}
	}
	give("AQAAAAAAAAAAABAAMDEyMzQ1Njc4OWFiY2RlZg==") // well-formed, but of no user
	started := time.Now()
	apply(ctx, t, other.claim)
	eventually(ctx, t, 3*time.Minute, func() error {
		u, err := other.now(ctx)
		if err == nil && !strings.Contains(untrue(u), "client.cinder cannot open its pools") {
			err = fmt.Errorf("the claim does not report the wrong key:%s", untrue(u))
		}
		return err
	})
	t.Logf("the claim reports after %.0f s that the pools are not open", time.Since(started).Seconds())
	other.namespace = instance(ctx, t, other.claim)
	eventually(ctx, t, 2*time.Minute, func() error {
		text, err := kubectl(ctx, "get", "events", "-n", other.namespace, "-o", "jsonpath={.items[?(@.reason==\"Unhealthy\")].message}")
		if err == nil && !strings.Contains(text, "client.cinder does not reach the monitors") {
			err = fmt.Errorf("no event has the reason: %s", text)
		}
		return err
	})
	if u, err := other.now(ctx); err != nil {
		t.Fatal(err)
	} else if consumers, _, _ := unstructured.NestedSlice(u.Object, "status", "access", "consumers"); strings.Contains(fmt.Sprint(consumers), "volumes") {
		t.Errorf("control planes get pools that were never opened: %v", consumers)
	}
	give(key)
	// It would be read again within 5 minutes.
	if _, err := kubectl(ctx, "annotate", "externalsecret", "-n", other.namespace, "tenant-foreign", "now=1"); err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	other.ready(ctx, 5*time.Minute)
	t.Logf("ready %.0f s after the right key was created", time.Since(from).Seconds())
	got := other.access(ctx, t)
	if got.FSID != known.FSID || len(got.Consumers[0].Pools) != 1 || got.Consumers[0].Pools[0].Pool != "volumes" || len(got.Consumers[0].Clients) != 1 {
		t.Errorf("control planes get %+v", got)
	}
	other.set("Delete", "deletionPolicy")
	apply(ctx, t, other.claim)
	eventually(ctx, t, 2*time.Minute, func() error {
		u, err := other.now(ctx)
		if err == nil && status(u, "deletionPolicy") != "Delete" {
			err = errors.New("the policy is not in force yet")
		}
		return err
	})
	other.remove(ctx, 3*time.Minute)
	eventually(ctx, t, 2*time.Minute, func() error { return leftovers(ctx, other.claim, other.namespace) })
	if text, err := s.out(ctx, "rbd", "--id", "cinder", "ls", "volumes"); err != nil || !strings.Contains(text, "v1") {
		t.Errorf("the data in the external Ceph was lost: %q, %v", text, err)
	}
}

// steadily is a client that connects once, and writes for a minute.
const steadily = `
import rados, time
c = rados.Rados(conffile="/etc/ceph/ceph.conf", name="client.cinder")
c.connect()
pool = c.open_ioctx("volumes")
for n in range(120):
    pool.write_full("steadily", b"%d" % n)
    time.sleep(0.5)
`

// testKey replaces a user's key as described in docs/how-to/storage-changes.md. Connected clients continue, clients with the old key
// are rejected, and Rook replaces the old key in its Secret.
func (s *stored) testKey(ctx context.Context, t *testing.T) {
	secretName := ""
	for _, c := range s.access(ctx, t).Consumers[0].Clients {
		if c.Service == "cinder" {
			secretName = c.SecretName
		}
	}
	old := string(secret(ctx, t, s.namespace, secretName)["userKey"])
	connected := make(chan error, 1)
	go func() {
		_, err := s.out(ctx, "python3", "-c", steadily)
		connected <- err
	}()
	wait(ctx, 5*time.Second)
	started := time.Now()
	// Ceph 18 has no command for it.
	if _, err := kubectl(ctx, "exec", "-n", "rook-ceph", "deploy/rook-ceph-operator", "--", "sh", "-ec", fmt.Sprintf(
		`ceph() { command ceph --conf=/var/lib/rook/%[1]s/%[1]s.config --name=client.admin --keyring=/var/lib/rook/%[1]s/client.admin.keyring "$@"; }
umask 077
ceph auth get client.cinder | sed "s|key = .*|key = $(ceph-authtool --gen-print-key)|" >/tmp/renewed
ceph auth import -i /tmp/renewed
rm /tmp/renewed`, s.namespace)); err != nil {
		t.Fatal(err)
	}
	if err := s.opens(ctx, old); err == nil {
		t.Error("the old key opens Ceph")
	}
	if err := cluster.Client.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: secretName}}); err != nil {
		t.Fatal(err)
	}
	key := ""
	eventually(ctx, t, 2*time.Minute, func() error {
		renewed := &corev1.Secret{}
		if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: secretName}, renewed); err != nil {
			return err
		}
		if key = string(renewed.Data["userKey"]); key == old {
			return errors.New("Rook still has the old key")
		}
		return nil
	})
	t.Logf("Rook has another key after %.0f s", time.Since(started).Seconds())
	if err := s.opens(ctx, key); err != nil {
		t.Errorf("the new key does not open Ceph: %v", err)
	}
	s.testUsers(ctx, t)
	if err := <-connected; err != nil {
		t.Errorf("a connected client could not continue: %v", err)
	}
	files := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.claim.GetNamespace(), Name: "ceph"}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"stringData": {"ceph.client.cinder.keyring": %q}}`, keyring(key)))
	if err := cluster.Client.Patch(ctx, files, patch); err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	eventually(ctx, t, 3*time.Minute, func() error { return s.wrote(ctx, from) })
	t.Logf("who had the old key writes again %.0f s after it was given the new one", time.Since(from).Seconds())
	eventually(ctx, t, 3*time.Minute, func() error { return s.is(ctx) })
}

// keyring returns the keyring of a Ceph client.
func keyring(key string) string { return "[client.cinder]\nkey = " + key + "\n" }

// opens returns an error unless Ceph accepts a key of Cinder's user.
func (s *stored) opens(ctx context.Context, key string) error {
	_, err := s.out(ctx, "sh", "-c", fmt.Sprintf("printf %%s '%s' >/tmp/keyring && rados --id cinder --keyring /tmp/keyring -p volumes ls >/tmp/ls", keyring(key)))
	return err
}

// testPool checks that an added pool is created, and that its users get access to it.
func (s *stored) testPool(ctx context.Context, t *testing.T) {
	pools, _, _ := unstructured.NestedSlice(s.claim.Object, "spec", "pools")
	s.set(append(pools, map[string]any{"name": "vms"}), "pools")
	started := time.Now()
	apply(ctx, t, s.claim)
	eventually(ctx, t, 5*time.Minute, func() error {
		known := s.access(ctx, t)
		if len(known.Consumers[0].Pools) != 3 {
			return fmt.Errorf("the claim knows %+v", known.Consumers[0].Pools)
		}
		return s.is(ctx)
	})
	t.Logf("there after %.0f s", time.Since(started).Seconds())
	eventually(ctx, t, time.Minute, func() error {
		if got := s.caps(ctx, t, "cinder")["osd"]; !strings.Contains(got, "pool=vms") {
			return fmt.Errorf("the user of Cinder may do %s", got)
		}
		return nil
	})
	t.Logf("used after %.0f s", time.Since(started).Seconds())
	if text, err := s.out(ctx, "rbd", "--id", "cinder", "create", "vms/disk", "--size", "8M"); err != nil {
		t.Errorf("the user of Cinder may not use it: %v\n%s", err, text)
	}
	if text, err := s.out(ctx, "rbd", "--id", "cinder", "rm", "--no-progress", "vms/disk"); err != nil {
		t.Errorf("nor remove it again: %v\n%s", err, text)
	}
	s.testUsers(ctx, t)
}

// testRetain deletes the claim, and checks that Ceph continues, and that the same claim adopts it.
func (s *stored) testRetain(ctx context.Context, t *testing.T) {
	before := s.access(ctx, t)
	s.remove(ctx, 3*time.Minute)
	wait(ctx, 20*time.Second)
	if err := s.wrote(ctx, time.Now().Add(-10*time.Second)); err != nil {
		t.Errorf("without the claim: %v", err)
	}
	started := time.Now()
	apply(ctx, t, s.claim)
	s.ready(ctx, 5*time.Minute)
	t.Logf("taken over after %.0f s", time.Since(started).Seconds())
	if diff := cmp.Diff(before, s.access(ctx, t)); diff != "" {
		t.Errorf("access: -before +after\n%s", diff)
	}
	if text, err := s.out(ctx, "rbd", "--id", "cinder", "ls", "volumes"); err != nil || strings.TrimSpace(text) != "v1" {
		t.Errorf("images are %q: %v", text, err)
	}
}

// remove deletes the claim, and waits until it is deleted.
func (s *stored) remove(ctx context.Context, timeout time.Duration) {
	s.t.Helper()
	started := time.Now()
	if err := cluster.Client.Delete(ctx, s.claim.DeepCopy()); err != nil {
		s.t.Fatal(err)
	}
	eventually(ctx, s.t, timeout, func() error {
		if u, err := s.now(ctx); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("the claim is still there"), err, errors.New(untrue(u)))
		}
		return nil
	})
	s.t.Logf("the claim is gone after %.0f s", time.Since(started).Seconds())
}

// testDelete checks that with Delete, a pool with an image stays, and reports it, until the image is removed. Then
// nothing is left.
func (s *stored) testDelete(ctx context.Context, t *testing.T) {
	s.set("Delete", "deletionPolicy")
	apply(ctx, t, s.claim)
	eventually(ctx, t, 3*time.Minute, func() error {
		u, err := s.now(ctx)
		if err == nil && status(u, "deletionPolicy") != "Delete" {
			err = errors.New("the policy is not in force yet")
		}
		return errors.Join(err, s.is(ctx))
	})
	if err := cluster.Client.Delete(ctx, s.claim.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	eventually(ctx, t, 3*time.Minute, func() error {
		pool := object(cephKind("CephBlockPool"))
		if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: "volumes"}, pool); err != nil {
			return err
		}
		c, ok := platform.ConditionOf(pool, "PoolDeletionIsBlocked")
		if !ok || c.Status != "True" {
			return fmt.Errorf("the pool does not report that it is retained: %v", pool.Object["status"])
		}
		t.Logf("the pool reports after %.0f s: %s: %s", time.Since(started).Seconds(), c.Reason, c.Message)
		return nil
	})
	if claim, err := s.now(ctx); err == nil {
		t.Logf("the claim reports: %s", untrue(claim))
	} else {
		t.Logf("the claim: %v", err)
	}
	for _, args := range [][]string{{"snap", "rm", "volumes/v1@s"}, {"rm", "volumes/v1"}} {
		if err := s.rbd(ctx, append(args, "--no-progress")...); err != nil { // its users are deleted
			t.Error(err)
		}
	}
	eventually(ctx, t, 10*time.Minute, func() error { return leftovers(ctx, s.claim, s.namespace) })
	t.Logf("nothing is left after %.0f s", time.Since(started).Seconds())
}
