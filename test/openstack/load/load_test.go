//go:build openstack && linux

package load

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/remoteconsoles"
	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/capacity"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/glance"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/keystone"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/nova"
)

// TestLoadMatchesModelOfCapacity checks the model of time and size (internal/openstack/capacity) with real servers: Keystone behind Apache,
// Glance and Nova with their composed configuration and probes, behind nginx, HAProxy and Envoy with the limits that
// their controllers derive from composed objects. Servers are busy, and streams idle, for ten minutes (-busy), and an
// upload takes twice as long.
func TestLoadMatchesModelOfCapacity(t *testing.T) {
	if harness.Programs.Proxies == "" {
		t.Skip("it takes twenty minutes: name it by SERVICE=load or RUN=TestLoadMatchesModelOfCapacity")
	}
	for name, test := range map[string]func(*testing.T){
		"Keystone": testKeystoneLoad, "Glance": testGlanceLoad, "Consoles": testConsoleLoad,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// direct returns a cloud without one of the suite's proxies: its own Gateway.
func direct(cloud *clouds.Cloud) proxy { return proxy{name: "direct", cloud: cloud} }

// disruptions collects the fake node's reports about containers that end and pods that are removed from their Service.
type disruptions struct {
	mu    sync.Mutex
	lines []string
}

func (d *disruptions) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		for _, part := range []string{"is not ready any more", "is restarted:", " ended with "} {
			if strings.Contains(line, part) && strings.Contains(line, "cluster: ") {
				d.mu.Lock()
				d.lines = append(d.lines, strings.TrimSpace(line))
				d.mu.Unlock()
			}
		}
	}
	return len(p), nil
}

// watch sets an option of a cloud that collects them.
func (d *disruptions) watch(o *clouds.Options) { o.Progress = io.MultiWriter(o.Progress, d) }

// reset forgets earlier disruptions.
func (d *disruptions) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = nil
}

// podsOf returns the pods of a component of a service.
func podsOf(t *testing.T, cloud *clouds.Cloud, service, component string) []corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	if err := cloud.Cluster.Client.List(context.Background(), pods, client.InNamespace(cloud.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": service, harness.ComponentLabel: component,
	}); err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) == 0 {
		t.Fatalf("no pod of %s %s", service, component)
	}
	return pods.Items
}

// A kubelet runs the readiness and liveness probes of pods exactly as composed: at their period, and with their
// timeout. The fake node has longer timeouts.
type kubelet struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	took    []time.Duration
	answers map[string]int // by the text of the answer
	failed  []string       // probes that failed as often as they may
	misses  int
}

// startKubelet runs the probes of pods until it is stopped.
func startKubelet(pods []corev1.Pod) *kubelet {
	ctx, cancel := context.WithCancel(context.Background())
	k := &kubelet{stop: cancel, answers: map[string]int{}}
	for _, pod := range pods {
		for _, c := range pod.Spec.Containers {
			for kind, probe := range map[string]*corev1.Probe{"readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
				if probe != nil && probe.HTTPGet != nil {
					name := fmt.Sprintf("%s of %s in %s", kind, c.Name, pod.Name)
					k.done.Go(func() { k.runProbe(ctx, name, &pod, &c, probe) })
				}
			}
		}
	}
	return k
}

func (k *kubelet) runProbe(ctx context.Context, name string, pod *corev1.Pod, c *corev1.Container, probe *corev1.Probe) {
	at := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == probe.HTTPGet.Port.StrVal })
	url := "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(c.Ports[at].ContainerPort))) + probe.HTTPGet.Path
	httpClient := &http.Client{
		Timeout:   time.Duration(probe.TimeoutSeconds) * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true},
	}
	tick := time.NewTicker(time.Duration(probe.PeriodSeconds) * time.Second)
	defer tick.Stop()
	for failures := int32(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := time.Now()
		text, err := get(httpClient, url)
		took := time.Since(began)
		k.mu.Lock()
		k.took = append(k.took, took)
		k.answers[text]++
		if failures++; err == nil {
			failures = 0
		} else {
			k.misses++
		}
		if failures == probe.FailureThreshold {
			k.failed = append(k.failed, fmt.Sprintf("%s: %v", name, err))
		}
		k.mu.Unlock()
	}
}

// get returns the body of a response that a kubelet treats as a success.
func get(c *http.Client, url string) (string, error) {
	response, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close() // it is read
	text, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode < 200 || response.StatusCode > 399) {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return string(text), err
}

// finish ends the probes. It fails the test for each probe that reached its failure threshold, and returns the results.
func (k *kubelet) finish(t *testing.T, label string) map[string]int {
	t.Helper()
	k.stop()
	k.done.Wait()
	for _, f := range k.failed {
		t.Errorf("%s: a probe failed as often as it may: %s", label, f)
	}
	if len(k.took) == 0 {
		t.Fatalf("%s: no probe was run", label)
	}
	slices.Sort(k.took)
	at := func(share float64) time.Duration { return k.took[int(share*float64(len(k.took)-1))] }
	t.Logf("%s: %d probes, p50 %.1f ms, p99 %.1f ms, longest %.1f ms, %d without success in time", label, len(k.took),
		float64(at(0.5).Microseconds())/1000, float64(at(0.99).Microseconds())/1000, float64(at(1).Microseconds())/1000, k.misses)
	return k.answers
}

// none fails the test if one of the pods was removed from its Service, restarted or replaced.
func (d *disruptions) none(t *testing.T, cloud *clouds.Cloud, service string, pods []corev1.Pod) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	found := 0
	for _, pod := range pods {
		for _, line := range d.lines {
			if strings.Contains(line, "pod "+pod.Name+" ") {
				found++
				t.Errorf("%s: %s", service, line)
			}
		}
	}
	t.Logf("%s: %d restarts and exits from Services", service, found)
	for _, now := range podsOf(t, cloud, service, "api") {
		if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.UID == now.UID }) {
			t.Errorf("%s: pod %s is new", service, now.Name)
		}
	}
}

// setting returns a number from the uWSGI configuration of a service.
func setting(t *testing.T, cloud *clouds.Cloud, service, name string) int {
	t.Helper()
	for _, u := range cloud.Operators.All("ConfigMap") {
		data, _ := u.Object["data"].(map[string]any)
		if !strings.HasPrefix(u.GetName(), service+"-config-") {
			continue
		}
		for _, file := range data {
			text, _ := file.(string)
			if !strings.HasPrefix(text, "[uwsgi]") {
				continue
			}
			for line := range strings.Lines(text) {
				if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" = "); ok {
					n, err := strconv.Atoi(value)
					if err != nil {
						t.Fatal(err)
					}
					return n
				}
			}
		}
	}
	t.Fatalf("uWSGI of %s has no option %s", service, name)
	return 0
}

// testKeystoneLoad tests a Keystone behind Apache.
func testKeystoneLoad(t *testing.T) {
	provider, err := keystone.NewIssuer(keystone.IdentityProvider, "keystone", "client secret: 100%")
	if err != nil {
		t.Fatal(err)
	}
	watch := &disruptions{}
	cloud := harness.Start(t, harness.Read(t, "federation.yaml"), func(o *clouds.Options) {
		o.Secrets = map[string]map[string][]byte{"keycloak-client": {"client-secret": []byte(provider.Secret)}}
		o.Prepare = func(c *clouds.Cloud) error { return c.Operators.HTTPS("keycloak.example.com", provider.ServeHTTP) }
		watch.watch(o)
	})
	c := harness.KeystoneClient(t, cloud, true)
	keystone.Federate(t, c)
	all, pods := startProxies(t, cloud), podsOf(t, cloud, "keystone", "api")
	watch.reset()
	for _, p := range all {
		t.Run("Token/"+p.name, func(t *testing.T) { testLargeToken(t, p, c, provider) })
	}
	t.Run("Busy", func(t *testing.T) { testBusyKeystone(t, cloud, all, c) })
	t.Run("Long", func(t *testing.T) { testLongRequest(t, cloud, all, c) })
	watch.none(t, cloud, "keystone", pods)
	t.Run("Hung", func(t *testing.T) { testHungRequest(t, cloud, all, c) })
	watch.none(t, cloud, "keystone", pods)
}

// tokenBytes is the size of a token that passes every server and proxy.
const tokenBytes = 16 << 10

// testLargeToken checks that a token of 16 KiB reaches Keystone, and that a user with an identity of that size can log
// in: the browser sends it as cookies.
func testLargeToken(t *testing.T, p proxy, c *clouds.Client, provider *keystone.Issuer) {
	token := strings.Repeat("t", tokenBytes)
	through := &clouds.Client{URL: c.URL, HTTP: &http.Client{Transport: p.transport(), Timeout: clouds.RequestTimeout}}
	header := http.Header{"X-Auth-Token": {token}, "X-Subject-Token": {token}}
	_, err := through.Do(context.Background(), http.MethodGet, "/auth/tokens", header, nil, nil)
	if status := (*clouds.StatusError)(nil); !errors.As(err, &status) || status.Status != http.StatusUnauthorized ||
		!strings.Contains(status.Body, "The request you have made requires authentication") {
		t.Errorf("the response to a forged token of %d bytes is %v, want Keystone's 401", tokenBytes, err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: p.transport()}
	provider.Pad(tokenBytes)
	defer provider.Pad(0)
	for _, visited := range []string{"a log-in", "another request with the session's cookies"} {
		answer := keystone.Visit(t, browser, http.MethodGet, c.URL+keystone.ProtocolPath+"/auth", "", nil)
		if answer.Code != http.StatusCreated || answer.Header.Get("X-Subject-Token") == "" {
			t.Fatalf("%s with an identity of %d bytes ends with %s at %s: %.500s", visited, tokenBytes, answer.Status, answer.Location, answer.Text)
		}
	}
	sent := 0
	at, err := http.NewRequest(http.MethodGet, c.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, cookie := range jar.Cookies(at.URL) {
		sent += len(cookie.Name) + len(cookie.Value)
	}
	t.Logf("the session's cookies have %d bytes", sent)
	if sent < tokenBytes/2 {
		t.Errorf("the session's cookies have %d bytes: they do not carry the identity", sent)
	}
}

// holdKeystone makes every login wait for the database. It returns when the wait has started; release ends when the
// wait does.
func holdKeystone(cloud *clouds.Cloud, seconds int) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := cloud.Operators.SQL(context.Background(), cloud.Namespace, "mariadb",
			fmt.Sprintf("LOCK TABLES keystone.password WRITE; DO SLEEP(%d); UNLOCK TABLES", seconds))
		done <- err
	}()
	return done
}

// testBusyKeystone checks that while the database delays requests, and twice as many users log in as there are slots,
// no probe fails, and each user gets a token.
func testBusyKeystone(t *testing.T, cloud *clouds.Cloud, all []proxy, c *clouds.Client) {
	slots := setting(t, cloud, "keystone", "processes") * setting(t, cloud, "keystone", "threads")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var users sync.WaitGroup
	var issued, failures atomic.Int64
	for i := range 2 * slots {
		p := append([]proxy{direct(cloud)}, all...)[i%(len(all)+1)]
		user := &clouds.Client{URL: c.URL, HTTP: &http.Client{Transport: p.transport()}}
		users.Go(func() {
			for ctx.Err() == nil {
				// Every request gets a response: the end of the test does not cancel it.
				if _, err := user.Issue(context.Background(), c.Admin); err != nil {
					failures.Add(1)
					t.Errorf("through %s: %v", p.name, err)
				} else {
					issued.Add(1)
				}
			}
		})
	}
	k := startKubelet(podsOf(t, cloud, "keystone", "api"))
	for began := time.Now(); time.Since(began) < *harness.Busy; {
		if err := <-holdKeystone(cloud, 10); err != nil {
			t.Error(err)
		}
	}
	answers := k.finish(t, "Keystone, all slots busy")
	cancel()
	users.Wait()
	full, some := 0, 0
	workers := setting(t, cloud, "keystone", "processes")
	for text, n := range answers {
		if !strings.HasPrefix(text, "working: ") {
			continue // Apache's
		}
		if some += n; strings.HasSuffix(text, fmt.Sprintf("take requests, %d of them busy\n", workers)) {
			full += n
		}
	}
	t.Logf("Keystone: all slots were busy at %d of %d probes; %d tokens issued, %d requests lost", full, some, issued.Load(), failures.Load())
	if some == 0 || full < some*8/10 {
		t.Errorf("all slots were busy at %d of %d probes only: %v", full, some, answers)
	}
}

// logins logs in one user through each proxy at the same time. It returns the results and the duration of each.
func logins(all []proxy, c *clouds.Client) (results map[string]error, took map[string]time.Duration) {
	results, took = map[string]error{}, map[string]time.Duration{}
	var mu sync.Mutex
	var users sync.WaitGroup
	for _, p := range all {
		user := &clouds.Client{URL: c.URL, HTTP: &http.Client{Transport: p.transport()}}
		users.Go(func() {
			began := time.Now()
			_, err := user.Issue(context.Background(), c.Admin)
			mu.Lock()
			defer mu.Unlock()
			results[p.name], took[p.name] = err, time.Since(began)
		})
	}
	users.Wait()
	return results, took
}

// testLongRequest checks that a request that takes 70 s, longer than the timeout of any of its calls, succeeds.
func testLongRequest(t *testing.T, cloud *clouds.Cloud, all []proxy, c *clouds.Client) {
	const long = 70
	held := holdKeystone(cloud, long)
	time.Sleep(2 * time.Second) // the statement has started
	results, took := logins(all, c)
	if err := <-held; err != nil {
		t.Error(err)
	}
	for name, err := range results {
		t.Logf("through %s: %.1f s, %v", name, took[name].Seconds(), err)
		if err != nil || took[name] < (long-5)*time.Second {
			t.Errorf("through %s, a request of %d s ended after %.1f s with %v, want a token", name, long, took[name].Seconds(), err)
		}
	}
}

// testHungRequest checks that a hanging request is ended by uWSGI, before a proxy times out; a request that waits for
// its slot by the proxy. Other users log in, too, and may get slots first. The server continues.
func testHungRequest(t *testing.T, cloud *clouds.Cloud, all []proxy, c *clouds.Client) {
	harakiri := time.Duration(setting(t, cloud, "keystone", "harakiri")) * time.Second
	limit := capacity.Of("keystone", capacity.API).ProxyTimeout(capacity.Defaults, 0)
	held := holdKeystone(cloud, int(limit.Seconds())+30)
	time.Sleep(2 * time.Second) // the statement has started
	results, took := logins(all, c)
	for name, err := range results {
		t.Logf("through %s: %.1f s, %v", name, took[name].Seconds(), err)
		if err == nil || took[name] < harakiri-time.Second || took[name] > limit+10*time.Second {
			t.Errorf("through %s, a request that hangs ended after %.1f s with %v, want an error between %s and %s",
				name, took[name].Seconds(), err, harakiri, limit)
		}
	}
	ended := 0
	for _, pod := range podsOf(t, cloud, "keystone", "api") {
		log, err := cloud.Cluster.Output(context.Background(), &pod, pod.Spec.Containers[0].Name)
		if err != nil {
			t.Error(err)
		}
		ended += strings.Count(log, "HARAKIRI ON WORKER")
	}
	if t.Logf("uWSGI ended %d requests", ended); ended == 0 {
		t.Error("uWSGI ended no request that hangs")
	}
	if err := <-held; err != nil {
		t.Error(err)
	}
	results, _ = logins(all, c)
	for name, err := range results {
		if err != nil {
			t.Errorf("after requests that hung, through %s: %v", name, err)
		}
	}
}

// testGlanceLoad tests a Glance whose slots are all taken by slow transfers for ten minutes, among them uploads that
// take twenty.
func testGlanceLoad(t *testing.T) {
	watch := &disruptions{}
	cloud := harness.Start(t, harness.Read(t, "load.yaml"), watch.watch)
	g, c := glance.Of(t, cloud), harness.KeystoneClient(t, cloud, false)
	all := startProxies(t, cloud)
	data := glance.Content(80 * glance.MiB)
	image := g.CreateImage(t, "large", "raw")
	g.Upload(t, image, &glance.SlowBody{Data: data, Chunk: glance.MiB}, "")
	token, err := c.Issue(context.Background(), c.Admin)
	if err != nil {
		t.Fatal(err)
	}
	pods := podsOf(t, cloud, "glance", "api")
	watch.reset()
	host := "https://glance.load.tenant-a.example.com"
	var uploads sync.WaitGroup
	for _, p := range all {
		id := g.CreateImage(t, "slow-"+p.name, "raw")
		uploads.Go(func() { slowUpload(t, p, g, host+"/v2/images/"+id+"/file", token, id) })
	}
	t.Run("Busy", func(t *testing.T) {
		testBusyGlance(t, cloud, all, host+"/v2/images/"+image+"/file", token, sha256.Sum256(data))
	})
	uploads.Wait()
	watch.none(t, cloud, "glance", pods)
}

// slowUpload checks that an upload with pauses is not interrupted, and that the image is complete. The pauses are
// shorter than client-body-timeout of ingress-nginx, 60 s, and longer than the default of uWSGI.
func slowUpload(t *testing.T, p proxy, g glance.Glance, url, token, id string) {
	pause := min(45*time.Second, *harness.Busy/4)
	chunks := int(2**harness.Busy/pause) + 1
	const chunk = 256 << 10
	data := glance.Content(chunks*chunk + 17*len(p.name))
	request, err := http.NewRequest(http.MethodPut, url, &glance.SlowBody{Data: data, Chunk: chunk, Pause: pause})
	if err != nil {
		t.Error(err)
		return
	}
	request.Header = http.Header{"X-Auth-Token": {token}, "Content-Type": {"application/octet-stream"}}
	began := time.Now()
	response, err := (&http.Client{Transport: p.transport()}).Do(request)
	if err != nil {
		t.Errorf("an upload through %s is cut after %.0f s: %v", p.name, time.Since(began).Seconds(), err)
		return
	}
	defer response.Body.Close() // it has none
	took := time.Since(began)
	t.Logf("an upload through %s: %s after %.0f s, with pauses of %s", p.name, response.Status, took.Seconds(), pause)
	if response.StatusCode != http.StatusNoContent || took < 2**harness.Busy {
		t.Errorf("an upload through %s ends with %s after %s, want 204 after %s", p.name, response.Status, took, 2**harness.Busy)
		return
	}
	if err := g.Download(context.Background(), id, data); err != nil {
		t.Errorf("the image that was uploaded through %s: %v", p.name, err)
	}
}

// testBusyGlance checks that while slow downloads take every slot that uploads have left, and more clients wait, no
// probe fails, and each client eventually gets the image.
func testBusyGlance(t *testing.T, cloud *clouds.Cloud, all []proxy, url, token string, want [sha256.Size]byte) {
	pods := podsOf(t, cloud, "glance", "api")
	slots := len(pods) * setting(t, cloud, "glance", "processes") * setting(t, cloud, "glance", "threads")
	var started, failures, retried atomic.Int64
	var clients sync.WaitGroup
	release := make(chan struct{})
	for i := range slots + 4 {
		p := all[i%len(all)]
		clients.Go(func() {
			queried := time.Now()
			got, err := slowDownload(p, url, token, release, &started)
			// A client that waits longer for a slot gets an error, and retries. Envoy fails all waiting requests
			// together with the oldest one.
			for ; clouds.StatusOf(err) >= 500 && (p.name == "Envoy" || time.Since(queried) >= capacity.Queue-time.Second); retried.Add(1) {
				queried = time.Now()
				got, err = slowDownload(p, url, token, release, &started)
			}
			if err == nil && got != want {
				err = errors.New("it has other bytes")
			}
			if err != nil {
				failures.Add(1)
				t.Errorf("a download through %s: %v", p.name, err)
			}
		})
	}
	busySlots := int64(slots - len(all)) // in addition to uploads
	for wait := time.Now(); started.Load() < busySlots; time.Sleep(time.Second) {
		if stopwatch.Since(wait) > 5*time.Minute {
			t.Errorf("%d downloads have started, want %d", started.Load(), busySlots)
			break
		}
	}
	k := startKubelet(pods)
	time.Sleep(*harness.Busy)
	if got := started.Load(); got < busySlots {
		t.Errorf("%d downloads have started, want the %d that take all slots", got, busySlots)
	}
	k.finish(t, fmt.Sprintf("Glance, all %d slots busy, 4 clients waiting", slots))
	close(release)
	clients.Wait()
	t.Logf("Glance: %d downloads, %d lost; clients without a slot were refused %d times after %s", slots+4, failures.Load(), retried.Load(),
		capacity.Queue)
}

// slowDownload reads 64 KiB a second until it is released, and then the rest. It returns the checksum.
func slowDownload(p proxy, url, token string, release <-chan struct{}, started *atomic.Int64) (sum [sha256.Size]byte, err error) {
	transport := p.transport()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := p.dial(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			err = errors.Join(err, tcp.SetReadBuffer(64<<10)) // a slow network has little on the way
		}
		return conn, err
	}
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return sum, err
	}
	request.Header.Set("X-Auth-Token", token)
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return sum, err
	}
	defer response.Body.Close() // it is read
	if response.StatusCode != http.StatusOK {
		return sum, &clouds.StatusError{Status: response.StatusCode, Body: response.Status}
	}
	started.Add(1)
	hash := sha256.New()
	for slowly := true; slowly; {
		switch _, err := io.CopyN(hash, response.Body, 64<<10); {
		case errors.Is(err, io.EOF):
			return sum, errors.New("the image is too small to take the whole time")
		case err != nil:
			return sum, err
		}
		select {
		case <-release:
			slowly = false
		case <-time.After(time.Second):
		}
	}
	if _, err := io.Copy(hash, response.Body); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// testConsoleLoad checks that consoles stay open without input.
func testConsoleLoad(t *testing.T) {
	const r = "2025.2"
	watch := &disruptions{}
	consoles := novav1.Consoles{Graphical: novav1.SPICE, Serial: true}
	cloud := harness.Start(t, harness.Claim(t, "consoles.yaml", r, harness.Suffix(r)), watch.watch)
	n := nova.StartIn(t, cloud, r, consoles, nova.Hypervisor{Domain: "machines" + harness.Suffix(r) + ".tenant-a.example.com"})
	all := startProxies(t, cloud)
	ctx := context.Background()
	id, err := n.CreateServer(ctx, n.Hypervisors[0], "silent")
	if err == nil {
		err = n.WaitForServer(ctx, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	pods := podsOf(t, cloud, novav1.ServiceName, "api")
	watch.reset()
	var open sync.WaitGroup
	for _, p := range all {
		at, err := n.ConsoleURL(id, remoteconsoles.ConsoleProtocolSerial, remoteconsoles.ConsoleTypeSerial)
		if err != nil {
			t.Fatal(err)
		}
		open.Go(func() {
			if err := idleConsole(p, at.Host, "?token="+at.Query().Get("token")); err != nil {
				t.Errorf("a console through %s: %v", p.name, err)
			} else {
				t.Logf("a console through %s was silent for %s", p.name, *harness.Busy)
			}
		})
	}
	k := startKubelet(pods)
	open.Wait()
	k.finish(t, "Nova, idle")
	watch.none(t, cloud, novav1.ServiceName, pods)
}

// idleConsole opens a serial console, stays idle, and then types.
func idleConsole(p proxy, host, path string) error {
	config, err := websocket.NewConfig("wss://"+host+"/"+path, "https://"+host)
	if err != nil {
		return err
	}
	config.Protocol = []string{"binary"}
	tcp, err := p.dial(context.Background(), "tcp", host+":443")
	if err != nil {
		return err
	}
	defer tcp.Close() // the test is over
	conn, err := websocket.NewClient(config, tls.Client(tcp, &tls.Config{
		RootCAs: p.cloud.Operators.Public.Pool(), ServerName: host, MinVersion: tls.VersionTLS12,
	}))
	if err != nil {
		return err
	}
	conn.PayloadType = websocket.BinaryFrame
	if err := tcp.SetDeadline(time.Now().Add(clouds.RequestTimeout)); err != nil {
		return err
	}
	if _, err := nova.LogIn(conn); err != nil {
		return err
	}
	// The deadline is for the part after the idle time.
	if err := tcp.SetDeadline(time.Now().Add(*harness.Busy + clouds.RequestTimeout)); err != nil {
		return err
	}
	time.Sleep(*harness.Busy)
	const typed = "uptime\r"
	if _, err := io.WriteString(conn, typed); err != nil {
		return err
	}
	observed := make([]byte, len(typed))
	if _, err := io.ReadFull(conn, observed); err != nil || !bytes.Equal(observed, []byte(typed)) {
		return fmt.Errorf("after %s of silence, typed %q and saw %q: %w", *harness.Busy, typed, observed, err)
	}
	return nil
}
