package cellmapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/batchjob"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/jsonannotation"
)

func TestCommand(t *testing.T) {
	const database, transport = "mysql+pymysql://{username}:{password}@mariadb:3306/nova_cell1",
		"rabbit://{username}:{password}@rabbitmq:5671/nova_cell1"
	for name, tc := range map[string]struct {
		reason  string
		cell    *openstackv1.CellMapping
		command openstackv1.CellCommand
		want    string
	}{
		"List": {"", mapping("cell1"), openstackv1.CellCommandListCells, "list_cells"},
		"Cell0": {"It has a separate command without a queue.", mapping(cell0), openstackv1.CellCommandMapCell0,
			"map_cell0 --database_connection mysql+pymysql://{username}:{password}@mariadb:3306/nova_cell0"},
		"Create": {"", mapping("cell1"), openstackv1.CellCommandCreateCell, "create_cell --name cell1 --database_connection " + database +
			" --transport-url " + transport + " --verbose"},
		"CreateDisabled": {
			"No servers are scheduled to it in between.", mapping("cell1", func(c *openstackv1.CellMapping) { c.Spec.Disabled = true }),
			openstackv1.CellCommandCreateCell, "create_cell --name cell1 --database_connection " + database + " --transport-url " + transport +
				" --verbose --disabled",
		},
		"Update": {"", mapping("cell1"), openstackv1.CellCommandUpdateCell, "update_cell --cell_uuid id --name cell1 --database_connection " +
			database + " --transport-url " + transport + " --enable"},
		"UpdateDisabled": {
			"", mapping("cell1", func(c *openstackv1.CellMapping) { c.Spec.Disabled = true }),
			openstackv1.CellCommandUpdateCell, "update_cell --cell_uuid id --name cell1 --database_connection " + database + " --transport-url " +
				transport + " --disable",
		},
		"UpdateCell0": {
			"Without a queue, Nova stores the queue of the pod with its password; and it exits with 5 if cell0 is enabled.", mapping(cell0),
			openstackv1.CellCommandUpdateCell,
			"update_cell --cell_uuid id --name cell0 --database_connection mysql+pymysql://{username}:{password}@mariadb:3306/nova_cell0 " +
				"--transport-url none:///",
		},
		"Discover": {"By service: a compute node without resources is not found otherwise.", mapping("cell1"),
			openstackv1.CellCommandDiscoverHosts, "discover_hosts --cell_uuid id --by-service"},
		"Dollar": {
			"Kubernetes expands $(NAME).",
			mapping("cell1", func(c *openstackv1.CellMapping) { c.Spec.TransportURL = "rabbit://mq/$(HOME)" }),
			openstackv1.CellCommandCreateCell, "create_cell --name cell1 --database_connection " + database +
				" --transport-url rabbit://mq/$$(HOME) --verbose",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(command(&tc.cell.Spec, &run{Command: tc.command, UUID: "id"}), " ")
			if diff := cmp.Diff("nova-manage cell_v2 "+tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestListHosts: nova-manage gets its arguments, and the script contains nothing that Kubernetes expands.
func TestListHosts(t *testing.T) {
	got := command(&mapping("cell1").Spec, &run{Command: openstackv1.CellCommandListHosts, UUID: "id"})
	if diff := cmp.Diff([]string{python, "-c", listHosts, "cell_v2", "list_hosts", "--cell_uuid", "id"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNewJob(t *testing.T) {
	c := mapping("cell1")
	r := &run{JobRun: openstackv1.JobRun{Number: 3, Generation: 2}, Command: openstackv1.CellCommandListHosts, UUID: "id"}
	j := newJob(c, r)
	if !batchjob.IsSuspended(j) || *j.Spec.Parallelism != 1 || *j.Spec.Completions != 1 || *j.Spec.BackoffLimit != 0 ||
		*j.Spec.PodReplacementPolicy != batchv1.Failed {
		t.Errorf("not one pod, once: %+v", j.Spec)
	}
	if got, err := jsonannotation.Read[run](j, runAnnotation); err != nil || *got != *r {
		t.Errorf("is of run %+v: %v", got, err)
	}
	if !metav1.IsControlledBy(j, c) || j.Name != "nova-cells" || j.Spec.Template.Labels[novaLabel] != "nova" ||
		j.Spec.Template.Labels["app"] != "cells" {
		t.Errorf("is not found: %+v", j.ObjectMeta)
	}
	pod := j.Spec.Template.Spec
	if pod.RestartPolicy != corev1.RestartPolicyNever || *pod.ActiveDeadlineSeconds >= *j.Spec.ActiveDeadlineSeconds ||
		!*pod.SecurityContext.RunAsNonRoot || pod.Containers[0].Args != nil {
		t.Errorf("%+v", pod)
	}
	if mapping("cell1").Spec.Template.Spec.Containers[0].Command != nil {
		t.Error("wrote into the template")
	}
}

// TestNamesAreValidAndUnique: names and label values are valid for all names of a Nova, and unique.
func TestNamesAreValidAndUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,80}[a-z0-9])?(\.[a-z0-9]{1,20}){0,8}`).Draw(t, "name")
		if e := validation.IsDNS1123Subdomain(jobName(name)); len(e) > 0 || len(jobName(name)) > labelLimit {
			t.Fatalf("%s: %v", jobName(name), e)
		}
		if e := validation.IsValidLabelValue(novaLabelValue(name)); len(e) > 0 {
			t.Fatalf("%s: %v", novaLabelValue(name), e)
		}
		if jobName(name) == jobName(name+"x") || novaLabelValue(name) == novaLabelValue(name+"x") {
			t.Fatalf("%s has the names of another one", name)
		}
	})
}
