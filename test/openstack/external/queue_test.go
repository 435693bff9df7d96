//go:build openstack && linux

package external

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	novav1 "github.com/c5c3/crossplane-cobaltcore/apis/nova/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/nova"
)

// brokerPassword is the password of the queue's administrator for a second cloud.
const brokerPassword = `q"4$s{{w}}ord`

// aQueue is the section of the second claim for the queue.
const aQueue = `
    rabbitmq:
      external:
        host: HOST
        user: cloud-admin
        caSecretRef: {name: corporate-queue, key: authority.pem}
        passwordSecretRef: {name: corporate-queue, key: secret}`

// TestExternalQueue runs a second claim that uses the RabbitMQ of the first one, in another cluster, with an
// administrator's login. Nova runs servers in two cells with it, and the objects of other owners are unchanged.
func TestExternalQueue(t *testing.T) {
	const r, end = release.Release("2025.2"), "-external-queue"
	claim := strings.Replace(string(harness.Claim(t, "identity.yaml", r, end)), "rabbitmq: {enabled: false}", "rabbitmq: {enabled: true}", 1)
	b := broker{t, harness.Start(t, []byte(claim), nil)}
	certificate, err := b.cloud.Operators.Secret(context.Background(), b.cloud.Namespace, "rabbitmq-tls")
	if err != nil {
		t.Fatal(err)
	}
	b.newTenants()
	before := b.snapshot()
	claim = strings.Replace(string(harness.Claim(t, "machines.yaml", r, end)), "\n    valkey: {", strings.Replace(aQueue, "HOST", b.host(), 1)+"\n    valkey: {", 1)
	cloud := harness.Start(t, []byte(claim), func(o *clouds.Options) {
		o.Secrets = map[string]map[string][]byte{
			"corporate-queue": {"secret": []byte(brokerPassword), "authority.pem": certificate["ca.crt"]},
		}
		o.Prepare = func(c *clouds.Cloud) error {
			c.Operators.Trusted = certificate["ca.crt"]
			return nil
		}
	})
	n := nova.StartIn(t, cloud, r, novav1.Consoles{Graphical: novav1.VNC}, nova.Hypervisor{Domain: "machines" + end + ".tenant-a.example.com", Broker: b.host()})
	t.Run("Services", func(t *testing.T) { nova.CheckComputeServices(t, n) })
	t.Run("Servers", func(t *testing.T) { nova.CheckServers(t, n) })
	t.Run("VirtualHosts", func(t *testing.T) { testOwnVirtualHosts(t, cloud, b) })
	t.Run("Connections", func(t *testing.T) { testConnections(t, cloud, b) })
	t.Run("NoQueue", func(t *testing.T) { testNoQueue(t, cloud) })
	t.Run("Untouched", func(t *testing.T) { testBrokerUntouched(t, before, b.snapshot()) })
}

// broker is the RabbitMQ of the first claim, as its operator sees it.
type broker struct {
	t     *testing.T
	cloud *clouds.Cloud
}

func (b broker) host() string { return "rabbitmq." + b.cloud.Namespace + ".svc" }

// put creates an object in RabbitMQ, and list returns the objects of a kind.
func (b broker) put(path string, body map[string]any) {
	b.t.Helper()
	_, err := b.cloud.Operators.RabbitMQ(context.Background(), b.cloud.Namespace, "rabbitmq", http.MethodPut, path, body)
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b broker) list(path string) []map[string]any {
	b.t.Helper()
	answer, err := b.cloud.Operators.RabbitMQ(context.Background(), b.cloud.Namespace, "rabbitmq", http.MethodGet, path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []map[string]any
	if err := json.Unmarshal(answer, &out); err != nil {
		b.t.Fatalf("%v: %s", err, answer)
	}
	return out
}

// newTenants creates the administrator for the second cloud, and another user with a virtual host that has the name of
// Nova's in an own queue.
func (b broker) newTenants() {
	b.put("users/cloud-admin", map[string]any{"password": brokerPassword, "tags": "administrator"})
	b.put("users/theirs", map[string]any{"password": "another", "tags": ""})
	for _, vhost := range []string{"nova", "nova_cell1"} {
		b.put("vhosts/"+vhost, map[string]any{"description": "of another cloud"})
		b.put("permissions/"+vhost+"/theirs", map[string]any{"configure": "^a$", "write": "^a$", "read": "^a$"})
	}
}

// snapshot returns the objects, without fields that change constantly.
func (b broker) snapshot() map[string]any {
	b.t.Helper()
	out := map[string]any{}
	for _, u := range b.list("users") {
		out["user "+u["name"].(string)] = []any{u["tags"], u["password_hash"]}
	}
	for _, v := range b.list("vhosts") {
		out["virtual host "+v["name"].(string)] = []any{v["description"], v["default_queue_type"], v["tags"]}
	}
	for _, p := range b.list("permissions") {
		out["permission of "+p["user"].(string)+" in "+p["vhost"].(string)] = []any{p["configure"], p["write"], p["read"]}
	}
	return out
}

// ownVirtualHosts returns the virtual hosts of the second cloud.
func ownVirtualHosts(cloud *clouds.Cloud) []string {
	var out []string
	for _, name := range []string{"nova", "nova_cell1", "nova_cell2"} {
		out = append(out, name+"-"+cloud.Namespace)
	}
	return out
}

// testOwnVirtualHosts checks that virtual hosts end with the cloud's name, that queues in them outlive the loss of a
// member, and that each user has exactly the permissions that its service needs.
func testOwnVirtualHosts(t *testing.T, cloud *clouds.Cloud, b broker) {
	var got []string
	for _, v := range b.list("vhosts") {
		if name := v["name"].(string); strings.HasSuffix(name, cloud.Namespace) {
			got = append(got, name)
			if v["default_queue_type"] != "quorum" {
				t.Errorf("queues of virtual host %s are of type %v", name, v["default_queue_type"])
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(ownVirtualHosts(cloud), got); diff != "" {
		t.Errorf("virtual hosts (-want +got):\n%s", diff)
	}
	may := map[string][]string{}
	for _, p := range b.list("permissions") {
		if user := p["user"].(string); strings.HasPrefix(user, "nova-") {
			service := user[:strings.LastIndex(user, "-")]
			may[service] = append(may[service], p["vhost"].(string))
			slices.Sort(may[service])
		}
	}
	own := ownVirtualHosts(cloud)
	if diff := cmp.Diff(map[string][]string{"nova-queue": own, "nova-cell1-queue": own[1:2], "nova-cell2-queue": own[2:]}, may); diff != "" {
		t.Errorf("who may use which virtual hosts (-want +got):\n%s", diff)
	}
	for _, name := range own {
		for _, q := range b.list("queues/" + url.PathEscape(name)) {
			if q["type"] != "quorum" && q["type"] != "stream" {
				t.Errorf("queue %v of %s is of type %v", q["name"], name, q["type"])
			}
		}
	}
}

// testConnections checks that all connections use TLS, and that each virtual host has some.
func testConnections(t *testing.T, cloud *clouds.Cloud, b broker) {
	connected := map[string]bool{}
	for _, c := range b.list("connections") {
		vhost, _ := c["vhost"].(string)
		if connected[vhost] = true; c["ssl"] != true {
			t.Errorf("a connection of %v to %s is without TLS", c["user"], vhost)
		}
	}
	for _, name := range ownVirtualHosts(cloud) {
		if !connected[name] {
			t.Errorf("no client is connected to %s", name)
		}
	}
}

// testNoQueue checks that the second cloud runs no queue, and that the external administrator's login is in one Secret,
// which no pod reads.
func testNoQueue(t *testing.T, cloud *clouds.Cloud) {
	ctx, pods := context.Background(), &corev1.PodList{}
	if err := cloud.Cluster.Client.List(ctx, pods, client.InNamespace(cloud.Namespace)); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Labels["app.kubernetes.io/name"] == "rabbitmq" {
			t.Errorf("pod %s runs", p.Name)
		}
		for _, v := range p.Spec.Volumes {
			if v.Secret != nil && (v.Secret.SecretName == "rabbitmq-connection" || v.Secret.SecretName == "tenant-corporate-queue") {
				t.Errorf("pod %s reads Secret %s", p.Name, v.Secret.SecretName)
			}
		}
	}
	if all := cloud.Operators.All("RabbitmqCluster.rabbitmq.com"); len(all) > 0 {
		t.Errorf("there are %d RabbitmqClusters", len(all))
	}
}

// testBrokerUntouched checks that no existing object has changed.
func testBrokerUntouched(t *testing.T, before, after map[string]any) {
	for key, previous := range before {
		if diff := cmp.Diff(previous, after[key]); diff != "" {
			t.Errorf("%s has changed (-before +after):\n%s", key, diff)
		}
	}
}
