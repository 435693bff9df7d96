package controlplane

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	platformv1 "github.com/c5c3/crossplane-cobaltcore/apis/platform/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/bounds"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/keystone"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/services"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/observe"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// TestRowsReadListsOfTheirLimit checks that each row reads the list of a limit with the name that tenants see.
func TestRowsReadListsOfTheirLimit(t *testing.T) {
	rows := []bounds.AllowList{
		bounds.Registries, bounds.HostDomains, bounds.SecretStores, bounds.Gateways, bounds.IngressClasses, bounds.ExposureNamespaces, bounds.Annotations, bounds.Issuers, bounds.NodeSelectors, bounds.Tolerations,
		bounds.StorageClasses, bounds.MonitoringLabels, bounds.S3Endpoints, bounds.DirectoryHosts, bounds.OpenIDHosts, keystone.IdentityHosts, infrastructure.DatabaseHosts, infrastructure.ExternalQueueHosts, bounds.DownloadHosts, bounds.StorageNetworks, bounds.NFSServers, bounds.VaultServers,
		bounds.HypervisorNetworks, bounds.NodeHosts,
	}
	// Lists that functions/hypervisor and functions/storage read.
	ofOthers := []string{"hypervisorNodes", "hypervisorRegistries", "hypervisorAgents", "storageNodes", "storageDevices", "storageImages"}
	byField := map[string]bounds.AllowList{}
	for _, r := range rows {
		byField[r.Name] = r
	}
	lists := 0
	for f := range reflect.TypeFor[platformv1.Limit]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Type.Kind() != reflect.Slice || name == "namespaces" || name == "sizes" || name == "releases" || slices.Contains(ofOthers, name) {
			continue
		}
		lists++
		var l platformv1.Limit
		list := reflect.MakeSlice(f.Type, 1, 1)
		list.Index(0).SetString("x")
		reflect.ValueOf(&l).Elem().FieldByIndex(f.Index).Set(list)
		r, ok := byField[name]
		if !ok {
			t.Errorf("no row is called %s", name)
			continue
		}
		if diff := cmp.Diff([]string{"x"}, r.List(&l)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if lists != len(rows) {
		t.Errorf("%d rows, and a limit has %d lists", len(rows), lists)
	}
}

// TestStatusContainsReportedKeystoneReachability checks that the claim's status contains the reachability of Keystone as the companion
// reports it, and nothing without a report.
func TestStatusContainsReportedKeystoneReachability(t *testing.T) {
	reported := map[string]any{
		"reachable": "True", "apiVersion": "v3.14", "publicReachable": "False", "publicMessage": "no such host", "lastToken": "2026-05-01T03:00:00Z",
	}
	for name, tc := range map[string]struct {
		live map[string]any
		want *common.Live
	}{
		"nothing":  {nil, nil},
		"nonsense": {map[string]any{"reachable": "Perhaps"}, nil},
		"no":       {map[string]any{"reachable": "False"}, &common.Live{Reachable: "False"}},
		"yes": {reported, &common.Live{
			Reachable: "True", APIVersion: "v3.14", PublicReachable: "False", PublicMessage: "no such host",
			LastToken: new(metav1.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)),
		}},
	} {
		body := structOf(t, map[string]any{"status": map[string]any{"live": tc.live}})
		if tc.live == nil {
			body = &structpb.Struct{}
		}
		observedState, err := observe.New(map[string]encoded.Struct{"k": encoded.Of(body)})
		if err != nil {
			t.Fatal(err)
		}
		k, _ := observedState.Get("k")
		if diff := cmp.Diff(tc.want, live(k)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRejectsUnsupportedUpgrades checks that an unsupported upgrade is rejected before anything is composed, and that an upgrade may be
// aborted as long as the schema supports the previous release.
func TestRejectsUnsupportedUpgrades(t *testing.T) {
	for name, tc := range map[string]struct{ runs, before, target, message string }{
		"new":     {"", "", "2026.2", ""},
		"same":    {"2025.2", "", "2025.2", ""},
		"next":    {"2025.2", "", "2026.1", ""},
		"SLURP":   {"2025.1", "", "2026.1", ""},
		"skipped": {"2025.2", "", "2026.2", "2025.2"},
		"back":    {"2025.2", "", "2025.1", "2025.2"},
		"aborted": {"2025.2", "2025.1", "2025.1", ""},
	} {
		observed := map[string]*structpb.Struct{}
		if tc.runs != "" {
			observed[services.IdentityService] = structOf(t, map[string]any{"status": map[string]any{"release": tc.runs, "previousRelease": tc.before}})
		}
		_, err := derive(input(t, `{openStackRelease: "`+tc.target+`"}`, bare, observed))
		if tc.message == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		requireFieldError(t, name, err, "spec.openStackRelease", tc.message)
	}
}
