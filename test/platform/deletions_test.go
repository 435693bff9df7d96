package platform

import (
	"fmt"
	"strings"
	"testing"
)

// TestDetectsDeletionsOutOfOrder checks that deletions out of order are reported.
func TestDetectsDeletionsOutOfOrder(t *testing.T) {
	t.Parallel()
	entries := make([]string, 10)
	for i := range entries {
		entries[i] = fmt.Sprintf("Endpoint e%d", i)
	}
	catalog := strings.Join(entries, ", ")
	for name, c := range map[string]struct {
		reason  string
		deleted string
		remote  bool
		want    string
	}{
		"Order":      {"The catalog, Keystone, its pods, its database, its namespace.", catalog + ", Keystone keystone, Deployment keystone, MariaDB mariadb, Namespace n", false, ""},
		"Pods":       {"Keystone and its pods need not wait for one another.", catalog + ", Deployment keystone, Keystone keystone, MariaDB mariadb, Namespace n", false, ""},
		"Remote":     {"Keystone's composite resource is in another cluster.", catalog + ", Deployment keystone, MariaDB mariadb, Namespace n", true, ""},
		"Nothing":    {"Unobserved deletions are an error.", "", false, "never seen to go"},
		"NoKeystone": {"Nor is a Keystone that stays.", catalog + ", Deployment keystone, MariaDB mariadb, Namespace n", false, "Keystone was never seen to go"},
		"NoCatalog":  {"Nor is a catalog that was lost.", "Keystone keystone, Deployment keystone, MariaDB mariadb, Namespace n", false, "only 0 catalog entries"},
		"Catalog":    {"K-ORC needs Keystone to delete its entries.", catalog + ", Deployment keystone, Endpoint late, Keystone keystone, MariaDB mariadb, Namespace n", false, "Endpoint late went after"},
		"Database":   {"Keystone needs its database.", catalog + ", Deployment keystone, MariaDB mariadb, Keystone keystone, Namespace n", false, "Keystone went after its database"},
		"Namespace":  {"The namespace is the last.", catalog + ", Keystone keystone, Deployment keystone, Namespace n, MariaDB mariadb", false, "the database went after its namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &Deletions{namespace: "n", keystone: !c.remote}
			for i, object := range strings.Split(c.deleted, ", ") {
				kind, name, _ := strings.Cut(object, " ")
				group := ""
				if kind == "Endpoint" {
					group = catalogGroup
				}
				d.deleted = append(d.deleted, deletion{group: group, kind: kind, name: name, version: int64(i + 1)})
			}
			got := ""
			if err := d.Check(); err != nil {
				got = err.Error()
			}
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("Check() = %q, want %q: %s", got, c.want, c.reason)
			}
		})
	}
}
