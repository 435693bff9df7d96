package service

import (
	"encoding/json"
	"fmt"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Once returns a Job that runs once for each input, because its name contains a hash of its spec. It runs again for a new
// image and for another placement (a pod that cannot be scheduled cannot be changed), but not on each reconciliation.
func Once(resource string, w workload.Workload, p workload.Pod, attempts int32) ([]compose.Stage, error) {
	job := w.Job(p, attempts)
	spec, err := json.Marshal(job.Spec)
	if err != nil {
		return nil, fmt.Errorf("cannot hash the Job: %w", err)
	}
	suffix := "-" + Hash(string(spec))
	job.Name += suffix
	return []compose.Stage{{{Name: resource + suffix, Object: job, Revisions: resource}}}, nil
}
