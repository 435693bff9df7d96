package cinder

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/servicetest"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// TestBackupSizes verifies that the objects of all concurrent backups of a pod fit four times into its memory, in addition to the idle
// process.
func TestBackupSizes(t *testing.T) {
	for memory, want := range map[string][2]int64{
		"128Mi": {1, 1}, "256Mi": {1, 8}, "512Mi": {2, 20}, "1Gi": {6, 17}, "2Gi": {14, 16}, "16Gi": {15, 48}, "": {2, 20},
	} {
		var limit *resource.Quantity
		if memory != "" {
			limit = new(resource.MustParse(memory))
		}
		operations, object := backupSizes(limit)
		if diff := cmp.Diff(want, [2]int64{operations, object / mib}); diff != "" {
			t.Errorf("%q: operations, and MiB of an object (-want +got):\n%s", memory, diff)
		}
		if object%blockBytes != 0 || blockBytes%32768 != 0 {
			t.Errorf("%q: an object of %d bytes has parts without a hash", memory, object)
		}
		if memory == "" || memory == "128Mi" {
			continue
		}
		if used := idleBytes + 4*operations*object; used > limit.Value() {
			t.Errorf("%q: %d bytes are used", memory, used)
		}
	}
}

// TestBackupOptions verifies that the options belong to the configured driver; each driver has different names.
func TestBackupOptions(t *testing.T) {
	const object, operations = int64(20 * mib), int64(2)
	files := oslo.Options{"backup_max_operations": operations, "backup_file_size": object, "backup_sha_block_size_bytes": blockBytes}
	pool := oslo.Options{"backup_max_operations": operations, "backup_ceph_chunk_size": object}
	for name, tc := range map[string]struct {
		reason string
		backup cinderv1.Backup
		want   oslo.Options
	}{
		"File": {"The driver of files.", cinderv1.Backup{File: &cinderv1.BackupFile{}}, files},
		"NFS":  {"A share is mounted by the node, and written to as files.", cinderv1.Backup{NFS: &cinderv1.BackupNFS{}}, files},
		"S3": {"Objects are sent from memory.", cinderv1.Backup{S3: &cinderv1.S3{}}, oslo.Options{
			"backup_max_operations": operations, "backup_s3_object_size": object, "backup_s3_block_size": blockBytes,
		}},
		"Swift": {"Objects are sent from memory.", cinderv1.Backup{Swift: &cinderv1.Swift{}}, oslo.Options{
			"backup_max_operations": operations, "backup_swift_object_size": object, "backup_swift_block_size": blockBytes,
		}},
		"Pool": {"A part is read, and written.", cinderv1.Backup{Ceph: &common.StoragePool{}}, pool},
		"RBD":  {"The same driver.", cinderv1.Backup{RBD: &cinderv1.BackupRBD{}}, pool},
	} {
		tc.backup.Memory = "512Mi"
		if diff := cmp.Diff(tc.want, backupOptions(&tc.backup)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestConversionVolumeSizeFollowsSpec verifies that the volume for image conversion has the size in the spec, in pods of managers and of
// the backup service.
func TestConversionVolumeSizeFollowsSpec(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		size   any
		want   string
	}{
		"Default": {"The schema's.", nil, "50Gi"},
		"Spec":    {"Larger images.", "200Gi", "200Gi"},
	} {
		spec := servicetest.Spec(t, "medium")
		if tc.size != nil {
			spec["conversionSize"] = tc.size
		}
		found := 0
		for _, p := range derived(t, spec).Processes() {
			for _, v := range p.Mounts {
				if v.Folder != scratchPath {
					continue
				}
				found++
				if got := v.EmptyDir.SizeLimit.String(); got != tc.want {
					t.Errorf("%s: %s %s has %s, want %s", name, tc.reason, p.Name, got, tc.want)
				}
			}
		}
		if found != 4 { // Two managers, and a backup service in each of two zones.
			t.Errorf("%s: %d directories", name, found)
		}
	}
}

// TestRejectsInvalidQuantities verifies that a quantity that the schema would reject is an error, and not the default.
func TestRejectsInvalidQuantities(t *testing.T) {
	for field, set := range map[string]func(*cinderv1.CinderSpec){
		"spec.conversionSize": func(s *cinderv1.CinderSpec) { s.ConversionSize = "much" },
		"spec.backup.memory":  func(s *cinderv1.CinderSpec) { s.Backup.Memory = "much" },
	} {
		in := function.Input[cinderv1.Cinder]{}
		text, err := json.Marshal(servicetest.Spec(t, "medium"))
		if err == nil {
			err = json.Unmarshal(text, &in.XR.Spec)
		}
		if err != nil {
			t.Fatal(err)
		}
		in.XR.Name, in.XR.Namespace = cinderv1.ServiceName, "cloud"
		set(&in.XR.Spec)
		want := field + `: "much" is not a quantity`
		if _, err := derive(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("derive(...): error %v, want %s", err, want)
		}
	}
}
