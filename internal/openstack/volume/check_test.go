package volume

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

const (
	pool = "{name: a, rbd: {secretRef: {name: c}}}"
	nfs  = "{name: b, nfs: {shares: ['nfs.example.com:/volumes']}}"
)

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		locks        bool
		want         string
	}{
		"a pool":                 {reason: "One is enough.", spec: "{backends: [" + pool + "]}"},
		"both":                   {reason: "Each is a place.", spec: "{backends: [" + pool + ", " + nfs + "]}"},
		"no backend":             {reason: "No volume could be made.", spec: "{}", want: "spec.backends: Cinder needs a place"},
		"nowhere":                {reason: "It has no storage.", spec: "{backends: [{name: a}]}", want: "spec.backends[0]: set exactly one of ceph, rbd and nfs"},
		"a backend's option":     {reason: "A backend has the options of its driver.", spec: "{backends: [" + pool + "], config: {a: {rbd_max_clone_depth: 3}}}"},
		"another driver's":       {reason: "It would do nothing.", spec: "{backends: [" + nfs + "], config: {b: {rbd_max_clone_depth: 3}}}", want: "spec.config.b.rbd_max_clone_depth: "},
		"a backend's address":    {reason: "It has a field.", spec: "{backends: [" + pool + "], config: {a: {rbd_pool: x}}}", want: "spec.config.a.rbd_pool: "},
		"Cinder's own name":      {reason: "Two would write one section.", spec: "{backends: [{name: cors, rbd: {secretRef: {name: c}}}]}", want: "spec.backends[0].name: cinder has a group [cors]"},
		"one name":               {reason: "Objects have no underscores.", spec: "{backends: [{name: a_b, rbd: {secretRef: {name: c}}}, {name: a-b, rbd: {secretRef: {name: c}}}]}", want: "spec.backends[1].name: a-b and a_b differ"},
		"with an API's error":    {reason: "All errors are reported at once.", spec: "{api: {memory: x}}", want: "spec.api.memory: "},
		"two managers":           {reason: "They share its volumes.", spec: "{backends: [" + pool + "], volume: {replicas: 2}}", locks: true},
		"two without locks":      {reason: "Both would write to the same volumes.", spec: "{backends: [" + pool + "], volume: {replicas: 2}}", want: "spec.volume.replicas: several managers"},
		"two of a share":         {reason: "The driver cannot.", spec: "{backends: [{name: b, nfs: {shares: ['a:/b']}, volume: {replicas: 2}}]}", locks: true, want: "spec.backends[0].volume.replicas: NFS backends"},
		"two of all":             {reason: "A share has one of them.", spec: "{backends: [" + nfs + "], volume: {replicas: 2}}", locks: true},
		"a manager without room": {reason: "It would not start.", spec: "{backends: [{name: a, rbd: {secretRef: {name: c}}, volume: {memory: 64Mi}}]}", want: "spec.backends[0].volume.memory: 64Mi cannot hold"},
		"no share":               {reason: "A hand-made one went by no schema.", spec: "{backends: [{name: b, nfs: {shares: [x]}}]}", want: `spec.backends[0].nfs.shares: "x" is no share`},
		"in a StorageCluster":    {reason: "The control plane provides its location.", spec: "{backends: [{name: a, ceph: {clusterRef: {name: c}, pool: p}}]}"},
		"in two clusters":        {reason: "A backend has one storage.", spec: "{backends: [{name: a, ceph: {clusterRef: {name: c}, pool: p}, rbd: {secretRef: {name: c}}}]}", want: "spec.backends[0]: set exactly one of ceph, rbd and nfs"},
		"a type of nothing":      {reason: "Its volumes would fail.", spec: "{backends: [" + pool + "], volumeTypes: [{name: t, backend: x}]}", want: `spec.volumeTypes[0].backend: there is no backend "x"`},
		"a type's backend twice": {reason: "Which one holds?", spec: "{backends: [" + pool + "], volumeTypes: [{name: t, backend: a, extraSpecs: {volume_backend_name: b}}]}", want: "spec.volumeTypes[0].extraSpecs: "},
		"several servers":        {reason: "Ceph can.", spec: "{backends: [" + pool + ", " + nfs + "], volumeTypes: [{name: t, extraSpecs: {multiattach: '<is> True'}}]}"},
		"several servers, share": {reason: "NFS cannot.", spec: "{backends: [" + pool + ", " + nfs + "], volumeTypes: [{name: t, backend: b, extraSpecs: {multiattach: '<is> True'}}]}", want: "spec.volumeTypes[0].extraSpecs.multiattach: requires a backend in Ceph"},
		"several servers, text":  {reason: "The scheduler compares a boolean.", spec: "{backends: [" + pool + "], volumeTypes: [{name: t, extraSpecs: {multiattach: 'true'}}]}", want: `spec.volumeTypes[0].extraSpecs.multiattach: "true" matches no backend`},
		"one server":             {reason: "It is the default.", spec: "{backends: [" + nfs + "], volumeTypes: [{name: t, extraSpecs: {multiattach: '<is> False'}}]}"},
		"a type's zones":         {reason: "A backend is in each.", spec: "{backends: [" + pool + ", {name: c, availabilityZone: east, rbd: {secretRef: {name: c}}}], volumeTypes: [{name: t, extraSpecs: {'RESKEY:availability_zones': 'nova, east'}}]}"},
		"a type without a zone":  {reason: "Its backend is in another zone.", spec: "{backends: [" + pool + ", {name: c, availabilityZone: east, rbd: {secretRef: {name: c}}}], volumeTypes: [{name: t, backend: a, extraSpecs: {'RESKEY:availability_zones': east}}]}", want: `spec.volumeTypes[0].extraSpecs.RESKEY:availability_zones: no backend of this type is in the availability zone "east"`},
		"no default":             {reason: "Volumes without a type would fail.", spec: "{backends: [" + pool + "], defaultVolumeType: x}", want: `spec.defaultVolumeType: "x" is not in volumeTypes`},
		"backups nowhere":        {reason: "Backups need a destination.", spec: "{backends: [" + pool + "], backup: {}}", want: "spec.backup: set exactly one of ceph, rbd, s3"},
		"backups in two places":  {reason: "There is one driver.", spec: "{backends: [" + pool + "], backup: {nfs: {share: 'a:/b'}, file: {storageSize: 1Gi}}}", want: "spec.backup: set exactly one of ceph, rbd, s3"},
		"one volume, two pods":   {reason: "The second would not start.", spec: "{backends: [" + pool + "], backup: {replicas: 2, file: {storageSize: 1Gi, accessMode: ReadWriteOnce}}}", want: "spec.backup.file.accessMode: ReadWriteOnce serves a single pod"},
		"no amount":              {reason: "A hand-made one went by no schema.", spec: "{backends: [" + pool + "], backup: {file: {storageSize: x}}}", want: `spec.backup.file.storageSize: "x" is not a quantity`},
		"backups in Swift":       {reason: "It is one place.", spec: "{backends: [" + pool + "], backup: {swift: {url: 'https://o/v1/AUTH_'}}}"},
		"no port of Swift":       {reason: "The port is invalid.", spec: "{backends: [" + pool + "], backup: {swift: {url: 'https://o:99999/v1/AUTH_'}}}", want: "spec.backup.swift.url: there is no port 99999"},
		"no port of a bucket":    {reason: "The port is invalid.", spec: "{backends: [" + pool + "], backup: {s3: {endpoint: 'https://o:99999'}}}", want: "spec.backup.s3.endpoint: there is no port 99999"},
		"Swift and a bucket":     {reason: "There is one driver.", spec: "{backends: [" + pool + "], backup: {swift: {url: 'https://o/v1/AUTH_'}, s3: {endpoint: 'https://o'}}}", want: "spec.backup: set exactly one of ceph, rbd, s3"},
		"backups in a cluster":   {reason: "The control plane provides its location.", spec: "{backends: [" + pool + "], backup: {ceph: {clusterRef: {name: c}, pool: p}}}"},
		"backups of no share":    {reason: "A hand-made one went by no schema.", spec: "{backends: [" + pool + "], backup: {nfs: {share: x}}}", want: `spec.backup.nfs.share: "x" is no share`},
	} {
		t.Run(name, func(t *testing.T) {
			s := cinderv1.CinderSpec{}
			if err := yaml.UnmarshalStrict([]byte(tc.spec), &s); err != nil {
				t.Fatal(err)
			}
			Complete(&s.Storage)
			spec := service.QueuedSpec(&s.ServiceSpec, &s.Identity, &s.Queue, &s.UWSGI, s.API, s.Placement)
			spec.Groups = Groups(s.Backends)
			spec.Complete()
			got := ""
			if err := Check("spec", "2025.2", spec, &s.Storage, &s.Volume, tc.locks); err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestShareHostCanBeIPv6Address checks that the host can be an IPv6 address, which contains colons.
func TestShareHostCanBeIPv6Address(t *testing.T) {
	for share, want := range map[cinderv1.NFSShare][2]string{
		"nfs.example.com:/volumes": {"nfs.example.com", "/volumes"}, "[fd00::1]:/a/b": {"[fd00::1]", "/a/b"}, "x": {"x", ""}, "": {"", ""},
	} {
		if diff := cmp.Diff(want, [2]string{Server(share), Folder(share)}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", share, diff)
		}
	}
}

// TestSecretUUID checks that the UUID is stable and differs for other backends, Cinders and clouds.
func TestSecretUUID(t *testing.T) {
	observed := map[string]bool{}
	for _, of := range [][3]string{{"a", "cinder", "b"}, {"a", "cinder", "c"}, {"a", "other", "b"}, {"b", "cinder", "b"}} {
		id := SecretUUID(of[0], of[1], of[2])
		if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
			t.Errorf("%s is no UUID", id)
		}
		if observed[id] || id != SecretUUID(of[0], of[1], of[2]) {
			t.Errorf("%v: %s", of, id)
		}
		observed[id] = true
	}
}
