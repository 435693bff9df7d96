//go:build openstack && linux

package heat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	virtual "github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	heatv1 "github.com/c5c3/crossplane-cobaltcore/apis/heat/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// TestHeatManagesStacks checks that the Heat of every release creates, updates and deletes stacks of a plain user, waits for signals
// by either API, and loses nothing when its engines are replaced.
func TestHeatManagesStacks(t *testing.T) {
	for _, r := range release.Releases() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			h := startHeat(t, r, harness.Suffix(r))
			t.Run("Entries", func(t *testing.T) { testHeatEntries(t, h) })
			t.Run("Stack", func(t *testing.T) { testStack(t, h) })
			t.Run("Engines", func(t *testing.T) { testEngines(t, h) })
			t.Run("Killed", func(t *testing.T) { testEngineKilled(t, h) })
			t.Run("Credential", func(t *testing.T) { harness.CheckRotation(t, h.cloud, heatv1.ServiceName, stacksUsed(t, h)) })
			t.Run("Archive", func(t *testing.T) { testArchived(t, h) })
		})
	}
}

// TestHeatUpgrade upgrades a Heat from one SLURP release to the next. No process of it runs while its schema is
// changed; existing stacks are unchanged and can be updated. A stack that waits for longer than the engines' grace
// period stays in progress, as after a kill, and can be deleted.
func TestHeatUpgrade(t *testing.T) {
	t.Parallel()
	ctx, h := context.Background(), startHeat(t, harness.UpgradeFrom, "-up")
	full := harness.Must[stack](t)(h.create(ctx, "whole", fullStack))
	h.report(t, full)
	existing := harness.Must[*stacks.RetrievedStack](t)(h.until(ctx, full, "CREATE_COMPLETE"))
	waits := harness.Must[stack](t)(h.create(ctx, "waits", waitingStack))
	for _, handle := range []string{"signed", "token"} {
		h.signalOf(t, waits, handle)
	}
	back := h.watch(ctx)
	harness.Upgrade(t, h.cloud, harness.Claim(t, "stacks.yaml", harness.UpgradeTo, "-up"), harness.UpgradeTo, "keystone", "neutron", heatv1.ServiceName)
	t.Logf("Heat did not answer for %.0f s", back().Seconds())
	is := harness.Must[*stacks.RetrievedStack](t)(h.until(ctx, full, "CREATE_COMPLETE"))
	for _, name := range []string{"secret", "port", "reported"} {
		if output(is, name) != output(existing, name) {
			t.Errorf("output %s is %q, was %q", name, output(is, name), output(existing, name))
		}
	}
	if err := stacks.Update(ctx, h.ServiceClient, full.name, full.id, stacks.UpdateOpts{
		TemplateOpts: &stacks.Template{TE: stacks.TE{Bin: []byte(fullStack)}}, Parameters: map[string]any{"length": 12},
	}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	harness.Must[*stacks.RetrievedStack](t)(h.until(ctx, full, "UPDATE_COMPLETE"))
	h.remove(t, full)
	h.remove(t, waits)
}

// watch calls Heat repeatedly until the returned function is called, and measures the longest outage.
func (h orchestration) watch(ctx context.Context) (longest func() time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan time.Duration)
	go func() {
		var most time.Duration
		for last := time.Now(); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			within, done := context.WithTimeout(ctx, 2*time.Second) // a connection may hang that was made before
			if _, err := stacks.List(h.ServiceClient, nil).AllPages(within); err == nil {
				most, last = max(most, time.Since(last)), time.Now()
			}
			done()
		}
		out <- most
	}()
	return func() time.Duration { cancel(); return <-out }
}

// orchestration is a client of Heat as a plain user, with a client of Neutron, and one that sends signals from outside
// of every pod.
type orchestration struct {
	*gophercloud.ServiceClient
	networks *gophercloud.ServiceClient
	outside  *http.Client
	cloud    *clouds.Cloud
}

func startHeat(t *testing.T, r release.Release, end string) orchestration {
	t.Helper()
	return memberOf(t, harness.Start(t, harness.Claim(t, "stacks.yaml", r, end), nil))
}

// memberOf creates a project with a member, and logs in as the member.
func memberOf(t *testing.T, cloud *clouds.Cloud) orchestration {
	t.Helper()
	ctx, c := context.Background(), harness.KeystoneClient(t, cloud, false)
	a := harness.AdminOf(t, c)
	const who = "stacker"
	project := a.Create("project", map[string]any{"name": who, "domain_id": "default"})
	user := a.Create("user", map[string]any{"name": who, "domain_id": "default", "password": who})
	a.Do(http.MethodPut, "/projects/"+project+"/users/"+user+"/roles/"+a.Named("roles", "name=member"), nil, nil)
	provider, err := config.NewProviderClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: c.URL, Username: who, Password: who, DomainID: "default", AllowReauth: true,
		Scope: &gophercloud.AuthScope{ProjectID: project},
	}, config.WithHTTPClient(*c.HTTP))
	if err != nil {
		t.Fatal(err)
	}
	ends := gophercloud.EndpointOpts{Region: harness.Region, Availability: gophercloud.AvailabilityInternal}
	h := orchestration{cloud: cloud, outside: harness.KeystoneClient(t, cloud, true).HTTP}
	if h.ServiceClient, err = openstack.NewOrchestrationV1(provider, ends); err != nil {
		t.Fatal(err)
	}
	if h.networks, err = openstack.NewNetworkV2(provider, ends); err != nil {
		t.Fatal(err)
	}
	return h
}

// testHeatEntries checks that the catalog has both APIs, and that the address of Heat's API ends with the project of
// the user.
func testHeatEntries(t *testing.T, h orchestration) {
	c := harness.KeystoneClient(t, h.cloud, false)
	a := harness.AdminOf(t, c)
	project := a.Named("projects", "name=admin")
	harness.CheckCatalog(t, h.cloud, heatv1.ServiceName, heatv1.ServiceType, heatv1.Port, heatv1.Version+"/"+project)
	token, err := c.Validate(context.Background(), a.Token, a.Token)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, entry := range token.Catalog {
		for _, e := range entry.Endpoints {
			if entry.Type == heatv1.CFNType {
				found[e.Interface] = e.URL
			}
		}
	}
	internal := heatv1.CFNInternalURL(heatv1.ServiceName, h.cloud.Namespace)
	if found["internal"] != internal || !strings.HasPrefix(found["public"], "https://heat-cfn.") || len(found) != 2 {
		t.Errorf("endpoints of CloudFormation: %v", found)
	}
}

// waitingStack is a template with two resources that wait for signals: by a signed request of CloudFormation, and by
// Heat's API with a token of a user that the stack creates.
const waitingStack = `heat_template_version: 2021-04-16
resources:
  signed: {type: "OS::Heat::WaitConditionHandle", properties: {signal_transport: CFN_SIGNAL}}
  waits: {type: "OS::Heat::WaitCondition", properties: {handle: {get_resource: signed}, timeout: 900}}
  token: {type: "OS::Heat::WaitConditionHandle"}
  waits-too: {type: "OS::Heat::WaitCondition", properties: {handle: {get_resource: token}, timeout: 900}}
`

// fullStack is a template with a resource of each kind, a part of which depends on a parameter.
const fullStack = waitingStack + `  secret: {type: "OS::Heat::RandomString", properties: {length: {get_param: length}}}
  script: {type: "OS::Heat::SoftwareConfig", properties: {config: "#!/bin/sh"}}
  network: {type: "OS::Neutron::Net", properties: {name: {get_param: "OS::stack_name"}}}
  subnet: {type: "OS::Neutron::Subnet", properties: {network: {get_resource: network}, cidr: 192.0.2.0/24}}
  port: {type: "OS::Neutron::Port", depends_on: subnet, properties: {network: {get_resource: network}}}
parameters:
  length: {type: number, default: 8}
outputs:
  secret: {value: {get_attr: [secret, value]}}
  reported: {value: {get_attr: [waits, data]}}
  port: {value: {get_resource: port}}
`

// stack is a stack of the user.
type stack struct{ name, id string }

func (h orchestration) create(ctx context.Context, name, template string) (stack, error) {
	existing, err := stacks.Create(ctx, h.ServiceClient, stacks.CreateOpts{
		Name: name, TemplateOpts: &stacks.Template{TE: stacks.TE{Bin: []byte(template)}}, Timeout: 15,
	}).Extract()
	if err != nil {
		return stack{}, err
	}
	return stack{name, existing.ID}, nil
}

// until waits until a stack has a state, or is deleted if state is empty.
func (h orchestration) until(ctx context.Context, s stack, state string) (*stacks.RetrievedStack, error) {
	var observed *stacks.RetrievedStack
	err := h.cloud.Cluster.Wait(ctx, 4*time.Minute, s.name+" to be "+state, func(ctx context.Context) (bool, error) {
		got, err := stacks.Get(ctx, h.ServiceClient, s.name, s.id).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) && state == "" {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		observed = got
		if strings.HasSuffix(got.Status, "FAILED") {
			return false, fmt.Errorf("%s: %s", got.Status, got.StatusReason)
		}
		return got.Status == state || state == "" && got.Status == "DELETE_COMPLETE", nil
	})
	if err != nil && observed != nil {
		err = fmt.Errorf("%w: it is %s: %s", err, observed.Status, observed.StatusReason)
	}
	return observed, err
}

// report sends the signals of servers: for both waiting resources, at public addresses.
func (h orchestration) report(t *testing.T, s stack) {
	t.Helper()
	signed := h.signalOf(t, s, "signed")["alarm_url"]
	h.post(t, signed, "", `{"status": "SUCCESS", "id": "1", "data": "by a signature"}`)
	token := h.signalOf(t, s, "token")
	h.post(t, token["endpoint"], token["token"], `{"status": "SUCCESS", "data": "by a token"}`)
}

// signalOf returns the data that a server would get to send a signal.
func (h orchestration) signalOf(t *testing.T, s stack, handle string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := h.cloud.Cluster.Wait(context.Background(), 2*time.Minute, "the data of "+handle, func(ctx context.Context) (bool, error) {
		r, err := stackresources.Get(ctx, h.ServiceClient, s.name, s.id, handle).Extract()
		if err != nil || r.Status != "CREATE_COMPLETE" {
			return false, err
		}
		// With a token, there is no signal, and a separate token.
		var signal map[string]string
		if text, ok := r.Attributes["signal"].(string); ok {
			err = json.Unmarshal([]byte(text), &signal)
		}
		for _, name := range []string{"token", "endpoint", "alarm_url"} {
			text, _ := r.Attributes[name].(string)
			if value := cmp.Or(text, signal[name]); value != "" {
				out[name] = value
			}
		}
		return len(out) > 0, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (h orchestration) post(t *testing.T, address, token, body string) {
	t.Helper()
	if !strings.HasPrefix(address, "https://heat") || strings.Contains(address, ".svc") {
		t.Fatalf("servers are configured to report to %q", address)
	}
	method := http.MethodPut // It is signed, too (heat.engine.resources.signal_responder).
	if token != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(context.Background(), method, address, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("X-Auth-Token", token)
	}
	answer, err := h.outside.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode > 299 {
		t.Fatalf("a report to %s results in %s", address, answer.Status)
	}
}

// output returns an output of a stack.
func output(s *stacks.RetrievedStack, name string) string {
	for _, o := range s.Outputs {
		if o["output_key"] == name {
			return fmt.Sprint(o["output_value"])
		}
	}
	return ""
}

// testStack checks that a stack is completed after both signals, that an update changes only the affected part, and
// that its deletion deletes all its resources. It is created by a plain member, whose trust permits Heat to act when
// servers send signals.
func testStack(t *testing.T, h orchestration) {
	ctx := context.Background()
	s := harness.Must[stack](t)(h.create(ctx, "whole", fullStack))
	h.report(t, s)
	existing := harness.Must[*stacks.RetrievedStack](t)(h.until(ctx, s, "CREATE_COMPLETE"))
	secret, port := output(existing, "secret"), output(existing, "port")
	if len(secret) != 8 || !strings.Contains(output(existing, "reported"), "by a signature") {
		t.Errorf("secret %q, reported %q", secret, output(existing, "reported"))
	}
	if p, err := ports.Get(ctx, h.networks, port).Extract(); err != nil || len(p.FixedIPs) != 1 {
		t.Errorf("port %s: %v, %v", port, p, err)
	}
	if err := stacks.Update(ctx, h.ServiceClient, s.name, s.id, stacks.UpdateOpts{
		TemplateOpts: &stacks.Template{TE: stacks.TE{Bin: []byte(fullStack)}}, Parameters: map[string]any{"length": 12},
	}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	changed := harness.Must[*stacks.RetrievedStack](t)(h.until(ctx, s, "UPDATE_COMPLETE"))
	if is := output(changed, "secret"); len(is) != 12 || output(changed, "port") != port {
		t.Errorf("secret %q after %q, port %s after %s", is, secret, output(changed, "port"), port)
	}
	h.remove(t, s)
	if page, err := virtual.List(h.networks, virtual.ListOpts{Name: s.name}).AllPages(ctx); err != nil {
		t.Error(err)
	} else if remaining, err := virtual.ExtractNetworks(page); err != nil || len(remaining) > 0 {
		t.Errorf("networks that are left: %v, %v", remaining, err)
	}
}

func (h orchestration) remove(t *testing.T, s stack) {
	t.Helper()
	if err := stacks.Delete(context.Background(), h.ServiceClient, s.name, s.id).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.until(context.Background(), s, ""); err != nil {
		t.Fatal(err)
	}
}

// testEngines replaces all engines while stacks wait. They end when their work is done, and others process new
// requests: no stack is lost.
func testEngines(t *testing.T, h orchestration) {
	ctx := context.Background()
	var all []stack
	for i := range 4 {
		all = append(all, harness.Must[stack](t)(h.create(ctx, fmt.Sprintf("replaced-%d", i), waitingStack)))
	}
	for _, s := range all {
		h.signalOf(t, s, "token")
	}
	previous := h.engines(t)
	d := &appsv1.Deployment{}
	if err := h.cloud.Cluster.Patch(ctx, client.ObjectKey{Namespace: h.cloud.Namespace, Name: "heat-engine"}, d, func() {
		d.Spec.Template.Annotations = map[string]string{"test": "rolled"}
	}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := h.cloud.Cluster.Wait(ctx, 3*time.Minute, "new engines", func(context.Context) (bool, error) {
		is := slices.DeleteFunc(h.engines(t), func(pod string) bool { return slices.Contains(previous, pod) })
		return len(is) == len(previous), nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		h.report(t, s)
	}
	for _, s := range all {
		harness.Must[*stacks.RetrievedStack](t)(h.until(ctx, s, "CREATE_COMPLETE"))
	}
	t.Logf("%d stacks are complete %.0f s after their engines were replaced", len(all), time.Since(began).Seconds())
	for _, s := range all {
		h.remove(t, s)
	}
}

// engines returns the names of the running engine pods.
func (h orchestration) engines(t *testing.T) []string {
	t.Helper()
	pods := &corev1.PodList{}
	if err := h.cloud.Cluster.Client.List(context.Background(), pods, client.InNamespace(h.cloud.Namespace), client.MatchingLabels{
		"app.kubernetes.io/instance": heatv1.ServiceName, harness.ComponentLabel: "engine",
	}); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning {
			out = append(out, p.Name)
		}
	}
	return out
}

// testEngineKilled checks that stacks whose engines were killed stay in progress, and can be deleted.
func testEngineKilled(t *testing.T, h orchestration) {
	s := harness.Must[stack](t)(h.create(context.Background(), "killed", waitingStack))
	h.signalOf(t, s, "token")
	for _, pod := range h.engines(t) {
		if err := h.cloud.Cluster.Kill(h.cloud.Namespace, pod); err != nil {
			t.Fatal(err)
		}
	}
	err := h.cloud.Cluster.Wait(context.Background(), 2*time.Minute, "Heat to answer again", func(ctx context.Context) (bool, error) {
		_, err := stacks.Get(ctx, h.ServiceClient, s.name, s.id).Extract()
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.remove(t, s)
}

// stacksUsed starts two clients that create, show and delete stacks.
func stacksUsed(t *testing.T, h orchestration) *harness.Clients {
	t.Helper()
	const template = "heat_template_version: 2021-04-16\nresources:\n  secret: {type: \"OS::Heat::RandomString\"}\n"
	return harness.StartClients(t, 2, func(ctx context.Context, client, round int, try harness.Request) error {
		var s stack
		if err := try("make a stack", func() (err error) {
			s, err = h.create(ctx, fmt.Sprintf("load-%d-%d", client, round), template)
			return err
		}); err != nil {
			return err
		}
		if err := try("see it complete", func() error { _, err := h.until(ctx, s, "CREATE_COMPLETE"); return err }); err != nil {
			return err
		}
		return try("delete a stack", func() error {
			err := stacks.Delete(ctx, h.ServiceClient, s.name, s.id).ExtractErr()
			if err == nil {
				_, err = h.until(ctx, s, "")
			}
			return err
		})
	})
}

// testArchived checks that deleted stacks and records of removed engines are deleted from the database.
func testArchived(t *testing.T, h orchestration) {
	pods := slices.Clone(h.engines(t))
	if len(pods) == 0 {
		t.Fatal(errors.New("there is no engine"))
	}
	for _, command := range [][]string{
		{"heat-manage", "purge_deleted", "--granularity", "seconds", "0"}, {"heat-manage", "service", "clean"}, {"heat-manage", "service", "list"},
	} {
		out, err := h.cloud.Cluster.Exec(context.Background(), h.cloud.Namespace, pods[0], command...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
		t.Logf("%v: %s", command, out)
	}
}
