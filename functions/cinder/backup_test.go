package cinder

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// TestSwiftBackupsUseTokenOfUser verifies that backups of a project are stored in its own account with the token of the requesting user,
// and that no token of Cinder is sent.
func TestSwiftBackupsUseTokenOfUser(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, release string
		swift           map[string]any
		want            map[string]string
		port            int32
		secret          *c5c3v1.SecretAggregateSpec
	}{
		"Private authority": {
			reason: "A StorageCluster's gateways have one of their own.", release: "2025.2",
			swift: map[string]any{
				"url": "https://objects.storage.svc/swift/v1/AUTH_", "caSecretRef": map[string]any{"name": "tenant-objects", "key": "authority"},
			},
			want: map[string]string{
				"URL": "https://objects.storage.svc/swift/v1/AUTH_", "CONTAINER": "volumebackups", "CA_CERT_FILE": "/etc/cinder/backup-target/ca.crt",
			},
			port: 443,
			secret: &c5c3v1.SecretAggregateSpec{
				TargetSecretName: "cinder-backup-target", Sources: []c5c3v1.SecretSource{service.Source("ca", "tenant-objects", "authority")},
				Template: map[string]c5c3v1.SecretTemplate{"ca.crt": "{{ .ca }}"},
			},
		},
		"Public authority": {
			reason: "No volume is mounted.", release: "2026.2",
			swift: map[string]any{"url": "https://objects.example.com:8080/v1/AUTH_", "container": "nightly"},
			want:  map[string]string{"URL": "https://objects.example.com:8080/v1/AUTH_", "CONTAINER": "nightly", "CA_CERT_FILE": publicCAs}, port: 8080,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := servicetest.Spec(t, "small")
			spec["openStackRelease"], spec["backup"] = tc.release, map[string]any{"replicas": 1, "swift": tc.swift}
			m := derived(t, spec)
			want := map[string]string{
				"OS_DEFAULT__BACKUP_DRIVER": "cinder.backup.drivers.swift.SwiftBackupDriver", "OS_DEFAULT__BACKUP_SWIFT_AUTH": "per_user",
			}
			for option, value := range tc.want {
				want["OS_DEFAULT__BACKUP_SWIFT_"+option] = value
			}
			got := map[string]string{}
			for _, e := range m.target.env {
				got[e.Name] = e.Value
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff([]workload.Flow{{Anywhere: true, Ports: []int32{tc.port}}}, m.target.egress); diff != "" {
				t.Errorf("where pods go (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.secret, m.target.secret); diff != "" {
				t.Errorf("mounted files (-want +got):\n%s", diff)
			}
			checkMounted(t, m, tc.secret != nil)
		})
	}
}

// checkMounted verifies that only the pods of backups mount the target's files, and are replaced when these change.
func checkMounted(t *testing.T, m *model, want bool) {
	t.Helper()
	for _, p := range m.Processes() {
		mounted := false
		for _, v := range p.Mounts {
			mounted = mounted || v.Secret != nil && v.Secret.SecretName == m.Sub(targetName)
		}
		if mounted != (want && p.Name == backup) {
			t.Errorf("%s mounts the target's Secret: %t", p.Name, mounted)
		}
		if p.Name != backup && hasEnv(p.Env, "OS_DEFAULT__BACKUP_DRIVER") {
			t.Errorf("%s mounts files of the backup target", p.Name)
		}
	}
}

func hasEnv(env []corev1.EnvVar, name string) bool {
	for _, e := range env {
		if e.Name == name {
			return true
		}
	}
	return false
}

// derived is the model of a Cinder with a spec.
func derived(t *testing.T, spec map[string]any) *model {
	t.Helper()
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	in := function.Input[cinderv1.Cinder]{}
	in.XR.Name, in.XR.Namespace = cinderv1.ServiceName, "cloud"
	if err := json.Unmarshal(text, &in.XR.Spec); err != nil {
		t.Fatal(err)
	}
	function.SetDefaults(&in.XR)
	m, err := derive(in)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
