//go:build node && linux

package node_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

// running returns the running pods with some labels.
func (b *broken) running(ctx context.Context, selector string) ([]corev1.Pod, error) {
	s, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	if err := cluster.Client.List(ctx, pods, client.InNamespace(b.namespace), client.MatchingLabelsSelector{Selector: s}); err != nil {
		return nil, err
	}
	out := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil })
	if len(out) == 0 {
		return nil, fmt.Errorf("no pod %s runs", selector)
	}
	return out, nil
}

// remove deletes pods by label, some or all (0): with their grace period, or a given one; 0 kills their processes
// immediately.
func remove(selector string, number int, grace *int64) func(context.Context, *broken) error {
	return func(ctx context.Context, b *broken) error {
		pods, err := b.running(ctx, selector)
		if err != nil {
			return err
		}
		if number > 0 {
			pods = pods[:min(number, len(pods))]
		}
		for i := range pods {
			err = errors.Join(err, cluster.Client.Delete(ctx, &pods[i], &client.DeleteOptions{GracePeriodSeconds: grace}))
		}
		return err
	}
}

// crash kills all processes of a pod's containers, as the kernel does when memory is exhausted. The pod stays, and its
// containers restart.
func crash(selector string) func(context.Context, *broken) error {
	return func(ctx context.Context, b *broken) error {
		pods, err := b.running(ctx, selector)
		if err != nil {
			return err
		}
		all, err := filepath.Glob("/proc/[0-9]*/cgroup")
		if err != nil {
			return err
		}
		killed := 0
		for _, path := range all {
			group, _ := os.ReadFile(path)
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err == nil && strings.Contains(string(group), string(pods[0].UID)) && strings.TrimSpace(string(name)) != "pause" {
				if err := unix.Kill(pid, unix.SIGKILL); err == nil {
					killed++
				}
			}
		}
		if killed == 0 {
			return fmt.Errorf("pod %s has no processes", pods[0].Name)
		}
		return nil
	}
}

// primary returns the primary of MariaDB.
func (b *broken) primary(ctx context.Context) (string, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(mariaDBKind)
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: b.namespace, Name: "mariadb"}, u); err != nil {
		return "", err
	}
	name, _, _ := unstructured.NestedString(u.Object, "status", "currentPrimary")
	return name, nil
}

func killPrimary(ctx context.Context, b *broken) error {
	name, err := b.primary(ctx)
	if err != nil {
		return err
	}
	return remove("statefulset.kubernetes.io/pod-name="+name, 1, new(int64))(ctx, b)
}

func killReplica(ctx context.Context, b *broken) error {
	name, err := b.primary(ctx)
	if err != nil {
		return err
	}
	return remove("app.kubernetes.io/instance=mariadb,statefulset.kubernetes.io/pod-name!="+name, 1, new(int64))(ctx, b)
}

// lose deletes an object, and waits until it is re-created.
func lose(o client.Object, name string) func(context.Context, *broken) error {
	return func(ctx context.Context, b *broken) error {
		o := o.DeepCopyObject().(client.Object)
		key := types.NamespacedName{Namespace: b.namespace, Name: name}
		if err := cluster.Client.Get(ctx, key, o); err != nil {
			return err
		}
		previous := o.GetUID()
		if err := cluster.Client.Delete(ctx, o); err != nil {
			return err
		}
		return within(ctx, 2*time.Minute, func() error {
			if err := cluster.Client.Get(ctx, key, o); err != nil {
				return err
			}
			if o.GetUID() == previous {
				return fmt.Errorf("%s is still there", name)
			}
			return nil
		})
	}
}

// within retries until there is no error any more, and returns the last one.
func within(ctx context.Context, timeout time.Duration, so func() error) error {
	for started := time.Now(); ; wait(ctx, 500*time.Millisecond) {
		if err := so(); err == nil || ctx.Err() != nil || stopwatch.Since(started) > timeout {
			return err
		}
	}
}

func loseConfig(ctx context.Context, b *broken) error {
	d := &appsv1.Deployment{}
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: b.namespace, Name: "keystone"}, d); err != nil {
		return err
	}
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.ConfigMap != nil {
			return lose(&corev1.ConfigMap{}, v.ConfigMap.Name)(ctx, b)
		}
	}
	return errors.New("its pods have none")
}

// loseSecret deletes a password that is stored only there. Running pods continue, but new ones do not start, and the
// claim has to report it.
func loseSecret(ctx context.Context, b *broken) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "keystone-database"}}
	if err := cluster.Client.Delete(ctx, secret); err != nil {
		return err
	}
	if err := b.history.awaits(ctx, "KeystoneReady=False"); err != nil {
		return err
	}
	return remove(keystonePods, 1, nil)(ctx, b)
}

// renewSecret follows docs/how-to/secrets.md: a new password, and pods that start with it.
func renewSecret(ctx context.Context, b *broken) error {
	order := &unstructured.Unstructured{}
	order.SetAPIVersion("external-secrets.io/v1")
	order.SetKind("ExternalSecret")
	order.SetNamespace(b.namespace)
	order.SetName("keystone-database")
	if err := cluster.Client.Delete(ctx, order); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(order)
	if err := within(ctx, time.Minute, func() error { return cluster.Client.Get(ctx, key, &corev1.Secret{}) }); err != nil {
		return err
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "keystone"}}
	return cluster.Client.Patch(ctx, d, client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
		`{"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": %q}}}}}`, time.Now().Format(time.RFC3339))))
}

func both(first, second func(context.Context, *broken) error) func(context.Context, *broken) error {
	return func(ctx context.Context, b *broken) error {
		if err := first(ctx, b); err != nil {
			return err
		}
		return second(ctx, b)
	}
}

// edit changes fields of the claim's spec by a merge patch.
func (b *broken) edit(ctx context.Context, spec string) error {
	return cluster.Client.Patch(ctx, b.claim.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec": `+spec+`}`)))
}

// scaleCrossplane starts or stops Crossplane itself; functions and providers continue.
func scaleCrossplane(ctx context.Context, replicas int) error {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "crossplane-system", Name: "crossplane"}}
	return cluster.Client.Patch(ctx, d, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, replicas)))
}

// upgraded is the release that the claim is brought to.
const upgraded = "2025.2"

// stopCrossplane sets another release, and stops Crossplane after the upgrade has started: the companion continues as
// far as it may.
func stopCrossplane(ctx context.Context, b *broken) error {
	if err := b.edit(ctx, `{"openStackRelease": "`+upgraded+`"}`); err != nil {
		return err
	}
	if err := b.schema(ctx, func(s *unstructured.Unstructured) bool { return status(s, "phase") == "Expanding" }); err != nil {
		return err
	}
	if err := scaleCrossplane(ctx, 0); err != nil {
		return err
	}
	if err := b.schema(ctx, func(s *unstructured.Unstructured) bool { return status(s, "phase") == "RollingOut" }); err != nil {
		return err
	}
	if err := remove(keystonePods, 1, nil)(ctx, b); err != nil {
		return err
	}
	wait(ctx, 30*time.Second)
	return nil
}

// startCrossplane resumes Crossplane.
func startCrossplane(ctx context.Context, b *broken) error {
	return errors.Join(scaleCrossplane(ctx, 1),
		b.schema(ctx, func(s *unstructured.Unstructured) bool { return status(s, "contractedRelease") == upgraded }))
}

// schema waits until the schema of Keystone reaches a state.
func (b *broken) schema(ctx context.Context, reached func(*unstructured.Unstructured) bool) error {
	return within(ctx, 3*time.Minute, func() error {
		s := &unstructured.Unstructured{}
		s.SetGroupVersionKind(schemaKind)
		if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: b.namespace, Name: "keystone"}, s); err != nil {
			return err
		}
		if !reached(s) {
			return fmt.Errorf("the schema is in phase %s", status(s, "phase"))
		}
		return nil
	})
}

// queue is a member of RabbitMQ: one without free disk space blocks publishers on all members.
const queue = "rabbitmq-server-0"

// smallDisk moves the queue's volume to a separate disk, which can be filled. Its pod restarts there.
func (b *broken) smallDisk(ctx context.Context) error {
	c, v := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: b.namespace, Name: "persistence-" + queue}, c); err != nil {
		return err
	}
	if err := cluster.Client.Get(ctx, types.NamespacedName{Name: c.Spec.VolumeName}, v); err != nil {
		return err
	}
	b.disk = v.Spec.HostPath.Path
	var disk unix.Statfs_t
	if err := unix.Statfs(b.disk, &disk); err != nil || disk.Type == unix.TMPFS_MAGIC {
		return err // it was moved by an earlier test
	}
	// The member's data about the others is copied: without it, they do not accept it.
	small, err := os.MkdirTemp("", "queue")
	if err != nil {
		return err
	}
	if err := unix.Mount("queue", small, "tmpfs", 0, "mode=777,size=700m"); err != nil {
		return fmt.Errorf("cannot make a small disk: %w", err)
	}
	if out, err := exec.CommandContext(ctx, "cp", "-a", b.disk+"/.", small).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot fill a small disk: %w\n%s", err, out)
	}
	if err := errors.Join(unix.Mount(small, b.disk, "", unix.MS_BIND, ""), unix.Unmount(small, unix.MNT_DETACH), os.Remove(small)); err != nil {
		return fmt.Errorf("cannot use a small disk: %w", err)
	}
	return remove("statefulset.kubernetes.io/pod-name="+queue, 1, new(int64))(ctx, b)
}

// full is the file that fills the disk.
const full = "/full"

func fillDisk(ctx context.Context, b *broken) error {
	f, err := os.Create(b.disk + full)
	if err != nil {
		return err
	}
	defer f.Close()
	for block := make([]byte, 1<<20); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		return err
	}
	return within(ctx, time.Minute, func() error { return b.alarm(ctx, "1") })
}

func clearDisk(ctx context.Context, b *broken) error {
	return errors.Join(os.Remove(b.disk+full), within(ctx, time.Minute, func() error { return b.alarm(ctx, "0") }))
}

// alarm returns an error unless the queue reports the expected disk alarm: "1" means that it is too full to accept
// messages.
func (b *broken) alarm(ctx context.Context, want string) error {
	pods, err := b.running(ctx, "statefulset.kubernetes.io/pod-name="+queue)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+pods[0].Status.PodIP+":15692/metrics", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	const name = "\nrabbitmq_alarms_free_disk_space_watermark "
	if _, is, ok := strings.Cut(string(all), name); !ok || !strings.HasPrefix(is, want) {
		return fmt.Errorf("the queue's alarm of its disk is not %s: %.20q", want, is)
	}
	return nil
}

// orderImage sets an image that does not exist, and waits until the claim reports it.
func orderImage(ctx context.Context, b *broken) error {
	if err := b.edit(ctx, `{"services": {"keystone": {"image": {"tag": "0000000"}}}}`); err != nil {
		return err
	}
	if err := b.history.awaits(ctx, "KeystoneReady=False"); err != nil {
		return err
	}
	wait(ctx, 15*time.Second)
	return nil
}

func withdrawImage(ctx context.Context, b *broken) error {
	return b.edit(ctx, `{"services": {"keystone": {"image": null}}}`)
}
