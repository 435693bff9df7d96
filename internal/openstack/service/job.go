package service

import (
	"encoding/json"
	"fmt"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
)

// Once is a Job that runs once for each input, because the hash of what it is stands in its name: again for a new image and for another
// placement, because a pod that no node takes cannot be changed, but not because of a reconciliation.
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
