//go:build openstack && linux

package configuration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// cacheServers are the addresses of memcached in a file.
var cacheServers = regexp.MustCompile(`[a-z0-9.-]*memcached[a-z0-9.-]*:11211(,[a-z0-9.-]+:11211)*`)

// TestConfigurationCaches attacks the caches of every service in each release, with the released libraries and the emitted files and
// variables: a forged, copied or pickled entry of another client of memcached is neither accepted nor run.
func TestConfigurationCaches(t *testing.T) {
	text, err := examples.Files.ReadFile("controlplane/services.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for r, venv := range harness.Programs.Services {
		claim := orderedRelease.ReplaceAllString(string(text), `openStackRelease: "`+string(r)+`"`)
		result, err := preview.Run([]byte(claim), examples.Platform, kinds.Runners())
		if err != nil {
			t.Fatal(err)
		}
		clients := cacheClients(t, result)
		if len(clients) < 10 {
			t.Fatalf("%s: only %d workloads use a cache", r, len(clients))
		}
		attacks := map[string]attack{}
		for name, c := range clients {
			attacks[name] = c.attack(t, true)
		}
		// The attack succeeds with the released client, so that it finds a client that loads pickles.
		attacks[released] = clients["keystone"].attack(t, false)
		results := runAttacks(t, venv, attacks)
		for name, c := range clients {
			t.Run(string(r)+"/"+name, func(t *testing.T) {
				if got := results[name]; got.Code != 0 {
					t.Errorf("%s: exit code %d\n%s", c.config(), got.Code, got.Output)
				} else if want := c.kinds(); got.Output != want {
					t.Errorf("attacked %q, want %q", got.Output, want)
				}
			})
		}
		if got := results[released]; got.Code == 0 || !strings.Contains(got.Output, "data: a pickle ran code") {
			t.Errorf("%s: the attack on the released client fails (exit code %d):\n%s", r, got.Code, got.Output)
		}
	}
}

// released is the name of the attack on the client of memcached without our modules.
const released = "keystone with the released client"

// tokenKey is a variable of the programs that validate tokens.
const tokenKey = "OS_KEYSTONE_AUTHTOKEN__MEMCACHE_SECRET_KEY"

// cacheClient is a container that uses memcached.
type cacheClient struct {
	corev1.Container
	// files are the files of its ConfigMap that it mounts, by path.
	files map[string]string
}

// cacheClients returns one container of each service for each combination of its caches.
func cacheClients(t *testing.T, result *preview.Result) map[string]cacheClient {
	t.Helper()
	configs, out := map[string]map[string]string{}, map[string]cacheClient{}
	for _, o := range result.Objects {
		if o.Kind == "ConfigMap" {
			data, _, err := unstructured.NestedStringMap(o.Manifest.AsMap(), "data")
			if err != nil {
				t.Fatal(err)
			}
			configs[o.Name] = data
		}
	}
	for _, o := range result.Objects {
		template, ok, err := unstructured.NestedMap(o.Manifest.AsMap(), "spec", "template", "spec")
		if err != nil || !ok || o.Kind != "Deployment" && o.Kind != "StatefulSet" {
			continue
		}
		var pod corev1.PodSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
			t.Fatal(err)
		}
		for _, c := range pod.Containers {
			client := cacheClient{c, map[string]string{}}
			for _, m := range c.VolumeMounts {
				for _, v := range pod.Volumes {
					if v.Name == m.Name && v.ConfigMap != nil && m.SubPath != "" {
						client.files[m.MountPath] = configs[v.ConfigMap.Name][m.SubPath]
					}
				}
			}
			if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "CACHE_PASSWORD" }) {
				out[o.Name] = client
			}
		}
	}
	return out
}

// config returns the path of the configuration file.
func (c cacheClient) config() string {
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		if strings.HasSuffix(path, "/local_settings.py") || strings.HasSuffix(path, ".conf") && strings.Contains(c.files[path], ":11211") {
			return path
		}
	}
	return ""
}

// kinds returns the caches of a configuration, as the attack prints them.
func (c cacheClient) kinds() string {
	text, out := c.files[c.config()], ""
	if strings.Contains(text, "\nmemcache_servers = ") {
		out += "data\n"
	}
	if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == tokenKey }) {
		out += "tokens\n"
	}
	if strings.Contains(text, "SESSION_CACHE_ALIAS") {
		out += "sessions\n"
	}
	return out
}

// attack is an attack on the caches of a container, as testdata/attack.py reads it.
type attack struct {
	File   string            `json:"file"`
	Server string            `json:"server"`
	Marker string            `json:"marker"`
	Env    map[string]string `json:"env"`
}

// attack returns the attack with the container's files and variables, or without its modules.
func (c cacheClient) attack(t *testing.T, modules bool) attack {
	t.Helper()
	dir, store := t.TempDir(), startStore(t)
	for path, text := range c.files {
		to := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		text = cacheServers.ReplaceAllString(strings.ReplaceAll(text, "/etc/", dir+"/etc/"), store)
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := attack{File: filepath.Join(dir, c.config()), Server: store, Marker: filepath.Join(dir, "ran"), Env: map[string]string{"HOME": dir}}
	for _, e := range c.Env {
		switch {
		case e.Name == "PYTHONPATH" && !modules:
		case e.ValueFrom != nil && e.ValueFrom.SecretKeyRef == nil:
			out.Env[e.Name] = "of the pod"
		case e.ValueFrom != nil:
			out.Env[e.Name] = "value of " + e.ValueFrom.SecretKeyRef.Name
		default:
			out.Env[e.Name] = strings.ReplaceAll(e.Value, "/etc/", dir+"/etc/")
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "etc", "horizon", "secret-key"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "etc", "horizon", "secret-key", "password"), []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// attackResult is the result of an attack: it prints each attacked cache, and ends with 0 if no cache is vulnerable.
type attackResult struct {
	Output string `json:"output"`
	Code   int    `json:"code"`
}

// runAttacks runs attacks, by name, with the libraries of a release.
func runAttacks(t *testing.T, venv string, attacks map[string]attack) map[string]attackResult {
	t.Helper()
	in, err := json.Marshal(attacks)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(venv, "bin", "python"), "-B", "-W", "ignore", "testdata/attack.py")
	var stderr strings.Builder
	cmd.Env, cmd.Stdin, cmd.Stderr = []string{"HOME=" + t.TempDir()}, bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("attack: %v\n%s", err, stderr.String())
	}
	results := map[string]attackResult{}
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("attack: %v\n%s", err, out)
	}
	return results
}

// memory is a memcached that also lists keys and swaps entries, which takes an attacker several commands of the real one.
type memory struct {
	sync.Mutex

	entries map[string]string // flags, a space, and the content
}

// startStore starts a memcached for a test, and returns its address.
func startStore(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	m := &memory{entries: map[string]string{}}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				m.serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func (m *memory) serve(conn io.ReadWriter) {
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			return
		}
		var data []byte
		if words[0] == "set" || words[0] == "add" {
			size, err := strconv.Atoi(words[4])
			if err != nil {
				return
			}
			data = make([]byte, size+len("\r\n"))
			if _, err := io.ReadFull(in, data); err != nil {
				return
			}
			data = data[:size]
		}
		answer := m.run(words, string(data))
		if words[len(words)-1] == "noreply" {
			continue
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// run runs a command, as https://docs.memcached.org/protocols/basic/ describes it.
func (m *memory) run(words []string, data string) string {
	m.Lock()
	defer m.Unlock()
	switch words[0] {
	case "set", "add":
		m.entries[words[1]] = words[2] + " " + data
		return "STORED\r\n"
	case "get":
		var out strings.Builder
		for _, key := range words[1:] {
			if flags, content, ok := strings.Cut(m.entries[key], " "); ok {
				fmt.Fprintf(&out, "VALUE %s %s %d\r\n%s\r\n", key, flags, len(content), content)
			}
		}
		return out.String() + "END\r\n"
	case "delete":
		delete(m.entries, words[1])
		return "DELETED\r\n"
	case "flush_all":
		clear(m.entries)
		return "OK\r\n"
	case "keys":
		return strings.Join(slices.Sorted(maps.Keys(m.entries)), " ") + "\r\n"
	case "swap":
		m.entries[words[1]], m.entries[words[2]] = m.entries[words[2]], m.entries[words[1]]
		return "OK\r\n"
	}
	return "ERROR\r\n"
}
