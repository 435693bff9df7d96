package rabbitmq_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object/objecttest"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rabbitmq"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

// TestObjectsMatchReviewedManifests compares complete objects of the operator.
func TestObjectsMatchReviewedManifests(t *testing.T) {
	own := common.Broker{RabbitMQRef: common.LocalReference{Name: "rabbitmq"}}
	retained := rabbitmq.Account{Meta: object.Meta{Name: "glance", Namespace: "cloud"}, Broker: own, Secret: "glance-queue"}
	cell := rabbitmq.Account{
		Meta: object.Meta{Name: "nova-cell1", Namespace: "cloud"}, Broker: own, Vhost: "nova/cell1", Login: "nova_cell1", Secret: "nova-cell1-queue",
		DeleteData: true,
	}
	externalAccount := retained
	externalAccount.Broker = common.Broker{ConnectionSecretRef: common.LocalReference{Name: "queue"}}
	connection := object.Meta{Name: "queue", Namespace: "cloud"}
	external := rabbitmq.External{
		Host: "queue.example.com", ManagementPort: 15671, User: "admin",
		Password: secret.Source{Store: "tenant", StoreKind: "SecretStore", Key: "corporate"}, PasswordKey: "word",
	}
	objecttest.Run(t, map[string]objecttest.Case{
		"vhost": {
			Reason: "Queues are replicated, and messages outlive the object unless the tenant configures deletion.",
			Got:    []runtime.Object{retained.VirtualHost(), cell.VirtualHost()},
			Want: `
apiVersion: rabbitmq.com/v1beta1
kind: Vhost
metadata:
  name: glance
  namespace: cloud
spec:
  defaultQueueType: quorum
  deletionPolicy: retain
  name: glance
  rabbitmqClusterReference:
    name: rabbitmq
---
apiVersion: rabbitmq.com/v1beta1
kind: Vhost
metadata:
  name: nova-cell1
  namespace: cloud
spec:
  defaultQueueType: quorum
  deletionPolicy: delete
  name: nova/cell1
  rabbitmqClusterReference:
    name: rabbitmq
`,
		},
		"streams": {
			Reason: "Streams have half of the limit, in segments of a quarter: RabbitMQ keeps up to two segments more.",
			Got:    []runtime.Object{cell.StreamPolicy(20 << 20)},
			Want: `
apiVersion: rabbitmq.com/v1beta1
kind: Policy
metadata:
  name: nova-cell1
  namespace: cloud
spec:
  applyTo: queues
  definition:
    max-length-bytes: 10485760
    stream-max-segment-size-bytes: 5242880
  name: streams
  pattern: _fanout$
  rabbitmqClusterReference:
    name: rabbitmq
  vhost: nova/cell1
`,
		},
		"external": {
			Reason: "Objects refer to an external queue by a retained Secret with the label for the operator and the required keys of the tenant.",
			Got:    []runtime.Object{externalAccount.Permission(), external.Connection(connection)},
			Want: `
apiVersion: rabbitmq.com/v1beta1
kind: Permission
metadata:
  name: glance
  namespace: cloud
spec:
  permissions:
    configure: .*
    read: .*
    write: .*
  rabbitmqClusterReference:
    connectionSecret:
      name: queue
  user: glance
  vhost: glance
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: queue
  namespace: cloud
spec:
  data:
  - remoteRef:
      key: corporate
      property: word
    secretKey: password
  refreshInterval: 5m0s
  refreshPolicy: Periodic
  secretStoreRef:
    kind: SecretStore
    name: tenant
  target:
    creationPolicy: Orphan
    deletionPolicy: Retain
    name: queue
    template:
      data:
        password: '{{ .password }}'
        uri: https://queue.example.com:15671
        username: admin
      engineVersion: v2
      metadata:
        labels:
          rabbitmq.com/topology-operator: "true"
      type: Opaque
`,
		},
		"user": {
			Reason: "The password is the one that the service has, and the management interface is not for services.",
			Got:    []runtime.Object{retained.User()},
			Want: `
apiVersion: rabbitmq.com/v1beta1
kind: User
metadata:
  name: glance
  namespace: cloud
spec:
  importCredentialsSecret:
    name: glance-queue
  rabbitmqClusterReference:
    name: rabbitmq
`,
		},
		"permission": {
			Reason: "All permissions in one virtual host and none in others; by the user's name, because the operator would make a User the owner.",
			Got:    []runtime.Object{cell.Permission()},
			Want: `
apiVersion: rabbitmq.com/v1beta1
kind: Permission
metadata:
  name: nova-cell1
  namespace: cloud
spec:
  permissions:
    configure: .*
    read: .*
    write: .*
  rabbitmqClusterReference:
    name: rabbitmq
  user: nova_cell1
  vhost: nova/cell1
`,
		},
	})
}

// TestURL tests the forms that oslo.messaging 16.1 to 17.3 parse correctly.
func TestURL(t *testing.T) {
	glance := rabbitmq.Transport{UserVar: "QUEUE_USERNAME", PasswordVar: "QUEUE_PASSWORD", Hosts: []string{"rabbitmq.cloud.svc"}, Port: 5671, Vhost: "glance"}
	for name, tc := range map[string]struct {
		reason string
		change func(*rabbitmq.Transport)
		want   string
	}{
		"plain": {"One host.", func(*rabbitmq.Transport) {}, "rabbit://$(QUEUE_USERNAME):$(QUEUE_PASSWORD)@rabbitmq.cloud.svc:5671/glance"},
		"TLS": {
			"The authority is named where the address is.", func(t *rabbitmq.Transport) { t.CAFile = "/etc/ca/ca.crt" },
			"rabbit://$(QUEUE_USERNAME):$(QUEUE_PASSWORD)@rabbitmq.cloud.svc:5671/glance?ssl=true&ssl_ca_file=%2Fetc%2Fca%2Fca.crt",
		},
		"several": {
			"Each host has the credentials.", func(t *rabbitmq.Transport) { t.Hosts = []string{"a", "b"} },
			"rabbit://$(QUEUE_USERNAME):$(QUEUE_PASSWORD)@a:5671,$(QUEUE_USERNAME):$(QUEUE_PASSWORD)@b:5671/glance",
		},
		"IPv6": {
			"A port needs brackets before it.", func(t *rabbitmq.Transport) { t.Hosts = []string{"fd00::1"} },
			"rabbit://$(QUEUE_USERNAME):$(QUEUE_PASSWORD)@[fd00::1]:5671/glance",
		},
		"names": {
			"Nothing in a name ends it, not even a dollar.", func(t *rabbitmq.Transport) { t.Vhost = "c/ell:$,@ 1?" },
			"rabbit://$(QUEUE_USERNAME):$(QUEUE_PASSWORD)@rabbitmq.cloud.svc:5671/c%2Fell%3A%24%2C%40%201%3F",
		},
	} {
		t.Run(name, func(t *testing.T) {
			transport := glance
			tc.change(&transport)
			if diff := cmp.Diff(tc.want, transport.URL()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestURLPreservesArbitraryNames tests that arbitrary names are encoded and decoded without loss.
func TestURLPreservesArbitraryNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ -~]{1,12}`)
		want := rabbitmq.Transport{
			UserVar: "U", PasswordVar: "P", Hosts: []string{"a"}, Port: 1, Vhost: name.Draw(t, "vhost"), CAFile: name.Draw(t, "file"),
		}
		u, err := url.Parse(strings.NewReplacer("$(U)", "user-1", "$(P)", "secret").Replace(want.URL()))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"user-1", "/" + want.Vhost, want.CAFile}, []string{u.User.Username(), u.Path, u.Query().Get("ssl_ca_file")}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.URL(), diff)
		}
	})
}

// TestBrokerOf tests that the broker of an object is read without changes.
func TestBrokerOf(t *testing.T) {
	for _, want := range []common.Broker{
		{RabbitMQRef: common.LocalReference{Name: "rabbitmq"}}, {ConnectionSecretRef: common.LocalReference{Name: "rabbitmq"}},
	} {
		if got := rabbitmq.BrokerOf(rabbitmq.Account{Broker: want}.User()); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestStreamLimit tests that 64 streams fit into a quarter of every volume, and that an unknown volume has no limit.
func TestStreamLimit(t *testing.T) {
	for storage, want := range map[string]int64{"256Mi": 1 << 20, "5Gi": 20 << 20, "50Gi": 200 << 20, "": 0} {
		if got := rabbitmq.StreamLimit(storage); got != want {
			t.Errorf("a stream on a volume of %q may have %d bytes, want %d", storage, got, want)
		}
	}
}
