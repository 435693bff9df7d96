//go:build openstack && linux

package nova

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
	"github.com/c5c3/crossplane-cobaltcore/test/internal/hypervisor"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/glance"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/operators"
)

// Nova is a Nova with a hypervisor in each cell, and its client at the internal address.
type Nova struct {
	*gophercloud.ServiceClient
	Cloud       *clouds.Cloud
	Hypervisors []Hypervisor
	// Flavor and image of servers.
	Flavor, Image string
}

// StartIn adds hypervisors to a cloud, with a given queue: a queue with another name only in the second cell.
func StartIn(t *testing.T, cloud *clouds.Cloud, r release.Release, consoles novav1.Consoles, like Hypervisor) Nova {
	t.Helper()
	n := clientOf(t, cloud, nil)
	for _, cell := range []string{"cell1", "cell2"} {
		h := Hypervisor{cell: cell, consoles: consoles, Domain: like.Domain, Broker: like.Broker}
		h.listen(t, cloud)
		if cell == "cell2" {
			h.queue = like.queue
		}
		n.Hypervisors = append(n.Hypervisors, h)
		h.run(t, cloud, r)
	}
	n.up(t)
	cloud.Operators.Forward(2 * time.Minute) // the companion calls Nova once a minute
	for _, h := range n.Hypervisors {
		n.mapped(t, h, r)
	}
	return n
}

// clientOf returns a client of a cloud's Nova, with a flavor and an image, and without hypervisors. agents returns Neutron's agents; nil:
// none.
func clientOf(t *testing.T, cloud *clouds.Cloud, agents func() []agent) Nova {
	t.Helper()
	ctx := context.Background()
	networks(t, cloud, agents)
	provider, ends := harness.Administrator(t, cloud)
	c, err := openstack.NewComputeV2(provider, ends)
	if err != nil {
		t.Fatal(err)
	}
	c.Microversion = "2.96" // of all releases here
	n := Nova{ServiceClient: c, Cloud: cloud, Image: glance.Of(t, cloud).CreateImage(t, "nothing", "raw")}
	glance.Of(t, cloud).Upload(t, n.Image, glance.InOneChunk(glance.Content(glance.MiB)), "")
	flavor, err := flavors.Create(ctx, c, flavors.CreateOpts{Name: "tiny", RAM: 64, VCPUs: 1, Disk: new(0)}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	n.Flavor = flavor.ID
	return n
}

// mapped waits until a hypervisor belongs to its cell only, and its version is known.
func (n Nova) mapped(t *testing.T, h Hypervisor, r release.Release) {
	t.Helper()
	if err := n.waitForHypervisor(h, r, operators.Timeout); err != nil {
		t.Fatal(err)
	}
}

// computeVersions are the service versions that nova-compute of each release reports.
var computeVersions = map[release.Release]int32{"2025.1": 68, "2025.2": 70, "2026.1": 72, "2026.2": 74}

// waitForHypervisor waits until the companion reports a hypervisor as the only one of its cell, with its version.
func (n Nova) waitForHypervisor(h Hypervisor, r release.Release, within time.Duration) error {
	m := &openstackv1.CellMapping{}
	err := n.Cloud.Cluster.Wait(context.Background(), within, "the mapping of "+h.host(), func(ctx context.Context) (bool, error) {
		key := client.ObjectKey{Namespace: n.Cloud.Namespace, Name: novacellv1.Name(novav1.ServiceName, h.cell)}
		err := n.Cloud.Cluster.Client.Get(ctx, key, m)
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
func (n Nova) up(t *testing.T) {
	t.Helper()
	var got []string
	err := n.Cloud.Cluster.Wait(context.Background(), operators.Timeout, "Nova's processes", func(ctx context.Context) (bool, error) {
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

// CheckComputeServices checks that every process reports, and that the companion reports the same.
func CheckComputeServices(t *testing.T, n Nova) {
	n.up(t)
	n.Cloud.Operators.Forward(2 * time.Minute)
	check := &openstackv1.ServiceCheck{}
	err := n.Cloud.Cluster.Wait(context.Background(), time.Minute, "the companion's view", func(ctx context.Context) (bool, error) {
		err := n.Cloud.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: n.Cloud.Namespace, Name: novav1.ServiceName}, check)
		return int(check.Status.Up) == len(processes) && check.Status.Down == 0, err
	})
	if err != nil {
		t.Errorf("%v: %+v", err, check.Status)
	}
}

// CheckServers checks that each cell runs a server, that lists contain those of both, and that each has a screen and
// metadata.
func CheckServers(t *testing.T, n Nova) {
	ctx := context.Background()
	created := map[string]string{}
	for _, h := range n.Hypervisors {
		id, err := n.CreateServer(ctx, h, "in-"+h.cell)
		if err != nil {
			t.Fatal(err)
		}
		created[id] = h.host()
	}
	got := map[string]string{}
	for id := range created {
		if err := n.WaitForServer(ctx, id); err != nil {
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
		t.Run("Screen", func(t *testing.T) { CheckScreen(t, n, s, strings.TrimPrefix(s.Host, "compute-")) })
	}
	for id := range created {
		if err := n.DeleteServer(ctx, id); err != nil {
			t.Error(err)
		}
	}
}

// CreateServer creates a server without a network, on a hypervisor.
func (n Nova) CreateServer(ctx context.Context, h Hypervisor, name string) (id string, err error) {
	return n.createServerOn(ctx, h.host(), name)
}

// createServerOn creates a server without a network, on a host.
func (n Nova) createServerOn(ctx context.Context, host, name string) (id string, err error) {
	s, err := servers.Create(ctx, n.ServiceClient, servers.CreateOpts{
		Name: name, FlavorRef: n.Flavor, ImageRef: n.Image, Networks: "none", HypervisorHostname: host,
	}, nil).Extract()
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

// serverTimeout is the maximum time to create or delete a server.
const serverTimeout = 3 * time.Minute

// WaitForServer waits until a server runs.
func (n Nova) WaitForServer(ctx context.Context, id string) error {
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		s, err := servers.Get(ctx, n.ServiceClient, id).Extract()
		if err != nil || s.Status == "ACTIVE" {
			return err
		}
		if s.Status == "ERROR" || stopwatch.Since(began) > serverTimeout {
			return fmt.Errorf("after %.0f s %s is %s, with the task %q: %s",
				time.Since(began).Seconds(), s.Name, s.Status, s.TaskState, s.Fault.Message)
		}
	}
}

// DeleteServer deletes a server and waits until it is deleted.
func (n Nova) DeleteServer(ctx context.Context, id string) error {
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
		if stopwatch.Since(began) > serverTimeout {
			return fmt.Errorf("after %.0f s %s is still %s, with the task %q", time.Since(began).Seconds(), s.Name, s.Status, s.TaskState)
		}
	}
}

// list returns the servers of all cells with a name prefix.
func (n Nova) list(ctx context.Context, prefix string) ([]servers.Server, error) {
	page, err := servers.List(n.ServiceClient, servers.ListOpts{Name: "^" + prefix}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	return servers.ExtractServers(page)
}

// PodLogs returns the last log lines of the pods of a component.
func (n Nova) PodLogs(t *testing.T, component string) string {
	t.Helper()
	const most = 4000
	ctx, pods, out := context.Background(), &corev1.PodList{}, ""
	if err := n.Cloud.Cluster.Client.List(ctx, pods, client.InNamespace(n.Cloud.Namespace), client.MatchingLabels{
		"app.kubernetes.io/name": novav1.ServiceName, harness.ComponentLabel: component,
	}); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		text, err := n.Cloud.Cluster.Output(ctx, &p, p.Spec.Containers[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		out += p.Name + ":\n" + text[max(0, len(text)-most):] + "\n"
	}
	return out
}

// testMetadata checks that a server gets its metadata, if the agent of its node signs its identity.
func testMetadata(t *testing.T, n Nova, s servers.Server) {
	secret, err := n.Cloud.Operators.Secret(context.Background(), n.Cloud.Namespace, "nova-metadata-secret")
	if err != nil {
		t.Fatal(err)
	}
	read := func(secret []byte) (status int, uuid string) {
		t.Helper()
		sum := hmac.New(sha256.New, secret)
		_, _ = sum.Write([]byte(s.ID)) // never fails
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
			fmt.Sprintf("https://nova-metadata.%s.svc:%d/openstack/latest/meta_data.json", n.Cloud.Namespace, novav1.MetadataPort), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{
			"X-Instance-Id": {s.ID}, "X-Tenant-Id": {s.TenantID}, "X-Forwarded-For": {"192.0.2.1"},
			"X-Instance-Id-Signature": {hex.EncodeToString(sum.Sum(nil))},
		}
		response, err := harness.KeystoneClient(t, n.Cloud, false).HTTP.Do(request)
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
		t.Errorf("%s gets status %d with UUID %s, want %s\n%s", s.Name, status, uuid, s.ID, n.PodLogs(t, "metadata"))
	}
	if status, _ := read([]byte("guessed")); status != http.StatusForbidden {
		t.Errorf("a signature with another secret: got %d, want 403", status)
	}
}

// CheckScreen checks that the address of a server's console leads to a page, and from there to the screen of its
// hypervisor, with a token that cannot be replaced by another.
func CheckScreen(t *testing.T, n Nova, s servers.Server, want string) {
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
	response, err := harness.KeystoneClient(t, n.Cloud, true).HTTP.Get(console.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("the page of the console: %s, %v", response.Status, err)
	}
	path := page.Query().Get("path") // ?token=…
	if got, err := n.console(page.Host, path, "", hypervisor.Look); err != nil || got != want {
		t.Errorf("the screen shows %q, %v; want %q", got, err, want)
	}
	if got, err := n.console(page.Host, "?token="+guessed, "", hypervisor.Look); !errors.Is(err, io.EOF) {
		t.Errorf("a guessed token leads to %q, %v; want nothing", got, err)
	}
}

// guessed is an invalid token.
const guessed = "00000000-0000-0000-0000-000000000000"

// console opens a websocket as a browser with a page of the same host does, with a cookie or without one, and returns
// the received name.
func (n Nova) console(host, path, cookie string, talk func(io.ReadWriter) (string, error)) (string, error) {
	config, err := websocket.NewConfig("wss://"+host+"/"+path, "https://"+host)
	if err != nil {
		return "", err
	}
	config.Protocol = []string{"binary"}
	if cookie != "" {
		config.Header.Set("Cookie", cookie)
	}
	tcp, err := n.Cloud.Cluster.Dial(context.Background(), "tcp", host+":443")
	if err != nil {
		return "", err
	}
	defer tcp.Close()
	if err := tcp.SetDeadline(time.Now().Add(clouds.RequestTimeout)); err != nil {
		return "", err
	}
	conn, err := websocket.NewClient(config, tls.Client(tcp, &tls.Config{
		RootCAs: n.Cloud.Operators.Public.Pool(), ServerName: host, MinVersion: tls.VersionTLS12,
	}))
	if err != nil {
		return "", err
	}
	conn.PayloadType = websocket.BinaryFrame
	return talk(conn)
}
