//go:build openstack && linux

package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
)

// A rollout records the events of a cloud: pods that started and ended, by version, and the releases of schemas.
type rollout struct {
	cancel func()
	done   sync.WaitGroup

	mu     sync.Mutex
	events []happened
	schema map[string]string // release by name
}

// happened is the start or the end of a pod, or the release of a schema.
type happened struct {
	label, version string
	ended          bool
}

// WatchRollout records events until the test ends, or the order is checked.
func WatchRollout(t *testing.T, c *clouds.Cloud) *rollout {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &rollout{schema: map[string]string{}}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &openstackv1.DatabaseSyncList{}} {
		w, err := c.Cluster.Client.Watch(ctx, list, client.InNamespace(c.Namespace))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			<-ctx.Done()
			w.Stop()
		}()
		r.done.Go(func() {
			for e := range w.ResultChan() {
				r.see(e.Type, e.Object)
			}
		})
	}
	r.cancel = cancel
	t.Cleanup(r.Stop)
	return r
}

// Stop ends the recording.
func (r *rollout) Stop() {
	r.cancel()
	r.done.Wait()
}

// see records an event.
func (r *rollout) see(kind watch.EventType, object runtime.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch o := object.(type) {
	case *corev1.Pod:
		if kind == watch.Modified || o.Labels[ComponentLabel] == "" {
			return
		}
		_, tag, _ := strings.Cut(o.Spec.Containers[0].Image, ":")
		label := o.Labels["app.kubernetes.io/instance"] + " " + o.Labels[ComponentLabel]
		r.events = append(r.events, happened{label, tag, kind == watch.Deleted})
	case *openstackv1.DatabaseSync:
		if now := o.Status.InstalledRelease; now != "" && now != r.schema[o.Name] {
			r.schema[o.Name] = now
			r.events = append(r.events, happened{SchemaLabel(o.Name), now, false})
		}
	}
}

// ComponentLabel is the label of the component that a pod belongs to.
const ComponentLabel = "app.kubernetes.io/component"

// SchemaLabel returns the label of a service's schema in stages.
func SchemaLabel(name string) string { return "schema of " + name }

// first and last return the index of an event: -1 if it did not happen.
func (r *rollout) first(h happened) int { return slices.Index(r.events, h) }

func (r *rollout) last(h happened) int {
	for i, e := range slices.Backward(r.events) {
		if e == h {
			return i
		}
	}
	return -1
}

// A stage of a rollout replaces pods of one version by pods of another, or migrates a schema to a release.
type Stage struct{ Label, From, To string }

// started returns the time of the first start, and ended the time of the last end of the previous version.
func (r *rollout) started(s Stage) int { return r.first(happened{s.Label, s.To, false}) }

func (r *rollout) ended(s Stage) int {
	if s.From == "" {
		return r.started(s)
	}
	return max(r.started(s), r.last(happened{s.Label, s.From, true}))
}

// CheckOrder checks that each stage of a chain ended before the next one started.
func (r *rollout) CheckOrder(t *testing.T, chains ...[]Stage) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	wrong := false
	for _, chain := range chains {
		for i, s := range chain {
			if r.started(s) < 0 || s.From != "" && r.last(happened{s.Label, s.From, true}) < 0 {
				t.Errorf("the %s did not go from %q to %q", s.Label, s.From, s.To)
				wrong = true
			}
			if i > 0 && r.started(s) <= r.ended(chain[i-1]) {
				t.Errorf("the %s began to be %s before the %s was %s", s.Label, s.To, chain[i-1].Label, chain[i-1].To)
				wrong = true
			}
		}
	}
	if wrong {
		t.Log(r)
	}
}

// String lists the events.
func (r *rollout) String() string {
	var out strings.Builder
	for _, e := range r.events {
		fmt.Fprintf(&out, "%s %s, gone: %v\n", e.label, e.version, e.ended)
	}
	return out.String()
}
