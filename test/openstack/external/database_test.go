//go:build openstack && linux

package external

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/placement"
)

// Name, port and administrator of an external server.
const (
	externalHost     = "db.example.com"
	externalPort     = 3307
	externalUser     = "cloud-admin"
	externalPassword = `p"4$s/w@:ord`
)

// externalSetup is the initial contents of the server: another Keystone, and an administrator with the privileges that
// docs/external-database.md lists.
const externalSetup = "CREATE DATABASE keystone;\n" +
	"CREATE TABLE keystone.project (id INT PRIMARY KEY, name VARCHAR(64));\n" +
	"INSERT INTO keystone.project VALUES (1, 'of another cloud');\n" +
	"CREATE USER 'keystone'@'%%' IDENTIFIED BY 'another';\n" +
	"GRANT ALL PRIVILEGES ON keystone.* TO 'keystone'@'%%';\n" +
	"CREATE USER '" + externalUser + "'@'%%' IDENTIFIED BY %s REQUIRE SSL;\n" +
	"GRANT CREATE USER ON *.* TO '" + externalUser + "'@'%%';\n" +
	"GRANT SELECT ON mysql.user TO '" + externalUser + "'@'%%';\n" +
	"GRANT ALL PRIVILEGES ON `os_%%`.* TO '" + externalUser + "'@'%%' WITH GRANT OPTION;\n"

// An externalDatabase is a server that does not belong to the cloud.
type externalDatabase struct {
	dir, address string
	authority    *pki.Authority
	process      *exec.Cmd
}

// newExternalDatabase creates the files that the server needs to start, except its address.
func newExternalDatabase(t *testing.T) *externalDatabase {
	t.Helper()
	authority, err := pki.New("corporate")
	if err != nil {
		t.Fatal(err)
	}
	b := &externalDatabase{dir: t.TempDir(), authority: authority}
	server, err := authority.Issue(pki.Subject{Hosts: []string{externalHost}})
	if err = errors.Join(err, authority.Write(filepath.Join(b.dir, "pki"), server), os.Mkdir(filepath.Join(b.dir, "tmp"), 0o700)); err != nil {
		t.Fatal(err)
	}
	out, err := b.command("mariadb-install-db", "--no-defaults", "--user=root", "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve", "--datadir=/mnt/data", "--tmpdir=/mnt/tmp").CombinedOutput()
	if err != nil {
		t.Fatalf("cannot make the data folder: %v\n%s", err, out)
	}
	return b
}

// command returns a program of the servers' Debian, whose /mnt is the folder of this server.
func (b *externalDatabase) command(args ...string) *exec.Cmd {
	const enter = `mount --bind "$1" "$0/mnt" && shift && exec chroot "$0" "$@"`
	return exec.Command("unshare", append([]string{"--mount", "sh", "-c", enter, harness.Programs.Servers, b.dir}, args...)...)
}

func (b *externalDatabase) file(name string) string { return filepath.Join(b.dir, name) }

// prepare starts the server at a separate address, with its initial contents.
func (b *externalDatabase) prepare(t *testing.T, c *clouds.Cloud) error {
	t.Helper()
	var err error
	if b.address, err = c.Cluster.Address(externalHost); err != nil {
		return err
	}
	t.Cleanup(b.stop)
	if err := b.start(); err != nil {
		return err
	}
	_, err = b.sql(fmt.Sprintf(externalSetup, "'"+externalPassword+"'"))
	return err
}

// start starts the server and waits until it responds.
func (b *externalDatabase) start() error {
	log, err := os.Create(b.file("log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	b.process = b.command("mariadbd", "--no-defaults", "--user=root", "--datadir=/mnt/data", "--tmpdir=/mnt/tmp",
		"--socket=/mnt/socket", "--pid-file=/mnt/pid", "--bind-address="+b.address, fmt.Sprintf("--port=%d", externalPort),
		"--ssl-ca=/mnt/pki/ca.crt", "--ssl-cert=/mnt/pki/tls.crt", "--ssl-key=/mnt/pki/tls.key", "--innodb-snapshot-isolation=OFF",
		"--require-secure-transport=ON", "--skip-name-resolve", "--max-connections=400", "--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=2")
	b.process.Stdout, b.process.Stderr = log, log
	b.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := b.process.Start(); err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, err := b.sql("SELECT 1")
		if err == nil || stopwatch.Since(began) > time.Minute {
			return err
		}
	}
}

// stop kills it, as an outage does.
func (b *externalDatabase) stop() {
	if b.process != nil {
		_ = b.process.Process.Kill()
		_ = b.process.Wait()
		b.process = nil
	}
}

// sql runs statements as the server's administrator, and returns the lines of the output.
func (b *externalDatabase) sql(statements string) ([]string, error) {
	cmd := exec.Command("mariadb", "--no-defaults", "--user=root", "--socket="+b.file("socket"), "--skip-column-names", "--batch")
	cmd.Stdin = strings.NewReader(statements)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return strings.Fields(string(out)), nil
}

// mustSQL runs sql, and fails the test on an error.
func (b *externalDatabase) mustSQL(t *testing.T, statements string) []string {
	t.Helper()
	out, err := b.sql(statements)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestExternalDatabase runs two control planes with an external server, which also has a database of the same name of
// another owner. Services log in with TLS and the CA that the claim names; other databases are not changed; the server
// fails and recovers; and disabled services leave their data.
func TestExternalDatabase(t *testing.T) {
	b := newExternalDatabase(t)
	secrets := func(o *clouds.Options) {
		o.Secrets = map[string]map[string][]byte{"corporate-database": {"password": []byte(externalPassword), "ca.crt": b.authority.Certificate}}
	}
	claim := string(harness.Read(t, "database.yaml"))
	cloud := harness.Start(t, []byte(claim), func(o *clouds.Options) {
		secrets(o)
		o.Prepare = func(c *clouds.Cloud) error { return b.prepare(t, c) }
	})
	prefix := names.Shared("tenant-a", "borrowed")
	t.Run("Token", func(t *testing.T) {
		harness.Login(t, harness.KeystoneClient(t, cloud, true), harness.KeystoneClient(t, cloud, true).Admin)
	})
	t.Run("Inventory", func(t *testing.T) { placement.CheckInventory(t, placement.Of(t, cloud)) })
	t.Run("NoDatabase", func(t *testing.T) {
		for _, kind := range []string{"MariaDB", "MaxScale", "PhysicalBackup"} {
			if all := cloud.Operators.All(kind + ".k8s.mariadb.com"); len(all) > 0 {
				t.Errorf("there is a %s", kind)
			}
		}
	})
	t.Run("Names", func(t *testing.T) { testExternalNames(t, b, prefix, "keystone", "placement") })
	t.Run("Encrypted", func(t *testing.T) { testExternalEncrypted(t, b, prefix) })
	t.Run("Shared", func(t *testing.T) {
		alone := strings.Replace(strings.ReplaceAll(claim, "borrowed", "lent"), "      enabled: true\n", "      enabled: false\n", 1)
		other := harness.Start(t, []byte(alone), secrets)
		a := harness.AdminOf(t, harness.KeystoneClient(t, other, true))
		a.Create("user", map[string]any{"name": "of-the-second", "domain_id": "default", "password": "password"})
		testExternalNames(t, b, names.Shared("tenant-a", "lent"), "keystone")
		for p, want := range map[string]string{prefix: "0", names.Shared("tenant-a", "lent"): "1"} {
			got := b.mustSQL(t, "SELECT COUNT(*) FROM `"+p+"_keystone`.local_user WHERE name = 'of-the-second'")
			if diff := cmp.Diff([]string{want}, got); diff != "" {
				t.Errorf("users of the second control plane in %s (-want +got):\n%s", p, diff)
			}
		}
	})
	t.Run("Untouched", func(t *testing.T) { testExternalUntouched(t, b) })
	t.Run("Outage", func(t *testing.T) { testExternalOutage(t, cloud, b) })
	t.Run("Gone", func(t *testing.T) {
		rows := "SELECT COUNT(*) FROM `" + prefix + "_placement`.resource_providers"
		before := b.mustSQL(t, rows)
		harness.Change(t, cloud, []byte(strings.Replace(claim, "      enabled: true\n", "      enabled: false\n", 1)))
		if diff := cmp.Diff(before, b.mustSQL(t, rows)); diff != "" || before[0] == "0" {
			t.Errorf("resource providers of a Placement that is switched off: %s before (-before +after):\n%s", before, diff)
		}
	})
}

// testExternalNames checks that a control plane has a database and a user for each service, named after it.
func testExternalNames(t *testing.T, b *externalDatabase, prefix string, services ...string) {
	t.Helper()
	var want []string
	for _, s := range services {
		want = append(want, prefix+"_"+s)
	}
	for label, statement := range map[string]string{
		"databases": "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE '" + prefix + "%' ORDER BY 1",
		"users":     "SELECT user FROM mysql.user WHERE user LIKE '" + prefix + "%' ORDER BY 1",
		"encrypted": "SELECT user FROM mysql.user WHERE user LIKE '" + prefix + "%' AND ssl_type = 'ANY' ORDER BY 1",
	} {
		if diff := cmp.Diff(want, b.mustSQL(t, statement)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", label, diff)
		}
	}
}

// testExternalEncrypted checks that every connection of a service is encrypted, and that none uses the administrator's
// login.
func testExternalEncrypted(t *testing.T, b *externalDatabase, prefix string) {
	t.Helper()
	users := b.mustSQL(t, "SELECT DISTINCT user FROM information_schema.processlist WHERE user NOT IN ('root', 'system user', 'event_scheduler') ORDER BY 1")
	if !slices.Contains(users, prefix+"_keystone") || slices.ContainsFunc(users, func(u string) bool { return !strings.HasPrefix(u, prefix) }) {
		t.Errorf("connected are %q", users)
	}
}

// testExternalUntouched checks that a database and a user of other owners with a service's name are unchanged.
func testExternalUntouched(t *testing.T, b *externalDatabase) {
	t.Helper()
	cmd := exec.Command("mariadb", "--no-defaults", "--user=keystone", "--host="+externalHost, fmt.Sprintf("--port=%d", externalPort),
		"--ssl-ca="+b.file("pki/ca.crt"), "--ssl-verify-server-cert", "--skip-column-names", "--batch",
		"--execute=SELECT name FROM keystone.project; SHOW TABLES FROM keystone")
	cmd.Env = append(os.Environ(), "MYSQL_PWD=another")
	out, err := cmd.CombinedOutput()
	if diff := cmp.Diff("of another cloud\nproject\n", string(out)); diff != "" || err != nil {
		t.Errorf("the Keystone of another cloud (-want +got), %v:\n%s", err, diff)
	}
}

// testExternalOutage checks that clients get no token during an outage of the server, and get one when it has
// recovered, without any other action.
func testExternalOutage(t *testing.T, cloud *clouds.Cloud, b *externalDatabase) {
	ctx, c := context.Background(), harness.KeystoneClient(t, cloud, true)
	b.stop()
	// A request waits for the database as long as its client does.
	short, cancel := stopwatch.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := c.Issue(short, c.Admin); err == nil {
		t.Error("a login succeeds without a database")
	}
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for {
		_, err := c.Issue(ctx, c.Admin)
		if err == nil {
			break
		}
		if stopwatch.Since(began) > 2*time.Minute {
			t.Fatalf("there is no token two minutes after the server is back: %v", err)
		}
		time.Sleep(time.Second)
	}
	t.Logf("the first token came %.1f s after the server was back", time.Since(began).Seconds())
}
