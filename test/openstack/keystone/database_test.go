//go:build openstack && linux

package keystone

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// testParallelWriters checks that concurrent changes of one row by services of the oldest release all succeed. Its
// oslo.db does not retry a transaction that MariaDB's snapshot isolation, which is enabled by default since 11.6.2,
// aborts with error 1020.
func testParallelWriters(t *testing.T, c *clouds.Cloud) {
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
	out, err := exec.Command(filepath.Join(harness.Programs.Services[oldest], "bin", "python"), "../testdata/writers.py", url, ca).CombinedOutput()
	if diff := cmp.Diff("lost 0\n", string(out)); diff != "" || err != nil {
		t.Errorf("parallel writers (-want +got), %v:\n%s", err, diff)
	}
}
