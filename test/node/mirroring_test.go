//go:build node && linux

package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// copied is the pool of the claim that is copied.
const copied = "images"

// mirrored returns rbd's output about the mirroring of a pool.
func (s *stored) mirrored(ctx context.Context, out any, args ...string) error {
	folder := "/var/lib/rook/" + s.namespace
	text, err := kubectl(ctx, append([]string{"exec", "-n", "rook-ceph", "deploy/rook-ceph-operator", "--", "timeout", "60", "rbd",
		"--conf=" + folder + "/" + s.namespace + ".config", "--id=admin", "--keyring=" + folder + "/client.admin.keyring", "--format=json"}, args...)...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), out)
}

// setMirroring sets the mirroring of the pool. Nil: none.
func (s *stored) setMirroring(of map[string]any) {
	s.t.Helper()
	pools, _, _ := unstructured.NestedSlice(s.claim.Object, "spec", "pools")
	for _, p := range pools {
		if pool, _ := p.(map[string]any); pool["name"] == copied {
			delete(pool, "mirroring")
			if of != nil {
				pool["mirroring"] = of
			}
		}
	}
	s.set(pools, "pools")
}

// testMirroring checks that a pool is mirrored as configured, that the token of this cluster is copied to the claim's
// namespace, and that an unreachable peer makes no object of this cluster unready: the claim has Rook's message. The
// daemon that would fetch from the peer runs.
func (s *stored) testMirroring(ctx context.Context, t *testing.T) {
	s.setMirroring(map[string]any{"mode": "image", "snapshotSchedules": []any{map[string]any{"interval": "1h"}}})
	started := time.Now()
	apply(ctx, t, s.claim)
	token := ""
	eventually(ctx, t, 5*time.Minute, func() error {
		u, err := s.now(ctx)
		if err != nil {
			return err
		}
		name, _, _ := unstructured.NestedString(u.Object, "status", "mirroring", "tokenSecretRef", "name")
		if name == "" {
			return errors.New("the claim reports no token")
		}
		token = string(secret(ctx, t, s.claim.GetNamespace(), name)["token"])
		return s.is(ctx)
	})
	t.Logf("copied after %.0f s", time.Since(started).Seconds())
	var info struct {
		Mode string `json:"mode"`
	}
	if err := s.mirrored(ctx, &info, "mirror", "pool", "info", copied); err != nil || info.Mode != "image" {
		t.Errorf("Ceph copies in mode %q: %v", info.Mode, err)
	}
	var schedules []struct {
		Interval string `json:"interval"`
	}
	if err := s.mirrored(ctx, &schedules, "mirror", "snapshot", "schedule", "ls", "--pool", copied); err != nil || len(schedules) != 1 ||
		schedules[0].Interval != "1h" {
		t.Errorf("Ceph takes snapshots at %v: %v", schedules, err)
	}
	// Its own token is not accepted as the token of a peer.
	other := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.claim.GetNamespace(), Name: "other"}, Data: map[string][]byte{"token": []byte(token)},
	}
	if err := cluster.Client.Create(ctx, other); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	s.set(map[string]any{
		"peer":      map[string]any{"secretRef": map[string]any{"name": "other"}, "direction": "rx-tx"},
		"daemons":   int64(1),
		"resources": map[string]any{"requests": map[string]any{"cpu": "50m", "memory": "128Mi"}},
	}, "mirroring")
	started = time.Now()
	apply(ctx, t, s.claim)
	eventually(ctx, t, 5*time.Minute, func() error {
		u, err := s.now(ctx)
		if err != nil {
			return err
		}
		if c, _ := platform.ConditionOf(u, "MirroringHealthy"); c.Reason != "PeerNotConfigured" {
			return fmt.Errorf("the claim reports about the other cluster: %s %s", c.Reason, c.Message)
		}
		for _, typ := range []string{"PoolsReady", "MirroringReady", "Ready"} {
			if c, _ := platform.ConditionOf(u, typ); c.Status != "True" {
				return fmt.Errorf("%s: %s", typ, c.Message)
			}
		}
		return nil
	})
	t.Logf("the claim reports after %.0f s that the other cluster is unreachable, and is ready", time.Since(started).Seconds())
	eventually(ctx, t, 3*time.Minute, func() error {
		var known struct {
			Services map[string]any `json:"services"`
		}
		err := s.ceph(ctx, &known, "service", "dump")
		if err == nil && known.Services["rbd-mirror"] == nil {
			err = fmt.Errorf("Ceph has no mirroring daemon; images built before it was added to test/node/images/ceph lack it\n%s",
				cluster.Waiting(ctx, s.namespace))
		}
		return err
	})
	t.Logf("the daemon runs after %.0f s", time.Since(started).Seconds())
	var going map[string]any
	if err := s.mirrored(ctx, &going, "mirror", "pool", "status", copied); err != nil {
		t.Error(err)
	}
	t.Logf("mirroring status of Ceph: %v", going)
	pool := object(cephKind("CephBlockPool"))
	if err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: copied}, pool); err != nil {
		t.Fatal(err)
	}
	t.Logf("Rook's status of the pool: %.600s", fmt.Sprint(pool.Object["status"]))
	if known := fmt.Sprint(s.access(ctx, t)); !strings.Contains(known, copied) {
		t.Errorf("the pool is no longer in status.access: %s", known)
	}
	s.setMirroring(nil)
	unstructured.RemoveNestedField(s.claim.Object, "spec", "mirroring")
	apply(ctx, t, s.claim)
	if err := within(ctx, 5*time.Minute, func() error {
		if err := s.mirrored(ctx, &info, "mirror", "pool", "info", copied); err != nil {
			return err
		}
		if info.Mode != "disabled" {
			return fmt.Errorf("the pool is still copied, in mode %q", info.Mode)
		}
		return s.is(ctx)
	}); err != nil {
		// Only Rook's log has the reason why it continues to mirror.
		requested, failed := kubectl(ctx, "logs", "-n", "rook-ceph", "deploy/rook-ceph-operator", "--since=6m")
		_ = cluster.Client.Get(ctx, client.ObjectKeyFromObject(pool), pool)
		t.Fatalf("%v\nthe claim: %v\nspec: %v\nstatus: %v\n%s %v", err, s.is(ctx), pool.Object["spec"], pool.Object["status"],
			lines(requested, "mirror"), failed)
	}
	// An object that was removed from the claim is retained, and the platform team deletes it, once no claim uses it
	// any more.
	eventually(ctx, t, 3*time.Minute, func() error {
		all, err := kubectl(ctx, "get", "objects.kubernetes.crossplane.io", "-o", "name")
		if err == nil && strings.Contains(all, s.namespace+"-mirror\n") {
			err = errors.New("the claim still has a daemon that copies")
		}
		return err
	})
	mirror := object(cephKind("CephRBDMirror"))
	mirror.SetNamespace(s.namespace)
	mirror.SetName("mirror")
	if err := cluster.Client.Delete(ctx, mirror); err != nil {
		t.Errorf("the daemon that copied was not kept: %v", err)
	}
}

// lines returns the lines of a text that contain a word.
func lines(text, word string) string {
	var out []string
	for l := range strings.Lines(text) {
		if strings.Contains(l, word) {
			out = append(out, l)
		}
	}
	const ready = 40
	return strings.Join(out[max(len(out)-ready, 0):], "")
}
