//go:build openstack && linux

package openstack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/remoteconsoles"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"
	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	novacellv1 "github.com/c5c3/crossplane-cobaltcore/apis/novacell/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// TestNova checks that the Nova of every release runs servers in two cells, shows their screens, and serves their
// metadata.
func TestNova(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			n := startNova(t, r, dashed(r))
			t.Run("Entries", func(t *testing.T) {
				testEntries(t, n.cloud, novav1.ServiceName, novav1.ServiceType, novav1.Port, novav1.Version)
			})
			t.Run("Services", func(t *testing.T) { testComputeServices(t, n) })
			t.Run("Servers", func(t *testing.T) { testServers(t, n) })
			t.Run("Credential", func(t *testing.T) { testRotate(t, n.cloud, novav1.ServiceName, serversUsed(t, n)) })
		})
	}
}

// nova is a Nova with a hypervisor in each cell, and its client at the internal address.
type nova struct {
	*gophercloud.ServiceClient
	cloud       *Cloud
	hypervisors []hypervisor
	// Flavor and image of servers.
	flavor, image string
}

// startNova runs a claim with VNC screens, and its hypervisors.
func startNova(t *testing.T, r release.Release, end string) nova {
	t.Helper()
	return startNovaAs(t, of(t, "machines.yaml", r, end), r, end, novav1.Consoles{Graphical: novav1.VNC}, "")
}

// startNovaAs starts a Nova with a given claim and its consoles, and a second cell with a separate queue.
func startNovaAs(t *testing.T, claim []byte, r release.Release, end string, consoles novav1.Consoles, queue string) nova {
	t.Helper()
	return startNovaIn(t, start(t, claim, nil), r, consoles, hypervisor{domain: "machines" + end + ".tenant-a.example.com", queue: queue})
}

// startNovaIn adds hypervisors to a cloud, with a given queue: a queue with another name only in the second cell.
func startNovaIn(t *testing.T, cloud *Cloud, r release.Release, consoles novav1.Consoles, like hypervisor) nova {
	t.Helper()
	ctx := context.Background()
	networks(t, cloud)
	provider, ends := administrator(t, cloud)
	c, err := openstack.NewComputeV2(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "2.96" // of all releases here
	n := nova{ServiceClient: c, cloud: cloud, image: glanceOf(t, cloud).create(t, "nothing", "raw")}
	glanceOf(t, cloud).upload(t, n.image, complete(content(mib)), "")
	flavor, err := flavors.Create(ctx, c, flavors.CreateOpts{Name: "tiny", RAM: 64, VCPUs: 1, Disk: new(0)}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	n.flavor = flavor.ID
	for _, cell := range []string{"cell1", "cell2"} {
		h := hypervisor{cell: cell, consoles: consoles, domain: like.domain, broker: like.broker}
		h.listen(t, cloud)
		if cell == "cell2" {
			h.queue = like.queue
		}
		n.hypervisors = append(n.hypervisors, h)
		h.run(t, cloud, r)
	}
	n.up(t)
	cloud.Operators.Forward(2 * time.Minute) // the companion calls Nova once a minute
	for _, h := range n.hypervisors {
		n.mapped(t, h, r)
	}
	return n
}

// mapped waits until a hypervisor belongs to its cell only, and its version is known.
func (n nova) mapped(t *testing.T, h hypervisor, r release.Release) {
	t.Helper()
	if err := n.waitForHypervisor(h, r, operators.Timeout); err != nil {
		t.Fatal(err)
	}
}

// computeVersions are the service versions that nova-compute of each release reports.
var computeVersions = map[release.Release]int32{"2025.1": 68, "2025.2": 70, "2026.1": 72, "2026.2": 74}

// waitForHypervisor waits until the companion reports a hypervisor as the only one of its cell, with its version.
func (n nova) waitForHypervisor(h hypervisor, r release.Release, within time.Duration) error {
	m := &openstackv1.CellMapping{}
	err := n.cloud.Cluster.Wait(context.Background(), within, "the mapping of "+h.host(), func(ctx context.Context) (bool, error) {
		key := client.ObjectKey{Namespace: n.cloud.Namespace, Name: novacellv1.Name(novav1.ServiceName, h.cell)}
		err := n.cloud.Cluster.Client.Get(ctx, key, m)
		return slices.Equal(m.Status.Hosts, []string{h.host()}) && m.Status.HostCount == 1 &&
			m.Status.OldestCompute != nil && *m.Status.OldestCompute == computeVersions[r], err
	})
	if err != nil {
		return fmt.Errorf("%w\n%+v", err, m.Status)
	}
	return nil
}

// processes report, each by a name that its next pod has, too.
var processes = []string{
	"nova-compute compute-cell1", "nova-compute compute-cell2",
	"nova-conductor nova-cell1-conductor-0", "nova-conductor nova-cell1-conductor-1",
	"nova-conductor nova-cell2-conductor-0", "nova-conductor nova-cell2-conductor-1",
	"nova-conductor nova-conductor-0", "nova-conductor nova-conductor-1", "nova-scheduler nova-scheduler-0", "nova-scheduler nova-scheduler-1",
}

// up waits until all processes report, and fails if others ever did.
func (n nova) up(t *testing.T) {
	t.Helper()
	var got []string
	err := n.cloud.Cluster.Wait(context.Background(), operators.Timeout, "Nova's processes", func(ctx context.Context) (bool, error) {
		page, err := services.List(n.ServiceClient, nil).AllPages(ctx)
		if err != nil {
			return false, err
		}
		all, err := services.ExtractServices(page)
		got = nil
		for _, s := range all {
			name := s.Binary + " " + s.Host
			if s.State != "up" {
				name += ", which is " + s.State
			}
			got = append(got, name)
		}
		slices.Sort(got)
		return slices.Equal(processes, got), err
	})
	if err != nil {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(processes, got))
	}
}

// replace makes a hypervisor run the Nova of a release, or another one than before, and returns when it accepts
// servers: servers that are created while it starts fail, because it treats them as builds interrupted by the restart
// (nova.compute.manager.ComputeManager._error_out_instances_whose_build_was_interrupted).
func (n nova) replace(t *testing.T, h hypervisor, r release.Release) {
	t.Helper()
	h.run(t, n.cloud, r)
	began := time.Now()
	err := n.cloud.Cluster.Wait(context.Background(), operators.Timeout, "a report of "+h.host(), func(ctx context.Context) (bool, error) {
		page, err := services.List(n.ServiceClient, services.ListOpts{Host: h.host()}).AllPages(ctx)
		if err != nil {
			return false, err
		}
		all, err := services.ExtractServices(page)
		return len(all) == 1 && all[0].UpdatedAt.After(began), err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// testComputeServices checks that every process reports, and that the companion reports the same.
func testComputeServices(t *testing.T, n nova) {
	n.up(t)
	n.cloud.Operators.Forward(2 * time.Minute)
	check := &openstackv1.ServiceCheck{}
	err := n.cloud.Cluster.Wait(context.Background(), time.Minute, "the companion's view", func(ctx context.Context) (bool, error) {
		err := n.cloud.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: n.cloud.Namespace, Name: novav1.ServiceName}, check)
		return int(check.Status.Up) == len(processes) && check.Status.Down == 0, err
	})
	if err != nil {
		t.Errorf("%v: %+v", err, check.Status)
	}
}

// testServers checks that each cell runs a server, that lists contain those of both, and that each has a screen and
// metadata.
func testServers(t *testing.T, n nova) {
	ctx := context.Background()
	created := map[string]string{}
	for _, h := range n.hypervisors {
		id, err := n.create(ctx, h, "in-"+h.cell)
		if err != nil {
			t.Fatal(err)
		}
		created[id] = h.host()
	}
	got := map[string]string{}
	for id := range created {
		if err := n.active(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	all, err := n.list(ctx, "in-")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		got[s.ID] = s.Host
	}
	if diff := cmp.Diff(created, got); diff != "" {
		t.Errorf("virtual machines and their hosts (-want +got):\n%s", diff)
	}
	for _, s := range all {
		t.Run("Metadata", func(t *testing.T) { testMetadata(t, n, s) })
		t.Run("Screen", func(t *testing.T) { testScreen(t, n, s, strings.TrimPrefix(s.Host, "compute-")) })
	}
	for id := range created {
		if err := n.delete(ctx, id); err != nil {
			t.Error(err)
		}
	}
}

// create creates a server without a network, on a hypervisor.
func (n nova) create(ctx context.Context, h hypervisor, name string) (id string, err error) {
	s, err := servers.Create(ctx, n.ServiceClient, servers.CreateOpts{
		Name: name, FlavorRef: n.flavor, ImageRef: n.image, Networks: "none", HypervisorHostname: h.host(),
	}, nil).Extract()
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

// serverTimeout is the maximum time to create or delete a server.
const serverTimeout = 3 * time.Minute

// active waits until a server runs.
func (n nova) active(ctx context.Context, id string) error {
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		s, err := servers.Get(ctx, n.ServiceClient, id).Extract()
		if err != nil || s.Status == "ACTIVE" {
			return err
		}
		if s.Status == "ERROR" || time.Since(began) > serverTimeout {
			return fmt.Errorf("after %.0f s %s is %s, with the task %q: %s",
				time.Since(began).Seconds(), s.Name, s.Status, s.TaskState, s.Fault.Message)
		}
	}
}

// delete deletes a server and waits until it is deleted.
func (n nova) delete(ctx context.Context, id string) error {
	if err := servers.Delete(ctx, n.ServiceClient, id).ExtractErr(); err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		s, err := servers.Get(ctx, n.ServiceClient, id).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if time.Since(began) > serverTimeout {
			return fmt.Errorf("after %.0f s %s is still %s, with the task %q", time.Since(began).Seconds(), s.Name, s.Status, s.TaskState)
		}
	}
}

// list returns the servers of all cells with a name prefix.
func (n nova) list(ctx context.Context, prefix string) ([]servers.Server, error) {
	page, err := servers.List(n.ServiceClient, servers.ListOpts{Name: "^" + prefix}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return servers.ExtractServers(page)
}

// podLogs returns the last log lines of the pods of a component.
func (n nova) podLogs(t *testing.T, component string) string {
	t.Helper()
	const most = 4000
	ctx, pods, out := context.Background(), &corev1.PodList{}, ""
	if err := n.cloud.Cluster.Client.List(ctx, pods, client.InNamespace(n.cloud.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": novav1.ServiceName, componentLabel: component,
	}); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		text, err := n.cloud.Cluster.Output(ctx, &p, p.Spec.Containers[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		out += p.Name + ":\n" + text[max(0, len(text)-most):] + "\n"
	}
	return out
}

// testMetadata checks that a server gets its metadata, if the agent of its node signs its identity.
func testMetadata(t *testing.T, n nova, s servers.Server) {
	secret, err := n.cloud.Operators.Secret(context.Background(), n.cloud.Namespace, "nova-metadata-secret")
	if err != nil {
		t.Fatal(err)
	}
	read := func(secret []byte) (status int, uuid string) {
		t.Helper()
		sum := hmac.New(sha256.New, secret)
		_, _ = sum.Write([]byte(s.ID)) // never fails
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
			fmt.Sprintf("https://nova-metadata.%s.svc:%d/openstack/latest/meta_data.json", n.cloud.Namespace, novav1.MetadataPort), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{
			"X-Instance-Id": {s.ID}, "X-Tenant-Id": {s.TenantID}, "X-Forwarded-For": {"192.0.2.1"},
			"X-Instance-Id-Signature": {hex.EncodeToString(sum.Sum(nil))},
		}
		response, err := clientOf(t, n.cloud, false).HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			UUID string `json:"uuid"`
		}
		if response.StatusCode == http.StatusOK {
			if err := json.Unmarshal(body, &out); err != nil {
				t.Fatal(err)
			}
		}
		return response.StatusCode, out.UUID
	}
	if status, uuid := read(secret["password"]); status != http.StatusOK || uuid != s.ID {
		t.Errorf("%s gets status %d with UUID %s, want %s\n%s", s.Name, status, uuid, s.ID, n.podLogs(t, "metadata"))
	}
	if status, _ := read([]byte("guessed")); status != http.StatusForbidden {
		t.Errorf("a signature with another secret: got %d, want 403", status)
	}
}

// testScreen checks that the address of a server's console leads to a page, and from there to the screen of its
// hypervisor, with a token that cannot be replaced by another.
func testScreen(t *testing.T, n nova, s servers.Server, want string) {
	console, err := remoteconsoles.Create(context.Background(), n.ServiceClient, s.ID, remoteconsoles.CreateOpts{
		Protocol: remoteconsoles.ConsoleProtocolVNC, Type: remoteconsoles.ConsoleTypeNoVNC,
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	page, err := url.Parse(console.URL)
	if err != nil {
		t.Fatal(err)
	}
	response, err := clientOf(t, n.cloud, true).HTTP.Get(console.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("the page of the console: %s, %v", response.Status, err)
	}
	path := page.Query().Get("path") // ?token=…
	if got, err := n.console(page.Host, path, "", look); err != nil || got != want {
		t.Errorf("the screen shows %q, %v; want %q", got, err, want)
	}
	if got, err := n.console(page.Host, "?token="+guessed, "", look); !errors.Is(err, io.EOF) {
		t.Errorf("a guessed token leads to %q, %v; want nothing", got, err)
	}
}

// guessed is an invalid token.
const guessed = "00000000-0000-0000-0000-000000000000"

// console opens a websocket as a browser with a page of the same host does, with a cookie or without one, and returns
// the received name.
func (n nova) console(host, path, cookie string, talk func(io.ReadWriter) (string, error)) (string, error) {
	config, err := websocket.NewConfig("wss://"+host+"/"+path, "https://"+host)
	if err != nil {
		return "", err
	}
	config.Protocol = []string{"binary"}
	if cookie != "" {
		config.Header.Set("Cookie", cookie)
	}
	tcp, err := n.cloud.Cluster.Dial(context.Background(), "tcp", host+":443")
	if err != nil {
		return "", err
	}
	defer tcp.Close()
	if err := tcp.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return "", err
	}
	conn, err := websocket.NewClient(config, tls.Client(tcp, &tls.Config{
		RootCAs: n.cloud.Operators.Public.Pool(), ServerName: host, MinVersion: tls.VersionTLS12,
	}))
	if err != nil {
		return "", err
	}
	conn.PayloadType = websocket.BinaryFrame
	return talk(conn)
}

// serversUsed starts two clients, each with a cell, that create, list and delete servers.
func serversUsed(t *testing.T, n nova) *load {
	t.Helper()
	return startClients(t, len(n.hypervisors), func(ctx context.Context, client, round int, try request) error {
		name, id := fmt.Sprintf("load-%d-%d-", client, round), ""
		if err := try("make a virtual machine", func() (err error) {
			id, err = n.create(ctx, n.hypervisors[client], name)
			return err
		}); err != nil {
			return err
		}
		return errors.Join(
			try("see it run", func() error { return n.active(ctx, id) }),
			try("list virtual machines", func() error {
				all, err := n.list(ctx, name)
				if err == nil && (len(all) != 1 || all[0].ID != id) {
					err = fmt.Errorf("there are %d, want the one with the id %s", len(all), id)
				}
				return err
			}),
			try("delete a virtual machine", func() error { return n.delete(ctx, id) }),
		)
	})
}
