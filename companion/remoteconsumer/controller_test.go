package remoteconsumer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
)

const namespace, consumerName = "team-a-prod-12345", "team-a-pool-67890"

var scheme = faultinjection.NewScheme(c5c3v1.AddToScheme)

// rotation returns a rotation whose name differs from its Secret's.
func rotation(namespace, secret, id string) *c5c3v1.CredentialRotation {
	r := &c5c3v1.CredentialRotation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "of-" + secret}}
	r.Spec.SecretName, r.Status.CurrentID = common.ObjectName(secret), id
	return r
}

// TestReport: the status contains the credentials in use of the Secrets in the spec, and whether the consumer has them.
func TestReport(t *testing.T) {
	queue, other := rotation(namespace, "nova-cell1-queue", "nova-cell1-queue-2"), rotation(namespace, "glance-credential", "g1")
	credential := rotation(namespace, "nova-credential", "c1")
	ids := func(pairs ...string) (out []c5c3v1.CurrentCredential) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, c5c3v1.CurrentCredential{SecretName: common.ObjectName(pairs[i]), CurrentID: pairs[i+1]})
		}
		return out
	}
	const known, has = "all credentials are tracked; rotations wait for this consumer", "all of its pods have the credentials in use"
	for name, tc := range map[string]struct {
		reason      string
		queue, nov  string // IDs of its pods
		existing    []client.Object
		want        []c5c3v1.CurrentCredential
		wantMessage []string
		after       time.Duration
	}{
		"Has": {
			"It has both credentials.", "nova-cell1-queue-2", "c1", []client.Object{queue, credential, other},
			ids("nova-cell1-queue", "nova-cell1-queue-2", "nova-credential", "c1"),
			[]string{"Ready True Tracked: " + known, "Current True PodsUpToDate: " + has}, 10 * time.Minute,
		},
		"Late": {
			"It has an earlier credential, and the status contains the current one.", "nova-cell1-queue-1", "c1", []client.Object{queue, credential},
			ids("nova-cell1-queue", "nova-cell1-queue-2", "nova-credential", "c1"),
			[]string{
				"Ready True Tracked: " + known,
				"Current False Waiting: some pods are not known to use the current credential of Secret nova-cell1-queue",
			}, 10 * time.Minute,
		},
		"New": {
			"Its credentials are unknown.", "", "", []client.Object{queue, credential},
			ids("nova-cell1-queue", "nova-cell1-queue-2", "nova-credential", "c1"),
			[]string{
				"Ready True Tracked: " + known,
				"Current False Waiting: some pods are not known to use the current credential of Secret nova-cell1-queue, nova-credential",
			}, 10 * time.Minute,
		},
		"None": {
			"Missing credentials, and those of other namespaces, are not reported.", "", "",
			[]client.Object{queue, rotation(namespace, "nova-credential", ""), rotation("team-b-other-1", "nova-credential", "theirs")},
			ids("nova-cell1-queue", "nova-cell1-queue-2"),
			[]string{
				"Ready False NoCredential: no CredentialRotation of this namespace has a credential in Secret nova-credential",
				"Current False Waiting: some pods are not known to use the current credential of Secret nova-cell1-queue",
			}, 10 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			consumer := &c5c3v1.RemoteConsumer{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: consumerName, Generation: 4},
				Spec: c5c3v1.RemoteConsumerSpec{Credentials: []c5c3v1.ConsumedCredential{
					{SecretName: "nova-cell1-queue", ObservedID: tc.queue}, {SecretName: "nova-credential", ObservedID: tc.nov},
				}},
			}
			api := faultinjection.NewServer(scheme, []client.Object{consumer}, append(tc.existing, consumer)...)
			r := &Reconciler{
				Client: api, Reader: api, Events: events.NewFakeRecorder(10),
				Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 5, 1, 2, 0, 0, 0, time.UTC)),
			}
			key := client.ObjectKeyFromObject(consumer)
			var result reconcile.Result
			for range 2 { // The second pass writes nothing.
				var err error
				if result, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
					t.Fatal(err)
				}
			}
			got := &c5c3v1.RemoteConsumer{}
			if err := api.Get(t.Context(), key, got); err != nil {
				t.Fatal(err)
			}
			var message []string
			for _, c := range got.Status.Conditions {
				message = append(message, fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message))
			}
			if diff := cmp.Diff(tc.wantMessage, message, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, got.Status.Credentials); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if got.Status.ObservedGeneration != 4 || result.RequeueAfter != tc.after {
				t.Errorf("%s\nof generation %d, looked at again after %s", tc.reason, got.Status.ObservedGeneration, result.RequeueAfter)
			}
		})
	}
}
