package wiring_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// program returns a workload that runs a command of Nova with a configuration file.
func program(name, command, file string) []wiring.Object {
	var out []wiring.Object
	for _, text := range []string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME-config}, data: {nova.conf: ""}}`,
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: NAME}, spec: {template: {spec: {
			containers: [{name: main, command: [COMMAND], volumeMounts: [{name: config, mountPath: /etc/nova}]}],
			volumes: [{name: config, configMap: {name: NAME-config}}]}}}}`,
	} {
		m := map[string]any{}
		text = strings.NewReplacer("NAME", name, "COMMAND", command, "\t", "").Replace(text)
		if err := yaml.Unmarshal([]byte(text), &m); err != nil {
			panic(err)
		}
		if data, ok := m["data"].(map[string]any); ok {
			data["nova.conf"] = file
		}
		out = append(out, wiring.Object{Manifest: m})
	}
	return out
}

// TestOptions checks that options which no program of a file reads are found, and options which one reader lacks;
// uncertain cases are not reported.
func TestOptions(t *testing.T) {
	const upcall = "[workarounds]\ndisable_group_policy_check_upcall = true\n"
	const changes = "[filter_scheduler]\ntrack_instance_changes = false\n"
	for name, tc := range map[string]struct {
		reason  string
		objects [][]wiring.Object
		claim   string
		want    []string
	}{
		"Reader": {
			reason: "nova-compute reads it.", objects: [][]wiring.Object{program("compute", "nova-compute", upcall)},
		},
		"Ignored": {
			reason: "A conductor does not.", objects: [][]wiring.Object{program("conductor", "nova-conductor", upcall)},
			want: []string{"configmap/conductor-config sets [workarounds] disable_group_policy_check_upcall, which none of its programs reads: nova-conductor."},
		},
		"Lacks": {
			reason:  "The scheduler and nova-compute have to agree.",
			objects: [][]wiring.Object{program("scheduler", "nova-scheduler", changes), program("compute", "nova-compute", "[DEFAULT]\ndebug = true\n")},
			want: []string{
				"nova-compute reads [filter_scheduler] track_instance_changes, which Deployment scheduler gets, and Deployment compute does not.",
				"nova-scheduler reads [DEFAULT] debug, which Deployment compute gets, and Deployment scheduler does not.",
			},
		},
		"Asked": {
			reason:  "A claim's options are in each file; another program reads it.",
			objects: [][]wiring.Object{program("conductor", "nova-conductor", upcall), program("compute", "nova-compute", upcall)},
			claim:   `{spec: {openStackRelease: "2025.2", services: {nova: {config: {workarounds: {disable_group_policy_check_upcall: true}}}}}}`,
		},
		"Reviewed": {
			reason:  "Only hypervisors have disks.",
			objects: [][]wiring.Object{program("proxy", "nova-novncproxy", "[vnc]\nnovncproxy_port = 6080\n"), program("compute", "nova-compute", "[libvirt]\nrbd_user = nova\n")},
		},
		"Unknown": {
			reason: "Groups that an administrator names are not analyzed.", objects: [][]wiring.Object{program("compute", "nova-compute", "[mine]\na = b\n")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.claim == "" {
				tc.claim = `{spec: {openStackRelease: "2025.2"}}`
			}
			inputs := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.claim), &inputs); err != nil {
				t.Fatal(err)
			}
			c := wiring.Cloud{Given: []map[string]any{inputs}}
			for _, o := range tc.objects {
				c.Objects = append(c.Objects, o...)
			}
			if diff := cmp.Diff(tc.want, wiring.Options(c)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
