package hypervisor

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/wrapper"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// inside returns the observed object of a composed resource, and a function that replaces it.
func inside(t *testing.T, w *simulate.Cluster, name string) (map[string]any, func()) {
	t.Helper()
	all := w.Observed[name].Map()
	o := all
	if wrapper.IsObject(w.Observed[name]) {
		o = all["status"].(map[string]any)["atProvider"].(map[string]any)["manifest"].(map[string]any)
	}
	return o, func() {
		changed, err := structpb.NewStruct(all)
		if err != nil {
			t.Fatal(err)
		}
		w.Observed[name] = encoded.Of(changed)
	}
}

// TestCredentials verifies that pods use the current credentials, and that a credential is reported once every node has a pod with it, in
// all slices and clusters. A reported credential stays reported while such pods are replaced.
func TestCredentials(t *testing.T) {
	const queue, credential = "nova-cell1-queue", "tenant-a-hypervisors-ed08c74e4294644ac141-credential"
	usual := map[string]string{queue: "id-of-" + queue, credential: "id-of-" + credential}
	rolling := map[string]any{"desiredNumberScheduled": 3.0, "updatedNumberScheduled": 1.0, "numberAvailable": 3.0}
	down := map[string]any{"desiredNumberScheduled": 3.0, "updatedNumberScheduled": 2.0, "numberAvailable": 2.0}
	mostDown := map[string]any{"desiredNumberScheduled": 3.0, "updatedNumberScheduled": 3.0, "numberAvailable": 1.0}
	noNodes := map[string]any{"desiredNumberScheduled": 0.0, "updatedNumberScheduled": 0.0, "numberAvailable": 0.0}
	for name, tc := range map[string]struct {
		reason string
		// inUse is the control plane's current credential of the queue. Empty: it is unknown.
		inUse string
		// configured is the credential in the queue's pod templates, and ofSlice in the pod templates of a slice if it differs. status is the status of their
		// DaemonSets.
		configured, ofSlice string
		status              map[string]any
		// reported is the previously reported credential.
		reported string
		// want is the expected credential in pod templates, and has the expected reported one.
		want, has string
	}{
		"Same": {
			reason: "Nothing was replaced.", inUse: "q1", configured: "q1", reported: "q1", want: "q1", has: "q1",
		},
		"Replaced": {
			reason: "All have the earlier one, and are to have the next.", inUse: "q2", configured: "q1", reported: "q1", want: "q2", has: "q1",
		},
		"Rolling": {
			reason: "Some nodes have the earlier one still.", inUse: "q2", configured: "q2", status: rolling, reported: "q1", want: "q2", has: "q1",
		},
		"Done": {
			reason: "All nodes have the next one.", inUse: "q2", configured: "q2", reported: "", want: "q2", has: "q2",
		},
		"NodeDown": {
			reason: "A node that is down gets a pod with the next one when it returns.", inUse: "q2", configured: "q2", status: down, reported: "",
			want: "q2", has: "q2",
		},
		"MostNodesDown": {
			reason: "They may have the earlier one.", inUse: "q2", configured: "q2", status: mostDown, reported: "", want: "q2",
		},
		"NodeDownLater": {
			reason: "It had the next one before it went down.", inUse: "q2", configured: "q2", status: down, reported: "q2", want: "q2", has: "q2",
		},
		"OneSlice": {
			reason: "Nodes of a slice have the earlier one.", inUse: "q2", configured: "q2", ofSlice: "q1", reported: "q1", want: "q2", has: "q1",
		},
		"Later": {
			reason: "One more is in use before the last one is everywhere.", inUse: "q3", configured: "q2", ofSlice: "q1", reported: "q0", want: "q3", has: "q0",
		},
		"NoNodes": {
			reason: "Where there are no nodes, none has an earlier one.", inUse: "q2", configured: "q2", status: noNodes, want: "q2", has: "q2",
		},
		"Silent": {
			reason: "While the current credential is unknown, pods are not changed.", configured: "q1", reported: "q1", want: "q1", has: "q1",
		},
	} {
		for _, cluster := range []string{"", "east"} {
			t.Run(name+" "+cluster, func(t *testing.T) {
				spec := inCluster(more(`slices: [{name: edge, nodeSelector: {tier: edge}}]`), cluster)
				w := newCluster(spec, "tenant-a", objects(planeClaim, controlPlaneYAML, storageClaim, storageXR)...)
				if err := makeReady(w); err != nil {
					t.Fatal(err)
				}
				if got := composed(t, w, "remote-consumer"); !cmp.Equal(observedIDs(got), usual) {
					t.Fatalf("at first the pool has %v", observedIDs(got))
				}
				consumer, put := inside(t, w, "remote-consumer")
				consumer["spec"] = parsed(`{credentials: [{secretName: ` + credential + `, observedID: id-of-` + credential + `}, {secretName: nova-cell1-queue, ` +
					`observedID: "` + tc.reported + `"}]}`).AsMap()
				status := consumer["status"].(map[string]any)
				status["credentials"] = parsed(`{l: [{secretName: ` + credential + `, currentID: id-of-` + credential + `}, {secretName: nova-cell1-queue, ` +
					`currentID: "` + tc.inUse + `"}]}`).AsMap()["l"]
				if tc.inUse == "" {
					delete(status, "credentials")
				}
				put()
				for set, reported := range map[string]string{"nova-compute": tc.configured, "nova-compute-slice-edge": tc.configured} {
					o, put := inside(t, w, set)
					if strings.Contains(set, "slice") && tc.ofSlice != "" {
						reported = tc.ofSlice
					}
					template := o["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)
					template["annotations"].(map[string]any)["credentials.c5c3.io/"+queue] = reported
					maps.Copy(o["status"].(map[string]any), tc.status)
					put()
				}
				for _, set := range []string{"nova-compute", "nova-compute-slice-edge"} {
					template := composed(t, w, set)["spec"].(map[string]any)["template"].(map[string]any)
					annotations := template["metadata"].(map[string]any)["annotations"].(map[string]any)
					if got := annotations["credentials.c5c3.io/"+queue]; got != tc.want {
						t.Errorf("%s\n%s is made for %v, want %s", tc.reason, set, got, tc.want)
					}
				}
				want := map[string]string{credential: usual[credential], queue: tc.has}
				if tc.has == "" {
					delete(want, queue)
				}
				if diff := cmp.Diff(want, observedIDs(composed(t, w, "remote-consumer"))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		}
	}
}

// composed returns the composed objects.
func composed(t *testing.T, w *simulate.Cluster, name string) map[string]any {
	t.Helper()
	r, ok := New().Run(w.Request()).Composed[name]
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	_, o := lives(r.Object)
	return o
}

func observedIDs(consumer map[string]any) map[string]string {
	out := map[string]string{}
	for _, item := range consumer["spec"].(map[string]any)["credentials"].([]any) {
		c := item.(map[string]any)
		if id, ok := c["observedID"].(string); ok {
			out[c["secretName"].(string)] = id
		}
	}
	return out
}
