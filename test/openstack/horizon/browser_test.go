//go:build openstack && linux

package horizon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
)

// pictures is the folder that pages are kept in as they look, if it is named.
const pictures = "HORIZON_PICTURES"

// driven is a browser controlled by the protocol of https://www.w3.org/TR/webdriver2/.
type driven struct {
	t       *testing.T
	session string
}

const driverAddress = "127.0.0.1:9515"

// drive starts a browser that trusts the public keys of the site and of other hosts of the cloud.
func drive(t *testing.T, s *site, others ...string) *driven {
	t.Helper()
	var keys []string
	for _, host := range append(others, s.host()) {
		keys = append(keys, s.keyOf(t, host))
	}
	ctx, cancel := context.WithCancel(context.Background())
	log := &bytes.Buffer{}
	driver := exec.CommandContext(ctx, "chromedriver", "--port=9515")
	driver.Stdout, driver.Stderr, driver.Env = log, log, append(os.Environ(), "HOME="+t.TempDir())
	if err := driver.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = driver.Wait()
		if t.Failed() {
			t.Logf("output of the driver:\n%.4000s", log.String())
		}
	})
	d := &driven{t: t}
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		if _, err := d.call(http.MethodGet, "http://"+driverAddress+"/status", nil); err == nil {
			break
		} else if stopwatch.Since(began) > time.Minute {
			t.Fatalf("the driver does not start: %v\n%s", err, log)
		}
	}
	value := d.do(http.MethodPost, "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName": "chrome", "goog:loggingPrefs": map[string]any{"browser": "ALL"},
		"timeouts": map[string]any{"implicit": 30000, "pageLoad": 120000},
		"goog:chromeOptions": map[string]any{"binary": "/usr/bin/chromium", "args": []string{
			"--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,800", "--no-proxy-server",
			"--user-data-dir=" + t.TempDir(), "--ignore-certificate-errors-spki-list=" + strings.Join(keys, ","),
		}},
	}}})
	started := struct {
		SessionID string `json:"sessionId"`
	}{}
	if err := json.Unmarshal(value, &started); err != nil {
		t.Fatal(err)
	}
	d.session = started.SessionID
	t.Cleanup(func() { d.do(http.MethodDelete, "", nil) })
	return d
}

// keyOf returns the hash of the key of a host's certificate: the browser trusts only the keys that it is configured
// with.
func (s *site) keyOf(t *testing.T, host string) string {
	t.Helper()
	raw, err := s.cloud.Cluster.Dial(context.Background(), "tcp", net.JoinHostPort(host, "443"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	conn := tls.Client(raw, &tls.Config{RootCAs: s.cloud.Operators.Public.Pool(), ServerName: host, MinVersion: tls.VersionTLS12})
	if err := conn.HandshakeContext(context.Background()); err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(conn.ConnectionState().PeerCertificates[0].RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(hash[:])
}

func (d *driven) call(method, address string, in any) (json.RawMessage, error) {
	var body io.Reader
	if method == http.MethodPost {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, address, body)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	out := struct {
		Value json.RawMessage `json:"value"`
	}{}
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %.500s", method, address, out.Value)
	}
	return out.Value, nil
}

// do sends a request of the session.
func (d *driven) do(method, path string, in any) json.RawMessage {
	d.t.Helper()
	address := "http://" + driverAddress + "/session"
	if d.session != "" {
		address += "/" + d.session + path
	}
	out, err := d.call(method, address, in)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

// element finds an element by its selector, as soon as it exists.
func (d *driven) element(selector string) string {
	d.t.Helper()
	address := "http://" + driverAddress + "/session/" + d.session + "/element"
	found, err := d.call(http.MethodPost, address, map[string]any{"using": "css selector", "value": selector})
	if err != nil {
		d.picture("failed")
		d.t.Fatalf("%v\nthe page is %s", err, d.eval("return location.href + '\\n' + document.body.innerText.slice(0, 1000)"))
	}
	for _, id := range d.reference(found) {
		return "/element/" + id
	}
	return ""
}

// reference returns the protocol's reference of an element.
func (d *driven) reference(value json.RawMessage) map[string]string {
	d.t.Helper()
	out := map[string]string{}
	if err := json.Unmarshal(value, &out); err != nil {
		d.t.Fatalf("%s: %v", value, err)
	}
	return out
}

func (d *driven) open(address string) {
	d.t.Helper()
	d.do(http.MethodPost, "/url", map[string]any{"url": address})
}

func (d *driven) write(selector, text string) {
	d.t.Helper()
	d.do(http.MethodPost, d.element(selector)+"/value", map[string]any{"text": text})
}

func (d *driven) click(selector string) {
	d.t.Helper()
	d.do(http.MethodPost, d.element(selector)+"/click", map[string]any{})
}

// press clicks the element of a path (https://www.w3.org/TR/xpath-10), as soon as no other element covers it: pages
// with scripts are built gradually, with transitions.
func (d *driven) press(path string) {
	d.t.Helper()
	session := "http://" + driverAddress + "/session/" + d.session
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		found, err := d.call(http.MethodPost, session+"/element", map[string]any{"using": "xpath", "value": path})
		if err == nil {
			for _, id := range d.reference(found) {
				_, err = d.call(http.MethodPost, session+"/element/"+id+"/click", map[string]any{})
			}
		}
		if err == nil {
			return
		}
		if stopwatch.Since(began) > time.Minute {
			d.picture("failed")
			d.t.Fatalf("cannot press %s: %v", path, err)
		}
	}
}

// within selects a frame of the page for the following calls.
func (d *driven) within(selector string) {
	d.t.Helper()
	frame := d.reference(d.do(http.MethodPost, "/element", map[string]any{"using": "css selector", "value": selector}))
	d.do(http.MethodPost, "/frame", map[string]any{"id": frame})
}

func (d *driven) text(selector string) string {
	d.t.Helper()
	return d.string(d.do(http.MethodGet, d.element(selector)+"/text", nil))
}

// eval returns the result of a script.
func (d *driven) eval(script string) string {
	d.t.Helper()
	return d.string(d.do(http.MethodPost, "/execute/sync", map[string]any{"script": script, "args": []any{}}))
}

func (d *driven) string(value json.RawMessage) string {
	d.t.Helper()
	out := ""
	if err := json.Unmarshal(value, &out); err != nil {
		d.t.Fatalf("%s: %v", value, err)
	}
	return out
}

// picture saves a screenshot of the page.
func (d *driven) picture(name string) {
	d.t.Helper()
	folder := os.Getenv(pictures)
	if folder == "" {
		return
	}
	image, err := base64.StdEncoding.DecodeString(d.string(d.do(http.MethodGet, "/screenshot", nil)))
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), image, 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// unasked is the log message of Horizon's page of images in a cloud without Cinder: the page checks whether to offer a
// volume, and does not handle the error.
// https://opendev.org/openstack/horizon/src/branch/master/openstack_dashboard/static/app/core/images/actions/create-volume.service.js
const unasked = "Possibly unhandled rejection: Service type is not enabled: block-storage"

// complaints returns the browser's errors about the pages, including violations of the content security policy.
func (d *driven) complaints() []string {
	d.t.Helper()
	var entries []struct {
		Level   string `json:"level"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(d.do(http.MethodPost, "/se/log", map[string]any{"type": "browser"}), &entries); err != nil {
		d.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if e.Level == "SEVERE" && !strings.Contains(e.Message, unasked) {
			out = append(out, e.Message)
		}
	}
	return out
}

// logIn submits the login form of a site.
func (d *driven) logIn(s *site) {
	d.t.Helper()
	d.write("#id_username", s.user)
	d.write("#id_password", s.password)
	d.click("#loginBtn")
	if user := d.text(".user-name, .dropdown.user .dropdown-toggle, #user_info"); !strings.Contains(user, s.user) {
		d.t.Errorf("the page shows %q as the logged-in user", user)
	}
}

// testBrowser checks that a real browser can log in, that it renders the pages with their scripts and styles, and that
// it reports no errors.
func testBrowser(t *testing.T, s *site) {
	d := drive(t, s)
	d.open(s.url + "/")
	if title := d.eval("return document.title"); title != "Login - Example Cloud" {
		t.Errorf("the title is %q", title)
	}
	d.picture("login")
	d.logIn(s)
	d.picture("home")
	d.open(s.url + "/identity/")
	if row := d.text("#projects tbody tr, table tbody tr"); row == "" {
		t.Error("there are no projects")
	}
	d.picture("projects")
	d.open(s.url + "/project/images")
	d.element("hz-resource-table, .hz-dynamic-table, table")
	d.picture("images")
	// A style sheet is in force: without one, the bar would be as wide as its words, and transparent.
	if bar := d.eval("return getComputedStyle(document.querySelector('.navbar, .topbar')).display"); bar == "inline" || bar == "" {
		t.Errorf("the page has no style: %q", bar)
	}
	for _, c := range d.complaints() {
		t.Errorf("the browser complains: %s", c)
	}
	testForeignCookies(t, d, s)
}

// testForeignCookies checks that a host below the same parent domain cannot set the cookie of a session. The script sets it as such a host
// would, for the parent domain.
func testForeignCookies(t *testing.T, d *driven, s *site) {
	before := d.sessions()
	if len(before) != 1 {
		t.Fatalf("the browser has the sessions %v, want one", before)
	}
	_, parent, _ := strings.Cut(s.host(), ".")
	for _, name := range []string{"__Host-sessionid", "sessionid"} {
		d.eval("document.cookie = '" + name + "=foreign; domain=" + parent + "; path=/; secure'; return ''")
	}
	d.open(s.url + "/identity/")
	if row := d.text("#projects tbody tr, table tbody tr"); row == "" {
		t.Error("the user is logged out")
	}
	after := d.sessions()
	delete(after, "sessionid") // Horizon does not read it.
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("another host set the session: -want, +got:\n%s", diff)
	}
}

// sessions returns the values of the browser's cookies for sessions, by name.
func (d *driven) sessions() map[string]string {
	d.t.Helper()
	var cookies []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	if err := json.Unmarshal(d.do(http.MethodGet, "/cookie", nil), &cookies); err != nil {
		d.t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range cookies {
		if strings.HasSuffix(c.Name, "sessionid") {
			out[c.Name] = c.Value
		}
	}
	return out
}
