package keystone

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// TestPermitsClientsByExposure verifies the permitted clients of the API, for each type of exposure.
func TestPermitsClientsByExposure(t *testing.T) {
	ports := []int32{int32(keystonev1.Port)}
	for name, tc := range map[string]struct {
		reason   string
		exposure map[string]any
		want     []workload.Flow
	}{
		"NotExposed": {"The addresses of users are unknown.", nil, []workload.Flow{{Anywhere: true, Ports: ports}}},
		"Open": {
			"The controller may be anywhere.", map[string]any{"type": "Ingress", "hostname": "a.example.com"},
			[]workload.Flow{{Anywhere: true, Ports: ports}},
		},
		"Closed": {
			"In addition to the controller, K-ORC connects from its namespace to create the catalog.",
			map[string]any{"type": "Ingress", "hostname": "a.example.com", "allowedNamespaces": []any{"ingress"}},
			[]workload.Flow{{Ports: ports}, {Namespaces: []string{"ingress"}, Ports: ports}, {Namespaces: []string{"orc-system"}, Ports: ports}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []func(map[string]any)
			if tc.exposure != nil {
				changes = append(changes, set(tc.exposure, "exposure"))
			}
			if diff := cmp.Diff(tc.want, derived(t, xr(t, "small", changes...)).Inbound()); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPermitsOnlyConnectionsOfSpec verifies that pods may connect to the addresses and ports in the spec only.
func TestPermitsOnlyConnectionsOfSpec(t *testing.T) {
	base := workload.Flow{Ports: []int32{3306, keystonev1.CachePort}}
	ldap := func(url string) map[string]any {
		return map[string]any{"domain": "d" + url[len(url)-1:], "ldap": map[string]any{
			"url": url, "suffix": "dc=a", "userTreeDN": "ou=a", "allowUnencrypted": true,
		}}
	}
	provider := func(metadata, issuer string) func(map[string]any) {
		return set(map[string]any{
			"provider": "a", "metadataURL": metadata, "issuer": issuer, "clientID": "a", "clientSecretRef": map[string]any{"name": "a", "key": "b"},
		}, "federation")
	}
	for name, tc := range map[string]struct {
		reason  string
		changes []func(map[string]any)
		want    []int32
	}{
		"Nothing": {reason: "The database and the cache, nothing outside."},
		"Directories": {
			"Global catalogs have a port of their own.",
			[]func(map[string]any){set([]any{ldap("ldaps://dc:3269"), ldap("ldap://dc1"), ldap("ldaps://[fd00::2]"), ldap("ldaps://dc3")}, "identityBackends")},
			[]int32{389, 636, 3269},
		},
		"Provider": {
			"By the addresses of its metadata and its own.", []func(map[string]any){provider("https://id.example.com:8443/m", "https://id.example.com")}, []int32{443, 8443},
		},
		"Plain": {"A provider inside the cluster.", []func(map[string]any){provider("http://dex.dex.svc/m", "http://dex.dex.svc:5556")}, []int32{80, 5556}},
	} {
		t.Run(name, func(t *testing.T) {
			want := []workload.Flow{base}
			if tc.want != nil {
				want = append(want, workload.Flow{Anywhere: true, Ports: tc.want})
			}
			got, err := derived(t, xr(t, "small", tc.changes...)).Outbound()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
