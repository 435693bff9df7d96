package controlplane

import (
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// TestServerOptionsReachServers proves that the options of a claim are in the configuration of both servers and in the specs of cells.
func TestServerOptionsReachServers(t *testing.T) {
	const spec = `{infrastructure: {mariadb: {config: {innodb_io_capacity: 2000, innodb_log_file_size: 256M}}, rabbitmq: {config: {channel_max: 4095}}},
services: {nova: {enabled: true, cells: [{name: a, infrastructure: {mariadb: {}, rabbitmq: {}}}]}, placement: {enabled: true}}}`
	m := derived(t, spec, queued)
	config, _ := at(object(t, composed(t, m, database)["database"]), "spec", "myCnf").(string)
	if want := "\ninnodb_io_capacity=2000\ninnodb_log_file_size=268435456\n"; !strings.HasSuffix(config, want) {
		t.Errorf("MariaDB has %q, want it to end with %q", config, want)
	}
	queue, _ := at(object(t, composed(t, m, (*model).ComposeMessaging)["messaging"]), "spec", "rabbitmq", "additionalConfig").(string)
	if want := "\nchannel_max = 4095\n"; !strings.HasSuffix(queue, want) {
		t.Errorf("RabbitMQ has %q, want it to end with %q", queue, want)
	}
	for _, s := range m.Services {
		if s.Name != "nova" {
			continue
		}
		cell := m.novaSpec(s).Cells[0].Infrastructure
		if got := cell.Database.Config["innodb_io_capacity"]; got != "2000" {
			t.Errorf("the cell's database has innodb_io_capacity %q, want 2000", got)
		}
		if got := cell.Queue.Config["channel_max"]; got != "4095" {
			t.Errorf("the cell's queue has channel_max %q, want 4095", got)
		}
		return
	}
	t.Error("there is no Nova")
}

// TestServerOptionsAreValidated proves that all wrong options of both servers are reported by their fields.
func TestServerOptionsAreValidated(t *testing.T) {
	const external = "external: {host: db.example.com, user: a, secretRef: {name: b}}"
	for name, tc := range map[string]struct {
		reason, infrastructure string
		want                   []string
	}{
		"both servers": {"One edit corrects all.", "{mariadb: {config: {max_connections: 5}}, rabbitmq: {config: {chanel_max: 4095}}}", []string{
			"spec.infrastructure.mariadb.config.max_connections: cannot be set: it follows the services and the memory; set size or resources.limits.memory",
			"spec.infrastructure.rabbitmq.config.chanel_max: is not an option that a claim can set; did you mean channel_max?",
		}},
		"external database": {"Its owner sets them.", "{mariadb: {" + external + ", config: {back_log: 100}}}", []string{
			"spec.infrastructure.mariadb.config: cannot be set for an external database; set the options in that server, and remove them here",
		}},
		"external queue": {"Its owner sets them.", "{rabbitmq: {" + external + ", config: {heartbeat: 30}}}", []string{
			"spec.infrastructure.rabbitmq.config: cannot be set for an external queue; set the options in that server, and remove them here",
		}},
		"disabled queue": {"No server has them.", "{rabbitmq: {enabled: false, config: {heartbeat: 30}}}", []string{
			"spec.infrastructure.rabbitmq.config: cannot be set while the queue is disabled; remove it, or set infrastructure.rabbitmq.enabled to true",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := derive(input(t, "{infrastructure: "+tc.infrastructure+"}", bare, nil))
			for _, want := range tc.want {
				if !invalid.Is(err) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s got %v, want %s", tc.reason, err, want)
				}
			}
		})
	}
}
