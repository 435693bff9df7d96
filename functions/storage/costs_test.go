package storage

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/cost/costtest"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
)

// everyDaemon is a claim with a daemon of each kind.
const everyDaemon = `{` + three + `, monitors: {}, managers: {}, osds: {}, mirroring: {daemons: 1}, pools: [{name: a, application: rbd, mirroring: {mode: image}}],
	filesystems: [{name: a, metadataServers: 1}], objectStores: [{name: a, gateways: 1}], nfs: [{name: a, servers: 1}]}`

// TestEveryCostlyFieldIsLimited sets each field that requests daemons, CPU, memory or storage to a value above the default maxima, and
// requires an error about a quota. A field that no cost item contains would pass every quota.
func TestEveryCostlyFieldIsLimited(t *testing.T) {
	fields := costtest.Fields("spec", reflect.TypeFor[storagev1.StorageClusterSpec]())
	if len(fields) == 0 {
		t.Fatal("no costly fields")
	}
	for _, f := range append(fields, costtest.Field{}) {
		spec := map[string]any{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(everyDaemon, "\t", " ")), &spec); err != nil {
			t.Fatal(err)
		}
		if f.Path != "" {
			costtest.Set(spec, strings.TrimPrefix(f.Path, "spec."), f.Value)
		}
		data, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		platform := strings.Replace(open, limittest.Everything, limittest.DefaultMaxima, 1)
		err = makeReady(newCluster(string(data), platform))
		switch limited := err != nil && strings.Contains(err.Error(), "quota"); {
		case f.Path == "" && limited:
			t.Errorf("the claim without a costly field: %v", err)
		case f.Path != "" && !limited:
			t.Errorf("%s = %v passes every quota: add it to costs; error %v", f.Path, f.Value, err)
		}
	}
}
