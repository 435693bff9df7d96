package image

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	glancev1 "github.com/c5c3/crossplane-cobaltcore/apis/glance/v1alpha1"
)

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, want string }{
		"a store":           {"One is enough.", `{stores: [{name: a, file: {storageSize: 1Gi}}]}`, ""},
		"a store's option":  {"Each store has the options of its driver.", `{stores: [{name: a, rbd: {secretRef: {name: c}}}], config: {a: {rbd_store_chunk_size: 4}}}`, ""},
		"no store":          {"Nothing could be uploaded.", `{}`, "spec.stores: Glance needs a place for images"},
		"another's option":  {"It would do nothing.", `{stores: [{name: a, file: {storageSize: 1Gi}}], config: {a: {rbd_store_chunk_size: 4}}}`, "spec.config.a.rbd_store_chunk_size: "},
		"a store's address": {"It has a field.", `{stores: [{name: a, rbd: {secretRef: {name: c}}}], config: {a: {rbd_store_pool: x}}}`, "spec.config.a.rbd_store_pool: "},
		"Glance's own name": {"Two would write one section.", `{stores: [{name: cors, file: {storageSize: 1Gi}}]}`, "spec.stores[0].name: glance has a group [cors]"},
		"one volume, two pods": {
			"The second would not start.", `{replicas: 2, stores: [{name: a, file: {storageSize: 1Gi, accessMode: ReadWriteOnce}}]}`,
			"spec.stores[0].file.accessMode: ReadWriteOnce serves a single pod, and there are 2",
		},
		"no amounts": {
			"An API server would have refused them; a damaged status is seen by none.", `{stores: [{name: a, file: {storageSize: ""}}], imageCache: {storageSize: x}}`,
			`spec.stores[0].file.storageSize: "" is not a quantity`,
		},
		"no amount of a cache": {
			"The same.", `{stores: [{name: a, file: {storageSize: 1Gi}}], imageCache: {storageSize: x}}`, `spec.imageCache.storageSize: "x" is not a quantity`,
		},
		"no amount of the staging": {
			"The same.", `{stores: [{name: a, file: {storageSize: 1Gi}}], import: {staging: {storageSize: x}}}`, `spec.import.staging.storageSize: "x" is not a quantity`,
		},
		"one volume, one pod":            {"It has it alone.", `{replicas: 1, stores: [{name: a, file: {storageSize: 1Gi, accessMode: ReadWriteOnce}}]}`, ""},
		"one volume, pods as by default": {"The default is one pod.", `{stores: [{name: a, file: {storageSize: 1Gi, accessMode: ReadWriteOnce}}]}`, ""},
		"a pool of a StorageCluster":     {"The control plane provides its location.", `{stores: [{name: a, ceph: {clusterRef: {name: c}, pool: p}}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := glancev1.GlanceSpec{}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &s); err != nil {
				t.Fatal(err)
			}
			Complete(&s.Storage)
			spec := Spec(&s)
			spec.Complete()
			got := ""
			if err := Check("spec", "2025.2", spec, &s.Storage); err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestComplete checks that the defaults are safe, and that set fields are kept.
func TestComplete(t *testing.T) {
	for name, tc := range map[string]struct{ reason, in, want string }{
		"nothing": {
			"Web downloads are disabled by default.", `{stores: [{name: a, rbd: {secretRef: {name: c}}}]}`,
			`{stores: [{name: a, rbd: {secretRef: {name: c}}}], defaultStore: a, import: {methods: [glance-direct, copy-image]}}`,
		},
		"downloads": {
			"By https alone.", `{import: {methods: [web-download]}}`,
			`{import: {methods: [web-download], webDownload: {allowedPorts: [443], allowedSchemes: [https]}}}`,
		},
		"no downloads": {
			"A filter for a disabled method is removed.", `{import: {methods: [copy-image], webDownload: {allowedPorts: [80]}}}`, `{import: {methods: [copy-image]}}`,
		},
		"all": {
			"It stays.", `{defaultStore: b, stores: [{name: a, file: {storageSize: 1Gi, accessMode: ReadWriteOnce}}], import: {methods: [web-download], webDownload: {allowedPorts: [80], allowedSchemes: [http]}}}`,
			`{defaultStore: b, stores: [{name: a, file: {storageSize: 1Gi, accessMode: ReadWriteOnce}}], import: {methods: [web-download], webDownload: {allowedPorts: [80], allowedSchemes: [http]}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := glancev1.Storage{}, glancev1.Storage{}
			if err := yaml.UnmarshalStrict([]byte(tc.in), &got); err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			Complete(&got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestSpec checks the common parts of a Glance spec.
func TestSpec(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		want         common.UWSGI
	}{
		"nothing": {"The schema has the default.", "{}", common.UWSGI{}},
		"all":     {"It stays.", "{uwsgi: {processes: 3, threads: 2}}", common.UWSGI{Processes: 3, Threads: 2}},
	} {
		s := glancev1.GlanceSpec{}
		if err := yaml.UnmarshalStrict([]byte(tc.spec), &s); err != nil {
			t.Fatal(err)
		}
		got := Spec(&s)
		if diff := cmp.Diff(&tc.want, got.UWSGI); diff != "" || got.Identity != &s.Identity || got.Workload != &s.Workload {
			t.Errorf("%s: %s: %+v (-want +got):\n%s", name, tc.reason, got, diff)
		}
	}
}

// TestDriver checks the names of drivers in Glance.
func TestDriver(t *testing.T) {
	for want, s := range map[string]glancev1.Store{
		"s3": {S3: &glancev1.S3Store{}}, "rbd": {RBD: &glancev1.RBDStore{}}, "swift": {Swift: &glancev1.SwiftStore{}}, "file": {File: &glancev1.FileStore{}},
	} {
		if got := Driver(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
