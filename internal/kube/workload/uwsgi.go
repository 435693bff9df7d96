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

// UWSGI is an API process of OpenStack below uWSGI (https://uwsgi-docs.readthedocs.io/en/latest/Options.html).
type UWSGI struct {
	// Module is the WSGI application: keystone.wsgi.api:application.
	Module string
	// Listen is the address to listen on: ":5000", "[::]:5000" or "127.0.0.1:5001".
	Listen string
	// CertFile and KeyFile serve https. Empty: plain http.
	CertFile, KeyFile string
	// Processes of a pod and threads of each.
	Processes, Threads int32
	// Harakiri ends a request that takes longer. 0: none is ended.
	Harakiri time.Duration
	// Pause is how long a client may send nothing in the middle of a request. 0: uWSGI's default, 4 s.
	Pause time.Duration
	// HeaderBytes is the largest header of a request, and Backlog the number of connections that wait for a worker. 0: uWSGI's largest
	// and its default.
	HeaderBytes, Backlog int
	// Health configures the endpoint for probes.
	Health HealthEndpoint
	// TerminationGracePeriod is how long running requests may take after the pod was told to stop.
	TerminationGracePeriod time.Duration
	// StartTime tells the module when the process was started, which some services compare with what they find.
	StartTime bool
	// Arguments of the module, as on a command line (sys.argv).
	Arguments []string
	// Uploads are bodies of requests and answers that may be large and slow, those that come in chunks among them.
	Uploads bool
	// Import is a file of Python that is run before the module is loaded. Empty: none.
	Import string
	// JSON writes a JSON object for each request, as oslo.log does for its lines (internal/openstack/oslo). What uWSGI says of itself, at its
	// start and end, stays text.
	JSON bool
	// Upkeep is a command that runs every ten minutes, once at a time. Empty: none.
	Upkeep string
	// Static files by the path that they are served at: a folder or a file.
	Static map[string]string
	// MIMEFile says which content types these files have, by the ends of their names. Empty: that of the image, if it has one.
	MIMEFile string
	// Headers are added to every answer, also with a file: "Name: value".
	Headers []string
}

// HealthEndpoint configures the process of uWSGI that answers probes.
type HealthEndpoint struct {
	// Address to listen on: ":1717" or "[::]:1717". Empty: no endpoint.
	Address string
	// File is the path of HealthScript in the container.
	File string
	// Hung is the time after which a request hangs that neither ends nor moves bytes. It must exceed the longest legal request.
	Hung time.Duration
	// Absent is the time after which a server is broken that has no worker with a loaded application.
	Absent time.Duration
}

// chunkBytes is the largest chunk of an upload. uWSGI's own limit, 1 MiB, answers 500 to clients that send larger ones.
const chunkBytes = 64 << 20

// maxHeaderBytes is the largest buffer-size of uWSGI.
const maxHeaderBytes = 1<<16 - 1

// HealthPort is the port of the health endpoint of uWSGI, and HealthPortName its name.
const (
	HealthPort     = 1717
	HealthPortName = "health"
)

// LivePath and ReadyPath are the paths of the health endpoint for liveness and readiness probes.
const (
	LivePath  = "/live"
	ReadyPath = "/ready"
)

// HealthFile is the name of HealthScript in a configuration folder.
const HealthFile = "health.py"

// HealthScript answers probes in a mule of uWSGI (https://uwsgi-docs.readthedocs.io/en/latest/Mules.html). A mule costs 4 MiB, because it
// is forked from the master, which has not loaded the application (lazy-apps). The master starts a mule again that ends, and a mule ends
// with its master. A daemon beside uWSGI would not see the workers' state.
//
//go:embed health.py
var HealthScript string

// mulePause is the time that the mule has to end after the last worker.
const mulePause = 10 * time.Second

// ChunksFile is what Chunks is called.
const ChunksFile = "chunks.py"

// Chunks is what a module that reads bodies in chunks (uwsgi.chunked_read) imports where clients speak TLS to uWSGI. Without it, uploads
// fail now and then: those whose TLS records arrive in pieces.
//
//go:embed chunks.py
var Chunks string

// Config is the uWSGI configuration file.
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
		// A module that cannot be loaded ends the process, instead of answering 500 for ever.
		"need-app = true",
		fmt.Sprintf("buffer-size = %d", cmp.Or(u.HeaderBytes, maxHeaderBytes)),
		fmt.Sprintf("harakiri = %d", int(u.Harakiri.Seconds())),
		// A stop lets running requests finish.
		"die-on-term = true",
		"exit-on-reload = false",
		"hook-master-start = unix_signal:15 gracefully_kill_them_all",
		// A worker that still loads the module does not get the signal that makes the others finish, and would go on: it ends at once. Having
		// loaded, uWSGI puts its own handler in this one's place.
		"hook-post-fork = unix_signal:1 end_me",
		fmt.Sprintf("worker-reload-mercy = %d", int(u.TerminationGracePeriod.Seconds())),
		// uWSGI's http-socket does not keep connections, so say so.
		"add-header = Connection: close",
		"log-x-forwarded-for = true",
		"disable-logging = false",
	}
	if u.CertFile != "" {
		// A renewed certificate is taken over by reloading.
		lines = append(lines, "touch-reload = "+u.CertFile)
	}
	return strings.Join(append(lines, u.options()...), "\n") + "\n"
}

// options are the lines that not every module needs.
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
		// The mule outlives the workers. Options that uWSGI does not know are the script's.
		lines = append(lines, "mule = "+h.File, fmt.Sprintf("mule-reload-mercy = %d", int((u.TerminationGracePeriod+mulePause).Seconds())),
			"health-address = "+h.Address, fmt.Sprintf("health-hung = %d", int(h.Hung.Seconds())),
			fmt.Sprintf("health-absent = %d", int(h.Absent.Seconds())))
	}
	if u.Import != "" {
		lines = append(lines, "import = "+u.Import)
	}
	if u.JSON {
		// The line about a request is escaped by uWSGI; a percent sign is doubled in its file.
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

// drainSeconds is how long a pod goes on taking requests after it was told to stop: until every node's proxy knows.
const drainSeconds = 10

// Drain keeps a container alive until no new requests arrive.
func Drain(c *corev1.Container) {
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: drainSeconds}}}
}

// Grace is the time that a pod needs to stop: to drain, to finish its requests, and a little.
func Grace(mercy time.Duration) *int64 {
	return new(int64(mercy.Seconds()) + drainSeconds + 5)
}
