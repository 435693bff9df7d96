package limit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// TestCleanShare checks that two spellings of one share are equal, and that a share and a folder below it are not.
func TestCleanShare(t *testing.T) {
	for in, want := range map[string]string{
		"nfs.example.com:/v":        "nfs.example.com:/v",
		"NFS.example.com:/v/":       "nfs.example.com:/v",
		"nfs.example.com://x/../v":  "nfs.example.com:/v",
		"nfs.example.com:/":         "nfs.example.com:/",
		"[FD00::1]:/a/./b":          "[fd00::1]:/a/b",
		"nfs.example.com:/v/volume": "nfs.example.com:/v/volume",
	} {
		if diff := cmp.Diff(want, limit.CleanShare(in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}
