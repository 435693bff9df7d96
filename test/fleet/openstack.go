package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
)

const (
	// delay of a response, and its deviation in both directions.
	delay, deviation = 30 * time.Millisecond, 20 * time.Millisecond
	// serversPerNode is the number of servers of a node, and one of downEvery nodes is down.
	serversPerNode, downEvery = 10, 100
	// maximumPage is Nova's maximum length of a page (max_limit of [api]).
	maximumPage = 1000
)

// openStack simulates Keystone, Nova, Placement and Neutron for a number of nodes. Nodes are in the order of their cells.
type openStack struct {
	nodes     int
	addresses map[string]string
	ca        *pki.Authority
	listeners []net.Listener

	mutex       sync.Mutex
	requests    map[string]int
	connections int
}

// services are the types in the catalog, with the paths below their addresses.
var services = map[string]string{"identity": "/v3", "compute": "/v2.1", "placement": "", "network": ""}

// startOpenStack starts a server for each service, with TLS.
func startOpenStack(nodes int) (*openStack, error) {
	o := &openStack{nodes: nodes, addresses: map[string]string{}, requests: map[string]int{}}
	var err error
	if o.ca, err = pki.New("openstack"); err != nil {
		return nil, err
	}
	certificate, err := o.ca.Server(kubernetes.Loopback)
	if err != nil {
		return nil, err
	}
	for _, kind := range slices.Sorted(maps.Keys(services)) {
		settings := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
		l, err := tls.Listen("tcp", kubernetes.Address(0), settings)
		if err != nil {
			return nil, err
		}
		o.listeners = append(o.listeners, l)
		o.addresses[kind] = "https://" + l.Addr().String() + services[kind]
		server := &http.Server{
			Handler: http.HandlerFunc(o.serve), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(noOutput{}, "", 0),
			ConnState: func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					o.mutex.Lock()
					defer o.mutex.Unlock()
					o.connections++
				}
			},
		}
		go func() { _ = server.Serve(l) }() // It ends with the listener.
	}
	return o, nil
}

// noOutput discards the errors of connections that end.
type noOutput struct{}

// Write discards text.
func (noOutput) Write(p []byte) (int, error) { return len(p), nil }

func (o *openStack) stop() {
	for _, l := range o.listeners {
		_ = l.Close()
	}
}

// counts returns the number of requests, by path and in total, and of connections.
func (o *openStack) counts() (byPath map[string]int, total, connections int) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, n := range o.requests {
		total += n
	}
	return maps.Clone(o.requests), total, o.connections
}

// clouds returns a clouds.yaml.
func (o *openStack) clouds() []byte {
	return fmt.Appendf(nil, `clouds:
  admin:
    region_name: RegionOne
    auth: {auth_url: "%s", username: admin, password: secret, project_name: admin, user_domain_name: Default, project_domain_name: Default}
`, o.addresses["identity"])
}

func (o *openStack) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.Trim(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/v2.1"), "/v2.0"), "/")
	name, _, _ := strings.Cut(path, "/")
	o.mutex.Lock()
	o.requests[name]++
	o.mutex.Unlock()
	time.Sleep(delay - deviation + rand.N(2*deviation)) //nolint:gosec // It is no secret.
	w.Header().Set("Content-Type", "application/json")
	switch path {
	case "v3/auth/tokens":
		o.login(w)
	case "os-services":
		o.list(w, "services", o.nodes, o.service)
	case "os-hypervisors/detail":
		o.hypervisors(w, r.URL.Query())
	case "agents":
		o.list(w, "agents", 2*o.nodes, o.agent) //nolint:mnd // One of OVN, and one for metadata.
	case "allocation_candidates":
		o.candidates(w)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (o *openStack) login(w http.ResponseWriter) {
	var catalog []any
	for kind, address := range o.addresses {
		catalog = append(catalog, map[string]any{"type": kind, "name": kind, "id": kind, "endpoints": []any{map[string]any{
			"id": kind, "interface": "internal", "region": "RegionOne", "region_id": "RegionOne", "url": address,
		}}})
	}
	domain := map[string]any{"id": "default", "name": "Default"}
	w.Header().Set("X-Subject-Token", "token")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{ //nolint:errchkjson // The client notices a missing response.
		"methods": []string{"password"}, "catalog": catalog, "roles": []any{map[string]any{"id": "admin", "name": "admin"}},
		"issued_at": "2026-03-02T12:00:00.000000Z", "expires_at": "2036-03-02T13:00:00.000000Z",
		"user":    map[string]any{"id": "admin", "name": "admin", "domain": domain},
		"project": map[string]any{"id": "admin", "name": "admin", "domain": domain},
	}})
}

// list writes a list of items.
func (*openStack) list(w http.ResponseWriter, key string, n int, item func(int) string) {
	fmt.Fprintf(w, `{"%s": [`, key)
	for i := range n {
		if i > 0 {
			fmt.Fprint(w, ", ")
		}
		fmt.Fprint(w, item(i))
	}
	fmt.Fprint(w, "]}")
}

// host returns the name of a node, and id its UUID in a service.
func host(i int) string { return fmt.Sprintf("node-%05d", i) }

func id(kind, i int) string { return fmt.Sprintf("%08d-0000-4000-8000-%012d", kind, i) }

// isDown reports whether a node is down.
func isDown(i int) bool { return i%downEvery == 0 }

func (*openStack) service(i int) string {
	state := map[bool]string{true: "down", false: "up"}[isDown(i)]
	return fmt.Sprintf(`{"id": "%s", "binary": "nova-compute", "host": "%s", "zone": "nova", "status": "enabled", "state": "%s",
		"updated_at": "2026-03-02T12:00:00.000000", "disabled_reason": null, "forced_down": false}`, id(1, i), host(i), state)
}

func (*openStack) agent(i int) string {
	node, kind := i/2, []string{"OVN Controller agent", "OVN Metadata agent"}[i%2]
	return fmt.Sprintf(`{"id": "%s", "agent_type": "%s", "binary": "ovn-controller", "topic": "n/a", "host": "%s", "admin_state_up": true,
		"created_at": "2026-03-02 12:00:00", "started_at": "2026-03-02 12:00:00", "heartbeat_timestamp": "2026-03-02 12:00:00", "alive": %t,
		"description": "", "resources_synced": null, "availability_zone": "", "configurations": {"chassis_name": "%s",
		"bridge-mappings": "physnet1:br-ex", "datapath-type": "system", "iface-types": "%s"}}`,
		id(2, i), kind, host(node), !isDown(node), id(3, node), strings.Repeat("afxdp,bareudp,erspan,geneve,gre,", 8))
}

func (*openStack) hypervisor(i int) string {
	var servers []string
	for s := range serversPerNode {
		servers = append(servers, fmt.Sprintf(`{"name": "instance-%08x", "uuid": "%s"}`, i*serversPerNode+s, id(4, i*serversPerNode+s)))
	}
	return fmt.Sprintf(`{"id": "%s", "hypervisor_hostname": "%s.example.com", "state": "up", "status": "enabled", "vcpus": 128,
		"memory_mb": 1031687, "local_gb": 879, "vcpus_used": 20, "memory_mb_used": 41472, "local_gb_used": 0, "hypervisor_type": "QEMU",
		"hypervisor_version": 8002002, "free_ram_mb": 990215, "free_disk_gb": 879, "current_workload": 0, "running_vms": 10,
		"disk_available_least": 800, "host_ip": "10.0.0.1", "service": {"id": "%s", "host": "%s", "disabled_reason": null},
		"cpu_info": {"arch": "x86_64", "model": "EPYC", "vendor": "AMD", "features": ["%s"], "topology": {"cells": 2, "sockets": 1, "cores": 32,
		"threads": 2}}, "servers": [%s]}`,
		id(5, i), host(i), id(1, i), host(i), strings.Repeat(`avx", "`, 80)+"sse", strings.Join(servers, ", "))
}

// hypervisors writes a page. Its link has the public address.
func (o *openStack) hypervisors(w http.ResponseWriter, query url.Values) {
	start := 0
	if marker := query.Get("marker"); marker != "" {
		last, err := strconv.Atoi(marker[strings.LastIndex(marker, "-")+1:])
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		start = last + 1
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit > maximumPage {
		limit = maximumPage
	}
	end := min(start+limit, o.nodes)
	fmt.Fprint(w, "{")
	if end < o.nodes {
		query.Set("marker", id(5, end-1))
		//nolint:gosec // the client is the companion, not a browser
		fmt.Fprintf(w, `"hypervisors_links": [{"rel": "next", "href": "https://cloud.example.com/compute/v2.1/os-hypervisors/detail?%s"}], `,
			query.Encode())
	}
	fmt.Fprint(w, `"hypervisors": [`)
	for i := start; i < end; i++ {
		if i > start {
			fmt.Fprint(w, ", ")
		}
		fmt.Fprint(w, o.hypervisor(i))
	}
	fmt.Fprint(w, "]}")
}

func (o *openStack) candidates(w http.ResponseWriter) {
	fmt.Fprint(w, `{"allocation_requests": [`)
	for i := range o.nodes {
		if i > 0 {
			fmt.Fprint(w, ", ")
		}
		fmt.Fprintf(w, `{"allocations": {"%s": {"resources": {"MEMORY_MB": 1}}}}`, id(5, i))
	}
	fmt.Fprint(w, `], "provider_summaries": {`)
	traits := strings.Repeat(`"HW_CPU_X86_AVX512VPOPCNTDQ", `, 90)
	for i := range o.nodes {
		if i > 0 {
			fmt.Fprint(w, ", ")
		}
		fmt.Fprintf(w, `"%s": {"resources": {"VCPU": {"capacity": 512, "used": 20}, "MEMORY_MB": {"capacity": 1031175, "used": 40960},
			"DISK_GB": {"capacity": 879, "used": 0}}, "traits": [%s"COMPUTE_NODE"]}`, id(5, i), traits)
	}
	fmt.Fprint(w, "}}")
}
