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

// What is asked of Nova.
const (
	listMachines = "list virtual machines"
	makeMachine  = "make a virtual machine in "
	askMetadata  = "ask for metadata"
	lookAtScreen = "look at a screen"
)

// novaFaults are those of each of Nova's processes. What a fault may lose is what that process does, and nothing else. A hypervisor asks its
// cell's conductor for everything, also whether a screen may be looked at.
var novaFaults = []fault{
	{name: "a pod of Nova's API is deleted", strike: remove(apiPods, 1, nil), lossless: true},
	{name: "a pod of Nova's API is killed", strike: remove(apiPods, 1, new(int64))},
	{name: "the processes of a pod of Nova's API crash", strike: crash(apiPods)},
	{name: "a pod of Nova's metadata API is deleted", strike: remove(metadataPods, 1, nil), lossless: true},
	{name: "a pod of Nova's metadata API is killed", strike: remove(metadataPods, 1, new(int64)), loses: []string{askMetadata}},
	{name: "the processes of a pod of Nova's metadata API crash", strike: crash(metadataPods), loses: []string{askMetadata}},
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

// machines are the virtual machines of a control plane, and what they are made of.
type machines struct {
	namespace, flavor, image string
	// hypervisors is the namespace of theirs.
	hypervisors string
	// kept is one of each cell, which stays.
	kept map[string]servers.Server
	// secret is that of the metadata API and the proxies beside virtual machines.
	secret []byte
}

// hypervise runs a hypervisor in each cell, outside of the control plane, and makes a virtual machine there that stays.
func hypervise(
	ctx context.Context, t *testing.T, c *cloud, claim *unstructured.Unstructured, namespace, imageID string,
) *machines {
	t.Helper()
	m := &machines{
		namespace: namespace, hypervisors: claim.GetNamespace() + "-hypervisors",
		image: imageID, kept: map[string]servers.Server{}, secret: secret(ctx, t, namespace, "nova-metadata-secret")["password"],
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
		m.kept[cell] = *s
	}
	return m
}

// strange reports whether a flow is none of the control plane's: one of its hypervisors', which come from outside.
func (m *machines) strange(f policy.Flow) bool {
	return f.From.Pod != nil && f.From.Pod.Namespace == m.hypervisors
}

// host is what Nova knows the hypervisor of a cell by.
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
		Host: host(cell), Cell: cell, ControlPlane: m.namespace, Console: m.console(cell),
		Screen:       listen(t, screens, func(l net.Listener) { hypervisor.Screens(l, cell) }).String(),
		CredentialID: string(login["application_credential_id"]), CredentialSecret: string(login["application_credential_secret"]),
		QueueUser: string(account["username"]), QueuePassword: string(account["password"]),
		Authorities: string(secret(ctx, t, m.namespace, "keystone-tls")["ca.crt"]) + string(secret(ctx, t, m.namespace, "rabbitmq-tls")["ca.crt"]),
	}
	for _, o := range h.Objects(m.hypervisors, reference) {
		if err := cluster.Client.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}

// listen serves at a port of the node, 0 for any, where pods reach it, until the end of the test, and returns the address.
func listen(t *testing.T, port int, serve func(net.Listener)) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(sandbox.Gateway, strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go serve(l)
	at, _ := l.Addr().(*net.TCPAddr)
	return at.AddrPort()
}

// found waits until the claim says of each cell that it has its hypervisor.
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

// compute is a client of Nova, by its address inside the cluster.
func (c *cloud) compute() (*gophercloud.ServiceClient, error) {
	client, err := openstack.NewComputeV2(c.provider, gophercloud.EndpointOpts{Region: region, Availability: gophercloud.AvailabilityInternal})
	if client != nil {
		client.Microversion = "2.96"
	}
	return client, err
}

// requests are what clients ask of Nova while it is broken: each needs other processes.
func (m *machines) requests() []request {
	out := []request{
		{listMachines, m.list},          // the API
		{askMetadata, m.metadata},       // the metadata API
		{lookAtScreen, m.look("cell1")}, // the API, the hypervisor, and its cell's proxy
	}
	for _, cell := range cells {
		// All others: the API, the conductor above the cells, the scheduler, the hypervisor, and its cell's conductor.
		out = append(out, request{makeMachine + cell, m.makeIn(cell)})
	}
	return out
}

// list is an error if the virtual machines that stay are not there, and run.
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
	for cell, s := range m.kept {
		want[s.ID] = host(cell) + " ACTIVE"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("virtual machines: -want +got\n%s", diff)
	}
	return nil
}

// patience is how long a virtual machine may take to come or go: longer than two processes wait for each other, which is a minute.
const patience = 90 * time.Second

// makeIn makes a virtual machine in a cell, and deletes it when it runs.
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
		return gone(ctx, compute, id)
	}
}

// create makes a virtual machine without a network, on the hypervisor of a cell.
func (m *machines) create(ctx context.Context, compute *gophercloud.ServiceClient, cell, name string) (id string, err error) {
	s, err := servers.Create(ctx, compute, servers.CreateOpts{
		Name: name, FlavorRef: m.flavor, ImageRef: m.image, Networks: "none", HypervisorHostname: host(cell),
	}, nil).Extract()
	if err != nil {
		return "", err
	}
	return s.ID, nil
}

// active waits until a virtual machine runs.
func active(ctx context.Context, compute *gophercloud.ServiceClient, id string) error {
	for begin := time.Now(); ; pause(ctx) {
		s, err := servers.Get(ctx, compute, id).Extract()
		if err != nil || s.Status == "ACTIVE" {
			return err
		}
		if s.Status == "ERROR" || time.Since(begin) > patience {
			return fmt.Errorf("%s is %s after %.0f s, with the task %q: %s", s.Name, s.Status, time.Since(begin).Seconds(), s.TaskState, s.Fault.Message)
		}
	}
}

// gone deletes a virtual machine, and waits until it has gone.
func gone(ctx context.Context, compute *gophercloud.ServiceClient, id string) error {
	if err := servers.Delete(ctx, compute, id).ExtractErr(); err != nil {
		return err
	}
	for begin := time.Now(); ; pause(ctx) {
		s, err := servers.Get(ctx, compute, id).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if time.Since(begin) > patience {
			return fmt.Errorf("%s is still %s after %.0f s, with the task %q", s.Name, s.Status, time.Since(begin).Seconds(), s.TaskState)
		}
	}
}

// metadata is an error if the virtual machine of the first cell is not told what it is.
func (m *machines) metadata(ctx context.Context, c *cloud) error {
	s := m.kept[cells[0]]
	status, uuid, err := m.told(ctx, c, s, m.secret)
	if err == nil && (status != http.StatusOK || uuid != s.ID) {
		err = fmt.Errorf("%s is told by %d that it is %q", s.Name, status, uuid)
	}
	return err
}

// told is what the metadata API says to a virtual machine for which someone vouches by a secret.
func (m *machines) told(ctx context.Context, c *cloud, s servers.Server, secret []byte) (status int, uuid string, err error) {
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

// console is the address of a cell's proxy.
func (m *machines) console(cell string) string {
	return fmt.Sprintf("https://nova-%s-vnc.%s.svc:%d", cell, m.namespace, novav1.VNCPort)
}

// look is an error if the console of a cell's virtual machine does not lead to its page, and to the screen of its own hypervisor.
func (m *machines) look(cell string) func(context.Context, *cloud) error {
	return func(ctx context.Context, c *cloud) error {
		compute, err := c.compute()
		if err != nil {
			return err
		}
		console, err := remoteconsoles.Create(ctx, compute, m.kept[cell].ID, remoteconsoles.CreateOpts{
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
			err = fmt.Errorf("the screen is that of %q, want %q", name, cell)
		}
		return err
	}
}

// screen opens a websocket as a browser does that was given a page of the same host, and returns the name of the screen behind it.
func (m *machines) screen(ctx context.Context, c *cloud, host, path string) (string, error) {
	config, err := websocket.NewConfig("wss://"+host+"/"+path, "https://"+host)
	if err != nil {
		return "", err
	}
	config.Protocol = []string{"binary"}
	transport, _ := c.provider.HTTPClient.Transport.(*http.Transport)
	plain, err := transport.DialContext(ctx, "tcp", host)
	if err != nil {
		return "", err
	}
	defer plain.Close()
	if err := plain.SetDeadline(time.Now().Add(loadTimeout)); err != nil {
		return "", err
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return "", err
	}
	verify := transport.TLSClientConfig.Clone()
	verify.ServerName = name
	conn, err := websocket.NewClient(config, tls.Client(plain, verify))
	if err != nil {
		return "", err
	}
	conn.PayloadType = websocket.BinaryFrame
	return hypervisor.Look(conn)
}

// testNova: each process does what it is for, and refuses what is not meant for the virtual machine that asks.
func testNova(ctx context.Context, t *testing.T, c *cloud, m *machines) {
	for _, r := range m.requests() {
		started := time.Now()
		if err := r.send(ctx, c); err != nil {
			t.Errorf("cannot %s: %v", r.what, err)
		}
		t.Logf("  %4.1f s  %s", time.Since(started).Seconds(), r.what)
	}
	s := m.kept[cells[0]]
	if status, _, err := m.told(ctx, c, s, []byte("guessed")); status != http.StatusForbidden || err != nil {
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

// testBroker: of every virtual host, user and permission that is ordered, RabbitMQ's operator says that it is there, and so does RabbitMQ
// itself: these, its own and no others.
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
	known := len(rabbitmqctl(ctx, t, namespace, "list_users")) - 1 // its own
	// Neutron's, that of Nova above the cells, and that of each cell.
	if hosts := 2 + len(cells); len(want) != hosts || len(users) != hosts || known != hosts {
		t.Errorf("of %d virtual hosts with a user each there are %d, with %d users; RabbitMQ knows %d", hosts, len(want), len(users), known)
	}
	t.Logf("virtual hosts and who may use them: %v", got)
}

// topology are the objects of a kind of RabbitMQ's operator. It fails for each that is not ready.
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

// rabbitmqctl asks RabbitMQ, on its pod, and returns the lines of the answer.
func rabbitmqctl(ctx context.Context, t *testing.T, namespace string, args ...string) []string {
	t.Helper()
	out := inPod(ctx, t, namespace, queue, "rabbitmq", "", append([]string{"rabbitmqctl", "--quiet"}, append(args, "--no-table-headers")...)...)
	return slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return line == "" })
}
