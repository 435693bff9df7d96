//go:build openstack && linux

package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// proxy is a real proxy in front of all services of a cloud, with the limits that its controller derives from the
// composed objects. It listens at a separate address.
type proxy struct {
	name, address string
	cloud         *clouds.Cloud
}

// upstream is a Service behind a proxy.
type upstream struct {
	// host is the external name, address the address of the Service, and name the name in its certificate.
	host, address, name string
	// authority is a file with the CA certificate of the Service.
	authority string
	// annotations are the annotations of an Ingress, without the prefix of its controller.
	annotations map[string]string
	// request is the limit of an HTTPRoute.
	request string
}

// Prefixes of the annotations that each controller reads.
const (
	nginxPrefix   = "nginx.ingress.kubernetes.io/"
	haproxyPrefix = "haproxy.org/"
)

// startProxies starts nginx, HAProxy and Envoy in front of a cloud. Ingress objects are composed for the same claim on
// a platform with that exposure; the HTTPRoutes are the cloud's.
func startProxies(t *testing.T, cloud *clouds.Cloud) []proxy {
	t.Helper()
	var out []proxy
	for name, server := range map[string]struct {
		backends func() []upstream
		config   func(address, certificate string, all []upstream) string
		command  func(config string) *exec.Cmd
	}{
		"nginx": {
			func() []upstream { return ingresses(t, cloud, "ingress-nginx", nginxPrefix) },
			func(address, pair string, all []upstream) string { return nginxConfig(t, address, pair, all) },
			func(config string) *exec.Cmd {
				return ofTree(harness.Programs.Proxies, "usr/sbin/nginx", "-e", "stderr", "-c", config)
			},
		},
		"HAProxy": {
			func() []upstream { return ingresses(t, cloud, "haproxy.org", haproxyPrefix) },
			func(address, pair string, all []upstream) string { return haproxyConfig(t, address, pair, all) },
			func(config string) *exec.Cmd {
				return ofTree(harness.Programs.Proxies, "usr/sbin/haproxy", "-db", "-f", config)
			},
		},
		"Envoy": {
			func() []upstream { return routes(t, cloud) },
			func(address, pair string, all []upstream) string { return envoyConfig(t, address, pair, all) },
			func(config string) *exec.Cmd {
				return exec.Command(harness.Programs.Envoy, "-c", config, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning")
			},
		},
	} {
		address, err := cloud.Cluster.Address(strings.ToLower(name) + "." + cloud.Namespace)
		if err != nil {
			t.Fatal(err)
		}
		dir, all := t.TempDir(), server.backends()
		var hosts []string
		for _, u := range all {
			hosts = append(hosts, u.host)
		}
		pair, err := cloud.Operators.Public.Issue(pki.Subject{Hosts: hosts})
		if err != nil {
			t.Fatal(err)
		}
		certificate, config := filepath.Join(dir, "pair.pem"), filepath.Join(dir, "config.yaml")
		if err := errors.Join(
			os.WriteFile(certificate, slices.Concat(pair.Certificate, pair.Key), 0o600),
			os.WriteFile(config, []byte(server.config(address, certificate, all)), 0o600),
		); err != nil {
			t.Fatal(err)
		}
		runProxy(t, server.command(config), filepath.Join(dir, "log"), net.JoinHostPort(address, "443"))
		out = append(out, proxy{name: name, address: address, cloud: cloud})
	}
	slices.SortFunc(out, func(a, b proxy) int { return strings.Compare(a.name, b.name) })
	return out
}

// ofTree returns a program of another Debian, with the libraries of that Debian.
func ofTree(root, program string, args ...string) *exec.Cmd {
	const libraries = "usr/lib/x86_64-linux-gnu"
	return exec.Command(filepath.Join(root, "lib64/ld-linux-x86-64.so.2"),
		append([]string{"--library-path", filepath.Join(root, libraries), filepath.Join(root, program)}, args...)...)
}

// runProxy starts a proxy, and returns when it listens. It is stopped after the test.
func runProxy(t *testing.T, command *exec.Cmd, file, address string) {
	t.Helper()
	log, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the process has it
	command.Stdout, command.Stderr, command.Dir = log, log, filepath.Dir(file)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	output := func() string {
		text, _ := os.ReadFile(file) // it is only shown
		return string(text[max(0, len(text)-4000):])
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		if t.Failed() {
			t.Logf("%s wrote:\n%s", command.Path, output())
		}
	})
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case err := <-ended:
			t.Fatalf("the proxy ended: %v\n%s", err, output())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// serviceAddress returns the address of a Service of the cloud.
func serviceAddress(t *testing.T, cloud *clouds.Cloud, service string, port any) string {
	t.Helper()
	address, err := cloud.Cluster.Address(service + "." + cloud.Namespace + ".svc.cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s:%v", address, port)
}

// authorityFile writes the CA of a Secret.
func authorityFile(t *testing.T, cloud *clouds.Cloud, secret string) string {
	t.Helper()
	data, err := cloud.Operators.Secret(context.Background(), cloud.Namespace, secret)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, data["ca.crt"], 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// ingresses returns the Services behind the Ingress objects that are composed for the cloud's claim and a controller.
func ingresses(t *testing.T, cloud *clouds.Cloud, controller, prefix string) []upstream {
	t.Helper()
	const gateway = "type: GatewayAPI\n    routing: Hostnames\n    gateway: {namespace: gateway-system, name: public}\n"
	platform := bytes.Replace(cloud.Options.Platform, []byte(gateway),
		[]byte("type: Ingress\n    routing: Hostnames\n    ingressController: "+controller+"\n"), 1)
	result, err := preview.Run(cloud.Options.Claim, platform, kinds.Runners())
	if err != nil {
		t.Fatal(err)
	}
	if result.Instance != cloud.Namespace {
		t.Fatalf("the claim becomes %s, want %s", result.Instance, cloud.Namespace)
	}
	var out []upstream
	for _, o := range result.Objects {
		if o.Kind != "Ingress" {
			continue
		}
		i := &networkingv1.Ingress{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Manifest.AsMap(), i); err != nil {
			t.Fatal(err)
		}
		to := i.Spec.Rules[0].HTTP.Paths[0].Backend.Service
		u := upstream{host: i.Spec.Rules[0].Host, address: serviceAddress(t, cloud, to.Name, to.Port.Number), annotations: map[string]string{}}
		for key, value := range i.Annotations {
			if name, isIngress := strings.CutPrefix(key, prefix); isIngress {
				u.annotations[name] = value
			}
		}
		u.name = take(u.annotations, "proxy-ssl-name") + take(u.annotations, "server-sni")
		_, secret, _ := strings.Cut(take(u.annotations, "proxy-ssl-secret")+take(u.annotations, "server-ca"), "/")
		u.authority = authorityFile(t, cloud, secret)
		out = append(out, u)
	}
	if len(out) == 0 {
		t.Fatalf("the claim has no Ingress for %s", controller)
	}
	return out
}

// take removes an entry of a map, and returns it.
func take(from map[string]string, key string) string {
	value := from[key]
	delete(from, key)
	return value
}

// routes returns the Services behind the cloud's HTTPRoutes.
func routes(t *testing.T, cloud *clouds.Cloud) []upstream {
	t.Helper()
	var out []upstream
	for _, u := range cloud.Operators.All("HTTPRoute.gateway.networking.k8s.io") {
		hosts, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "hostnames")
		rules, _, _ := unstructured.NestedSlice(u.Object, "spec", "rules")
		rule, _ := rules[0].(map[string]any)
		request, _, _ := unstructured.NestedString(rule, "timeouts", "request")
		backends, _, _ := unstructured.NestedSlice(rule, "backendRefs")
		backend, _ := backends[0].(map[string]any)
		service, _ := backend["name"].(string)
		name, secret := "", ""
		for _, p := range cloud.Operators.All("BackendTLSPolicy.gateway.networking.k8s.io") {
			refs, _, _ := unstructured.NestedSlice(p.Object, "spec", "targetRefs")
			if ref, _ := refs[0].(map[string]any); ref["name"] == service {
				name, _, _ = unstructured.NestedString(p.Object, "spec", "validation", "hostname")
				secret = "keystone-tls" // one authority signs for the whole control plane
			}
		}
		out = append(out, upstream{
			host: hosts[0], address: serviceAddress(t, cloud, service, backend["port"]), name: name, request: request,
			authority: authorityFile(t, cloud, secret),
		})
	}
	return out
}

// platformLimit returns a value that docs/proxies.md recommends to the platform team, by its name.
func platformLimit(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/proxies.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("`" + regexp.QuoteMeta(name) + ":? \"?([^`\"]+)\"?`").FindSubmatch(text)
	if found == nil {
		t.Fatalf("docs/proxies.md names no value of %q", name)
	}
	return string(found[1])
}

// nginxGlobals are the defaults of ingress-nginx: https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/configmap/
const nginxGlobals = `daemon off;
user root;
worker_processes 2;
pid %[1]s/nginx.pid;
events { worker_connections 1024; }
http {
  access_log %[1]s/access;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  scgi_temp_path %[1]s/scgi;
  uwsgi_temp_path %[1]s/uwsgi;
  client_header_buffer_size 1k;
  client_header_timeout 60s;
  client_body_buffer_size 8k;
  client_body_timeout 60s;
  keepalive_timeout 75s;
  large_client_header_buffers %[2]s;
  server_names_hash_bucket_size 128;
  http2 on;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
`

// nginxServer is a host, with the settings of ingress-nginx for each.
const nginxServer = `  server {
    listen %[1]s:443 ssl;
    server_name %[2]s;
    ssl_certificate %[3]s;
    ssl_certificate_key %[3]s;
    location / {
      proxy_pass https://%[4]s;
      proxy_http_version 1.1;
      proxy_set_header Host $host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header X-Request-ID $request_id;
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Host $host;
      proxy_set_header X-Forwarded-Port 443;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_next_upstream error timeout;
      proxy_next_upstream_tries 3;
      proxy_ssl_trusted_certificate %[5]s;
      proxy_ssl_name %[6]s;
`

// nginxDefaults are the annotations that are not there, as ingress-nginx sets them.
var nginxDefaults = map[string]string{
	"proxy-connect-timeout": "5", "proxy-request-buffering": "on", "proxy-buffering": "off",
}

// nginxDirectives are ingress-nginx's translations of annotations.
var nginxDirectives = map[string]func(value string) string{
	"backend-protocol":        func(string) string { return "" }, // proxy_pass https
	"proxy-body-size":         func(v string) string { return "client_max_body_size " + v },
	"proxy-connect-timeout":   func(v string) string { return "proxy_connect_timeout " + v + "s" },
	"proxy-read-timeout":      func(v string) string { return "proxy_read_timeout " + v + "s" },
	"proxy-send-timeout":      func(v string) string { return "proxy_send_timeout " + v + "s" },
	"proxy-buffer-size":       func(v string) string { return "proxy_buffer_size " + v + "; proxy_buffers 4 " + v },
	"proxy-request-buffering": func(v string) string { return "proxy_request_buffering " + v },
	"proxy-buffering":         func(v string) string { return "proxy_buffering " + v },
	"proxy-ssl-verify":        func(v string) string { return "proxy_ssl_verify " + v },
	"proxy-ssl-server-name":   func(v string) string { return "proxy_ssl_server_name " + v },
}

func nginxConfig(t *testing.T, address, pair string, all []upstream) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, nginxGlobals, filepath.Dir(pair), platformLimit(t, "large-client-header-buffers"))
	for _, u := range all {
		fmt.Fprintf(&out, nginxServer, address, u.host, pair, u.address, u.authority, u.name)
		set := maps.Clone(nginxDefaults)
		maps.Copy(set, u.annotations)
		for _, name := range slices.Sorted(maps.Keys(set)) {
			directive, known := nginxDirectives[name]
			if !known {
				t.Fatalf("the test has no translation of ingress-nginx for the annotation %s", name)
			}
			fmt.Fprintf(&out, "      %s;\n", directive(set[name]))
		}
		out.WriteString("    }\n  }\n")
	}
	return strings.ReplaceAll(out.String(), "      ;\n", "") + "}\n"
}

// haproxyGlobals are the defaults of haproxytech/kubernetes-ingress:
// https://www.haproxy.com/documentation/kubernetes-ingress/community/configuration-reference/configmap/
const haproxyGlobals = `global
  log stdout format raw local0
  tune.bufsize %[1]s
defaults
  mode http
  log global
  option httplog
  timeout http-request 5s
  timeout connect %[6]s
  timeout client %[2]s
  timeout queue 5s
  timeout server 50s
  timeout tunnel %[3]s
  timeout http-keep-alive 1m
frontend https
  bind %[4]s:443 ssl crt %[5]s alpn h2,http/1.1
  http-request set-header X-Forwarded-Proto https
`

func haproxyConfig(t *testing.T, address, pair string, all []upstream) string {
	t.Helper()
	var front, back strings.Builder
	fmt.Fprintf(&front, haproxyGlobals, platformLimit(t, "tune.bufsize"), platformLimit(t, "timeout client"),
		platformLimit(t, "timeout tunnel"), address, pair, platformLimit(t, "timeout connect"))
	for _, u := range all {
		fmt.Fprintf(&front, "  use_backend %[1]s if { hdr(host) -i %[1]s }\n", u.host)
		fmt.Fprintf(&back, "backend %s\n  option forwardfor\n  server s %s", u.host, u.address)
		set := maps.Clone(u.annotations)
		if take(set, "server-ssl") == "true" {
			fmt.Fprintf(&back, " ssl verify required ca-file %s sni str(%s)", u.authority, u.name)
		}
		fmt.Fprintf(&back, "\n  timeout server %s\n", take(set, "timeout-server"))
		if len(set) > 0 {
			t.Fatalf("the test has no translation of HAProxy's controller for the annotations %v", set)
		}
	}
	return front.String() + back.String()
}

// envoyConfig returns the listener, routes and clusters that Envoy Gateway generates for HTTPRoutes: the request
// timeout is the route's, and so is the idle timeout, which is an hour at least, and none without a request timeout.
func envoyConfig(t *testing.T, address, pair string, all []upstream) string {
	t.Helper()
	type object = map[string]any
	const buffer = 32 << 10
	typed := func(name string, fields object) object {
		fields["@type"] = "type.googleapis.com/envoy.extensions." + name
		return fields
	}
	var hosts, clusters []any
	for _, u := range all {
		request, err := time.ParseDuration(u.request)
		if err != nil {
			t.Fatalf("the route to %s has no limit of requests: %v", u.host, err)
		}
		idle := max(request, time.Hour)
		if request == 0 {
			idle = 0
		}
		host, port, err := net.SplitHostPort(u.address)
		if err != nil {
			t.Fatal(err)
		}
		hosts = append(hosts, object{"name": u.host, "domains": []string{u.host}, "routes": []any{object{
			"match": object{"prefix": "/"},
			"route": object{
				"cluster": u.host, "timeout": u.request, "idle_timeout": fmt.Sprintf("%.0fs", idle.Seconds()),
				"upgrade_configs": []any{object{"upgrade_type": "websocket"}},
			},
		}}})
		clusters = append(clusters, object{
			"name": u.host, "type": "STATIC", "connect_timeout": platformLimit(t, "connectTimeout"), "per_connection_buffer_limit_bytes": buffer,
			"load_assignment": object{"cluster_name": u.host, "endpoints": []any{object{"lb_endpoints": []any{object{
				"endpoint": object{"address": object{"socket_address": object{"address": host, "port_value": port}}},
			}}}}},
			"transport_socket": object{"name": "tls", "typed_config": typed("transport_sockets.tls.v3.UpstreamTlsContext", object{
				"sni": u.name, "common_tls_context": object{"validation_context": object{
					"trusted_ca":                    object{"filename": u.authority},
					"match_typed_subject_alt_names": []any{object{"san_type": "DNS", "matcher": object{"exact": u.name}}},
				}},
			})},
		})
	}
	manager := typed("filters.network.http_connection_manager.v3.HttpConnectionManager", object{
		"stat_prefix": "https", "use_remote_address": true,
		"route_config": object{"virtual_hosts": hosts},
		"http_filters": []any{object{"name": "router", "typed_config": typed("filters.http.router.v3.Router", object{})}},
	})
	out, err := yaml.Marshal(object{"static_resources": object{"clusters": clusters, "listeners": []any{object{
		"name": "https", "address": object{"socket_address": object{"address": address, "port_value": 443}},
		"per_connection_buffer_limit_bytes": buffer,
		"filter_chains": []any{object{
			"transport_socket": object{"name": "tls", "typed_config": typed("transport_sockets.tls.v3.DownstreamTlsContext", object{
				"common_tls_context": object{
					"alpn_protocols": []string{"h2", "http/1.1"},
					"tls_certificates": []any{object{
						"certificate_chain": object{"filename": pair}, "private_key": object{"filename": pair},
					}},
				},
			})},
			"filters": []any{object{"name": "http", "typed_config": manager}},
		}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// dial connects to the proxy, whatever the name: the names of the cloud lead to its Gateway.
func (p proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if p.address == "" {
		return p.cloud.Cluster.Dial(ctx, network, address)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(host, ".example.com") && !strings.HasPrefix(host, "keycloak.") {
		address = net.JoinHostPort(p.address, "443")
	}
	return p.cloud.Cluster.Dial(ctx, network, address)
}

// transport returns a transport for https that trusts the public CA.
func (p proxy) transport() *http.Transport {
	return &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: p.cloud.Operators.Public.Pool(), MinVersion: tls.VersionTLS12}, DialContext: p.dial,
	}
}
