package controlplane

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/claim"
	"github.com/c5c3/crossplane-cobaltcore/functions/controlplane/infrastructure"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/simulate"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit/limittest"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/tenantsecret"
	"github.com/c5c3/crossplane-cobaltcore/internal/wire/encoded"
)

// naming are the types of references to Secrets.
var naming = []reflect.Type{reflect.TypeFor[common.SecretReference](), reflect.TypeFor[common.SecretKeyReference]()}

// everySecret sets every reference to a Secret in a value, and returns the names by path.
func everySecret(v reflect.Value, path string) map[string]string {
	out := map[string]string{}
	add := func(more map[string]string) { maps.Copy(out, more) }
	switch {
	case slices.Contains(naming, v.Type()):
		name := fmt.Sprintf("secret-%s", strings.ToLower(strings.NewReplacer(".", "-", "[", "-", "]", "").Replace(path)))
		v.FieldByName("Name").SetString(name)
		if key := v.FieldByName("Key"); key.IsValid() {
			key.SetString("key")
		}
		return map[string]string{path: name}
	case !strings.Contains(v.Type().PkgPath(), "cobaltcore") && v.Kind() == reflect.Struct:
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		filled := reflect.New(v.Type().Elem())
		if add(everySecret(filled.Elem(), path)); len(out) > 0 {
			v.Set(filled)
		}
	case reflect.Slice:
		filled := reflect.MakeSlice(v.Type(), 2, 2)
		for i := range 2 {
			add(everySecret(filled.Index(i), fmt.Sprintf("%s[%d]", path, i)))
		}
		if len(out) > 0 {
			v.Set(filled)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			add(everySecret(v.Field(i), below(path, v.Type().Field(i))))
		}
	default:
	}
	return out
}

// TestEveryReferencedSecretIsCopied checks that every Secret that a spec references is read with permission for this Secret only, and that
// only its copy is used. It fails for a new field that secretsNamed does not contain.
func TestEveryReferencedSecretIsCopied(t *testing.T) {
	c, err := claim.Read(input(t, "{}", bare, nil))
	if err != nil {
		t.Fatal(err)
	}
	all := everySecret(reflect.ValueOf(&c.Spec).Elem(), "spec")
	if len(all) < 8 {
		t.Fatalf("there are only %v", all)
	}
	c.Spec.Services.Glance.Enabled, c.Spec.Services.Neutron.Enabled, c.Spec.Services.Cinder.Enabled = true, true, true // Disabled services need no Secret.
	c.Spec.Services.Barbican.Enabled = true
	m, err := infrastructure.Derive(c, infrastructure.Demand{Secrets: secretsNamed}, nil)
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string]bool{}
	for _, w := range m.Secrets.Requests {
		requests[w.Name] = true
		if len(w.Keys) == 0 || len(w.Fields) == 0 {
			t.Errorf("the requested keys of %s are missing: %+v", w.Name, w)
		}
	}
	for path, name := range all {
		if !requests[name] {
			t.Errorf("%s names Secret %s, which is not brought", path, name)
		}
	}
	var check func(v reflect.Value, path string)
	check = func(v reflect.Value, path string) {
		switch {
		case slices.Contains(naming, v.Type()):
			if name := v.FieldByName("Name").String(); name != "" && !strings.HasPrefix(name, "tenant-") {
				t.Errorf("%s still names %s", path, name)
			}
			return
		case !strings.Contains(v.Type().PkgPath(), "cobaltcore") && v.Kind() == reflect.Struct:
			return
		}
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				check(v.Elem(), path)
			}
		case reflect.Slice:
			for i := range v.Len() {
				check(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				check(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		default:
		}
	}
	check(reflect.ValueOf(m.Spec), "spec")
}

const (
	withBackup = `{infrastructure: {mariadb: {backup: {s3: {bucket: abc, endpoint: "s3:443", privateCA: true, credentialsSecretRef: {name: %s}}}}}}`
	withStore  = `{domain: example.com, secretStore: {name: openbao, kind: ClusterSecretStore},
		clusters: [{name: east, providerConfig: east, allowedNamespaces: ["*"]}], limits: [` + limittest.Everything + `]}`
	withoutStore = `{domain: example.com, clusters: [{name: east, providerConfig: east, allowedNamespaces: ["*"]}],
		limits: [` + limittest.Everything + `]}`
)

// TestSecretsAreCopiedFromTheirNamespace checks the names and namespaces of copied Secrets.
func TestSecretsAreCopiedFromTheirNamespace(t *testing.T) {
	const pull = `{domain: example.com, images: {pullSecrets: [mirror]}, limits: [` + limittest.Everything + `]}`
	s3 := tenantsecret.Request{
		Name: "s3", Keys: []string{"access-key-id", "ca.crt", "secret-access-key"},
		Fields: []string{"spec.infrastructure.mariadb.backup.s3.credentialsSecretRef"},
	}
	mirror := func(name, field string) []tenantsecret.Request {
		return []tenantsecret.Request{{Name: name, Keys: []string{".dockerconfigjson"}, Fields: []string{field}}}
	}
	const platformField, claimField = "images.pullSecrets of the PlatformConfig", "spec.global.images.pullSecrets"
	platformPull := []common.ObjectName{"platform-pull-mirror"}
	type want struct {
		From              string
		Secrets           []tenantsecret.Request
		Platform, Claim   []tenantsecret.Request
		Images, Companion []common.ObjectName
	}
	for name, tc := range map[string]struct {
		reason, spec, platform string
		manual                 bool
		want                   want
	}{
		"Nothing": {"A spec without references needs no Secrets.", "{}", bare, false, want{From: "tenant-a"}},
		"Backup": {
			"The Secret is in the tenant's namespace.", fmt.Sprintf(withBackup, "s3"), bare, false,
			want{From: "tenant-a", Secrets: []tenantsecret.Request{s3}},
		},
		"ByHand": {
			"A composite resource without a claim belongs to the platform team.", fmt.Sprintf(withBackup, "s3"), "{domain: example.com, secretsNamespace: ours, limits: [" + limittest.Everything + "]}", true,
			want{From: "ours", Secrets: []tenantsecret.Request{s3}},
		},
		"PlatformPulls": {
			"The tenant needs no copy of the platform's Secrets.", "{}", pull, false,
			want{From: "tenant-a", Platform: mirror("mirror", platformField), Images: platformPull, Companion: platformPull},
		},
		"TenantPulls": {
			"Pull secrets of the claim replace the platform's, except for workloads with permissions of the platform.", "{global: {images: {pullSecrets: [own]}}}", pull, false,
			want{
				From: "tenant-a", Platform: mirror("mirror", platformField), Claim: mirror("own", claimField),
				Images: []common.ObjectName{"claim-pull-own"}, Companion: platformPull,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, tc.spec, tc.platform, nil)
			if tc.manual {
				in.Claim = function.Claim{}
			}
			m, err := derive(in)
			if err != nil {
				t.Fatal(err)
			}
			got := want{m.Secrets.From, m.Secrets.Requests, m.Pull[0].Requests, m.Pull[1].Requests, m.Images.PullSecrets, m.PlatformPull}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRemoteSecretsRequireSecretStore checks the fields of errors for Secrets that cannot be transferred to another cluster.
func TestRemoteSecretsRequireSecretStore(t *testing.T) {
	const east = "{cluster: {ref: {name: east}}, "
	for name, tc := range map[string]struct{ reason, spec, field string }{
		"Backup": {"The database is in another cluster than its credentials.", east + strings.TrimPrefix(fmt.Sprintf(withBackup, "s3"), "{"),
			"spec.infrastructure.mariadb.backup.s3.credentialsSecretRef"},
		"Pull": {"The pods are in that cluster, too.", east + "global: {images: {pullSecrets: [own]}}}", "spec.global.images.pullSecrets"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := derive(input(t, tc.spec, withoutStore, nil))
			requireFieldError(t, tc.reason, err, tc.field, "secret store")
			if _, err := derive(input(t, tc.spec, withStore, nil)); err != nil {
				t.Errorf("with a store: %v", err)
			}
		})
	}
	_, err := derive(input(t, east+"}", strings.Replace(withoutStore, "{domain", "{images: {pullSecrets: [mirror]}, domain", 1), nil))
	if err == nil || !strings.Contains(err.Error(), "platform team") {
		t.Errorf("the platform's pull secrets: %v", err)
	}
}

// TestRestoreNeedsRoot checks that a restore requires the root password of the backup.
func TestRestoreNeedsRoot(t *testing.T) {
	const spec = `{infrastructure: {mariadb: {restoreFrom: {s3: {bucket: old, endpoint: "s3:443", credentialsSecretRef: {name: s3}}}}}}`
	_, err := derive(input(t, spec, bare, nil))
	requireFieldError(t, "The database would be inaccessible.", err, "spec.infrastructure.mariadb.restoreFrom.rootPasswordSecretRef", "root password of the backup")
	if _, err := derive(input(t, spec, bare, map[string]*structpb.Struct{"database": structOf(t, map[string]any{})})); err != nil {
		t.Errorf("an existing database: %v", err)
	}
}

// TestRootOfBackup checks that the password of a backup is copied once from the tenant's Secret, and that the database depends on it.
func TestRootOfBackup(t *testing.T) {
	const spec = `{%s infrastructure: {mariadb: {restoreFrom: {rootPasswordSecretRef: {name: old, key: root}, s3: {bucket: old, endpoint: "s3:443", credentialsSecretRef: {name: s3}}}}}}`
	for name, tc := range map[string]struct{ extraYAML, store, key string }{
		"here":   {"", "claim-secrets", "old"},
		"remote": {"cluster: {ref: {name: east}},", "openbao", instance + "/tenant-old"},
	} {
		t.Run(name, func(t *testing.T) {
			all := desired(t, readyCluster(t, fmt.Sprintf(spec, tc.extraYAML), withStore))
			root := at(inner(all["database-root-secret"]), "spec")
			want := []any{map[string]any{"secretKey": "password", "remoteRef": map[string]any{"key": tc.key, "property": "root"}}}
			if diff := cmp.Diff(want, at(root, "data")); diff != "" || at(root, "secretStoreRef", "name") != tc.store ||
				at(root, "refreshPolicy") != "CreatedOnce" || at(root, "target", "creationPolicy") != "Orphan" || all["database-root-generator"] != nil {
				t.Errorf("root's password: %v (-want +got):\n%s", root, diff)
			}
		})
	}
}

// missing sets the conditions of External Secrets for a Secret that does not exist.
func missing(t *testing.T, o encoded.Struct) encoded.Struct {
	t.Helper()
	m := o.Map()
	m["status"] = map[string]any{"conditions": []any{map[string]any{
		"type": "Ready", "status": "False", "reason": "SecretSyncedError", "message": "could not get secret data from provider",
	}}}
	return encoded.Of(structOf(t, m))
}

// TestMissingSecretBlocksOnlyDependents checks that a claim reports the missing Secret, that other components proceed, and that existing
// objects are kept.
func TestMissingSecretBlocksOnlyDependents(t *testing.T) {
	w := newCluster(t, fmt.Sprintf(withBackup, "s3"), bare)
	const copied = "claim-secrets-tenant-s3"
	for range 40 {
		if _, err := w.Call(func(simulate.Step) {}); err != nil {
			t.Fatal(err)
		}
		if w.Observed[copied] != nil {
			w.Observed[copied] = missing(t, w.Observed[copied])
		}
	}
	if backup := slices.ContainsFunc(slices.Collect(maps.Keys(w.Observed)), func(name string) bool {
		return strings.HasPrefix(name, "database-backup")
	}); w.Observed["database"] == nil || backup {
		t.Errorf("there are a database (%t) and a backup (%t)", w.Observed["database"] != nil, backup)
	}
	status := w.XR.AsMap()["status"]
	components, _ := at(status, "components").([]any)
	got := map[string]any{}
	for _, c := range components {
		got[at(c, "name").(string)] = at(c, "message")
	}
	want := "ExternalSecret tenant-s3: waits for Secret s3 with the keys access-key-id, ca.crt and secret-access-key in namespace tenant-a, " +
		"which spec.infrastructure.mariadb.backup.s3.credentialsSecretRef names: create it there"
	if got["secrets"] != want || !slices.Contains(slices.Collect(maps.Values(got)), any("waits for secrets")) {
		t.Errorf("messages of components are %v, want of secrets\n%s", got, want)
	}
}

// TestReadPermissionFollowsReferencedSecret checks a claim that references one missing Secret after another. The permission to read follows
// the claim immediately and covers that Secret only; copies that pods may still read are kept until the control plane is ready.
func TestReadPermissionFollowsReferencedSecret(t *testing.T) {
	w := newCluster(t, fmt.Sprintf(withBackup, "first"), bare)
	if err := w.Run(func(simulate.Step) {}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"keystone-admin", "mariadb-root", "internal-ca"} {
		next := xr(t, fmt.Sprintf(withBackup, name))
		w.XR.Fields["spec"] = next.GetFields()["spec"]
		for range 5 {
			if _, err := w.Call(func(simulate.Step) {}); err != nil {
				t.Fatal(err)
			}
			if copied := "claim-secrets-tenant-" + name; w.Observed[copied] != nil {
				w.Observed[copied] = missing(t, w.Observed[copied])
			}
		}
		rsp := New().Run(w.Request())
		all := map[string]encoded.Struct{}
		for resource, r := range rsp.Composed {
			all[resource] = r.Object
		}
		role := all["claim-secrets-role"].Map()
		rules, _ := role["rules"].([]any)
		if diff := cmp.Diff([]any{name}, at(rules[0], "resourceNames")); diff != "" || len(rules) != 1 {
			t.Errorf("%d rules (-want +got):\n%s", len(rules), diff)
		}
		if all["claim-secrets-tenant-first"] == nil || all["claim-secrets-tenant-"+name] == nil {
			t.Errorf("%s: copies of first (%t) and of this Secret (%t) exist", name, all["claim-secrets-tenant-first"] != nil, all["claim-secrets-tenant-"+name] != nil)
		}
		for resource, body := range all {
			o := inner(body)
			if got := at(o, "spec", "storage", "s3", "accessKeyIdSecretKeyRef", "name"); got != nil && got != "tenant-"+name {
				t.Errorf("%s reads %v", resource, got)
			}
		}
	}
}

// TestDeriveLeavesSpecUnchanged checks that derive does not change the decoded spec, because other readers expect the names that the tenant
// set.
func TestDeriveLeavesSpecUnchanged(t *testing.T) {
	in := input(t, fmt.Sprintf(withBackup, "s3"), bare, nil)
	if _, err := derive(in); err != nil {
		t.Fatal(err)
	}
	if got := in.XR.Spec.Infrastructure.MariaDB.Backup.S3.CredentialsSecretRef.Name; got != "s3" {
		t.Errorf("the claim names %s", got)
	}
}
