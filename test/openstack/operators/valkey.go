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

// valkey runs the primary of a Valkey object, with TLS and a password, and makes the Secret by which clients find it. Members that copy it
// are left out; a sentinel, which clients ask for the primary, is not.
// https://github.com/SAP/valkey-operator, pkg/operator
func (o *Operators) valkey(ctx context.Context, u *unstructured.Unstructured) error {
	namespace, name := u.GetNamespace(), "valkey-"+u.GetName()
	ref := func(field string) string { return text(u, "spec", "tls", "certManager", "issuer", field) }
	issuer, err := o.issuer(ctx, namespace, ref("kind"), ref("name"))
	if err != nil {
		return err
	}
	service := name + "-primary"
	sentinel, _, _ := unstructured.NestedBool(u.Object, "spec", "sentinel", "enabled")
	if sentinel {
		service = name
	}
	host := service + "." + namespace + ".svc.cluster.local"
	member := fmt.Sprintf("%s-node-0.%s-headless.%s.svc.cluster.local", name, name, namespace)
	p, err := issuer.Issue(pki.Subject{Hosts: []string{host, member}})
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(namespace + ":" + name))
	password := hex.EncodeToString(sum[:])[:32] // as good as the operator's, which derives it, too
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
			"sentinel.conf": fmt.Appendf(nil, "%stls-port %d\ndir /tmp\nrequirepass %s\nsentinel resolve-hostnames yes\nsentinel announce-hostnames yes\n"+
				"sentinel monitor %s %s %d 1\nsentinel auth-pass %[4]s %[3]s\n", tls, sentinelPort, password, valkeySet, member, valkeyPort),
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
		// A sentinel writes into its configuration.
		start = "cat /etc/valkey/sentinel.conf >/tmp/sentinel.conf && valkey-server /tmp/sentinel.conf --sentinel & " + start
		ports = append(ports, corev1.ContainerPort{Name: "tcp-sentinel", ContainerPort: sentinelPort})
	}
	return o.run(ctx, server{
		namespace: namespace, name: name + "-node", service: name + "-headless", user: valkeyUser,
		labels: map[string]string{
			"app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": u.GetName(), "app.kubernetes.io/component": "node",
		},
		data:    "/data",
		secrets: map[string]string{valkeyTLS: name + "-tls", "/etc/valkey": name + "-configuration"},
		container: corev1.Container{
			Name: "valkey", Image: ValkeyImage, Command: []string{"/bin/sh", "-c", start}, Ports: ports,
		},
	}, service)
}
