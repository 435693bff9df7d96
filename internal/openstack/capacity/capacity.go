// Package capacity is the model of time and size of every process that answers requests of users. Servers, proxies, routes and probes
// derive their limits from it, so that they fit together:
//
//	longest legal request < harakiri of uWSGI < time limit of a proxy
//
// The server that knows the reason ends a request before anything in front of it does.
package capacity

import (
	"cmp"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/exposure"
)

// API is the name of the process that serves a service's API.
const API = "api"

const (
	// HeaderBytes is the largest single field of a request or an answer that passes every server and proxy: a token of 16 KiB, encoded.
	HeaderBytes = 32 << 10
	// ServerHeaderBytes is the largest header of uWSGI, all fields together, which is the most that its buffer-size can be.
	ServerHeaderBytes = 1<<16 - 1
	// Backlog is the number of connections that wait for a slot of uWSGI: its own default, which every kernel allows
	// (net.core.somaxconn).
	Backlog = 100
	// StreamSilence is how long a stream may be silent before a proxy ends it: an open console without input, a paused transfer.
	StreamSilence = time.Hour
	// StreamPause is how long uWSGI waits for a silent client of a transfer. A client that sends nothing occupies a slot. Buffers of the
	// kernel and of proxies hold megabytes, and uWSGI does not see a slow client read until a large part of them is free. 60 s cut
	// downloads at 64 KiB/s.
	StreamPause = 10 * time.Minute
	// RequestPause is how long uWSGI waits for a silent client of any other request.
	RequestPause = 15 * time.Second

	// LoadTime is how long a server may be without a worker that has loaded the application. Requests wait meanwhile, and no proxy gives
	// one up by then.
	LoadTime = time.Minute
	// Queue is how long a connection waits for a slot of uWSGI before a proxy gives it up. A slot begins with the TLS handshake, so that it is
	// a proxy's time-out of connections: of 5 s (nginx, HAProxy) or 10 s (Envoy Gateway) by default.
	Queue = time.Minute
	// KeepAlive is how long a server keeps a connection without a request. Proxies give up such connections after 60 s (ingress-nginx) or
	// less, and have to do so first: a request on a connection that the server is closing ends in 502.
	KeepAlive = 75 * time.Second

	// margin is the distance of a limit to the one below it.
	margin = 30 * time.Second
	// work is the time that a request takes besides its calls. MariaDB ends a wait for a lock after 50 s (innodb_lock_wait_timeout).
	work = time.Minute
)

// Timeouts are the options of a service that end its calls.
type Timeouts struct {
	// RPC is [DEFAULT] rpc_response_timeout of oslo.messaging.
	RPC time.Duration
	// LongRPC is [DEFAULT] long_rpc_timeout of Nova.
	LongRPC time.Duration
	// OVN is [ovn] ovsdb_connection_timeout of Neutron.
	OVN time.Duration
}

// Defaults are those of all releases.
var Defaults = Timeouts{RPC: time.Minute, LongRPC: 30 * time.Minute, OVN: 3 * time.Minute}

// Profile describes the requests of one process.
type Profile struct {
	// Calls by RPC that a request makes one after another, LongCalls those with Nova's long time-out, and OVNCalls those that wait for
	// OVN's databases.
	Calls, LongCalls, OVNCalls int
	// BodyBytes is the largest body of a request. 0: any.
	BodyBytes int64
	// Streams reports whether bodies, or connections, take as long as clients like.
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

// profiles has a row for each process that answers users, from the released sources of 2025.1 to 2026.2.
var profiles = map[process]Profile{
	{"keystone", API}:  {BodyBytes: ordinaryBody},
	{"placement", API}: {BodyBytes: ordinaryBody},
	// Images.
	{"glance", API}: {Streams: true},
	// An attachment waits for nova-compute with the long time-out (reserve_block_device_name), then for Cinder, which calls its manager.
	{"nova", API}: {Calls: 2, LongCalls: 1, BodyBytes: ordinaryBody},
	// It asks Neutron, and databases of cells, which are given up after the RPC time-out.
	{"nova", "metadata"}: {Calls: 1, BodyBytes: ordinaryBody},
	// Consoles stay open.
	{"nova", "vnc"}:    {Streams: true},
	{"nova", "spice"}:  {Streams: true},
	{"nova", "serial"}: {Streams: true},
	// A change connects to OVN anew, if it has to. Plug-ins of agents call at most once.
	{"neutron", API}: {Calls: 1, OVNCalls: 1, BodyBytes: bulkBody},
	// An attachment calls the manager twice: to connect, and to disconnect after a failure.
	{"cinder", API}: {Calls: 2, BodyBytes: ordinaryBody},
	// A request finds its stack first, and then changes it.
	{"heat", API}:   {Calls: 2, BodyBytes: bulkBody},
	{"heat", "cfn"}: {Calls: 2, BodyBytes: bulkBody},
	// Orders are cast to the workers, not called.
	{"barbican", API}: {BodyBytes: ordinaryBody},
	// A page waits for the APIs that it asks: the longest is Nova's attachment.
	{"horizon", API}: {Calls: 3, LongCalls: 1, BodyBytes: ordinaryBody},
	// Objects in Ceph's object gateway.
	{"storage", "rgw"}: {Streams: true},
}

// Of returns the profile of a process of a service. A process without a row has the one of an ordinary request.
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

// Longest returns how long the longest legal request takes. 0: as long as its client likes.
func (p Profile) Longest(t Timeouts) time.Duration {
	if p.Streams {
		return 0
	}
	return work + time.Duration(p.Calls)*t.RPC + time.Duration(p.LongCalls)*t.LongRPC + time.Duration(p.OVNCalls)*t.OVN
}

// Harakiri returns the time after which uWSGI ends a request that hangs: longer than the longest legal request, and than asked for.
// 0: never.
func (p Profile) Harakiri(t Timeouts, asked time.Duration) time.Duration {
	if p.Streams {
		return 0
	}
	return max(p.Longest(t)+margin, asked)
}

// ProxyTimeout returns the time after which a proxy ends a request. 0: never.
func (p Profile) ProxyTimeout(t Timeouts, asked time.Duration) time.Duration {
	if p.Streams {
		return 0
	}
	return p.Harakiri(t, asked) + margin
}

// Hung returns the time after which a request hangs that neither ends nor moves bytes: uWSGI and every proxy have given it up before.
func (p Profile) Hung(t Timeouts, asked time.Duration) time.Duration {
	return cmp.Or(p.ProxyTimeout(t, asked), StreamSilence) + margin
}

// Limits returns the limits of proxies in front of a process. An answer may set several fields of the largest size, such as cookies.
func (p Profile) Limits(t Timeouts, asked time.Duration) exposure.Limits {
	request := p.ProxyTimeout(t, asked)
	return exposure.Limits{
		Request: request, Connect: Queue, Silence: cmp.Or(request, StreamSilence),
		BodyBytes: p.BodyBytes, HeaderBytes: 2 * HeaderBytes, Streams: p.Streams,
	}
}

// Pause returns how long uWSGI waits for a client that sends nothing.
func (p Profile) Pause() time.Duration {
	if p.Streams {
		return StreamPause
	}
	return RequestPause
}
