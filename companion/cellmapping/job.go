package cellmapping

import (
	"cmp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/jsonannotation"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
)

const (
	// novaLabel is on the Job and its pods; pods that outlive the Job are selected by it.
	novaLabel = "openstack.c5c3.io/cells-of"
	// commandLabel is the command of the Job.
	commandLabel = "openstack.c5c3.io/cell-command"
	// runAnnotation contains the run for which the Job was created.
	runAnnotation = "openstack.c5c3.io/cell-run"

	hashDigits = 10
	labelLimit = 63
)

// jobTimeouts of a command. A command that exceeds them is stuck: it waits for the database of a cell. activeDeadlineSeconds
// of the template has precedence.
var jobTimeouts = batchjob.Timeouts{ActiveDeadline: 10 * 60, StartDeadline: 10 * 60, TTL: 24 * 60 * 60}

type run = openstackv1.CellRun

// novaOf returns the name of the Nova to which a cell belongs.
func novaOf(c *openstackv1.CellMapping) string { return cmp.Or(string(c.Spec.NovaName), "nova") }

// jobName returns the name of the Job that is shared by all CellMappings of a Nova.
func jobName(nova string) string { return rights.DerivedName(nova, "cells") }

func novaLabelValue(nova string) string {
	if len(nova) <= labelLimit {
		return nova
	}
	return nova[:labelLimit-hashDigits-1] + "-" + names.Hash(hashDigits, nova)
}

// appliedSpecHash returns the hash of the cell settings passed to nova-manage, excluding settings that list_cells reports.
func appliedSpecHash(spec *openstackv1.CellMappingSpec) string {
	return names.Hash(hashDigits, spec.Cell, spec.DatabaseConnection, spec.TransportURL)
}

// command returns the command of a run. An update sets all options: nova-manage reads missing ones from the configuration of
// the pod and stores them, including the password.
func command(spec *openstackv1.CellMappingSpec, r *run) []string {
	out := []string{"nova-manage", "cell_v2"}
	transport := cmp.Or(spec.TransportURL, "none:///")
	switch r.Command {
	case openstackv1.CellCommandListCells:
		out = append(out, "list_cells")
	case openstackv1.CellCommandMapCell0:
		out = append(out, "map_cell0", "--database_connection", spec.DatabaseConnection)
	case openstackv1.CellCommandCreateCell:
		out = append(out, "create_cell", "--name", spec.Cell, "--database_connection", spec.DatabaseConnection,
			"--transport-url", transport, "--verbose")
		if spec.Disabled {
			out = append(out, "--disabled")
		}
	case openstackv1.CellCommandUpdateCell:
		out = append(out, "update_cell", "--cell_uuid", r.UUID, "--name", spec.Cell, "--database_connection", spec.DatabaseConnection,
			"--transport-url", transport)
		if spec.Cell != cell0 { // cell0 cannot be disabled, so it is never enabled either.
			out = append(out, map[bool]string{true: "--disable", false: "--enable"}[spec.Disabled])
		}
	case openstackv1.CellCommandDiscoverHosts:
		out = append(out, "discover_hosts", "--cell_uuid", r.UUID, "--by-service")
	case openstackv1.CellCommandListHosts:
		out = []string{python, "-c", listHosts, "cell_v2", "list_hosts", "--cell_uuid", r.UUID}
	}
	for i := range out { // Kubernetes would expand $(NAME).
		out[i] = strings.ReplaceAll(out[i], "$", "$$")
	}
	return out
}

// NewJob builds the Job of a run.
func (obs *observation) NewJob(r *run) *batchv1.Job { return newJob(obs.cell, r) }

// newJob builds the Job of a run. It is suspended until the run is recorded.
func newJob(c *openstackv1.CellMapping, r *run) *batchv1.Job {
	job := batchjob.Once(metav1.ObjectMeta{
		Name: jobName(novaOf(c)), Namespace: c.Namespace,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, openstackv1.GroupVersion.WithKind(kindName))},
	}, map[string]string{novaLabel: novaLabelValue(novaOf(c)), commandLabel: string(r.Command)}, &c.Spec.Template, command(&c.Spec, r),
		jobTimeouts)
	jsonannotation.Write(&job.ObjectMeta, runAnnotation, r)
	return job
}
