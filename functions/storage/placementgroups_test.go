package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPoolsHavePlacementGroupsOfClaim verifies that pools have the properties in the claim, and that metadata pools have none of them.
func TestPoolsHavePlacementGroupsOfClaim(t *testing.T) {
	created := kind.Desired(t, complete(t, with("pools: [{name: volumes, bulk: true, minPlacementGroups: 64}, {name: images, bulk: false}, {name: vms}], "+
		"filesystems: [{name: shares, dataPool: {bulk: true}}], objectStores: [{name: objects, dataPool: {minPlacementGroups: 32}}]")))
	spec := func(name string) map[string]any { return created[name]["spec"].(map[string]any) }
	got := map[string]any{
		"volumes":           spec(poolPrefix + "volumes")["parameters"],
		"images":            spec(poolPrefix + "images")["parameters"],
		"vms":               spec(poolPrefix + "vms")["parameters"],
		"shares":            spec(filesystemPrefix + "shares")["dataPools"].([]any)[0].(map[string]any)["parameters"],
		"shares, metadata":  spec(filesystemPrefix + "shares")["metadataPool"].(map[string]any)["parameters"],
		"objects":           spec(objectsPrefix + "objects")["dataPool"].(map[string]any)["parameters"],
		"objects, metadata": spec(objectsPrefix + "objects")["metadataPool"].(map[string]any)["parameters"],
	}
	want := map[string]any{
		"volumes": map[string]any{"bulk": "true", "pg_num_min": "64"}, "images": map[string]any{"bulk": "false"}, "vms": nil,
		"shares": map[string]any{"bulk": "true"}, "shares, metadata": nil,
		"objects": map[string]any{"pg_num_min": "32"}, "objects, metadata": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPlacementGroups_RejectsSettings verifies that more placement groups than the OSDs support are rejected, because Rook only logs an
// error.
func TestPlacementGroups_RejectsSettings(t *testing.T) {
	for name, tc := range map[string]struct{ reason, spec, message string }{
		"all that there may be": {"Three OSDs have 250 each: 128 and 64 and 32 times three copies are 672.", with("pools: [{name: a, minPlacementGroups: 128}, {name: b, minPlacementGroups: 64}, {name: c, minPlacementGroups: 32}]"), ""},
		"one too many":          {"256 times three copies are 768.", with("pools: [{name: a, minPlacementGroups: 256}]"), "are 768, and Ceph lets 3 devices have 750 (250 for each); lower them"},
		"with files":            {"Data of files is in pools, too.", with("pools: [{name: a, minPlacementGroups: 128}], filesystems: [{name: f, dataPool: {minPlacementGroups: 128}}]"), "are 768"},
		"devices unknown":       {"Others choose them.", `{deviceSelector: {pathFilter: "^/dev/disk"}, pools: [{name: a, minPlacementGroups: 32768}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, tc.reason, makeReady(newCluster(tc.spec, open)), map[bool]string{true: "spec.pools"}[tc.message != ""], tc.message)
		})
	}
}
