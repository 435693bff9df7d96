//go:build linux

package operators

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
)

// ValkeyImage is the image of Valkey's servers.
const ValkeyImage = "valkey"

const (
	valkeyPort, sentinelPort = 6379, 26379
	valkeyUser               = 1001
	valkeyTLS                = "/opt/valkey/certs"
	valkeySet                = "myprimary"
)

// watched starts a server with a sentinel, as a member of its host name. The primary is the one that other sentinels
// report, if there are any yet; if not, the first member. Both programs write into their configuration.
const watched = `me=$(hostname)%[1]s
first=%[2]s%[1]s
primary=$(timeout 3 valkey-cli --tls --cacert %[3]s/ca.crt -a "$PASSWORD" --no-auth-warning -h %[4]s -p %[5]d --raw \
  sentinel get-primary-addr-by-name %[6]s | head -1)
case $primary in *%[1]s) ;; *) primary=$first ;; esac
cat /etc/valkey/valkey.conf >/tmp/valkey.conf
echo "replica-announce-ip $me" >>/tmp/valkey.conf
[ "$primary" = "$me" ] || echo "replicaof $primary %[7]d" >>/tmp/valkey.conf
sed "s/PRIMARY/$primary/" /etc/valkey/sentinel.conf >/tmp/sentinel.conf
echo "sentinel announce-ip $me" >>/tmp/sentinel.conf
valkey-server /tmp/sentinel.conf --sentinel &
valkey-server /tmp/valkey.conf &
echo $! >/tmp/server
trap 'kill $(cat /tmp/server)' TERM # a process that a signal is to stop cannot be the first of its pod
wait $!
wait $(cat /tmp/server) 2>/dev/null
`

// quorum is the number of sentinels that have to lose the primary, and missed the milliseconds after which each does.
const quorum, missed = 2, 5000

// valkey runs the members of a Valkey object, with TLS and a password, and creates the Secret by which clients find the
// primary. Without sentinels only the primary runs; with them three members run, which elect another primary when it is
// stopped (https://github.com/SAP/valkey-operator, pkg/operator).
func (o *Operators) valkey(ctx context.Context, u *unstructured.Unstructured) error {
	namespace, name := u.GetNamespace(), "valkey-"+u.GetName()
	ref := func(field string) string { return text(u, "spec", "tls", "certManager", "issuer", field) }
	issuer, err := o.issuer(ctx, namespace, ref("kind"), ref("name"))
	if err != nil {
		return err
	}
	service, members := name+"-primary", 1
	sentinel, _, _ := unstructured.NestedBool(u.Object, "spec", "sentinel", "enabled")
	if sentinel {
		service, members = name, 3
	}
	host := service + "." + namespace + ".svc.cluster.local"
	domain := fmt.Sprintf(".%s-headless.%s.svc.cluster.local", name, namespace)
	hosts := []string{host}
	for i := range members {
		hosts = append(hosts, fmt.Sprintf("%s-node-%d%s", name, i, domain))
	}
	p, err := issuer.Issue(pki.Subject{Hosts: hosts})
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(namespace + ":" + name))
	password := hex.EncodeToString(sum[:])[:32] // equivalent to the operator's, which also derives it
	tls := fmt.Sprintf("port 0\ntls-cert-file %[1]s/tls.crt\ntls-key-file %[1]s/tls.key\ntls-ca-cert-file %[1]s/ca.crt\n"+
		"tls-auth-clients no\ntls-replication yes\n", valkeyTLS)
	binding := map[string][]byte{
		"host": []byte(host), "port": fmt.Append(nil, valkeyPort), "password": []byte(password),
		"tlsEnabled": []byte("true"), "caData": issuer.Certificate, "sentinelEnabled": fmt.Append(nil, sentinel),
	}
	if sentinel {
		binding["sentinelHost"], binding["sentinelPort"], binding["primaryName"] = []byte(host), fmt.Append(nil, sentinelPort), []byte(valkeySet)
	}
	for secret, data := range map[string]map[string][]byte{
		name + "-tls": {"tls.crt": p.Certificate, "tls.key": p.Key, "ca.crt": issuer.Certificate},
		name + "-configuration": {
			"valkey.conf": fmt.Appendf(nil, "%stls-port %d\ndir /data\nrequirepass %s\nprimaryauth %[3]s\n", tls, valkeyPort, password),
			"sentinel.conf": fmt.Appendf(nil, "%stls-port %d\ndir /tmp\nrequirepass %s\n"+
				"sentinel resolve-hostnames yes\nsentinel announce-hostnames yes\nsentinel monitor %s PRIMARY %d %d\n"+
				"sentinel auth-pass %[4]s %[3]s\nsentinel down-after-milliseconds %[4]s %[7]d\nsentinel failover-timeout %[4]s 10000\n",
				tls, sentinelPort, password, valkeySet, valkeyPort, quorum, missed),
		},
		text(u, "spec", "binding", "secretName"): binding,
	} {
		if err := o.SetSecret(ctx, namespace, secret, data); err != nil {
			return err
		}
	}
	start := "exec valkey-server /etc/valkey/valkey.conf"
	ports := []corev1.ContainerPort{{Name: "tcp-redis", ContainerPort: valkeyPort}}
	if sentinel {
		start = fmt.Sprintf(watched, domain, name+"-node-0", valkeyTLS, host, sentinelPort, valkeySet, valkeyPort)
		ports = append(ports, corev1.ContainerPort{Name: "tcp-sentinel", ContainerPort: sentinelPort})
	}
	return o.run(ctx, server{
		namespace: namespace, name: name + "-node", members: int32(members), service: name + "-headless", user: valkeyUser,
		labels: map[string]string{
			"app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": u.GetName(), "app.kubernetes.io/component": "node",
		},
		data:    "/data",
		secrets: map[string]string{valkeyTLS: name + "-tls", "/etc/valkey": name + "-configuration"},
		container: corev1.Container{
			Name: "valkey", Image: ValkeyImage, Command: []string{"/bin/sh", "-c", start}, Ports: ports,
			Env: []corev1.EnvVar{{Name: "PASSWORD", Value: password}},
		},
	}, service)
}
