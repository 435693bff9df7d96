package workload

import (
	"fmt"
	"strings"
	"time"
)

// HTTPD is an Apache in a pod: it serves https, and forwards every request to another process in the pod
// (https://httpd.apache.org/docs/2.4/mod/directives.html).
type HTTPD struct {
	// Name of the server.
	Name string
	// Port of the listener, and Backend, the port of the other process.
	Port, Backend int32
	// CertFile and KeyFile serve https.
	CertFile, KeyFile string
	// Health is the port at which Apache itself responds to probes, with http.
	Health int32
	// Request is the timeout of the backend, HeaderBytes the maximum size of a header field, and Queue the maximum number of concurrent
	// requests to the backend. Additional threads respond to probes, and reject excess requests.
	Request     time.Duration
	HeaderBytes int
	Queue       int
	// KeepAlive is the timeout of an idle connection. It occupies no thread (mpm_event).
	KeepAlive time.Duration
	// TerminationGracePeriod is the time that running requests have after SIGTERM.
	TerminationGracePeriod time.Duration
	// Modules in addition to proxyModules.
	Modules []string
	// Directives for all requests, and Locations with directives for some.
	Directives []string
	Locations  []Location
}

// Location contains directives for requests below a path. Locations come last; later ones override earlier ones.
type Location struct {
	Path       string
	Directives []string
}

// proxyModules lists the modules of every proxy.
var proxyModules = []string{
	"mpm_event", "alias", "authn_core", "authz_core", "authz_user", "headers", "proxy", "proxy_http", "reqtimeout", "setenvif",
	"socache_shmcb",
	"ssl",
}

// httpdProcesses is the number of Apache's processes, httpdSpareThreads the number of threads in each that forward no requests.
const (
	httpdProcesses    = 4
	httpdSpareThreads = 15
)

// Config returns Apache's configuration file, with Debian's paths.
func (h HTTPD) Config() string {
	threads := h.Queue/httpdProcesses + httpdSpareThreads
	lines := []string{
		"ServerRoot /etc/apache2",
		"ServerName " + h.Name,
		"PidFile /tmp/apache2.pid",
		"DefaultRuntimeDir /tmp",
		"Mutex file:/tmp default",
		"ErrorLog /dev/stderr",
		fmt.Sprintf("Listen %d", h.Port),
		fmt.Sprintf("Listen %d", h.Health),
	}
	for _, modules := range [][]string{proxyModules, h.Modules} {
		for _, m := range modules {
			lines = append(lines, fmt.Sprintf("LoadModule %s_module /usr/lib/apache2/modules/mod_%[1]s.so", m))
		}
	}
	lines = append(lines,
		// Few processes: each loads all modules and has a separate cache.
		fmt.Sprintf("ServerLimit %d", httpdProcesses),
		"StartServers 2",
		fmt.Sprintf("ThreadsPerChild %d", threads),
		fmt.Sprintf("MinSpareThreads %d", threads),
		fmt.Sprintf("MaxSpareThreads %d", httpdProcesses*threads),
		fmt.Sprintf("MaxRequestWorkers %d", httpdProcesses*threads),
		// A client that sends its header or its body too slowly occupies a thread.
		"Timeout 60",
		fmt.Sprintf("KeepAliveTimeout %d", int(h.KeepAlive.Seconds())),
		"RequestReadTimeout handshake=20 header=20-40,MinRate=500 body=60,MinRate=500",
		fmt.Sprintf("ProxyTimeout %d", int(h.Request.Seconds())),
		fmt.Sprintf("LimitRequestFieldSize %d", h.HeaderBytes),
		fmt.Sprintf("LimitRequestLine %d", h.HeaderBytes),
		fmt.Sprintf("GracefulShutdownTimeout %d", int(h.TerminationGracePeriod.Seconds())),
		fmt.Sprintf("LogFormat %q combined", `%h %l %u %t "%r" %>s %b`),
		"SSLSessionCache shmcb:/tmp/ssl(512000)",
		fmt.Sprintf("<VirtualHost *:%d>", h.Health),
		"  Redirect 204 /",
		"</VirtualHost>",
		fmt.Sprintf("<VirtualHost *:%d>", h.Port),
		"  SSLEngine on",
		"  SSLCertificateFile "+h.CertFile,
		"  SSLCertificateKeyFile "+h.KeyFile,
	)
	for _, d := range h.Directives {
		lines = append(lines, "  "+d)
	}
	for _, l := range h.Locations {
		lines = append(lines, "  <Location "+l.Path+">")
		for _, d := range l.Directives {
			lines = append(lines, "    "+d)
		}
		lines = append(lines, "  </Location>")
	}
	return strings.Join(append(lines,
		"  ProxyPreserveHost On",
		fmt.Sprintf("  ProxyPass / http://127.0.0.1:%d/ max=%d acquire=1000 responsefieldsize=%d", h.Backend, h.Queue/httpdProcesses,
			h.HeaderBytes),
		fmt.Sprintf("  ProxyPassReverse / http://127.0.0.1:%d/", h.Backend),
		"</VirtualHost>",
	), "\n") + "\n"
}
