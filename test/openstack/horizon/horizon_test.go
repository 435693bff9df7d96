//go:build openstack && linux

package horizon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/keystone"
)

// TestHorizonDisplaysResourcesOfUsers checks that in every release, users can log in to the dashboard and see their resources, and that
// they stay logged in when its pods are replaced.
func TestHorizonDisplaysResourcesOfUsers(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			cloud := harness.Start(t, harness.Claim(t, "dashboard.yaml", r, harness.Suffix(r)), nil)
			s := siteOf(t, cloud)
			t.Run("Page", func(t *testing.T) { testPage(t, s) })
			t.Run("Assets", func(t *testing.T) { testAssets(t, s) })
			t.Run("LogIn", func(t *testing.T) { testLogIn(t, s) })
			t.Run("Browser", func(t *testing.T) { testBrowser(t, s) })
			t.Run("Pods", func(t *testing.T) { testSharedSession(t, s) })
			t.Run("LostPod", func(t *testing.T) { testPodLoss(t, s) })
			t.Run("Settings", func(t *testing.T) { testChangedSettings(t, s, r) })
		})
	}
}

// TestHorizonUpgrade checks that a user stays logged in while the cloud is upgraded from one SLURP release to the next,
// and that no request fails.
func TestHorizonUpgrade(t *testing.T) {
	cloud := harness.Start(t, harness.Claim(t, "dashboard.yaml", harness.UpgradeFrom, "-up"), nil)
	s := siteOf(t, cloud)
	b, look := s.logIn(t), s.looking(t)
	look.More(t, 5)
	harness.Upgrade(t, cloud, harness.Claim(t, "dashboard.yaml", harness.UpgradeTo, "-up"), harness.UpgradeTo, "keystone", "glance")
	version, err := harness.UpgradeTo.Version(horizonv1.ServiceName)
	if err != nil {
		t.Fatal(err)
	}
	s.rolled(t, ":"+version)
	look.More(t, 10)
	look.Stop(t)
	t.Log(look)
	if got := s.get(t, b, "/identity/users/"); got.Code != http.StatusOK || !strings.Contains(got.Text, "admin") {
		t.Errorf("who has logged in before gets %s at %s", got.Status, got.Location)
	}
}

// TestHorizonFederation checks that a user who is logged in to an identity provider is redirected to the dashboard with
// a token of Keystone, and that another dashboard gets none.
func TestHorizonFederation(t *testing.T) {
	provider, err := keystone.NewIssuer(keystone.IdentityProvider, "keystone", "client secret: 100%")
	if err != nil {
		t.Fatal(err)
	}
	claim := strings.Replace(string(harness.Read(t, "federation.yaml")), "  services:\n", `  services:
    horizon:
      enabled: true
      uwsgi: {processes: 1, threads: 8}
      websso: {choices: [{name: company, label: Company account}], initialChoice: company}
`, 1)
	claim = strings.ReplaceAll(claim, "federated", "signedon")
	cloud := harness.Start(t, []byte(claim), func(o *clouds.Options) {
		o.Secrets = map[string]map[string][]byte{"keycloak-client": {"client-secret": []byte(provider.Secret)}}
		o.Prepare = func(c *clouds.Cloud) error { return c.Operators.HTTPS("keycloak.example.com", provider.ServeHTTP) }
	})
	keystone.Federate(t, harness.KeystoneClient(t, cloud, true))
	s := siteOf(t, cloud)
	b := keystone.Browser(t, cloud, true)
	form := s.get(t, b, loginPath)
	if !strings.Contains(form.Text, "Company account") {
		t.Fatalf("the page does not offer the company's accounts: %.500s", form.Text)
	}
	sent := s.post(t, b, loginPath, url.Values{"csrfmiddlewaretoken": {hidden(t, form, "csrfmiddlewaretoken")}, "auth_type": {"company"}, "region": {"default"}})
	token := hidden(t, sent, "token")
	action := regexp.MustCompile(`action="([^"]+)"`).FindStringSubmatch(sent.Text)
	if action == nil || action[1] != s.url+"/auth/websso/" {
		t.Fatalf("the token goes to %v, want to the dashboard", action)
	}
	got := s.post(t, b, "/auth/websso/", url.Values{"token": {token}})
	if got.Code != http.StatusOK || !strings.Contains(got.Text, "carol") || strings.Contains(got.Location.Path, "login") {
		t.Errorf("carol gets %s at %s: %.500s", got.Status, got.Location, got.Text)
	}
	forged := s.post(t, keystone.Browser(t, cloud, true), "/auth/websso/", url.Values{"token": {"made-up"}})
	if !strings.Contains(forged.Location.Path, "login") {
		t.Errorf("a forged token leads to %s", forged.Location)
	}
}

// TestHorizonStacks checks that with Heat, the dashboard of every release has the panels of its plug-in, and that they
// work with Heat.
func TestHorizonStacks(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			end := "-panels" + harness.Suffix(r)
			claim := strings.Replace(string(harness.Claim(t, "stacks.yaml", r, end)), "    neutron:\n", "    horizon:\n", 1)
			claim = strings.NewReplacer("      api: {replicas: 2}\n", "", "      engine: {replicas: 2}\n", "").Replace(claim)
			s := siteOf(t, harness.Start(t, []byte(claim), nil))
			b := s.logIn(t)
			if home := s.get(t, b, "/project/stacks/"); home.Code != http.StatusOK || !strings.Contains(home.Text, "Launch Stack") ||
				!strings.Contains(home.Text, "/project/template_generator") {
				t.Fatalf("got %s at %s, without panels of stacks: %.2000s", home.Status, home.Location, home.Text)
			}
			if got := s.get(t, b, "/project/resource_types/"); !strings.Contains(got.Text, "OS::Heat::RandomString") {
				t.Errorf("Heat does not list its types of resources: %s at %s", got.Status, got.Location)
			}
			form := s.get(t, b, "/project/stacks/select_template")
			next := s.post(t, b, "/project/stacks/select_template", url.Values{
				"csrfmiddlewaretoken": {hidden(t, form, "csrfmiddlewaretoken")}, "template_source": {"raw"}, "environment_source": {"raw"},
				"template_data": {"heat_template_version: 2021-04-16\nparameters: {color: {type: string}}\nresources: {a: {type: OS::Heat::RandomString}}\n"},
			})
			for text, want := range map[string]bool{`name="stack_name"`: true, `name="__param_color"`: true, `name="password"`: false} {
				if strings.Contains(next.Text, text) != want {
					t.Errorf("the form of a stack has %s: %t, want %t; %s at %s", text, !want, want, next.Status, next.Location)
				}
			}
			testAssets(t, s)
		})
	}
}

const loginPath = "/auth/login/"

// site is a dashboard, with a login.
type site struct {
	cloud          *clouds.Cloud
	url            string
	user, password string
	// internal trusts the authority of the pods' certificates.
	internal *x509.CertPool
}

func siteOf(t *testing.T, c *clouds.Cloud) *site {
	t.Helper()
	ctx := context.Background()
	admin, err := c.Operators.Secret(ctx, c.Namespace, "keystone-admin")
	if err != nil {
		t.Fatal(err)
	}
	own, err := c.Operators.Secret(ctx, c.Namespace, "horizon-tls")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{
		cloud: c, url: c.Dashboard(), user: string(admin["username"]), password: string(admin["password"]), internal: x509.NewCertPool(),
	}
	s.internal.AppendCertsFromPEM(own["ca.crt"])
	if s.url == "" {
		t.Fatal("the dashboard is not reached from outside")
	}
	return s
}

func (s *site) get(t *testing.T, b *http.Client, path string) keystone.Page {
	t.Helper()
	return keystone.Visit(t, b, http.MethodGet, s.url+path, "", nil)
}

// post sends a form as a browser on the site does.
func (s *site) post(t *testing.T, b *http.Client, path string, form url.Values) keystone.Page {
	t.Helper()
	return keystone.Visit(t, b, http.MethodPost, s.url+path, form.Encode(), http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"}, "Referer": {s.url + loginPath}, "Origin": {s.url},
	})
}

// hidden returns the value of a hidden field of a form.
func hidden(t *testing.T, p keystone.Page, name string) string {
	t.Helper()
	m := regexp.MustCompile(`name="` + name + `" value="([^"]+)"`).FindStringSubmatch(p.Text)
	if m == nil {
		t.Fatalf("there is no field %s at %s (%s): %.500s", name, p.Location, p.Status, p.Text)
	}
	return html.UnescapeString(m[1])
}

// enter submits the login form.
func (s *site) enter(t *testing.T, b *http.Client, password string) keystone.Page {
	t.Helper()
	form := s.get(t, b, loginPath)
	return s.post(t, b, loginPath, url.Values{
		"csrfmiddlewaretoken": {hidden(t, form, "csrfmiddlewaretoken")}, "username": {s.user}, "password": {password}, "region": {"default"},
	})
}

// logIn returns a browser in which the administrator is logged in.
func (s *site) logIn(t *testing.T) *http.Client {
	t.Helper()
	b := keystone.Browser(t, s.cloud, true)
	if got := s.enter(t, b, s.password); got.Code != http.StatusOK || strings.HasPrefix(got.Location.Path, "/auth/") {
		t.Fatalf("the log-in ends with %s at %s: %.2000s", got.Status, got.Location, got.Text)
	}
	return b
}

// testPage checks that the page has a content security policy, and is only served to its host names.
func testPage(t *testing.T, s *site) {
	got := s.get(t, keystone.Browser(t, s.cloud, true), loginPath)
	if got.Code != http.StatusOK || !strings.Contains(got.Text, "Example Cloud") {
		t.Fatalf("got %s: %.500s", got.Status, got.Text)
	}
	for name, want := range map[string]string{
		"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Strict-Transport-Security": "max-age=31536000", "Referrer-Policy": "same-origin",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s: got %q, want %q", name, value, want)
		}
	}
	if csp := got.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("the policy of contents is %q", csp)
	}
	for _, cookie := range got.Header["Set-Cookie"] {
		if !strings.Contains(cookie, "Secure") {
			t.Errorf("a cookie goes by http, too: %s", cookie)
		}
	}
	if len(got.Header["Set-Cookie"]) == 0 {
		t.Error("there is no cookie against forged requests")
	}
	for host, want := range map[string]int{"elsewhere.example.com": http.StatusBadRequest, s.host(): http.StatusOK} {
		if code := s.direct(t, s.pods(t)[0], host, loginPath, nil).Code; code != want {
			t.Errorf("host %s: got %d, want %d", host, code, want)
		}
	}
}

// host returns the name of the site.
func (s *site) host() string { return strings.TrimPrefix(s.url, "https://") }

// testAssets checks that every script and style sheet of the page exists, compressed, and with the right type.
func testAssets(t *testing.T, s *site) {
	b := keystone.Browser(t, s.cloud, true)
	text := s.get(t, b, loginPath).Text
	kinds := map[string]int{}
	for _, m := range regexp.MustCompile(`(?:href|src)=["'](/static/[^"'?]+)`).FindAllStringSubmatch(text, -1) {
		got := s.get(t, b, m[1])
		kind := map[string]string{"css": "text/css", "js": "text/javascript", "png": "image/png", "ico": "image/vnd.microsoft.icon", "svg": "image/svg+xml"}[m[1][strings.LastIndex(m[1], ".")+1:]]
		if got.Code != http.StatusOK || len(got.Text) == 0 || kind == "" || !strings.HasPrefix(got.Header.Get("Content-Type"), kind) {
			t.Errorf("%s: got %s of type %q, want %q", m[1], got.Status, got.Header.Get("Content-Type"), kind)
		}
		if strings.Contains(m[1], "/dashboard/") {
			kinds[kind]++
		}
	}
	if kinds["text/css"] == 0 || kinds["text/javascript"] == 0 {
		t.Errorf("the page names no compressed style sheet and script: %v in %.3000s", kinds, text)
	}
	if got := s.get(t, b, "/static/../../../../etc/horizon/local_settings.py"); got.Code < 400 && strings.Contains(got.Text, "SECRET_KEY") {
		t.Errorf("settings are served: %s", got.Status)
	}
}

// testLogIn checks that a login requires the right password and a form of the site, and is valid until the logout.
func testLogIn(t *testing.T, s *site) {
	b := keystone.Browser(t, s.cloud, true)
	if got := s.enter(t, b, "wrong"); got.Location.Path != loginPath || !strings.Contains(got.Text, "Invalid credentials") {
		t.Errorf("a wrong password: got %s at %s: %.1000s", got.Status, got.Location, got.Text)
	}
	stranger := keystone.Browser(t, s.cloud, true)
	s.get(t, stranger, loginPath)
	s.post(t, stranger, loginPath, url.Values{"username": {s.user}, "password": {s.password}, "region": {"default"}})
	if got := s.get(t, stranger, "/identity/"); got.Location.Path != loginPath {
		t.Errorf("a form that is not the site's logs in: %s at %s", got.Status, got.Location)
	}
	b = s.logIn(t)
	for path, want := range map[string]string{
		"/identity/users/":     "admin",
		"/identity/":           "Projects",
		"/project/api_access/": "image",
		"/settings/":           "Settings",
	} {
		if got := s.get(t, b, path); got.Code != http.StatusOK || got.Location.Path == loginPath || !strings.Contains(got.Text, want) {
			t.Errorf("%s: got %s at %s, without %q: %.300s", path, got.Status, got.Location, want, got.Text)
		}
	}
	for path, want := range map[string]string{"/api/glance/images/": `"items"`, "/api/keystone/projects/": "service"} {
		got := keystone.Visit(t, b, http.MethodGet, s.url+path, "", http.Header{"X-Requested-With": {"XMLHttpRequest"}})
		if got.Code != http.StatusOK || !strings.Contains(got.Text, want) {
			t.Errorf("%s: got %s, without %q: %.300s", path, got.Status, want, got.Text)
		}
	}
	// Panels follow the catalog: there is no Nova and no Neutron.
	home := s.get(t, b, "/project/")
	for text, want := range map[string]bool{"/project/images": true, "/project/instances": false, "/project/networks": false, "/project/volumes": false} {
		if strings.Contains(home.Text, text) != want {
			t.Errorf("%s is offered: %t, want %t", text, !want, want)
		}
	}
	cookies := b.Jar.Cookies(s.root(t))
	if got := s.get(t, b, "/auth/logout/"); got.Location.Path != loginPath {
		// Django 5 logs out by a form only.
		form := s.get(t, b, "/identity/")
		s.post(t, b, "/auth/logout/", url.Values{"csrfmiddlewaretoken": {hidden(t, form, "csrfmiddlewaretoken")}})
	}
	if got := s.get(t, b, "/identity/"); got.Location.Path != loginPath {
		t.Errorf("after the log-out: %s at %s", got.Status, got.Location)
	}
	second := keystone.Browser(t, s.cloud, true)
	second.Jar.SetCookies(s.root(t), cookies)
	if got := s.get(t, second, "/identity/"); got.Location.Path != loginPath {
		t.Errorf("the session outlives its log-out: %s at %s", got.Status, got.Location)
	}
}

// root returns the dashboard's address, as used for cookies.
func (s *site) root(t testing.TB) *url.URL {
	t.Helper()
	out, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// pods returns the ready pods of the dashboard.
func (s *site) pods(t testing.TB) []corev1.Pod {
	t.Helper()
	all := &corev1.PodList{}
	labels := client.MatchingLabels{"app.kubernetes.io/name": horizonv1.ServiceName}
	if err := s.cloud.Cluster.Client.List(context.Background(), all, client.InNamespace(s.cloud.Namespace), labels); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all.Items, func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
}

// direct sends a request to a single pod.
func (s *site) direct(t *testing.T, pod corev1.Pod, host, path string, cookies []*http.Cookie) keystone.Page {
	t.Helper()
	ctx := context.Background()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+net.JoinHostPort(pod.Status.PodIP, fmt.Sprint(horizonv1.Port))+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	for _, c := range cookies {
		request.AddCookie(c)
	}
	b := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: s.cloud.Cluster.Dial, TLSClientConfig: &tls.Config{
			RootCAs: s.internal, ServerName: "horizon." + s.cloud.Namespace + ".svc", MinVersion: tls.VersionTLS12,
		}},
	}
	response, err := b.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return keystone.Page{Code: response.StatusCode, Status: response.Status, Header: response.Header}
}

// testSharedSession checks that a login on one pod is valid on each.
func testSharedSession(t *testing.T, s *site) {
	b := s.logIn(t)
	pods := s.pods(t)
	if len(pods) != 2 {
		t.Fatalf("there are %d pods, want 2", len(pods))
	}
	cookies := b.Jar.Cookies(s.root(t))
	for _, p := range pods {
		if got := s.direct(t, p, s.host(), "/identity/users/", cookies); got.Code != http.StatusOK {
			t.Errorf("pod %s: got %s, want 200", p.Name, got.Status)
		}
		if got := s.direct(t, p, s.host(), "/identity/users/", nil); got.Code != http.StatusFound {
			t.Errorf("pod %s, a stranger: got %s, want the way to the log-in", p.Name, got.Status)
		}
	}
}

// testPodLoss deletes a pod, and checks that users stay logged in while it is replaced.
func testPodLoss(t *testing.T, s *site) {
	look, removed := s.looking(t), s.pods(t)[0]
	look.More(t, 3)
	if err := s.cloud.Cluster.Evict(removed.Namespace, removed.Name); err != nil {
		t.Fatal(err)
	}
	err := s.cloud.Cluster.Wait(context.Background(), 5*time.Minute, "another pod", func(context.Context) (bool, error) {
		pods := s.pods(t)
		return len(pods) == 2 && !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Name == removed.Name }), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	look.More(t, 5)
	look.Stop(t)
	t.Log(look)
}

// testChangedSettings checks that a change of the settings replaces all pods; the key is the same, so that users stay
// logged in.
func testChangedSettings(t *testing.T, s *site, r release.Release) {
	look, before := s.looking(t), s.pods(t)
	look.More(t, 3)
	claim := strings.Replace(string(harness.Claim(t, "dashboard.yaml", r, harness.Suffix(r))), "title: Example Cloud", `title: "Another's \"Cloud\" ☁"`, 1)
	harness.Change(t, s.cloud, []byte(claim))
	err := s.cloud.Cluster.Wait(context.Background(), 5*time.Minute, "other pods", func(context.Context) (bool, error) {
		pods := s.pods(t)
		return len(pods) == 2 && !slices.ContainsFunc(pods, func(p corev1.Pod) bool {
			return slices.ContainsFunc(before, func(old corev1.Pod) bool { return old.Name == p.Name })
		}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	look.More(t, 5)
	look.Stop(t)
	t.Log(look)
	if got := s.get(t, keystone.Browser(t, s.cloud, true), loginPath); !strings.Contains(html.UnescapeString(got.Text), `Another's "Cloud" ☁`) {
		t.Errorf("the title is not the claim's: %.300s", got.Text)
	}
}

// rolled waits until all pods have a version.
func (s *site) rolled(t *testing.T, tag string) {
	t.Helper()
	err := s.cloud.Cluster.Wait(context.Background(), 5*time.Minute, "pods of "+tag, func(context.Context) (bool, error) {
		pods := s.pods(t)
		return len(pods) == 2 && !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !strings.HasSuffix(p.Spec.Containers[0].Image, tag) }), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// looking starts a user who opens pages repeatedly, without logging in again.
func (s *site) looking(t *testing.T) *harness.Clients {
	t.Helper()
	b := s.logIn(t)
	return harness.StartClients(t, 1, func(ctx context.Context, _, _ int, try harness.Request) error {
		return try("look at a page", func() error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/identity/users/", nil)
			if err != nil {
				return err
			}
			response, err := b.Do(request)
			if err != nil {
				return err
			}
			defer response.Body.Close()
			switch {
			case response.StatusCode != http.StatusOK:
				return errors.New(response.Status)
			case response.Request.URL.Path == loginPath:
				return errors.New("the user is not logged in any more")
			}
			return nil
		})
	})
}
