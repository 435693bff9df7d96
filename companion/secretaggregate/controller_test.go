package secretaggregate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller/controllertest"
)

var wantData = map[string][]byte{"clouds.yaml": []byte("password: \"" + secret + "\"\n"), "cacert": []byte("authority")}

func TestWrites(t *testing.T) {
	c := newCluster(t, append(sources(), aggregate())...)
	c.reconcileUntilStable()
	got := c.target()
	if diff := cmp.Diff(wantData, got.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if owner := metav1.GetControllerOf(got); owner == nil || owner.UID != "aggregate-uid" || owner.Kind != "SecretAggregate" ||
		owner.APIVersion != "c5c3.io/v1alpha1" {
		t.Errorf("owner %v", owner)
	}
	if got.Labels[managedByLabel] != managedBy || got.Type != corev1.SecretTypeOpaque {
		t.Errorf("%v", got.ObjectMeta)
	}
	if r := c.ready(); r.Status != metav1.ConditionTrue || r.ObservedGeneration != 1 || c.aggregate().Status.ObservedGeneration != 1 {
		t.Errorf("%v", r)
	}
	// Nothing is written without changes.
	before := c.target().ResourceVersion + c.aggregate().ResourceVersion
	c.reconcileUntilStable()
	if after := c.target().ResourceVersion + c.aggregate().ResourceVersion; after != before {
		t.Error("it writes again and again")
	}
}

func TestUpdatesSecretAfterChanges(t *testing.T) {
	for name, tc := range map[string]struct {
		reason      string
		change      func(*cluster)
		want        map[string][]byte
		ready       string // reason of the condition
		wantMessage string
	}{
		"SourceChanged": {
			reason: "A change of a source updates the Secret.",
			change: func(c *cluster) {
				c.update("keystone-tls", func(s *corev1.Secret) { s.Data["ca.crt"] = []byte("new") })
			},
			want: map[string][]byte{"clouds.yaml": wantData["clouds.yaml"], "cacert": []byte("new")}, ready: "Written",
		},
		"TargetEdited": {
			reason: "A change is reverted, and additional keys are removed.",
			change: func(c *cluster) {
				c.update(target, func(s *corev1.Secret) { s.Data = map[string][]byte{"cacert": []byte("x"), "more": nil} })
			},
			want: wantData, ready: "Written",
		},
		"TargetDeleted": {
			reason: "It is re-created.",
			change: func(c *cluster) { c.must(c.api.Delete(context.Background(), c.target())) },
			want:   wantData, ready: "Written",
		},
		"OwnerLost": {
			reason: "A restored copy is adopted.",
			change: func(c *cluster) { c.update(target, func(s *corev1.Secret) { s.OwnerReferences = nil }) },
			want:   wantData, ready: "Written",
		},
		"SourceGone": {
			reason: "The existing content is retained, because pods use it.",
			change: func(c *cluster) { c.must(c.api.Delete(context.Background(), secretOf("keystone-tls", nil))) },
			want:   wantData, ready: "SourceMissing", wantMessage: "waiting for sources: source ca: Secret keystone-tls does not exist",
		},
		"KeyGone": {
			reason: "The message contains the key.",
			change: func(c *cluster) { c.update("keystone-admin", func(s *corev1.Secret) { delete(s.Data, "password") }) },
			want:   wantData, ready: "SourceMissing", wantMessage: "source password: Secret keystone-admin has no key password",
		},
		"TemplateChanged": {
			reason: "Keys that are no longer in the spec are removed.",
			change: func(c *cluster) {
				a := c.aggregate()
				a.Generation, a.Spec.Template = 2, map[string]c5c3v1.SecretTemplate{"p": "{{ .password }}"}
				c.must(c.api.Update(context.Background(), a))
			},
			want: map[string][]byte{"p": []byte(secret)}, ready: "Written",
		},
		"Keyring": {
			reason: "The end of a file is defined by its template, with or without a line end in the source.",
			change: func(c *cluster) {
				a := c.aggregate()
				a.Generation, a.Spec.Template = 2, map[string]c5c3v1.SecretTemplate{"keyring": "[client.glance]\n\tkey = {{ .password | trim }}\n"}
				c.must(c.api.Update(context.Background(), a))
				c.update("keystone-admin", func(s *corev1.Secret) { s.Data["password"] = []byte("AQB+/w==\n") })
			},
			want: map[string][]byte{"keyring": []byte("[client.glance]\n\tkey = AQB+/w==\n")}, ready: "Written",
		},
		"TemplateBroken": {
			reason: "All or nothing: valid keys are not written either.",
			change: func(c *cluster) {
				a := c.aggregate()
				a.Spec.Template = map[string]c5c3v1.SecretTemplate{"cacert": "changed", "p": "{{ .unknown }}"}
				c.must(c.api.Update(context.Background(), a))
			},
			want: wantData, ready: "InvalidSpec", wantMessage: `spec.template[p]: source "unknown" does not exist`,
		},
		"ReadsItself": {
			reason: "A Secret that includes itself would grow forever.",
			change: func(c *cluster) {
				a := c.aggregate()
				a.Spec.Sources = append(a.Spec.Sources, source("self", target, "cacert"))
				c.must(c.api.Update(context.Background(), a))
			},
			want: wantData, ready: "InvalidSpec", wantMessage: "is the target; use another Secret",
		},
		"ValueRefused": {
			reason: "A value that would be two options is neither written nor revealed.",
			change: func(c *cluster) {
				a := c.aggregate()
				a.Spec.Sources[0].Escape = "OsloConfig"
				c.must(c.api.Update(context.Background(), a))
				c.update("keystone-admin", func(s *corev1.Secret) { s.Data["password"] = []byte(secret + "\n[x]") })
			},
			want: wantData, ready: "InvalidSpec", wantMessage: "source password (Secret keystone-admin, key password) cannot be escaped as OsloConfig",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(sources(), aggregate())...)
			c.reconcileUntilStable()
			tc.change(c)
			c.reconcileUntilStable()
			if diff := cmp.Diff(tc.want, c.target().Data); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			r := c.ready()
			if r.Reason != tc.ready || (r.Status == metav1.ConditionTrue) != (tc.ready == "Written") || !strings.Contains(r.Message,
				tc.wantMessage) {
				t.Errorf("%s: %v", tc.reason, r)
			}
			if metav1.GetControllerOf(c.target()) == nil {
				t.Errorf("%s: no owner", tc.reason)
			}
			if requested := c.output(); strings.Contains(requested, secret) {
				t.Errorf("%s: the secret was revealed: %s", tc.reason, requested)
			}
		})
	}
}

// TestOwnedByOther: a Secret of others is reported and not changed.
func TestOwnedByOther(t *testing.T) {
	isController := true
	owner := func(kind, name string, uid types.UID) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "x/v1", Kind: kind, Name: name, UID: uid, Controller: &isController}}
	}
	for name, tc := range map[string]struct {
		owners      []metav1.OwnerReference
		of          string // the SecretAggregate in its annotation
		wantMessage string
	}{
		"Nobody":   {nil, "", "it was not created by this SecretAggregate"},
		"Unmarked": {nil, target, "it was not created by this SecretAggregate"},
		"Operator": {owner("ExternalSecret", "clouds", "1"), "", "it belongs to ExternalSecret clouds"},
		"Sibling":  {owner("SecretAggregate", "other", "2"), "", "it belongs to SecretAggregate other"},
		"Orphan":   {nil, "other", "it was not created by this SecretAggregate"},
		"Earlier":  {owner("SecretAggregate", target, "3"), "", "an earlier SecretAggregate of the same name"},
	} {
		t.Run(name, func(t *testing.T) {
			foreignObject := secretOf(target, map[string]string{"theirs": "x"})
			foreignObject.OwnerReferences = tc.owners
			if tc.of != "" {
				foreignObject.Annotations = map[string]string{nameAnnotation: tc.of}
			}
			if name == "Orphan" { // As a SecretAggregate marks its Secret, which has lost its owner.
				foreignObject.Labels = map[string]string{managedByLabel: managedBy}
			}
			c := newCluster(t, append(sources(), aggregate(), foreignObject)...)
			before := c.target()
			c.reconcileUntilStable()
			if diff := cmp.Diff(before, c.target()); diff != "" {
				t.Errorf("touched (-before +after):\n%s", diff)
			}
			if r := c.ready(); r.Reason != "SecretNotOwned" || !strings.Contains(r.Message, tc.wantMessage) {
				t.Errorf("%v", r)
			}
			if h := c.aggregate().Status.ContentHash; h != "" {
				t.Errorf("hash %s of a Secret that is not ours", h)
			}
		})
	}
}

// TestTargetRetainsForeignMetadata: K-ORC keeps a finalizer on the Secret with which it logs in.
func TestTargetRetainsForeignMetadata(t *testing.T) {
	c := newCluster(t, append(sources(), aggregate())...)
	c.reconcileUntilStable()
	c.update(target, func(s *corev1.Secret) {
		s.Labels["theirs"], s.Annotations["theirs"] = "x", "y"
	})
	c.korc(true)
	c.update("keystone-admin", func(s *corev1.Secret) { s.Data["password"] = []byte("new") })
	c.reconcileUntilStable()
	got := c.target()
	if !slices.Equal(got.Finalizers, finalizers) || got.Labels["theirs"] != "x" || got.Annotations["theirs"] != "y" ||
		!strings.Contains(string(got.Data["clouds.yaml"]), "new") {
		t.Errorf("%v", got)
	}
}

// TestContentHash: the hash changes and reverts with the content of the Secret, and differs for the same content in another
// Secret.
func TestContentHash(t *testing.T) {
	c := newCluster(t, append(sources(), aggregate())...)
	c.reconcileUntilStable()
	first := c.aggregate().Status.ContentHash
	c.update("keystone-admin", func(s *corev1.Secret) { s.Data["password"] = []byte("new") })
	c.reconcileUntilStable()
	second := c.aggregate().Status.ContentHash
	c.update("keystone-admin", func(s *corev1.Secret) { s.Data["password"] = []byte(secret) })
	c.reconcileUntilStable()
	if third := c.aggregate().Status.ContentHash; len(first) != 64 || first == second || first != third {
		t.Errorf("hashes %s, %s, %s", first, second, third)
	}
	c.must(c.api.Delete(context.Background(), c.target()))
	c.reconcileUntilStable()
	if hash := c.aggregate().Status.ContentHash; hash == first {
		t.Error("equal content has an equal hash in every Secret: a password could be guessed from it")
	}
	a, b := secretOf("x", map[string]string{"a": "bc"}), secretOf("x", map[string]string{"ab": "c"})
	if contentHash(a) == contentHash(b) {
		t.Error("keys and values run together")
	}
}

// TestRejectedByAPI: the condition reports the error, without the message of the API server.
func TestRejectedByAPI(t *testing.T) {
	c := newCluster(t, append(sources(), aggregate())...)
	refuses := interceptor.NewClient(c.api, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, target, errors.New("quota"))
		},
	})
	r := c.reconciler(refuses)
	if _, err := c.pass(r, target); err == nil {
		t.Fatal("no error, so there is no retry")
	}
	if r := c.ready(); r.Reason != "WriteFailed" || r.Message != "the API server rejected Secret keystone-clouds: Forbidden" {
		t.Errorf("%v", r)
	}
	c.reconcileUntilStable()
	if r := c.ready(); r.Status != metav1.ConditionTrue {
		t.Errorf("%v", r)
	}
}

// TestDeletedAggregateCreatesNoSecret: a deleted aggregate, or one that is being deleted, creates nothing.
func TestDeletedAggregateCreatesNoSecret(t *testing.T) {
	going := aggregate()
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"foregroundDeletion"}
	c := newCluster(t, append(sources(), going)...)
	for _, name := range []string{target, "gone"} {
		if result, err := c.pass(c.reconciler(c.api), name); err != nil || result.RequeueAfter != 0 || c.target() != nil {
			t.Errorf("%s: %v, %v", name, result, err)
		}
	}
}

// TestWatchesSourcesAndTargetOnce: each source and the target trigger a pass, without duplicates.
func TestWatchesSourcesAndTargetOnce(t *testing.T) {
	a := aggregate()
	a.Spec.Sources = append(a.Spec.Sources, source("user", "keystone-admin", "username"))
	if diff := cmp.Diff([]string{"keystone-admin", target, "keystone-tls"}, kind.Secrets(a)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestForbiddenSourceRetainsSecret: with a source that the companion's Role does not include, nothing is created, and existing content is
// retained. The controller polls, because a new permission triggers no pass.
func TestForbiddenSourceRetainsSecret(t *testing.T) {
	c := newCluster(t, append(sources(), aggregate())...)
	c.reconcileUntilStable()
	a := c.aggregate()
	a.Spec.Sources[0].SecretKeyRef.Name = "mariadb-root"
	c.must(c.api.Update(context.Background(), a))
	c.update("keystone-tls", func(s *corev1.Secret) { s.Data["ca.crt"] = []byte("renewed") })
	denied := true
	bounded := interceptor.NewClient(c.api, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if denied && k.Name == "mariadb-root" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, k.Name, errors.New("no rule"))
			}
			return api.Get(ctx, k, o, opts...)
		},
	})
	r := c.reconciler(bounded)
	result, err := c.pass(r, target)
	if err != nil || result.RequeueAfter != controller.Poll {
		t.Errorf("%v, %v", result, err)
	}
	if got := c.ready(); got.Reason != "Forbidden" || !strings.Contains(got.Message, "has no permission to read Secret mariadb-root") {
		t.Errorf("%v", got)
	}
	if diff := cmp.Diff(wantData, c.target().Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	denied = false
	c.must(c.api.Create(context.Background(), secretOf("mariadb-root", map[string]string{"password": "p"})))
	c.run(r)
	if got := c.ready(); got.Status != metav1.ConditionTrue {
		t.Errorf("with the permission: %v", got)
	}
}

// TestAdd wires the controller to a manager without connections.
func TestAdd(t *testing.T) {
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{Scheme: scheme,
		Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(mgr); err != nil {
		t.Fatal(err)
	}
}

// TestReportsWritesWithReason: writes are reported with their reason, and the Secret is marked with its owner.
func TestReportsWritesWithReason(t *testing.T) {
	c := newCluster(t, append(sources(), aggregate())...)
	c.reconcileUntilStable()
	c.update("keystone-admin", func(s *corev1.Secret) { s.Data["password"] = []byte("new") })
	c.reconcileUntilStable()
	got := controllertest.Events(c.events)
	want := []string{
		"Normal SecretCreated created Secret keystone-clouds",
		"Normal SecretUpdated updated Secret keystone-clouds: a source, a template or the Secret itself changed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	labels := map[string]string{"app.kubernetes.io/managed-by": "cobaltcore-companion", "app.kubernetes.io/part-of": "openstack"}
	if diff := cmp.Diff(labels, c.target().Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if owner := metav1.GetControllerOf(c.target()); owner == nil || owner.Name != target || owner.UID != "aggregate-uid" {
		t.Errorf("it is of %v", owner)
	}
}
