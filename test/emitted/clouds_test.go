package emitted

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/secretaggregate"
)

// aggregated returns the Secret that the companion creates for an emitted SecretAggregate, with input Secrets as their
// creators leave them: a reader of the wrong key gets another value.
func aggregated(t *testing.T, c testCase, name string, values map[string]map[string]string) map[string][]byte {
	t.Helper()
	a := &c5c3v1.SecretAggregate{}
	emittedAs(t, c, "SecretAggregate", name, a)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, c5c3v1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	objects := []client.Object{a}
	for name, data := range values {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: a.Namespace}, Data: map[string][]byte{}}
		for key, value := range data {
			s.Data[key] = []byte(value)
		}
		objects = append(objects, s)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(a).Build()
	r := &secretaggregate.Reconciler{Client: api, Reader: api, Events: events.NewFakeRecorder(100), Clock: clock.RealClock{}, Random: rand.Reader}
	key := client.ObjectKey{Namespace: a.Namespace, Name: string(a.Spec.TargetSecretName)}
	for range 3 {
		if _, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(a)}); err != nil {
			t.Fatal(err)
		}
	}
	out := &corev1.Secret{}
	if err := api.Get(context.Background(), key, out); err != nil {
		t.Fatalf("%v: %+v", err, a.Status)
	}
	return out.Data
}

// hostile is a password with all that means something in YAML, JSON, templates and shells.
const hostile = "a\"b\\c'd: #e {{ .id }} ${f} %g\t\u00e9 \n- &h *i !j |k >l @m `n ,o"

// TestClientsReadCloudsFileUnchanged checks that readers of a clouds.yaml get names and secrets unchanged, whatever characters they
// contain.
func TestClientsReadCloudsFileUnchanged(t *testing.T) {
	type login struct{ User, Password, Project, ID, Secret string }
	for name, want := range map[string]map[string]login{
		"development.yaml 2025.2": {
			"keystone-clouds":      {User: "admin", Password: hostile, Project: "admin"},
			"keystone-korc-clouds": {ID: "0123e4", Secret: hostile},
		},
		"name of digits on a bare platform": {"keystone-clouds": {User: "1.5", Password: hostile, Project: "admin"}},
	} {
		for _, aggregate := range slices.Sorted(maps.Keys(want)) {
			t.Run(name+" "+aggregate, func(t *testing.T) {
				data := aggregated(t, caseOf(t, name), aggregate, map[string]map[string]string{
					"keystone-admin":    {"username": "the administrator", "password": hostile},
					"keystone-database": {"username": "keystone", "password": "the database's"},
					"keystone-korc":     {"application_credential_id": "0123e4", "application_credential_secret": hostile},
					"keystone-tls":      {"tls.crt": "a certificate", "tls.key": "its key", "ca.crt": "-----BEGIN CERTIFICATE-----\n"},
				})
				cloud := map[string]string{"keystone-clouds": "admin", "keystone-korc-clouds": "korc"}[aggregate]
				auth, _, _, err := clouds.Parse(clouds.WithCloudsYAML(bytes.NewReader(data["clouds.yaml"])), clouds.WithCloudName(cloud))
				if err != nil {
					t.Fatal(err)
				}
				got := login{auth.Username, auth.Password, "", auth.ApplicationCredentialID, auth.ApplicationCredentialSecret}
				if auth.Scope != nil {
					got.Project = auth.Scope.ProjectName
				}
				if diff := cmp.Diff(want[aggregate], got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if string(data["cacert"]) != "-----BEGIN CERTIFICATE-----\n" {
					t.Errorf("cacert is %q", data["cacert"])
				}
			})
		}
	}
}

// TestCephFilesContainStatusAndKey checks that the files of a Ceph client are generated from the StorageCluster's status and Rook's key,
// in the form that librados and os-brick parse. A keyring without a final newline is invalid.
func TestCephFilesContainStatusAndKey(t *testing.T) {
	const conf = "[global]\nfsid = %s\nmon_host = %s\n[client.%s]\nkeyring = %s\n"
	c := caseOf(t, "storage/control-plane.yaml 2025.2")
	var known []any
	for _, o := range c.Existing {
		if o.GetFields()["kind"].GetStringValue() == "XControlPlaneCluster" {
			known, _ = o.AsMap()["status"].(map[string]any)["storage"].([]any)
		}
	}
	if len(known) != 3 {
		t.Fatalf("the claim knows %v", known)
	}
	first := known[0].(map[string]any)
	monitors := first["monitors"].([]any)
	for aggregate, want := range map[string]struct{ user, config, keyring, folder string }{
		"glance-main-store":      {"production-glance", "ceph.conf", "keyring", "/etc/glance/stores/main/"},
		"cinder-volume-ceph-rbd": {"production-cinder", "ceph-rbd.ceph", "ceph-rbd.client.production-cinder.keyring", "/etc/ceph/"},
		"cinder-backup-target":   {"production-cinder-backup", "ceph.conf", "keyring", "/etc/cinder/backup-target/"},
	} {
		t.Run(aggregate, func(t *testing.T) {
			a := &c5c3v1.SecretAggregate{}
			emittedAs(t, c, "SecretAggregate", aggregate, a)
			source := a.Spec.Sources[0].SecretKeyRef
			if !strings.HasSuffix(string(source.Name), "-rook-ceph-client-"+want.user) {
				t.Errorf("it reads the key of Secret %s", source.Name)
			}
			data := aggregated(t, c, aggregate, map[string]map[string]string{string(source.Name): {string(source.Key): "AQBkey==\n"}})
			got := map[string]string{}
			for key, value := range data {
				got[key] = string(value)
			}
			var addresses []string
			for _, m := range monitors {
				addresses = append(addresses, m.(string))
			}
			if diff := cmp.Diff(map[string]string{
				want.config:  fmt.Sprintf(conf, first["fsid"], strings.Join(addresses, ","), want.user, want.folder+want.keyring),
				want.keyring: "[client." + want.user + "]\nkey = AQBkey==\n",
			}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
