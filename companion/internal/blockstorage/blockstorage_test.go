package blockstorage_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/blockstorage"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/blockstorage/blockstoragetest"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/faultinjection"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/identity/identitytest"
)

const password = "correct-horse-battery"

func find(t *testing.T, cinder http.RoundTripper, secrets ...client.Object) (*blockstorage.API, string) {
	t.Helper()
	reader := faultinjection.NewServer(clientgoscheme.Scheme, nil, secrets...)
	ref := common.CloudCredentialsReference{SecretName: "clouds", CloudName: "admin"}
	api, reason, err := blockstorage.Find(t.Context(), reader, func([]byte) (http.RoundTripper, error) { return cinder, nil }, "cloud", ref)
	if err != nil {
		t.Fatal(err)
	}
	return api, reason
}

func found(t *testing.T) (*blockstorage.API, *blockstoragetest.Cinder) {
	t.Helper()
	cinder := blockstoragetest.New(identitytest.New(map[string]string{"admin": password}))
	api, reason := find(t, cinder, identitytest.Clouds("cloud", "clouds", password))
	if reason != "" {
		t.Fatal(reason)
	}
	return api, cinder
}

// TestServices: a manager has a backend, and other processes have none.
func TestServices(t *testing.T) {
	api, cinder := found(t)
	cinder.Set(
		blockstoragetest.Service{Binary: "cinder-scheduler", Host: "cinder-scheduler-0", Up: true},
		blockstoragetest.Service{Binary: "cinder-volume", Host: "cinder-volume-ceph-rbd-0@ceph-rbd"},
	)
	got, err := api.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []blockstorage.Service{
		{Binary: "cinder-scheduler", Host: "cinder-scheduler-0", Up: true},
		{Binary: blockstorage.Volume, Host: "cinder-volume-ceph-rbd-0", Backend: "ceph-rbd"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPools: numbers and other values are distinguished, and a manager that reports its backend as down has not read the
// capacity.
func TestPools(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 500_000_000, time.UTC)
	for name, tc := range map[string]struct {
		reason string
		pools  []blockstoragetest.Pool
		want   []blockstorage.Pool
	}{
		"None": {reason: "No manager has reported.", want: []blockstorage.Pool{}},
		"Known": {
			"Parts of a GiB are ignored.",
			[]blockstoragetest.Pool{{Name: "cinder@ceph-rbd#ceph-rbd", ReportedAt: at, Total: 99.99, Free: 0.5, State: "up"}},
			[]blockstorage.Pool{{Backend: "ceph-rbd", Name: "ceph-rbd", ReportedAt: at, Total: blockstorage.Capacity{GiB: 99}}},
		},
		"Unknown": {
			"A driver could not read the capacity.",
			[]blockstoragetest.Pool{{Name: "cinder@ceph-rbd#ceph-rbd", ReportedAt: at, Total: "unknown", Free: "unknown", State: "down"}},
			[]blockstorage.Pool{{Backend: "ceph-rbd", Name: "ceph-rbd", Total: blockstorage.Capacity{Unknown: true},
				Free: blockstorage.Capacity{Unknown: true}}},
		},
		"Endless": {
			"A driver without a limit, and one without a report.",
			[]blockstoragetest.Pool{{Name: "host@b", ReportedAt: at, Total: "infinite"}},
			[]blockstorage.Pool{{Backend: "b", ReportedAt: at, Total: blockstorage.Capacity{Infinite: true},
				Free: blockstorage.Capacity{Unknown: true}}},
		},
		"More than all": {
			"More may be allocated than exists.",
			[]blockstoragetest.Pool{{Name: "host@b#b", Total: 1, Free: -3.5}},
			[]blockstorage.Pool{{Backend: "b", Name: "b", Total: blockstorage.Capacity{GiB: 1}}},
		},
		"Joined": {
			"Its managers have started to share it: the earlier report of one manager is outdated.",
			[]blockstoragetest.Pool{
				{Name: "cinder-volume-b-0@b#b", ReportedAt: at.Add(-time.Hour), Total: 10, Free: 1}, {Name: "cinder@b#b", ReportedAt: at, Total: 20,
					Free: 2},
			},
			[]blockstorage.Pool{{Backend: "b", Name: "b", ReportedAt: at, Total: blockstorage.Capacity{GiB: 20},
				Free: blockstorage.Capacity{GiB: 2}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			api, cinder := found(t)
			cinder.SetPools(tc.pools...)
			got, err := api.Pools(t.Context())
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}

// TestSumWithUnknownPartIsUnknown: if a part is unknown, the sum is unknown.
func TestSumWithUnknownPartIsUnknown(t *testing.T) {
	got := blockstorage.Capacity{GiB: 1, Unknown: true}.Add(blockstorage.Capacity{GiB: 2, Infinite: true})
	if want := (blockstorage.Capacity{GiB: 3, Unknown: true, Infinite: true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestErrorsContainMessageOfCinder: errors contain the message of Cinder.
func TestErrorsContainMessageOfCinder(t *testing.T) {
	api, cinder := found(t)
	for want, prepare := range map[string]func(){
		"Cinder returned HTTP 403: Policy doesn't allow it to be performed.": func() {
			cinder.FailRequests("Policy doesn't allow it to be " +
				"performed.")
		},
		"Cinder returned HTTP 503": func() { cinder.SetDown(true) },
	} {
		prepare()
		if _, err := api.Services(t.Context()); err == nil || err.Error() != "cannot list the services of Cinder: "+want {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := api.Pools(t.Context()); err == nil || err.Error() != "cannot list the pools of Cinder: "+want {
			t.Errorf("%v, want %q", err, want)
		}
		cinder.FailRequests("")
		cinder.SetDown(false)
	}
}

// TestFind: the reason is returned if Cinder cannot be found.
func TestFind(t *testing.T) {
	keystone := identitytest.New(map[string]string{"admin": password})
	cinder := &blockstoragetest.Cinder{Keystone: keystone} // It is not in the catalog.
	for _, tc := range []struct {
		reason string
		secret *corev1.Secret
		want   string
	}{
		{reason: "It does not exist yet.", want: "spec.cloudCredentialsRef: Secret clouds does not exist"},
		{reason: "Keystone rejects the login.", secret: identitytest.Clouds("cloud", "clouds", "another"), want: "cannot log in as user admin"},
		{
			reason: "Cinder is not in the catalog yet.", secret: identitytest.Clouds("cloud", "clouds", password),
			want: "cannot find service block-storage: Keystone's catalog has no internal endpoint of that type",
		},
	} {
		var existing []client.Object
		if tc.secret != nil {
			existing = append(existing, tc.secret)
		}
		if api, reason := find(t, cinder, existing...); api != nil || !strings.Contains(reason, tc.want) {
			t.Errorf("%s %q, want %q", tc.reason, reason, tc.want)
		}
	}
}
