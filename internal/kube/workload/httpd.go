package workload

import (
	"fmt"
	"strings"
	"time"
)

// HTTPD is Apache in a pod: it serves https, and hands every request on to a process beside it
// (https://httpd.apache.org/docs/2.4/mod/directives.html).
type HTTPD struct {
	// Name of the server.
	Name string
	// Port to listen on, and Backend, that of the process beside it.
	Port, Backend int32
	// CertFile and KeyFile serve https.
	CertFile, KeyFile string
	// Health is the port where Apache itself answers probes, by http.
	Health int32
	// Request is how long Apache waits for the process beside it, HeaderBytes the largest field of a header, and Queue the number of
	// requests that are handed on at a time. Threads besides those answer probes, and refuse what is too much.
	Request     time.Duration
	HeaderBytes int
	Queue       int
	// KeepAlive is how long a connection stays open without a request. It occupies no thread (mpm_event).
	KeepAlive time.Duration
	// TerminationGracePeriod is how long running requests may take after the pod was told to stop.
	TerminationGracePeriod time.Duration
	// Modules besides those that every proxy needs.
	Modules []string
	// Directives of all requests, and Locations with those of some.
	Directives []string
	Locations  []Location
}

// Location are directives of the requests below a path. They are the last that is said: later locations go over earlier ones.
type Location struct {
	Path       string
	Directives []string
}

// proxyModules are what a proxy is made of.
var proxyModules = []string{
	"mpm_event", "alias", "authn_core", "authz_core", "authz_user", "headers", "proxy", "proxy_http", "reqtimeout", "setenvif",
	"socache_shmcb",
	"ssl",
}

// httpdProcesses is the number of Apache's processes, and httpdSpareThreads that of the threads of each that hand no request on.
const (
	httpdProcesses    = 4
	httpdSpareThreads = 15
)

// Config is Apache's configuration file, with folders as Debian has them.
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
		// Few processes: each has modules and a cache of its own.
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
