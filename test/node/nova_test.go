//go:build node && linux

package node_test

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
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/remoteconsoles"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"golang.org/x/net/websocket"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/images"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/hypervisor"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/node/policy"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

// Pods of Nova.
const (
	novaPods      = "app.kubernetes.io/name=nova,app.kubernetes.io/instance=nova,app.kubernetes.io/component="
	cell1Pods     = "app.kubernetes.io/name=nova,app.kubernetes.io/instance=nova-cell1,app.kubernetes.io/component="
	cell2Pods     = "app.kubernetes.io/name=nova,app.kubernetes.io/instance=nova-cell2,app.kubernetes.io/component="
	apiPods       = novaPods + "api"
	metadataPods  = novaPods + "metadata"
	schedulerPods = novaPods + "scheduler"
	conductorPods = novaPods + "conductor"
)

// Requests to Nova.
const (
	listMachines        = "list virtual machines"
	makeMachine         = "make a virtual machine in "
	readMetadataRequest = "read metadata"
	lookAtScreen        = "look at a screen"
)

// novaFaults are the faults of each of Nova's processes. A fault may only lose the requests that its process serves. A
// hypervisor calls its cell's conductor for everything, also to authorize a console.
var novaFaults = []fault{
	{name: "a pod of Nova's API is deleted", strike: remove(apiPods, 1, nil), lossless: true},
	{name: "a pod of Nova's API is killed", strike: remove(apiPods, 1, new(int64))},
	{name: "the processes of a pod of Nova's API crash", strike: crash(apiPods)},
	{name: "a pod of Nova's metadata API is deleted", strike: remove(metadataPods, 1, nil), lossless: true},
	{name: "a pod of Nova's metadata API is killed", strike: remove(metadataPods, 1, new(int64)), loses: []string{readMetadataRequest}},
	{name: "the processes of a pod of Nova's metadata API crash", strike: crash(metadataPods), loses: []string{readMetadataRequest}},
	{name: "a pod of Nova's scheduler is deleted", strike: remove(schedulerPods, 1, nil), lossless: true},
	{name: "a pod of Nova's scheduler is killed", strike: remove(schedulerPods, 1, new(int64)), loses: []string{makeMachine}},
	{name: "the processes of a pod of Nova's scheduler crash", strike: crash(schedulerPods), loses: []string{makeMachine}},
	{name: "a pod of Nova's conductor above the cells is deleted", strike: remove(conductorPods, 1, nil), lossless: true},
	{name: "a pod of Nova's conductor above the cells is killed", strike: remove(conductorPods, 1, new(int64)), loses: []string{makeMachine}},
	{name: "the processes of a pod of Nova's conductor above the cells crash", strike: crash(conductorPods), loses: []string{makeMachine}},
	{name: "a pod of a cell's conductor is deleted", strike: remove(cell1Pods+"conductor", 1, nil), lossless: true},
	{name: "a pod of a cell's conductor is killed", strike: remove(cell1Pods+"conductor", 1, new(int64)), loses: []string{makeMachine + "cell1", lookAtScreen}},
	{name: "the processes of a pod of a cell's conductor crash", strike: crash(cell1Pods + "conductor"), loses: []string{makeMachine + "cell1", lookAtScreen}},
	{name: "the only pod of another cell's conductor is killed", strike: remove(cell2Pods+"conductor", 0, new(int64)), loses: []string{makeMachine + "cell2"}},
	{name: "a pod of a cell's console proxy is deleted", strike: remove(cell1Pods+"vnc", 1, nil), lossless: true},
	{name: "a pod of a cell's console proxy is killed", strike: remove(cell1Pods+"vnc", 1, new(int64)), loses: []string{lookAtScreen}},
	{name: "the processes of a pod of a cell's console proxy crash", strike: crash(cell1Pods + "vnc"), loses: []string{lookAtScreen}},
}

// cells of the claim.
var cells = []string{"cell1", "cell2"}

// machines are the servers of a control plane, with their flavor and image.
type machines struct {
	namespace, flavor, image string
	// hypervisors is the namespace of theirs.
	hypervisors string
	// retained is one server of each cell, which stays.
	retained map[string]servers.Server
	// secret is shared by the metadata API and the proxies on hypervisors.
	secret []byte
}

// hypervise runs a hypervisor in each cell, outside of the control plane, and creates a permanent server on it.
func hypervise(
	ctx context.Context, t *testing.T, c *cloud, claim *unstructured.Unstructured, namespace, imageID string,
) *machines {
	t.Helper()
	m := &machines{
		namespace: namespace, hypervisors: claim.GetNamespace() + "-hypervisors",
		image: imageID, retained: map[string]servers.Server{}, secret: secret(ctx, t, namespace, "nova-metadata-secret")["password"],
	}
	at := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.hypervisors}}
	if err := cluster.Client.Create(ctx, at); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.WithoutCancel(ctx), at); err != nil {
			t.Error(err)
		}
	})
	for n, cell := range cells {
		m.run(ctx, t, cell, screens+n)
	}
	compute, err := c.compute()
	if err != nil {
		t.Fatal(err)
	}
	flavor, err := flavors.Create(ctx, compute, flavors.CreateOpts{Name: "tiny", RAM: 64, VCPUs: 1, Disk: new(0)}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	m.flavor = flavor.ID
	started := time.Now()
	m.found(ctx, t, claim)
	t.Logf("the claim knows its hypervisors after %.0f s", time.Since(started).Seconds())
	for _, cell := range cells {
		id, err := m.create(ctx, compute, cell, "kept-"+cell)
		if err != nil {
			t.Fatal(err)
		}
		if err := active(ctx, compute, id); err != nil {
			t.Fatalf("%v\n%s", err, cluster.FailedContainerLogs(ctx, at.Name))
		}
		s, err := servers.Get(ctx, compute, id).Extract()
		if err != nil {
			t.Fatal(err)
		}
		m.retained[cell] = *s
	}
	return m
}

// strange reports whether a flow does not belong to the control plane, but to its hypervisors, which connect from
// outside.
func (m *machines) strange(f policy.Flow) bool {
	return f.From.Pod != nil && f.From.Pod.Namespace == m.hypervisors
}

// host returns the host name of a cell's hypervisor in Nova.
func host(cell string) string { return "compute-" + cell }

// screens is the first port of hypervisors for screens.
const screens = 5900

// run runs the hypervisor of a cell, with its screens at a port of the node.
func (m *machines) run(ctx context.Context, t *testing.T, cell string, screens int) {
	t.Helper()
	image, err := images.Find("nova")
	if err != nil {
		t.Fatal(err)
	}
	reference, err := image.Reference(release.Release(clientRelease))
	if err != nil {
		t.Fatal(err)
	}
	login, account := secret(ctx, t, m.namespace, "nova-credential"), secret(ctx, t, m.namespace, "nova-"+cell+"-queue")
	h := hypervisor.Hypervisor{
		Host: host(cell), ControlPlane: m.namespace, Consoles: hypervisor.VNC(m.console(cell)),
		Screen:       listen(t, screens, func(l net.Listener) { hypervisor.Screens(l, cell) }).String(),
		CredentialID: string(login["application_credential_id"]), CredentialSecret: string(login["application_credential_secret"]),
		Queue:       hypervisor.QueueURL(m.namespace, cell, string(account["username"]), string(account["password"])),
		Authorities: string(secret(ctx, t, m.namespace, "keystone-tls")["ca.crt"]) + string(secret(ctx, t, m.namespace, "rabbitmq-tls")["ca.crt"]),
	}
	for _, o := range h.Objects(m.hypervisors, reference) {
		if err := cluster.Client.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}

// listen serves at a port of the node, 0 for any, at an address that pods can reach, until the end of the test, and
// returns the address.
func listen(t *testing.T, port int, serve func(net.Listener)) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(sandbox.Gateway(), strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go serve(l)
	at, _ := l.Addr().(*net.TCPAddr)
	return at.AddrPort()
}

// found waits until the claim reports the hypervisor of each cell.
func (m *machines) found(ctx context.Context, t *testing.T, claim *unstructured.Unstructured) {
	t.Helper()
	eventually(ctx, t, 5*time.Minute, func() error {
		now := claim.DeepCopy()
		if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(claim), now); err != nil {
			return err
		}
		var got []string
		all, _, _ := unstructured.NestedSlice(now.Object, "status", "cells")
		for _, c := range all {
			cell, _ := c.(map[string]any)
			got = append(got, fmt.Sprint(cell["name"], " ", cell["phase"], " ", cell["computeNodes"]))
		}
		if diff := cmp.Diff([]string{"cell1 Ready 1", "cell2 Ready 1"}, got); diff != "" {
			return fmt.Errorf("the claim's cells: -want +got\n%s", diff)
		}
		return nil
	})
}

// compute returns a client of Nova, by its address inside the cluster.
func (c *cloud) compute() (*gophercloud.ServiceClient, error) {
	client, err := openstack.NewComputeV2(c.provider, gophercloud.EndpointOpts{Region: region, Availability: gophercloud.AvailabilityInternal})
	if client != nil {
		client.Microversion = "2.96"
	}
	return client, err
}

// requests returns the requests that clients send to Nova during faults: each needs other processes.
func (m *machines) requests() []request {
	out := []request{
		{listMachines, m.list},            // the API
		{readMetadataRequest, m.metadata}, // the metadata API
		{lookAtScreen, m.look("cell1")},   // the API, the hypervisor, and its cell's proxy
	}
	for _, cell := range cells {
		// All others: the API, the conductor above the cells, the scheduler, the hypervisor, and its cell's conductor.
		out = append(out, request{makeMachine + cell, m.makeIn(cell)})
	}
	return out
}

// list returns an error unless the permanent servers exist and run.
func (m *machines) list(ctx context.Context, c *cloud) error {
	compute, err := c.compute()
	if err != nil {
		return err
	}
	page, err := servers.List(compute, servers.ListOpts{Name: "^kept-"}).AllPages(ctx)
	if err != nil {
		return err
	}
	all, err := servers.ExtractServers(page)
	if err != nil {
		return err
	}
	got, want := map[string]string{}, map[string]string{}
	for _, s := range all {
		got[s.ID] = s.Host + " " + s.Status
	}
	for cell, s := range m.retained {
		want[s.ID] = host(cell) + " ACTIVE"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("virtual machines: -want +got\n%s", diff)
	}
	return nil
}

// serverTimeout is the maximum time to create or delete a server: longer than the timeout between two processes, which
// is a minute.
const serverTimeout = 90 * time.Second

// makeIn creates a server in a cell, and deletes it when it runs.
func (m *machines) makeIn(cell string) func(context.Context, *cloud) error {
	return func(ctx context.Context, c *cloud) error {
		compute, err := c.compute()
		if err != nil {
			return err
		}
		id, err := m.create(ctx, compute, cell, "some-"+cell)
		if err != nil {
			return err
		}
		if err := active(ctx, compute, id); err != nil {
			_ = servers.Delete(ctx, compute, id).ExtractErr() // it is lost anyway
			return err
		}
		return removed(ctx, compute, id)
	}
}

// create creates a server without a network, on the hypervisor of a cell.
func (m *machines) create(ctx context.Context, compute *gophercloud.ServiceClient, cell, name string) (id string, err error) {
	s, err := servers.Create(ctx, compute, servers.CreateOpts{
		Name: name, FlavorRef: m.flavor, ImageRef: m.image, Networks: "none", HypervisorHostname: host(cell),
	}, nil).Extract()
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

// active waits until a server runs.
func active(ctx context.Context, compute *gophercloud.ServiceClient, id string) error {
	return reached(ctx, compute, id, "ACTIVE")
}

// reached waits until a server has a status, and returns an error at once if its status is ERROR.
func reached(ctx context.Context, compute *gophercloud.ServiceClient, id, status string) error {
	for started := time.Now(); ; pause(ctx) {
		s, err := servers.Get(ctx, compute, id).Extract()
		if err != nil || s.Status == status {
			return err
		}
		if s.Status == "ERROR" || stopwatch.Since(started) > serverTimeout {
			return fmt.Errorf("%s is %s after %.0f s, with the task %q: %s", s.Name, s.Status, time.Since(started).Seconds(), s.TaskState, s.Fault.Message)
		}
	}
}

// removed deletes a server, and waits until it is deleted.
func removed(ctx context.Context, compute *gophercloud.ServiceClient, id string) error {
	if err := servers.Delete(ctx, compute, id).ExtractErr(); err != nil {
		return err
	}
	for started := time.Now(); ; pause(ctx) {
		s, err := servers.Get(ctx, compute, id).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if stopwatch.Since(started) > serverTimeout {
			return fmt.Errorf("%s is still %s after %.0f s, with the task %q", s.Name, s.Status, time.Since(started).Seconds(), s.TaskState)
		}
	}
}

// metadata returns an error unless the server of the first cell gets its metadata.
func (m *machines) metadata(ctx context.Context, c *cloud) error {
	s := m.retained[cells[0]]
	status, uuid, err := m.readMetadata(ctx, c, s, m.secret)
	if err == nil && (status != http.StatusOK || uuid != s.ID) {
		err = fmt.Errorf("%s gets status %d with UUID %q", s.Name, status, uuid)
	}
	return err
}

// readMetadata returns the response of the metadata API for a server, signed with a secret.
func (m *machines) readMetadata(ctx context.Context, c *cloud, s servers.Server, secret []byte) (status int, uuid string, err error) {
	sum := hmac.New(sha256.New, secret)
	_, _ = sum.Write([]byte(s.ID)) // never fails
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("https://nova-metadata.%s.svc:%d/openstack/latest/meta_data.json", m.namespace, novav1.MetadataPort), http.NoBody)
	if err != nil {
		return 0, "", err
	}
	request.Header = http.Header{
		"X-Instance-Id": {s.ID}, "X-Tenant-Id": {s.TenantID}, "X-Forwarded-For": {"192.0.2.1"},
		"X-Instance-Id-Signature": {hex.EncodeToString(sum.Sum(nil))},
	}
	answer, err := c.provider.HTTPClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer.StatusCode, "", err
	}
	var out struct {
		UUID string `json:"uuid"`
	}
	err = json.Unmarshal(body, &out)
	return answer.StatusCode, out.UUID, err
}

// console returns the address of a cell's proxy.
func (m *machines) console(cell string) string {
	return fmt.Sprintf("https://nova-%s-vnc.%s.svc:%d", cell, m.namespace, novav1.VNCPort)
}

// look returns an error unless the console of a cell's server leads to its page, and to the screen of its hypervisor.
func (m *machines) look(cell string) func(context.Context, *cloud) error {
	return func(ctx context.Context, c *cloud) error {
		compute, err := c.compute()
		if err != nil {
			return err
		}
		console, err := remoteconsoles.Create(ctx, compute, m.retained[cell].ID, remoteconsoles.CreateOpts{
			Protocol: remoteconsoles.ConsoleProtocolVNC, Type: remoteconsoles.ConsoleTypeNoVNC,
		}).Extract()
		if err != nil {
			return err
		}
		page, err := url.Parse(console.URL)
		if err != nil {
			return err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, console.URL, http.NoBody)
		if err != nil {
			return err
		}
		answer, err := c.provider.HTTPClient.Do(request)
		if err != nil {
			return err
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
			return fmt.Errorf("the page of the console: %s, %w", answer.Status, err)
		}
		name, err := m.screen(ctx, c, page.Host, page.Query().Get("path")) // ?token=…
		if err == nil && name != cell {
			err = fmt.Errorf("the screen shows %q, want %q", name, cell)
		}
		return err
	}
}

// screen opens a websocket as a browser with a page of the same host does, and returns the name of the screen.
func (m *machines) screen(ctx context.Context, c *cloud, host, path string) (string, error) {
	config, err := websocket.NewConfig("wss://"+host+"/"+path, "https://"+host)
	if err != nil {
		return "", err
	}
	config.Protocol = []string{"binary"}
	transport, _ := c.provider.HTTPClient.Transport.(*http.Transport)
	unencrypted, err := transport.DialContext(ctx, "tcp", host)
	if err != nil {
		return "", err
	}
	defer unencrypted.Close()
	if err := unencrypted.SetDeadline(time.Now().Add(loadTimeout)); err != nil {
		return "", err
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return "", err
	}
	verify := transport.TLSClientConfig.Clone()
	verify.ServerName = name
	conn, err := websocket.NewClient(config, tls.Client(unencrypted, verify))
	if err != nil {
		return "", err
	}
	conn.PayloadType = websocket.BinaryFrame
	return hypervisor.Look(conn)
}

// testNova checks that each process serves its requests, and rejects requests that are not meant for the server.
func testNova(ctx context.Context, t *testing.T, c *cloud, m *machines) {
	for _, r := range m.requests() {
		started := time.Now()
		if err := r.send(ctx, c); err != nil {
			t.Errorf("cannot %s: %v", r.name, err)
		}
		t.Logf("  %4.1f s  %s", time.Since(started).Seconds(), r.name)
	}
	s := m.retained[cells[0]]
	if status, _, err := m.readMetadata(ctx, c, s, []byte("guessed")); status != http.StatusForbidden || err != nil {
		t.Errorf("a signature with another secret: got %d, %v, want 403", status, err)
	}
	at, err := url.Parse(m.console(cells[0]))
	if err != nil {
		t.Fatal(err)
	}
	if name, err := m.screen(ctx, c, at.Host, "?token=00000000-0000-0000-0000-000000000000"); !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("a guessed token leads to %q, %v; want nothing", name, err)
	}
}

// testBroker checks that RabbitMQ's operator reports every virtual host, user and permission as ready, and that
// RabbitMQ has exactly these and its default ones.
func testBroker(ctx context.Context, t *testing.T, namespace string) {
	want, got := map[string][]string{}, map[string][]string{}
	for _, o := range topology(ctx, t, namespace, "Vhost") {
		name, _, _ := unstructured.NestedString(o.Object, "spec", "name")
		want[name] = nil
	}
	users := topology(ctx, t, namespace, "User")
	for _, o := range topology(ctx, t, namespace, "Permission") {
		vhost, _, _ := unstructured.NestedString(o.Object, "spec", "vhost")
		user, _, _ := unstructured.NestedString(o.Object, "spec", "user")
		want[vhost] = append(want[vhost], user)
	}
	own := strings.TrimSpace(string(secret(ctx, t, namespace, "rabbitmq-default-user")["username"]))
	for _, vhost := range rabbitmqctl(ctx, t, namespace, "list_vhosts", "name") {
		if vhost == "/" {
			continue
		}
		got[vhost] = nil
		for _, line := range rabbitmqctl(ctx, t, namespace, "list_permissions", "--vhost", vhost) {
			if user, _, _ := strings.Cut(line, "\t"); user != own {
				got[vhost] = append(got[vhost], user)
			}
		}
	}
	for _, all := range []map[string][]string{want, got} {
		for _, names := range all {
			slices.Sort(names)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("virtual hosts and who may use them: -ordered +in RabbitMQ\n%s", diff)
	}
	known := len(rabbitmqctl(ctx, t, namespace, "list_users")) - 1 // the default user
	// Neutron's, Nova's above the cells, and one for each cell.
	if hosts := 2 + len(cells); len(want) != hosts || len(users) != hosts || known != hosts {
		t.Errorf("of %d virtual hosts with a user each there are %d, with %d users; RabbitMQ knows %d", hosts, len(want), len(users), known)
	}
	t.Logf("virtual hosts and who may use them: %v", got)
}

// topology returns the objects of a kind of RabbitMQ's operator. It fails for each that is not ready.
func topology(ctx context.Context, t *testing.T, namespace, kind string) []unstructured.Unstructured {
	t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion("rabbitmq.com/v1beta1")
	all.SetKind(kind + "List")
	if err := cluster.Client.List(ctx, all, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	for _, o := range all.Items {
		if c, _ := platform.ConditionOf(&o, "Ready"); c.Status != "True" {
			t.Errorf("%s %s: Ready is %q: %s", kind, o.GetName(), c.Status, c.Message)
		}
	}
	return all.Items
}

// rabbitmqctl runs rabbitmqctl in RabbitMQ's pod, and returns the lines of its output.
func rabbitmqctl(ctx context.Context, t *testing.T, namespace string, args ...string) []string {
	t.Helper()
	out := inPod(ctx, t, namespace, queue, "rabbitmq", "", append([]string{"rabbitmqctl", "--quiet"}, append(args, "--no-table-headers")...)...)
	return slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return line == "" })
}
