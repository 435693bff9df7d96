package compute

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/oslo"
)

// PyMySQL waits for a response without a limit by default. Nova applies [database] connection_parameters to the databases of all cells,
// whose URLs it reads from its API database. Three kinds of clients have no limits: [api_database], because Nova cannot serve any request
// without it; the metadata API of a cell, which reads only the database of that cell; and Jobs, because changes of a schema take long.
const (
	// databaseConnectTimeout limits the TCP connection.
	databaseConnectTimeout = 5 * time.Second
	// apiReadTimeout limits each wait of an API that reads the databases of all cells. Nova reads the hypervisors of one cell after the other,
	// so that one silent database occupies a worker until uWSGI ends it, and requests for other cells wait for a worker. A pooled connection
	// is checked first, and then replaced: a request waits twice, and must end before Nova's own limit for a cell (CELL_TIMEOUT, 60 s). A
	// write that waits longer for a lock or for a change of the schema fails, and is rolled back. The limit is longer than Galera needs to
	// expel a member (evs.inactive_timeout, 15 s).
	apiReadTimeout = 25 * time.Second
	// schedulerReadTimeout limits each wait of a scheduler, which reads the services of all cells at once. It waits twice, too, and then
	// compares the report of each nova-compute with the current time: if the reports, which come every 10 s, were older than
	// service_down_time (60 s) by then, no server of any cell would be scheduled during the outage of one.
	schedulerReadTimeout = 20 * time.Second
	// daemonReadTimeout limits each wait of a conductor. Those above the cells serve all cells with the same workers, and nothing
	// else frees a worker that waits: the kubelet does not restart these pods, and their connections would stay dead after the database
	// responds again. It is longer than MariaDB's own limit for a lock (innodb_lock_wait_timeout, 50 s), whose error Nova retries. After it,
	// the caller has given up (rpc_response_timeout, 60 s).
	daemonReadTimeout = 60 * time.Second
)

// APIDatabaseEnv returns the environment variable with the timeouts of the database connections of an API that serves all cells.
func APIDatabaseEnv() corev1.EnvVar { return databaseEnv(apiReadTimeout) }

func databaseEnv(read time.Duration) corev1.EnvVar {
	return corev1.EnvVar{
		Name: oslo.MustEnvName("database", "connection_parameters"),
		Value: fmt.Sprintf("connect_timeout=%d&read_timeout=%[2]d&write_timeout=%[2]d",
			int(databaseConnectTimeout.Seconds()), int(read.Seconds())),
	}
}
