package controlplane

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
)

// TestKeystoneUsesProxyOnceReady checks that Keystone uses a new proxy once that is ready, and stops using it before it is removed. The
// operator delegates failover to the proxy only in between.
func TestKeystoneUsesProxyOnceReady(t *testing.T) {
	keystone := func(host string, generation int) *structpb.Struct {
		return structOf(t, fields(t, fmt.Sprintf(`{metadata: {generation: %d}, spec: {database: {host: %s.%s.svc}},
			status: {observedGeneration: 1, phase: Ready, conditions: [{type: Ready, status: "True"}, {type: Synced, status: "True"}]}}`, generation, host, instance)))
	}
	proxied := func(ready string) *structpb.Struct {
		return structOf(t, fields(t, "{spec: {replicas: 2}, status: {conditions: [{type: Ready, status: '"+ready+"'}]}}"))
	}
	server := func(ref string) *structpb.Struct {
		return structOf(t, fields(t, "{spec: {replicas: 3, maxScaleRef: {name: '"+ref+"'}}}"))
	}
	const withProxy, withoutProxy = "{size: medium}", "{size: medium, infrastructure: {mariadb: {maxScale: {enabled: false}}}}"
	type want struct {
		Host     string
		Replicas int32
		Active   bool
	}
	for name, tc := range map[string]struct {
		reason, spec string
		observed     map[string]*structpb.Struct
		want         want
	}{
		"new": {"A new Keystone waits for the proxy anyway, and the database for no other component.", withProxy, nil, want{"maxscale", 2, false}},
		"stuck": {
			"A database that references a proxy that does not exist never becomes ready.", withProxy,
			map[string]*structpb.Struct{"database": server("maxscale")}, want{"maxscale", 2, false},
		},
		"no proxy": {
			"There is no proxy yet.", withProxy, map[string]*structpb.Struct{"keystone": keystone("mariadb-primary", 1)}, want{"mariadb-primary", 2, false},
		},
		"starting": {
			"The proxy is not ready: the operator remains responsible for failover.", withProxy,
			map[string]*structpb.Struct{"database": server(""), "keystone": keystone("mariadb-primary", 1), "database-proxy": proxied("False")},
			want{"mariadb-primary", 2, false},
		},
		"ready": {
			"The proxy is ready.", withProxy,
			map[string]*structpb.Struct{"database": server(""), "keystone": keystone("mariadb-primary", 1), "database-proxy": proxied("True")},
			want{"maxscale", 2, true},
		},
		"used": {
			"Keystone continues to use it, and it remains responsible for failover.", withProxy,
			map[string]*structpb.Struct{"database": server("maxscale"), "keystone": keystone("maxscale", 1), "database-proxy": proxied("False")},
			want{"maxscale", 2, true},
		},
		"unwanted": {
			"Keystone uses the proxy: it is moved away first.", withoutProxy,
			map[string]*structpb.Struct{"database": server("maxscale"), "keystone": keystone("maxscale", 1), "database-proxy": proxied("True")},
			want{"mariadb-primary", 2, true},
		},
		"led away": {
			"Pods still use the proxy.", withoutProxy,
			map[string]*structpb.Struct{"database": server("maxscale"), "keystone": keystone("mariadb-primary", 2), "database-proxy": proxied("True")},
			want{"mariadb-primary", 2, true},
		},
		"unused": {
			"It is unused: the operator resumes failover.", withoutProxy,
			map[string]*structpb.Struct{"database": server("maxscale"), "keystone": keystone("mariadb-primary", 1), "database-proxy": proxied("True")},
			want{"mariadb-primary", 2, false},
		},
		"unnamed": {
			"It is unused.", withoutProxy,
			map[string]*structpb.Struct{"database": server(""), "keystone": keystone("mariadb-primary", 1), "database-proxy": proxied("True")},
			want{"mariadb-primary", 0, false},
		},
		"gone": {
			"The database can become ready without the proxy.", withoutProxy,
			map[string]*structpb.Struct{"database": server("maxscale"), "keystone": keystone("mariadb-primary", 1)}, want{"mariadb-primary", 0, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := derive(input(t, tc.spec, bare, tc.observed))
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Host += "." + instance + ".svc"
			all := composed(t, m, database)
			got := want{Host: m.DatabaseSpec().Host, Active: at(object(t, all["database"]), "spec", "maxScaleRef") != nil}
			if proxy, ok := all["database-proxy"]; ok {
				replicas, _ := at(object(t, proxy), "spec", "replicas").(float64)
				got.Replicas = int32(replicas)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
