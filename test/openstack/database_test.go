//go:build openstack && linux

package openstack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// testParallelWriters checks that concurrent changes of one row by services of the oldest release all succeed. Its
// oslo.db does not retry a transaction that MariaDB's snapshot isolation, which is enabled by default since 11.6.2,
// aborts with error 1020.
func testParallelWriters(t *testing.T, c *Cloud) {
	const oldest release.Release = "2025.1"
	ctx := context.Background()
	if _, err := c.Operators.SQL(ctx, c.Namespace, "mariadb", "CREATE DATABASE writers;\n"+
		"CREATE USER writers IDENTIFIED BY 'writers' REQUIRE SSL;\nGRANT ALL PRIVILEGES ON writers.* TO writers"); err != nil {
		t.Fatal(err)
	}
	bundle, err := c.Operators.Secret(ctx, c.Namespace, "mariadb-ca-bundle")
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, bundle["ca.crt"], 0o600); err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("mysql+pymysql://writers:writers@mariadb.%s.svc:3306/writers?charset=utf8", c.Namespace)
	out, err := exec.Command(filepath.Join(programs.Services[oldest], "bin", "python"), "testdata/writers.py", url, ca).CombinedOutput()
	if diff := cmp.Diff("lost 0\n", string(out)); diff != "" || err != nil {
		t.Errorf("parallel writers (-want +got), %v:\n%s", err, diff)
	}
}

// testCollations checks that the tables of a service have the collation of its database unless the service sets another
// one, so that columns of all tables can be compared and can refer to each other.
func testCollations(t *testing.T, c *Cloud) {
	t.Helper()
	out, err := c.Operators.SQL(context.Background(), c.Namespace, "mariadb", "SELECT table_schema, table_name, column_name, collation_name\n"+
		"FROM information_schema.columns WHERE collation_name NOT IN ('utf8mb3_general_ci', 'utf8mb3_bin', 'utf8mb4_bin', 'latin1_swedish_ci')\n"+
		"AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(out), "\n"); out != "" {
		t.Errorf("%d columns have other collations, the first one is %s", len(lines), lines[0])
	}
}
