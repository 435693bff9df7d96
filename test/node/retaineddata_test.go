//go:build node && linux

package node_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/credentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/c5c3/crossplane-cobaltcore/test/node"
)

// endow creates a tenant's data in Keystone: a project, a user, an application credential, and a stored credential,
// which is encrypted with the keys.
func endow(ctx context.Context, t *testing.T, c *cloud) {
	t.Helper()
	project, err := projects.Create(ctx, c.identity, projects.CreateOpts{Name: "tenant", DomainID: "default"}).Extract()
	if gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		return // it has, of a test before
	}
	if err != nil {
		t.Fatal(err)
	}
	user, err := users.Create(ctx, c.identity, users.CreateOpts{Name: "tenant", DomainID: "default", Password: "correct-horse-battery"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if err := credentials.Create(ctx, c.identity, credentials.CreateOpts{
		UserID: user.ID, ProjectID: project.ID, Type: "ec2", Blob: `{"access": "tenant", "secret": "battery-staple"}`,
	}).Err; err != nil {
		t.Fatal(err)
	}
	admin, err := tokens.Get(ctx, c.identity, c.provider.Token()).ExtractUser()
	if err != nil {
		t.Fatal(err)
	}
	if err := applicationcredentials.Create(ctx, c.identity, admin.ID, applicationcredentials.CreateOpts{Name: "tenant"}).Err; err != nil {
		t.Fatal(err)
	}
}

// holdings returns the tenants' data in a control plane: projects, users and stored credentials, which need database
// and keys, as returned by Keystone; the keys and passwords; and every table of Keystone's database. Large and secret
// data is represented by its checksum.
func holdings(ctx context.Context, t *testing.T, namespace string) map[string]string {
	t.Helper()
	out := map[string]string{}
	checksums(ctx, t, namespace, out)
	for _, name := range []string{"keystone-fernet-keys", "keystone-credential-keys", "keystone-admin", "mariadb-root"} {
		data := secret(ctx, t, namespace, name)
		hash := sha256.New()
		for _, k := range slices.Sorted(maps.Keys(data)) {
			fmt.Fprintf(hash, "%s %q\n", k, data[k])
		}
		out[name] = fmt.Sprintf("%x", hash.Sum(nil))
	}
	c := login(ctx, t, namespace)
	pages, err := projects.List(c.identity, projects.ListOpts{}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all, err := projects.ExtractProjects(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		out["project "+p.ID] = p.Name
	}
	if pages, err = users.List(c.identity, users.ListOpts{}).AllPages(ctx); err != nil {
		t.Fatal(err)
	}
	people, err := users.ExtractUsers(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range people {
		out["user "+u.ID] = u.Name
	}
	if pages, err = credentials.List(c.identity, credentials.ListOpts{}).AllPages(ctx); err != nil {
		t.Fatal(err)
	}
	stored, err := credentials.ExtractCredentials(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stored {
		out["credential "+s.ID] = s.Blob
	}
	return out
}

// tables is the prefix of the names of checksums of Keystone's tables.
const tables = "keystone."

// checksums adds the checksums of all tables of Keystone's database, and of Nova's records of its cells: the checksum
// of a table is the sum of its rows' checksums.
func checksums(ctx context.Context, t *testing.T, namespace string, out map[string]string) {
	t.Helper()
	const text = "SET SESSION group_concat_max_len = 100000; SELECT CONCAT('CHECKSUM TABLE ', GROUP_CONCAT(table_schema, '.', table_name)) INTO @all " +
		"FROM information_schema.tables WHERE table_schema = 'keystone' OR table_name IN ('cell_mappings', 'host_mappings'); EXECUTE IMMEDIATE @all"
	for line := range strings.Lines(sql(ctx, t, namespace, text)) {
		table, sum, _ := strings.Cut(strings.TrimSpace(line), "\t")
		out[table] = sum
	}
}

// sql runs statements on a member of MariaDB, as root, in the pod.
func sql(ctx context.Context, t *testing.T, namespace, text string) string {
	t.Helper()
	return inPod(ctx, t, namespace, "mariadb-0", "mariadb", text, "bash", "-c", `mariadb -u root -p"$MARIADB_ROOT_PASSWORD" -N -B`)
}

// inPod runs a command in a container, and returns its output.
func inPod(ctx context.Context, t *testing.T, namespace, pod, container, input string, command ...string) string {
	t.Helper()
	folder, err := node.Folder()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--kubeconfig=" + cluster.Kubeconfig, "exec", "-i", "-n", namespace, pod, "-c", container, "--"}, command...)
	cmd := exec.CommandContext(ctx, filepath.Join(folder, "bin", "kubectl"), args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("cannot run %s in %s: %v\n%s", command[0], pod, err, out)
	}
	return string(out)
}
