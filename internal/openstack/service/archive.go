package service

import (
	corev1 "k8s.io/api/core/v1"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
)

// ArchiveJob is the name of the component that removes deleted rows, and the prefix of the names of its Jobs.
const ArchiveJob = "archive"

// Archive removes deleted rows from the databases of a service.
type Archive struct {
	// Archive is the schedule of the spec. The command contains the age of the rows.
	common.Archive
	// Command of the Jobs, in the image and with the files of the service.
	Command []string
	// Env contains variables in addition to the variables of all Jobs of the service.
	Env []corev1.EnvVar
}

// Archival returns the component that runs the Jobs of an Archive on its schedule.
func Archival[M Instance](archive func(M) (Archive, error), needs ...string) compose.Component[M] {
	return compose.Component[M]{
		Name: ArchiveJob, Needs: needs,
		Build: func(m M) ([]compose.Stage, error) {
			a, err := archive(m)
			if err != nil {
				return nil, err
			}
			s := m.Embedded()
			pod := s.JobPod(s.Image, s.Files, a.Command)
			c := &pod.Containers[0]
			c.Env = append(c.Env, a.Env...)
			w := s.Workload.With(s.Sub(ArchiveJob), ArchiveJob)
			return SingleObjectComponent(ArchiveJob, w.CronJob(pod, string(a.Schedule), a.Suspend)), nil
		},
	}
}
