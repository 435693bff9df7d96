// Package capacity contains the time and size limits of every process that serves requests of users. Servers, proxies,
// routes and probes derive their limits from it, so that they are consistent:
//
//	longest legal request < harakiri of uWSGI < time limit of a proxy
//
// Thus the server, which knows the reason, aborts a request before any proxy in front of it does.
package capacity

import (
	"cmp"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

// API is the name of the process that serves a service's API.
const API = "api"

const (
	// HeaderBytes is the largest single field of a request or response that passes every server and proxy: a token of 16
	// KiB, encoded.
	HeaderBytes = 32 << 10
	// ServerHeaderBytes is the largest header of uWSGI, all fields together, which is the maximum of its buffer-size.
	ServerHeaderBytes = 1<<16 - 1
	// Backlog is the number of connections that wait for a slot of uWSGI. It is uWSGI's default, which every kernel allows
	// (net.core.somaxconn).
	Backlog = 100
	// StreamSilence is the time without traffic after which a proxy aborts a stream: an open console without input, a
	// paused transfer.
	StreamSilence = time.Hour
	// StreamPause is the time for which uWSGI waits for a silent client of a transfer. A client that sends nothing occupies
	// a slot. Buffers of the kernel and of proxies hold megabytes, and uWSGI does not see a slow client read until a large
	// part of them is free. 60 s aborted downloads at 64 KiB/s.
	StreamPause = 10 * time.Minute
	// RequestPause is the time for which uWSGI waits for a silent client of any other request.
	RequestPause = 15 * time.Second

	// LoadTime is the maximum time for which a server may have no worker that has loaded the application. Requests wait
	// meanwhile, and no proxy aborts one within that time.
	LoadTime = time.Minute
	// Queue is the time for which a connection waits for a slot of uWSGI before a proxy aborts it. A slot starts with the
	// TLS handshake, so this is the connect timeout of the proxy, which defaults to 5 s (nginx, HAProxy) or 10 s (Envoy
	// Gateway).
	Queue = time.Minute
	// KeepAlive is the time for which a server keeps an idle connection. Proxies close idle connections after 60 s
	// (ingress-nginx) or less, and must do so first: a request on a connection that the server is closing fails with 502.
	KeepAlive = 75 * time.Second

	// margin is the difference between a limit and the limit below it.
	margin = 30 * time.Second
	// work is the duration of a request without its calls. MariaDB aborts a wait for a lock after 50 s
	// (innodb_lock_wait_timeout).
	work = time.Minute
)

// Timeouts are the options of a service that limit the duration of its calls.
type Timeouts struct {
	// RPC is [DEFAULT] rpc_response_timeout of oslo.messaging.
	RPC time.Duration
	// LongRPC is [DEFAULT] long_rpc_timeout of Nova.
	LongRPC time.Duration
	// OVN is [ovn] ovsdb_connection_timeout of Neutron.
	OVN time.Duration
}

// Defaults are the default timeouts, which are the same in all releases.
var Defaults = Timeouts{RPC: time.Minute, LongRPC: 30 * time.Minute, OVN: 3 * time.Minute}

// Profile describes the requests of one process.
type Profile struct {
	// Calls is the number of sequential RPC calls of a request, LongCalls the number of calls with Nova's long timeout, and
	// OVNCalls the number of calls that wait for OVN's databases.
	Calls, LongCalls, OVNCalls int
	// BodyBytes is the largest body of a request. 0: any.
	BodyBytes int64
	// Streams is true if bodies or connections have no time limit.
	Streams bool
}

// process is the key of a row.
type process struct{ app, name string }

const (
	mebibyte = 1 << 20
	// ordinaryBody exceeds oslo.middleware's max_request_body_size (114,688 bytes).
	ordinaryBody = mebibyte
	// bulkBody is for APIs whose own limit is 1 MiB or none: Heat's max_json_body_size, and Neutron's bulk requests.
	bulkBody = 16 * mebibyte
)

// profiles has a row for each process that serves users, from the released sources of 2025.1 to 2026.2.
var profiles = map[process]Profile{
	{"keystone", API}:  {BodyBytes: ordinaryBody},
	{"placement", API}: {BodyBytes: ordinaryBody},
	// Images.
	{"glance", API}: {Streams: true},
	// An attachment waits for nova-compute with the long timeout (reserve_block_device_name), then for Cinder, which calls
	// its manager.
	{"nova", API}: {Calls: 2, LongCalls: 1, BodyBytes: ordinaryBody},
	// It calls Neutron and reads the databases of cells, with the RPC timeout.
	{"nova", "metadata"}: {Calls: 1, BodyBytes: ordinaryBody},
	// Consoles stay open.
	{"nova", "vnc"}:    {Streams: true},
	{"nova", "spice"}:  {Streams: true},
	{"nova", "serial"}: {Streams: true},
	// A change may need to reconnect to OVN. Plug-ins of agents make at most one call.
	{"neutron", API}: {Calls: 1, OVNCalls: 1, BodyBytes: bulkBody},
	// An attachment calls the manager twice: to connect, and to disconnect after a failure.
	{"cinder", API}: {Calls: 2, BodyBytes: ordinaryBody},
	// A request finds its stack first, and then changes it.
	{"heat", API}:   {Calls: 2, BodyBytes: bulkBody},
	{"heat", "cfn"}: {Calls: 2, BodyBytes: bulkBody},
	// Orders are cast to the workers, not called.
	{"barbican", API}: {BodyBytes: ordinaryBody},
	// A page waits for the APIs that it calls; the longest call is Nova's attachment.
	{"horizon", API}: {Calls: 3, LongCalls: 1, BodyBytes: ordinaryBody},
	// Objects in Ceph's object gateway.
	{"storage", "rgw"}: {Streams: true},
}

// Of returns the profile of a process of a service. The default is the profile of an ordinary request.
func Of(app, name string) Profile {
	p, ok := profiles[process{app, name}]
	if !ok {
		return Profile{Calls: 1, BodyBytes: ordinaryBody}
	}
	return p
}

// Known reports whether the table has a row for a process.
func Known(app, name string) bool {
	_, ok := profiles[process{app, name}]
	return ok
}

// Longest returns the duration of the longest legal request. 0: not limited.
func (p Profile) Longest(t Timeouts) time.Duration {
	if p.Streams {
		return 0
	}
	return work + time.Duration(p.Calls)*t.RPC + time.Duration(p.LongCalls)*t.LongRPC + time.Duration(p.OVNCalls)*t.OVN
}

// Harakiri returns the time after which uWSGI aborts a request that hangs: the longest legal request with a margin, or the
// requested time if that is longer. 0: never.
func (p Profile) Harakiri(t Timeouts, requested time.Duration) time.Duration {
	if p.Streams {
		return 0
	}
	return max(p.Longest(t)+margin, requested)
}

// ProxyTimeout returns the time after which a proxy aborts a request. 0: never.
func (p Profile) ProxyTimeout(t Timeouts, requested time.Duration) time.Duration {
	if p.Streams {
		return 0
	}
	return p.Harakiri(t, requested) + margin
}

// Hung returns the time after which a request that neither ends nor transfers data counts as hung: uWSGI and every proxy
// have aborted it before.
func (p Profile) Hung(t Timeouts, requested time.Duration) time.Duration {
	return cmp.Or(p.ProxyTimeout(t, requested), StreamSilence) + margin
}

// Limits returns the limits of proxies in front of a process. A response may set several fields of the largest size, such
// as cookies.
func (p Profile) Limits(t Timeouts, requested time.Duration) exposure.Limits {
	request := p.ProxyTimeout(t, requested)
	return exposure.Limits{
		Request: request, Connect: Queue, Silence: cmp.Or(request, StreamSilence),
		BodyBytes: p.BodyBytes, HeaderBytes: 2 * HeaderBytes, Streams: p.Streams,
	}
}

// Pause returns the time for which uWSGI waits for a client that sends nothing.
func (p Profile) Pause() time.Duration {
	if p.Streams {
		return StreamPause
	}
	return RequestPause
}
