//go:build openstack && linux

package openstack

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
)

// What a server of somebody else's is called, where it listens, and who administrates it.
const (
	borrowedHost     = "db.example.com"
	borrowedPort     = 3307
	borrowedUser     = "cloud-admin"
	borrowedPassword = `p"4$s/w@:ord`
)

// borrowedSetup is what its owner has there: somebody's Keystone, and an administrator with the rights that docs/external-database.md names.
const borrowedSetup = "CREATE DATABASE keystone;\n" +
	"CREATE TABLE keystone.project (id INT PRIMARY KEY, name VARCHAR(64));\n" +
	"INSERT INTO keystone.project VALUES (1, 'of another cloud');\n" +
	"CREATE USER 'keystone'@'%%' IDENTIFIED BY 'another';\n" +
	"GRANT ALL PRIVILEGES ON keystone.* TO 'keystone'@'%%';\n" +
	"CREATE USER '" + borrowedUser + "'@'%%' IDENTIFIED BY %s REQUIRE SSL;\n" +
	"GRANT CREATE USER ON *.* TO '" + borrowedUser + "'@'%%';\n" +
	"GRANT SELECT ON mysql.user TO '" + borrowedUser + "'@'%%';\n" +
	"GRANT ALL PRIVILEGES ON `os_%%`.* TO '" + borrowedUser + "'@'%%' WITH GRANT OPTION;\n"

// A borrowed is a server that is not the cloud's.
type borrowed struct {
	dir, address string
	authority    *pki.Authority
	process      *exec.Cmd
}

// newBorrowed makes what the server needs to start, but for its address.
func newBorrowed(t *testing.T) *borrowed {
	t.Helper()
	authority, err := pki.New("corporate")
	if err != nil {
		t.Fatal(err)
	}
	b := &borrowed{dir: t.TempDir(), authority: authority}
	server, err := authority.Issue(pki.Subject{Hosts: []string{borrowedHost}})
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

// command is a program of the servers' Debian, whose /mnt is the folder of this server.
func (b *borrowed) command(args ...string) *exec.Cmd {
	const enter = `mount --bind "$1" "$0/mnt" && shift && exec chroot "$0" "$@"`
	return exec.Command("unshare", append([]string{"--mount", "sh", "-c", enter, programs.Servers, b.dir}, args...)...)
}

func (b *borrowed) file(name string) string { return filepath.Join(b.dir, name) }

// prepare starts the server at an address of its own, with what its owner has there.
func (b *borrowed) prepare(t *testing.T, c *Cloud) error {
	t.Helper()
	var err error
	if b.address, err = c.Cluster.Address(borrowedHost); err != nil {
		return err
	}
	t.Cleanup(b.stop)
	if err := b.start(); err != nil {
		return err
	}
	_, err = b.sql(fmt.Sprintf(borrowedSetup, "'"+borrowedPassword+"'"))
	return err
}

// start starts the server and waits until it answers.
func (b *borrowed) start() error {
	log, err := os.Create(b.file("log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	b.process = b.command("mariadbd", "--no-defaults", "--user=root", "--datadir=/mnt/data", "--tmpdir=/mnt/tmp",
		"--socket=/mnt/socket", "--pid-file=/mnt/pid", "--bind-address="+b.address, fmt.Sprintf("--port=%d", borrowedPort),
		"--ssl-ca=/mnt/pki/ca.crt", "--ssl-cert=/mnt/pki/tls.crt", "--ssl-key=/mnt/pki/tls.key", "--innodb-snapshot-isolation=OFF",
		"--require-secure-transport=ON", "--skip-name-resolve", "--max-connections=400", "--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=2")
	b.process.Stdout, b.process.Stderr = log, log
	b.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := b.process.Start(); err != nil {
		return err
	}
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, err := b.sql("SELECT 1")
		if err == nil || time.Since(begin) > time.Minute {
			return err
		}
	}
}

// stop ends it at once, as a loss does.
func (b *borrowed) stop() {
	if b.process != nil {
		_ = b.process.Process.Kill()
		_ = b.process.Wait()
		b.process = nil
	}
}

// sql runs statements as its owner does, and returns their lines.
func (b *borrowed) sql(statements string) ([]string, error) {
	cmd := exec.Command("mariadb", "--no-defaults", "--user=root", "--socket="+b.file("socket"), "--skip-column-names", "--batch")
	cmd.Stdin = strings.NewReader(statements)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return strings.Fields(string(out)), nil
}

// mustSQL is sql where the server has to answer.
func (b *borrowed) mustSQL(t *testing.T, statements string) []string {
	t.Helper()
	out, err := b.sql(statements)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestExternalDatabase: two control planes have no database but a server that somebody else runs, and on which others have one of the same
// name. Services log in there by TLS with the authority that the claim names; nothing of the others' is touched; the server is lost and
// comes back; and what is switched off leaves its data.
func TestExternalDatabase(t *testing.T) {
	b := newBorrowed(t)
	secrets := func(o *Options) {
		o.Secrets = map[string]map[string][]byte{"corporate-database": {"password": []byte(borrowedPassword), "ca.crt": b.authority.Certificate}}
	}
	claim := string(read(t, "database.yaml"))
	cloud := start(t, []byte(claim), func(o *Options) {
		secrets(o)
		o.Prepare = func(c *Cloud) error { return b.prepare(t, c) }
	})
	prefix := names.Shared("tenant-a", "borrowed")
	t.Run("Token", func(t *testing.T) { login(t, clientOf(t, cloud, true), clientOf(t, cloud, true).Admin) })
	t.Run("Inventory", func(t *testing.T) { testInventory(t, inventoryOf(t, cloud)) })
	t.Run("NoDatabase", func(t *testing.T) {
		for _, kind := range []string{"MariaDB", "MaxScale", "PhysicalBackup"} {
			if all := cloud.Operators.All(kind + ".k8s.mariadb.com"); len(all) > 0 {
				t.Errorf("there is a %s", kind)
			}
		}
	})
	t.Run("Names", func(t *testing.T) { testBorrowedNames(t, b, prefix, "keystone", "placement") })
	t.Run("Encrypted", func(t *testing.T) { testBorrowedEncrypted(t, b, prefix) })
	t.Run("Shared", func(t *testing.T) {
		alone := strings.Replace(strings.ReplaceAll(claim, "borrowed", "lent"), "      enabled: true\n", "      enabled: false\n", 1)
		other := start(t, []byte(alone), secrets)
		a := adminOf(t, clientOf(t, other, true))
		a.create("user", map[string]any{"name": "of-the-second", "domain_id": "default", "password": "password"})
		testBorrowedNames(t, b, names.Shared("tenant-a", "lent"), "keystone")
		for p, want := range map[string]string{prefix: "0", names.Shared("tenant-a", "lent"): "1"} {
			got := b.mustSQL(t, "SELECT COUNT(*) FROM `"+p+"_keystone`.local_user WHERE name = 'of-the-second'")
			if diff := cmp.Diff([]string{want}, got); diff != "" {
				t.Errorf("users of the second control plane in %s (-want +got):\n%s", p, diff)
			}
		}
	})
	t.Run("Untouched", func(t *testing.T) { testBorrowedUntouched(t, b) })
	t.Run("Outage", func(t *testing.T) { testBorrowedOutage(t, cloud, b) })
	t.Run("Gone", func(t *testing.T) {
		rows := "SELECT COUNT(*) FROM `" + prefix + "_placement`.resource_providers"
		before := b.mustSQL(t, rows)
		if err := cloud.Change([]byte(strings.Replace(claim, "      enabled: true\n", "      enabled: false\n", 1))); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, b.mustSQL(t, rows)); diff != "" || before[0] == "0" {
			t.Errorf("resource providers of a Placement that is switched off: %s before (-before +after):\n%s", before, diff)
		}
	})
}

// testBorrowedNames: a control plane has a database and a user for each service, and they are called after it.
func testBorrowedNames(t *testing.T, b *borrowed, prefix string, services ...string) {
	t.Helper()
	var want []string
	for _, s := range services {
		want = append(want, prefix+"_"+s)
	}
	for what, statement := range map[string]string{
		"databases": "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE '" + prefix + "%' ORDER BY 1",
		"users":     "SELECT user FROM mysql.user WHERE user LIKE '" + prefix + "%' ORDER BY 1",
		"encrypted": "SELECT user FROM mysql.user WHERE user LIKE '" + prefix + "%' AND ssl_type = 'ANY' ORDER BY 1",
	} {
		if diff := cmp.Diff(want, b.mustSQL(t, statement)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// testBorrowedEncrypted: every connection of a service is encrypted, and none is as the administrator.
func testBorrowedEncrypted(t *testing.T, b *borrowed, prefix string) {
	t.Helper()
	users := b.mustSQL(t, "SELECT DISTINCT user FROM information_schema.processlist WHERE user NOT IN ('root', 'system user', 'event_scheduler') ORDER BY 1")
	if !slices.Contains(users, prefix+"_keystone") || slices.ContainsFunc(users, func(u string) bool { return !strings.HasPrefix(u, prefix) }) {
		t.Errorf("connected are %q", users)
	}
}

// testBorrowedUntouched: a database and a user that others have under a service's own name are as they were.
func testBorrowedUntouched(t *testing.T, b *borrowed) {
	t.Helper()
	cmd := exec.Command("mariadb", "--no-defaults", "--user=keystone", "--host="+borrowedHost, fmt.Sprintf("--port=%d", borrowedPort),
		"--ssl-ca="+b.file("pki/ca.crt"), "--ssl-verify-server-cert", "--skip-column-names", "--batch",
		"--execute=SELECT name FROM keystone.project; SHOW TABLES FROM keystone")
	cmd.Env = append(os.Environ(), "MYSQL_PWD=another")
	out, err := cmd.CombinedOutput()
	if diff := cmp.Diff("of another cloud\nproject\n", string(out)); diff != "" || err != nil {
		t.Errorf("the Keystone of another cloud (-want +got), %v:\n%s", err, diff)
	}
}

// testBorrowedOutage: while the server is lost nobody gets a token, and when it is back everybody does, without anything else.
func testBorrowedOutage(t *testing.T, cloud *Cloud, b *borrowed) {
	ctx, c := context.Background(), clientOf(t, cloud, true)
	b.stop()
	// A request waits for the database as long as its client does.
	short, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := c.Issue(short, c.Admin); err == nil {
		t.Error("somebody logs in without a database")
	}
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for {
		_, err := c.Issue(ctx, c.Admin)
		if err == nil {
			break
		}
		if time.Since(begin) > 2*time.Minute {
			t.Fatalf("there is no token two minutes after the server is back: %v", err)
		}
		time.Sleep(time.Second)
	}
	t.Logf("the first token came %.1f s after the server was back", time.Since(begin).Seconds())
}
