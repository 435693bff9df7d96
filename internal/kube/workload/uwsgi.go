package workload

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// UWSGI is the configuration of an OpenStack API process with uWSGI (https://uwsgi-docs.readthedocs.io/en/latest/Options.html).
type UWSGI struct {
	// Module is the WSGI application: keystone.wsgi.api:application.
	Module string
	// Listen is the listener address: ":5000", "[::]:5000" or "127.0.0.1:5001".
	Listen string
	// CertFile and KeyFile are used for https. Empty: plain http.
	CertFile, KeyFile string
	// Processes of a pod and threads of each.
	Processes, Threads int32
	// Harakiri is the maximum duration of a request. 0: unlimited.
	Harakiri time.Duration
	// Pause is the socket timeout while a client sends a request. 0: uWSGI's default, 4 s.
	Pause time.Duration
	// HeaderBytes is the maximum size of request headers, 0 for uWSGI's maximum. Backlog is the number of connections that wait for a worker,
	// 0 for uWSGI's default.
	HeaderBytes, Backlog int
	// Health configures the endpoint for probes.
	Health HealthEndpoint
	// TerminationGracePeriod is the time that running requests have after SIGTERM.
	TerminationGracePeriod time.Duration
	// StartTime passes the start time of the process to the module; some services use it.
	StartTime bool
	// Arguments of the module, as on a command line (sys.argv).
	Arguments []string
	// Uploads allows large and slow bodies of requests and responses, also chunked ones.
	Uploads bool
	// Import is a Python file that runs before the module is loaded. Empty: none.
	Import string
	// JSON logs a JSON object for each request, like oslo.log (internal/openstack/oslo). uWSGI's own messages, at its start and end, stay
	// text.
	JSON bool
	// Upkeep is a command that runs every ten minutes, without overlap. Empty: none.
	Upkeep string
	// Static maps URL paths to static files: a directory or a file.
	Static map[string]string
	// MIMEFile maps file name extensions to content types. Empty: the file of the image, if it exists.
	MIMEFile string
	// Headers are added to every response, also of static files: "Name: value".
	Headers []string
}

// HealthEndpoint configures the process of uWSGI that responds to probes.
type HealthEndpoint struct {
	// Address of the listener: ":1717" or "[::]:1717". Empty: no endpoint.
	Address string
	// File is the path of HealthScript in the container.
	File string
	// Hung is the time without progress after which a request counts as hung. It must exceed the longest legal request.
	Hung time.Duration
	// Absent is the time without a worker with a loaded application after which the server counts as broken.
	Absent time.Duration
}

// chunkBytes is the maximum chunk of an upload. With uWSGI's default, 1 MiB, clients that send larger ones get status 500.
const chunkBytes = 64 << 20

// maxHeaderBytes is the largest buffer-size of uWSGI.
const maxHeaderBytes = 1<<16 - 1

// HealthPort is the port of uWSGI's health endpoint, HealthPortName its name.
const (
	HealthPort     = 1717
	HealthPortName = "health"
)

// LivePath and ReadyPath are the paths of the health endpoint for liveness and readiness probes.
const (
	LivePath  = "/live"
	ReadyPath = "/ready"
)

// HealthFile is the name of HealthScript in a configuration directory.
const HealthFile = "health.py"

// HealthScript responds to probes in a mule of uWSGI (https://uwsgi-docs.readthedocs.io/en/latest/Mules.html). A mule costs 4 MiB, because
// it is forked from the master, which has not loaded the application (lazy-apps). The master restarts a mule that exits, and a mule exits
// with its master. A separate daemon could not read the state of the workers.
//
//go:embed health.py
var HealthScript string

// mulePause is the additional time for the mule to exit after the last worker.
const mulePause = 10 * time.Second

// ChunksFile is the file name of Chunks.
const ChunksFile = "chunks.py"

// Chunks is imported by modules that read chunked bodies (uwsgi.chunked_read) if uWSGI itself terminates TLS. Without it, uploads
// fail occasionally: those whose TLS records arrive in pieces.
//
//go:embed chunks.py
var Chunks string

// Config returns the uWSGI configuration file.
func (u UWSGI) Config() string {
	lines := []string{
		"[uwsgi]",
		"module = " + u.Module,
		u.socket(),
		"master = true",
		fmt.Sprintf("processes = %d", u.Processes),
		fmt.Sprintf("threads = %d", u.Threads),
		"enable-threads = true",
		"lazy-apps = true",
		"thunder-lock = true",
		// A module that cannot be loaded ends the process, instead of responding with 500 forever.
		"need-app = true",
		fmt.Sprintf("buffer-size = %d", cmp.Or(u.HeaderBytes, maxHeaderBytes)),
		fmt.Sprintf("harakiri = %d", int(u.Harakiri.Seconds())),
		// A stop lets running requests finish.
		"die-on-term = true",
		"exit-on-reload = false",
		"hook-master-start = unix_signal:15 gracefully_kill_them_all",
		// A worker that still loads the module does not get the signal to finish, and would continue: this handler ends it at once. After
		// loading, uWSGI replaces it with its own handler.
		"hook-post-fork = unix_signal:1 end_me",
		fmt.Sprintf("worker-reload-mercy = %d", int(u.TerminationGracePeriod.Seconds())),
		// uWSGI's http-socket does not keep connections alive.
		"add-header = Connection: close",
		"log-x-forwarded-for = true",
		"disable-logging = false",
	}
	if u.CertFile != "" {
		// uWSGI reads a renewed certificate only when it reloads.
		lines = append(lines, "touch-reload = "+u.CertFile)
	}
	return strings.Join(append(lines, u.options()...), "\n") + "\n"
}

// options returns lines for optional settings.
func (u UWSGI) options() []string {
	var lines []string
	if u.StartTime {
		lines = append(lines, "start-time = %t")
	}
	if len(u.Arguments) > 0 {
		lines = append(lines, "pyargv = "+strings.Join(u.Arguments, " "))
	}
	if u.Uploads {
		lines = append(lines, fmt.Sprintf("chunked-input-limit = %d", chunkBytes))
		if u.Pause > 0 {
			lines = append(lines, fmt.Sprintf("chunked-input-timeout = %d", int(u.Pause.Seconds())))
		}
	}
	if u.Pause > 0 {
		lines = append(lines, fmt.Sprintf("socket-timeout = %d", int(u.Pause.Seconds())))
	}
	if u.Backlog > 0 {
		lines = append(lines, fmt.Sprintf("listen = %d", u.Backlog))
	}
	if h := u.Health; h.Address != "" {
		// The mule outlives the workers. The health-* options are not uWSGI's; the script reads them.
		lines = append(lines, "mule = "+h.File, fmt.Sprintf("mule-reload-mercy = %d", int((u.TerminationGracePeriod+mulePause).Seconds())),
			"health-address = "+h.Address, fmt.Sprintf("health-hung = %d", int(h.Hung.Seconds())),
			fmt.Sprintf("health-absent = %d", int(h.Absent.Seconds())))
	}
	if u.Import != "" {
		lines = append(lines, "import = "+u.Import)
	}
	if u.JSON {
		// uWSGI escapes the message of a request; percent signs are doubled in its file.
		lines = append(lines, "req-logger = stdio",
			`log-req-encoder = json {"asctime":"${strftime:%%Y-%%m-%%dT%%H:%%M:%%S%%z}","name":"uwsgi","levelname":"INFO","message":"${msg}"}`,
			"log-req-encoder = nl")
	}
	if u.Upkeep != "" {
		lines = append(lines, "cron2 = minute=-10,unique=1 "+u.Upkeep)
	}
	for _, path := range slices.Sorted(maps.Keys(u.Static)) {
		lines = append(lines, fmt.Sprintf("static-map = %s=%s", path, u.Static[path]))
	}
	if u.MIMEFile != "" {
		lines = append(lines, "mimefile = "+u.MIMEFile)
	}
	for _, header := range u.Headers {
		lines = append(lines, "add-header = "+header)
	}
	return lines
}

func (u UWSGI) socket() string {
	if u.CertFile == "" {
		return "http-socket = " + u.Listen
	}
	return fmt.Sprintf("https-socket = %s,%s,%s", u.Listen, u.CertFile, u.KeyFile)
}

// drainSeconds is the time a pod still accepts requests after SIGTERM, until the proxies of all nodes are updated.
const drainSeconds = 10

// Drain keeps a container running until no new requests arrive.
func Drain(c *corev1.Container) {
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: drainSeconds}}}
}

// Grace returns the termination grace period of a pod: time to drain, to finish its requests, and a margin.
func Grace(requests time.Duration) *int64 {
	return new(int64(requests.Seconds()) + drainSeconds + 5)
}
