//go:build openstack && linux

package nova

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/instanceactions"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestNovaQueueRotation rotates Nova's and a cell's user of the queue while servers are created and deleted. No message
// is lost: each of their actions exists once, and has succeeded; also after the old users were deleted.
func TestNovaQueueRotation(t *testing.T) {
	t.Parallel()
	n := Start(t, "2025.2", "-queue")
	load := actionsCounted(t, n)
	load.More(t, 5)
	old := map[string]string{}
	for _, name := range []string{"nova-queue", "nova-cell1-queue"} {
		old[name] = n.replaceQueueUser(t, name)
		load.More(t, 5)
	}
	load.Stop(t)
	t.Logf("meanwhile %s", load)
	// Its hypervisors are no consumers: they switch to the new user within the grace period, as those of another
	// cluster do. Servers that one of them was building when it ended have failed, independently of the queue
	// (nova.compute.manager.ComputeManager._init_instance), so none is created meanwhile.
	n.replace(t, n.Hypervisors[0], "2025.2")
	n.up(t)
	load = actionsCounted(t, n)
	load.More(t, 5)
	n.Cloud.Operators.Forward(25 * time.Hour)
	for name, user := range old {
		r := n.waitForRotation(t, name, func(r *c5c3v1.CredentialRotation) bool {
			return apimeta.IsStatusConditionTrue(r.Status.Conditions, "Revoked")
		})
		users := n.queueUsers(t)
		if slices.Contains(users, user) || !slices.Contains(users, r.Status.CurrentID) {
			t.Errorf("%s: RabbitMQ has the users %v, want %s and not %s", name, users, r.Status.CurrentID, user)
		}
	}
	load.More(t, 10)
	load.Stop(t)
	t.Logf("while the old users go, %s", load)
}

// replaceQueueUser rotates a user, and waits until every consumer has the new one.
func (n Nova) replaceQueueUser(t *testing.T, name string) (old string) {
	t.Helper()
	r := n.waitForRotation(t, name, func(r *c5c3v1.CredentialRotation) bool {
		return apimeta.IsStatusConditionTrue(r.Status.Conditions, "Revoked")
	})
	old = r.Status.CurrentID
	if err := n.Cloud.Cluster.Patch(context.Background(), client.ObjectKeyFromObject(r), r, func() {
		r.Annotations = map[string]string{"c5c3.io/rotate": old}
	}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	n.waitForRotation(t, name, func(r *c5c3v1.CredentialRotation) bool {
		return r.Status.CurrentID != old && apimeta.IsStatusConditionTrue(r.Status.Conditions, "Distributed")
	})
	if users := n.queueUsers(t); !slices.Contains(users, old) {
		t.Errorf("%s: the old user %s has its grace, and is not among %v", name, old, users)
	}
	t.Logf("%s: all pods have another user after %.0f s", name, time.Since(began).Seconds())
	return old
}

// waitForRotation waits until a rotation satisfies a condition.
func (n Nova) waitForRotation(t *testing.T, name string, done func(*c5c3v1.CredentialRotation) bool) *c5c3v1.CredentialRotation {
	t.Helper()
	r := &c5c3v1.CredentialRotation{}
	err := n.Cloud.Cluster.Wait(context.Background(), operators.Timeout, "the rotation of "+name, func(ctx context.Context) (bool, error) {
		err := n.Cloud.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: n.Cloud.Namespace, Name: name}, r)
		return done(r), err
	})
	if err != nil {
		t.Fatalf("%v\n%s\n%+v", err, r.Annotations, r.Status)
	}
	return r
}

// queueUsers returns the users of RabbitMQ.
func (n Nova) queueUsers(t *testing.T) []string {
	t.Helper()
	answer, err := n.Cloud.Operators.RabbitMQ(context.Background(), n.Cloud.Namespace, "rabbitmq", http.MethodGet, "users", nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(answer, &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, u := range all {
		out = append(out, u.Name)
	}
	return out
}

// actionsCounted starts two clients, each with a cell, that create and delete servers, and check that every requested
// action was performed once.
func actionsCounted(t *testing.T, n Nova) *harness.Clients {
	t.Helper()
	return harness.StartClients(t, len(n.Hypervisors), func(ctx context.Context, client, round int, try harness.Request) error {
		id := ""
		if err := try("make a virtual machine", func() (err error) {
			id, err = n.CreateServer(ctx, n.Hypervisors[client], fmt.Sprintf("counted-%d-%d", client, round))
			return err
		}); err != nil {
			return err
		}
		return errors.Join(
			try("see it run", func() error { return n.WaitForServer(ctx, id) }),
			try("delete a virtual machine", func() error { return n.DeleteServer(ctx, id) }),
			try("count its actions", func() error { return n.actedEventually(ctx, id, "create", "delete") }),
		)
	})
}

// actedEventually waits for acted: Nova records the end of a deletion after the server is deleted
// (nova.compute.utils.EventReporter).
func (n Nova) actedEventually(ctx context.Context, id string, want ...string) error {
	const tries = 20
	for range tries {
		if err := n.acted(ctx, id, want...); err == nil {
			return nil
		}
		time.Sleep(500 * time.Millisecond)
	}
	return n.acted(ctx, id, want...)
}

// acted returns an error if a server has other actions than these, once each, or a failed one.
func (n Nova) acted(ctx context.Context, id string, want ...string) error {
	page, err := instanceactions.List(n.ServiceClient, id, nil).AllPages(ctx)
	if err != nil {
		return err
	}
	all, err := instanceactions.ExtractInstanceActions(page)
	if err != nil {
		return err
	}
	var got, wrong []string
	for _, a := range all {
		got = append(got, a.Action)
		detail, err := instanceactions.Get(ctx, n.ServiceClient, id, a.RequestID).Extract()
		if err != nil {
			return err
		}
		if detail.Events == nil || len(*detail.Events) == 0 {
			wrong = append(wrong, a.Action+" has no events")
			continue
		}
		for _, e := range *detail.Events {
			if e.Result != "Success" || e.FinishTime.IsZero() {
				wrong = append(wrong, fmt.Sprintf("%s of %s: result %q", e.Event, a.Action, e.Result))
			}
		}
	}
	slices.Sort(got)
	if !slices.Equal(want, got) || len(wrong) > 0 {
		return fmt.Errorf("it has the actions %v, want %v: %s", got, want, strings.Join(wrong, ", "))
	}
	return nil
}
