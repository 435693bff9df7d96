package glance

import (
	_ "embed"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
)

// archiveScript is glance-manage, extended to delete expired tasks before it purges rows, in batches until none is left.
//
//go:embed archive.py
var archiveScript string

// archive purges rows of deleted images and tasks. The rows of images are purged last, and later: all others reference them.
// https://docs.openstack.org/glance/latest/cli/glancemanage.html
func archive(m *model) (service.Archive, error) {
	a := m.spec.Archive
	return service.Archive{
		Archive: a.Archive,
		Command: []string{
			python, "-c", archiveScript, "db", "purge", fmt.Sprintf("--age_in_days=%d", a.AfterDays), "--max_rows=1000",
		},
		Env: []corev1.EnvVar{{Name: "IMAGES_AFTER_DAYS", Value: fmt.Sprint(a.ImagesAfterDays)}},
	}, nil
}
