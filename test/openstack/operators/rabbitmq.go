//go:build linux

package operators

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RabbitMQImage is the image of the brokers.
const RabbitMQImage = "rabbitmq"

const (
	rabbitMQUser     = 999
	amqpsPort        = 5671
	rabbitManagement = 15671
	rabbitTLS        = "/etc/rabbitmq-tls"
)

// rabbitDefaults and rabbitTLSDefaults are the operator's configuration for a single broker: there is no API for peer
// discovery. https://github.com/rabbitmq/cluster-operator, internal/resource/configmap.go.
const (
	rabbitDefaults = `log.console = true
queue_master_locator = min-masters
disk_free_limit.absolute = 2GB
cluster_partition_handling = pause_minority
auth_mechanisms.1 = PLAIN
auth_mechanisms.2 = AMQPLAIN
cluster_name = %s
`
	rabbitTLSDefaults = `ssl_options.certfile = ` + rabbitTLS + `/tls.crt
ssl_options.keyfile = ` + rabbitTLS + `/tls.key
listeners.ssl.default = 5671
listeners.tcp = none
ssl_options.cacertfile = ` + rabbitTLS + `/ca.crt
ssl_options.verify = verify_peer
management.ssl.certfile = ` + rabbitTLS + `/tls.crt
management.ssl.keyfile = ` + rabbitTLS + `/tls.key
management.ssl.port = 15671
`
)

// rabbitCookie creates the cookie that members share. A member does not start with a cookie that others can read.
const rabbitCookie = `umask 077; cd /var/lib/rabbitmq; rm -f .erlang.cookie; printf %s >.erlang.cookie`

// Files of erlangInetConfig and advancedConfig (https://github.com/rabbitmq/cluster-operator, internal/resource/statefulset.go).
const (
	rabbitInet     = "/etc/rabbitmq/erl_inetrc"
	rabbitAdvanced = "/etc/rabbitmq/advanced.config"
)

// rabbitMQ runs the brokers of a RabbitmqCluster, with TLS only, with its configuration. There is no API server for peer
// discovery: the configuration lists the members.
func (o *Operators) rabbitMQ(ctx context.Context, u *unstructured.Unstructured) error { //nolint:funlen,gocognit // one step after the other
	if only, _, _ := unstructured.NestedBool(u.Object, "spec", "tls", "disableNonTLSListeners"); !only {
		return errors.New("a broker that listens without TLS is not supported by this fake")
	}
	namespace, name := u.GetNamespace(), u.GetName()
	conf := rabbitTLSDefaults
	replicas, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "replicas")
	members, err := strconv.Atoi(fmt.Sprint(replicas)) // Composed objects have floating-point numbers.
	if err != nil {
		return fmt.Errorf("spec.replicas of %s: %w", name, err)
	}
	var nodes strings.Builder
	for i := range members {
		fmt.Fprintf(&nodes, "cluster_formation.classic_config.nodes.%d = rabbit@%s-server-%d.%[2]s-nodes.%[4]s\n", i+1, name, i, namespace)
	}
	conf += nodes.String()
	if limit := text(u, "spec", "resources", "limits", "memory"); limit != "" {
		memory, err := resource.ParseQuantity(limit)
		if err != nil {
			return err
		}
		const headroom = 5
		conf += fmt.Sprintf("total_memory_available_override_value = %d\n", memory.Value()-min(memory.Value()/headroom, 2<<30))
	}
	login, err := o.defaultUser(ctx, u)
	if err != nil {
		return err
	}
	inet, advanced := text(u, "spec", "rabbitmq", "erlangInetConfig"), text(u, "spec", "rabbitmq", "advancedConfig")
	if err := o.SetSecret(ctx, namespace, name+"-server-conf", map[string][]byte{
		"10-operatorDefaults.conf":         fmt.Appendf(nil, rabbitDefaults, name),
		"11-default_user.conf":             login["default_user.conf"],
		"90-userDefinedConfiguration.conf": []byte(conf),
		// The operator merges it into the file above. Later settings override earlier ones.
		"91-additionalConfig.conf": []byte(text(u, "spec", "rabbitmq", "additionalConfig")),
		"enabled_plugins":          []byte("[rabbitmq_management]."),
		"environment":              []byte(text(u, "spec", "rabbitmq", "envConfig")),
		path.Base(rabbitInet):      []byte(inet),
		path.Base(rabbitAdvanced):  []byte(advanced),
	}); err != nil {
		return err
	}
	override := corev1.PodSpec{}
	fields, _, _ := unstructured.NestedMap(u.Object, "spec", "override", "statefulSet", "spec", "template", "spec")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &override); err != nil {
		return err
	}
	s := server{
		namespace: namespace, name: name + "-server", service: name + "-nodes", user: rabbitMQUser,
		labels: map[string]string{
			"app.kubernetes.io/name": name, "app.kubernetes.io/component": "rabbitmq", "app.kubernetes.io/part-of": "rabbitmq",
		},
		data: "/var/lib/rabbitmq",
		secrets: map[string]string{
			"/etc/rabbitmq/conf.d": name + "-server-conf", rabbitTLS: text(u, "spec", "tls", "secretName"),
		},
		container: corev1.Container{
			Name: "rabbitmq", Image: RabbitMQImage,
			Env: []corev1.EnvVar{
				{Name: "HOME", Value: "/var/lib/rabbitmq"}, {Name: "RABBITMQ_LOGS", Value: "-"},
				{Name: "RABBITMQ_CONF_ENV_FILE", Value: "/etc/rabbitmq/conf.d/environment"},
				{Name: "RABBITMQ_ENABLED_PLUGINS_FILE", Value: "/etc/rabbitmq/conf.d/enabled_plugins"},
				{Name: "RABBITMQ_LOG_BASE", Value: "/tmp"}, {Name: "RABBITMQ_MNESIA_BASE", Value: "/var/lib/rabbitmq/mnesia"},
				{Name: "MY_POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
				{Name: "RABBITMQ_USE_LONGNAME", Value: "true"},
				{Name: "RABBITMQ_NODENAME", Value: "rabbit@$(MY_POD_NAME)." + name + "-nodes." + namespace},
			},
			Ports: []corev1.ContainerPort{{Name: "amqps", ContainerPort: amqpsPort}, {Name: "management-tls", ContainerPort: rabbitManagement}},
		},
	}
	if advanced != "" {
		s.container.Env = append(s.container.Env, corev1.EnvVar{Name: "RABBITMQ_ADVANCED_CONFIG_FILE", Value: rabbitAdvanced})
	}
	s.files = map[string]string{}
	for file, content := range map[string]string{rabbitInet: inet, rabbitAdvanced: advanced} {
		if content != "" {
			s.files[file] = name + "-server-conf"
		}
	}
	for _, c := range override.Containers {
		for _, m := range c.VolumeMounts {
			at := slices.IndexFunc(override.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
			if at < 0 || override.Volumes[at].Secret == nil {
				return fmt.Errorf("the override of %s mounts %s, which is no Secret", name, m.Name)
			}
			s.secrets[m.MountPath] = override.Volumes[at].Secret.SecretName
		}
	}
	if members > 1 {
		s.members, s.dns = int32(members), override.DNSConfig //nolint:gosec // a handful
		s.prepare = []string{"sh", "-c", fmt.Sprintf(rabbitCookie, namespace)}
	}
	return o.run(ctx, s, name)
}

// defaultUser returns the Secret of the broker's administrator, which is created once.
func (o *Operators) defaultUser(ctx context.Context, u *unstructured.Unstructured) (map[string][]byte, error) {
	namespace, name := u.GetNamespace(), u.GetName()+"-default-user"
	if data, err := o.Secret(ctx, namespace, name); err == nil {
		return data, nil
	}
	user, password, host := "default_user_"+rand.Text(), rand.Text(), u.GetName()+"."+namespace+".svc"
	data := map[string][]byte{
		"username": []byte(user), "password": []byte(password), "host": []byte(host), "port": []byte(strconv.Itoa(amqpsPort)),
		"provider": []byte("rabbitmq"), "type": []byte("rabbitmq"),
		"default_user.conf": fmt.Appendf(nil, "default_user = %s\ndefault_pass = %s\n", user, password),
		"connection_string": fmt.Appendf(nil, "amqps://%s:%s@%s:%d/", user, password, host, amqpsPort),
	}
	return data, o.SetSecret(ctx, namespace, name, data)
}

// The functions of the messaging topology operator, with the broker's management API.
// https://github.com/rabbitmq/messaging-topology-operator, internal/controller.

func (o *Operators) vhost(ctx context.Context, u *unstructured.Unstructured) error {
	body := map[string]any{"tags": append([]string{}, texts(u, "spec", "tags")...)}
	if queues := text(u, "spec", "defaultQueueType"); queues != "" {
		body["default_queue_type"] = queues
	}
	if err := o.manage(ctx, u, http.MethodPut, "vhosts/"+url.PathEscape(text(u, "spec", "name")), body); err != nil {
		return err
	}
	// The companion checks that it exists.
	created := u.DeepCopy()
	if err := o.Cluster.Apply(ctx, created); err != nil {
		return err
	}
	if err := o.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(u), created); err != nil {
		return err
	}
	return o.report(ctx, created, nil)
}

func (o *Operators) policy(ctx context.Context, u *unstructured.Unstructured) error {
	definition, _, err := unstructured.NestedMap(u.Object, "spec", "definition")
	if err != nil {
		return err
	}
	path := "policies/" + url.PathEscape(text(u, "spec", "vhost")) + "/" + url.PathEscape(text(u, "spec", "name"))
	return o.manage(ctx, u, http.MethodPut, path, map[string]any{
		"pattern": text(u, "spec", "pattern"), "apply-to": text(u, "spec", "applyTo"), "definition": definition,
	})
}

// brokerUser declares a user with its initial credentials: only the first import counts.
func (o *Operators) brokerUser(ctx context.Context, u *unstructured.Unstructured) error {
	login, err := o.credentials(ctx, u)
	if err != nil {
		return err
	}
	return o.manage(ctx, u, http.MethodPut, "users/"+url.PathEscape(string(login["username"])), map[string]any{
		"password": string(login["password"]), "tags": append([]string{}, texts(u, "spec", "tags")...),
	})
}

func (o *Operators) credentials(ctx context.Context, u *unstructured.Unstructured) (map[string][]byte, error) {
	name := u.GetName() + "-user-credentials"
	if data, err := o.Secret(ctx, u.GetNamespace(), name); err == nil {
		return data, nil
	}
	data := map[string][]byte{"username": []byte(rand.Text()), "password": []byte(rand.Text())}
	if from := text(u, "spec", "importCredentialsSecret", "name"); from != "" {
		imported, err := o.Secret(ctx, u.GetNamespace(), from)
		if err != nil {
			return nil, err
		}
		if len(imported["username"]) == 0 || len(imported["password"]) == 0 {
			return nil, fmt.Errorf("secret %s has no username, or no password", from)
		}
		data = map[string][]byte{"username": imported["username"], "password": imported["password"]}
	}
	return data, o.SetSecret(ctx, u.GetNamespace(), name, data)
}

func (o *Operators) permission(ctx context.Context, u *unstructured.Unstructured) error {
	user := text(u, "spec", "user")
	if ref := text(u, "spec", "userReference", "name"); ref != "" {
		other, err := o.Find("User.rabbitmq.com", u.GetNamespace(), ref)
		if err != nil {
			return err
		}
		login, err := o.credentials(ctx, other)
		if err != nil {
			return err
		}
		user = string(login["username"])
	}
	right := func(name string) string { return text(u, "spec", "permissions", name) }
	return o.manage(ctx, u, http.MethodPut, "permissions/"+url.PathEscape(text(u, "spec", "vhost"))+"/"+url.PathEscape(user),
		map[string]any{"configure": right("configure"), "write": right("write"), "read": right("read")})
}

// management is the management API of a broker, with its administrator and its CA.
type management struct {
	uri, username, password string
	authority               []byte
}

// manage sends a request to the broker of a topology operator's object.
func (o *Operators) manage(ctx context.Context, u *unstructured.Unstructured, method, path string, body map[string]any) error {
	api, err := o.brokerOf(ctx, u)
	if err != nil {
		return err
	}
	_, err = o.request(ctx, api, method, path, body)
	return err
}

// brokerOf returns the broker that an object refers to. An external broker is verified by the CAs that the operator
// trusts, and its Secret needs the operator's label: api/v1beta1/labels.go.
func (o *Operators) brokerOf(ctx context.Context, u *unstructured.Unstructured) (management, error) {
	connection := text(u, "spec", "rabbitmqClusterReference", "connectionSecret", "name")
	if connection == "" {
		return o.ownBroker(ctx, u.GetNamespace(), text(u, "spec", "rabbitmqClusterReference", "name"))
	}
	s := &corev1.Secret{}
	if err := o.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: u.GetNamespace(), Name: connection}, s); err != nil {
		return management{}, err
	}
	if s.Labels["rabbitmq.com/topology-operator"] != "true" {
		return management{}, fmt.Errorf("the operator does not see Secret %s, which has not its label", connection)
	}
	for _, key := range []string{"uri", "username", "password"} {
		if len(s.Data[key]) == 0 {
			return management{}, fmt.Errorf("failed to retrieve %s: key %[1]s missing from credentials", key)
		}
	}
	return management{string(s.Data["uri"]), string(s.Data["username"]), string(s.Data["password"]), o.Trusted}, nil
}

// ownBroker returns the broker of a RabbitmqCluster.
func (o *Operators) ownBroker(ctx context.Context, namespace, name string) (management, error) {
	u, err := o.Find("RabbitmqCluster.rabbitmq.com", namespace, name)
	if err != nil {
		return management{}, err
	}
	login, err := o.defaultUser(ctx, u)
	if err != nil {
		return management{}, err
	}
	certificate, err := o.Secret(ctx, namespace, text(u, "spec", "tls", "secretName"))
	if err != nil {
		return management{}, err
	}
	uri := fmt.Sprintf("https://%s.%s.svc:%d", name, namespace, rabbitManagement)
	return management{uri, string(login["username"]), string(login["password"]), certificate["ca.crt"]}, nil
}

var errNotFound = errors.New("not found")

// RabbitMQ sends a request to the management API of a broker, as its administrator, and returns the response: path
// follows /api/.
func (o *Operators) RabbitMQ(ctx context.Context, namespace, name, method, path string, body any) ([]byte, error) {
	api, err := o.ownBroker(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return o.request(ctx, api, method, path, body)
}

func (o *Operators) request(ctx context.Context, api management, method, path string, body any) ([]byte, error) {
	transport, err := o.transport(api.authority)
	if err != nil {
		return nil, err
	}
	in, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, api.uri+"/api/"+path, bytes.NewReader(in))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(api.username, api.password)
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	out, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%w in RabbitMQ: %s", errNotFound, path)
	}
	if err == nil && response.StatusCode > 299 {
		err = fmt.Errorf("rabbitmq responds with %s to %s %s: %s", response.Status, method, path, strings.TrimSpace(string(out)))
	}
	return out, err
}
