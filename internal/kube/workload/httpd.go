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
	// Mercy is how long running requests may take after the pod was told to stop.
	Mercy time.Duration
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
	"mpm_event", "authn_core", "authz_core", "authz_user", "headers", "proxy", "proxy_http", "setenvif", "socache_shmcb", "ssl",
}

// Config is Apache's configuration file, with folders as Debian has them.
func (h HTTPD) Config() string {
	lines := []string{
		"ServerRoot /etc/apache2",
		"ServerName " + h.Name,
		"PidFile /tmp/apache2.pid",
		"DefaultRuntimeDir /tmp",
		"Mutex file:/tmp default",
		"ErrorLog /dev/stderr",
		fmt.Sprintf("Listen %d", h.Port),
	}
	for _, modules := range [][]string{proxyModules, h.Modules} {
		for _, m := range modules {
			lines = append(lines, fmt.Sprintf("LoadModule %s_module /usr/lib/apache2/modules/mod_%[1]s.so", m))
		}
	}
	lines = append(lines,
		// As many requests as uWSGI keeps in its queue, in few processes: each has modules and a cache of its own.
		"ServerLimit 4",
		"StartServers 2",
		"ThreadsPerChild 25",
		"MinSpareThreads 25",
		"MaxSpareThreads 75",
		"MaxRequestWorkers 100",
		fmt.Sprintf("GracefulShutdownTimeout %d", int(h.Mercy.Seconds())),
		fmt.Sprintf("LogFormat %q combined", `%h %l %u %t "%r" %>s %b`),
		"SSLSessionCache shmcb:/tmp/ssl(512000)",
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
		fmt.Sprintf("  ProxyPass / http://127.0.0.1:%d/", h.Backend),
		fmt.Sprintf("  ProxyPassReverse / http://127.0.0.1:%d/", h.Backend),
		"</VirtualHost>",
	), "\n") + "\n"
}
