//go:build openstack && linux

package mariadb

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestMariaDBBackup backs up the database, loses it and restores it. It must have every row of the backup and none that
// came later; users can log in, and earlier tokens are valid.
func TestMariaDBBackup(t *testing.T) {
	t.Parallel()
	store := harness.ObjectStore{Host: "s3.example.com", Bucket: "tenant-a", Region: "eu-de-1", Key: "backups", Secret: `"quoted" \and/more+`}
	cloud := harness.Start(t, harness.Read(t, "backup.yaml"), func(o *clouds.Options) {
		o.Secrets = map[string]map[string][]byte{"backup-s3": {"access-key-id": []byte(store.Key), "secret-access-key": []byte(store.Secret)}}
		o.Prepare = func(c *clouds.Cloud) error { return store.Start(t, c.Cluster, c.Operators.Public) }
	})
	ctx, c := context.Background(), harness.KeystoneClient(t, cloud, false)
	a := harness.AdminOf(t, c)
	member := clouds.Password("saved", "Default", "saved-password", clouds.Project("saved", "Default"))
	fill(t, a)
	token, err := c.Issue(ctx, member)
	if err != nil {
		t.Fatal(err)
	}
	before := rows(t, cloud)
	saved := time.Now().UTC().Add(-time.Second)
	backUp(t, cloud)
	backups := store.Names(t)
	if n := len(backups); n != 2 || !strings.HasPrefix(backups[n-1], "cloud/physicalbackup-") || !strings.HasSuffix(backups[n-1], ".xb.gz") {
		t.Fatalf("the bucket has %q, want the first backup and the one of now, compressed", backups)
	}
	if diff := cmp.Diff(before, rows(t, cloud)); diff != "" {
		t.Fatalf("something wrote to the database while it was saved (-before +after):\n%s", diff)
	}
	a.Create("user", map[string]any{"name": "later", "domain_id": "default", "password": "later-password"})
	if err := cloud.Operators.LoseDatabase(ctx, cloud.Namespace, "mariadb"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Issue(ctx, member); err == nil {
		t.Fatal("a user logs in without a database")
	}
	// An existing database is not restored: after a loss its object is deleted, and created again.
	delete(cloud.Simulation.Observed, "database")
	claim := bytes.Replace(harness.Read(t, "backup.yaml"), []byte("# restoreFrom: {s3: *bucket}"),
		[]byte("restoreFrom: {s3: *bucket, targetRecoveryTime: "+saved.Format(time.RFC3339)+"}"), 1)
	if err := cloud.Change(claim); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, rows(t, cloud)); diff != "" {
		t.Errorf("rows of the restored database (-backup +restored):\n%s", diff)
	}
	t.Logf("%d tables with %d rows are unchanged", len(before), count(before))
	if _, err := c.Validate(ctx, harness.AdminOf(t, c).Token, token); err != nil {
		t.Errorf("a token from before the loss is not valid: %v", err)
	}
	if _, err := c.Issue(ctx, member); err != nil {
		t.Errorf("a user of the backup does not log in: %v", err)
	}
	if _, err := c.Issue(ctx, clouds.Password("later", "Default", "later-password", nil)); clouds.StatusOf(err) != http.StatusUnauthorized {
		t.Errorf("a user who is younger than the backup: %v, want 401", err)
	}
}

// fill creates a project with users, one of whom has a role, an application credential and an encrypted credential.
func fill(t *testing.T, a harness.Admin) {
	t.Helper()
	project := a.Create("project", map[string]any{"name": "saved", "domain_id": "default", "description": "Ümläute, 'quotes' and \\n"})
	user := a.Create("user", map[string]any{"name": "saved", "domain_id": "default", "password": "saved-password"})
	for _, name := range []string{"a", "b", "c"} {
		a.Create("user", map[string]any{"name": "saved-" + name, "domain_id": "default", "password": "saved-password"})
	}
	a.Do(http.MethodPut, "/projects/"+project+"/users/"+user+"/roles/"+a.Named("roles", "name=member"), nil, nil)
	a.Create("credential", map[string]any{"type": "ec2", "blob": `{"access":"a","secret":"s"}`, "user_id": user, "project_id": project})
	own := harness.Login(t, a.Client, clouds.Password("saved", "Default", "saved-password", clouds.Project("saved", "Default")))
	own.Do(http.MethodPost, "/users/"+user+"/application_credentials",
		map[string]any{"application_credential": map[string]any{"name": "saved", "secret": "application-secret"}}, nil)
}

// backUp creates a backup immediately.
func backUp(t *testing.T, c *clouds.Cloud) {
	t.Helper()
	all := c.Operators.All("PhysicalBackup.k8s.mariadb.com")
	if len(all) != 1 {
		t.Fatalf("%d PhysicalBackups, want one", len(all))
	}
	if err := c.Operators.Reconcile(context.Background(), []map[string]any{all[0].DeepCopy().Object}); err != nil {
		t.Fatal(err)
	}
}

// rows returns the rows of every table of Keystone's database, in order.
func rows(t *testing.T, c *clouds.Cloud) map[string][]string {
	t.Helper()
	query := func(statement string) []string {
		out, err := c.Operators.SQL(context.Background(), c.Namespace, "mariadb", statement)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.FieldsFunc(out, func(r rune) bool { return r == '\n' })
		slices.Sort(lines)
		return lines
	}
	out := map[string][]string{}
	for _, table := range query("SELECT table_name FROM information_schema.tables WHERE table_schema = 'keystone'") {
		out[table] = query("SELECT * FROM keystone.`" + table + "`") //nolint:unqueryvet // every column is compared
	}
	return out
}

func count(rows map[string][]string) int {
	n := 0
	for _, r := range rows {
		n += len(r)
	}
	return n
}
