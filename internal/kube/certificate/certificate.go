// Package certificate builds cert-manager objects.
package certificate

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/object"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/secret"
)

const apiVersion = "cert-manager.io/v1"

// Keys of a Secret that cert-manager writes.
const (
	CAKey   = "ca.crt"
	CertKey = "tls.crt"
	KeyKey  = "tls.key"
)

// SelfSigned builds an issuer of self-signed certificates, for the certificate of a private authority.
func SelfSigned(meta object.Meta) *unstructured.Unstructured {
	return object.New(apiVersion, "Issuer", meta, object.Map{"selfSigned": object.Map{}})
}

// Authority builds the certificate of a private authority. It is valid for ten years, because all its clients must be updated with it.
func Authority(meta object.Meta, issuer string) *unstructured.Unstructured {
	return object.New(apiVersion, "Certificate", meta, object.Map{
		"isCA":       true,
		"commonName": meta.Name,
		"secretName": meta.Name,
		"duration":   "87600h",
		"privateKey": object.Map{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Never"},
		"usages":     object.Array("cert sign", "crl sign", "digital signature"),
		"issuerRef":  object.Map{"name": issuer, "kind": "Issuer", "group": "cert-manager.io"},
	})
}

// CAIssuer builds an issuer that signs with the Secret of a private authority.
func CAIssuer(meta object.Meta, secretName string) *unstructured.Unstructured {
	return object.New(apiVersion, "Issuer", meta, object.Map{"ca": object.Map{"secretName": secretName}})
}

// Server builds the certificate of a server for hosts (names or addresses), in a Secret of the same name.
func Server(meta object.Meta, issuer common.IssuerReference, hosts ...string) *unstructured.Unstructured {
	var dnsNames []string
	var addresses object.List
	for _, h := range hosts {
		if _, err := netip.ParseAddr(h); err == nil {
			addresses = append(addresses, h)
		} else {
			dnsNames = append(dnsNames, h)
		}
	}
	return object.New(apiVersion, "Certificate", meta, object.WithOptional(object.Map{
		"secretName": meta.Name,
		"dnsNames":   object.Array(dnsNames...),
		"privateKey": object.Map{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
		// Members of a RabbitMQ or OVN cluster are clients of one another.
		"usages":    object.Array("digital signature", "server auth", "client auth"),
		"issuerRef": object.Map{"name": string(issuer.Name), "kind": issuer.Kind, "group": "cert-manager.io"},
	}, object.Map{"ipAddresses": addresses}))
}

// Usages of keys in certificates for QEMU and libvirt.
const (
	serverAuth = "server auth"
	clientAuth = "client auth"
)

// Peer builds a certificate like Server for processes that are servers and clients of one another. They authorize each other by name.
func Peer(meta object.Meta, issuer common.IssuerReference, name string, hosts ...string) *unstructured.Unstructured {
	return named(meta, issuer, name, hosts, serverAuth, clientAuth)
}

// VNCServer builds the certificate of QEMU's VNC servers. libvirt passes its subject to the target of a live migration, and requires one.
func VNCServer(meta object.Meta, issuer common.IssuerReference, name, host string) *unstructured.Unstructured {
	return named(meta, issuer, name, []string{host}, serverAuth)
}

// VNCClient builds the certificate of a client of QEMU's VNC servers, which reject a client without a subject. It is not accepted as the
// certificate of a server.
func VNCClient(meta object.Meta, issuer common.IssuerReference, name, host string) *unstructured.Unstructured {
	return named(meta, issuer, name, []string{host}, clientAuth)
}

// named builds a certificate like Server, with a subject and other extended usages of its key.
func named(meta object.Meta, issuer common.IssuerReference, name string, hosts []string, extended ...string) *unstructured.Unstructured {
	out := Server(meta, issuer, hosts...)
	spec, _ := out.Object["spec"].(object.Map)
	spec["commonName"] = name
	// libvirt and QEMU require key encipherment for every type of key (libvirt's virNetTLSContextCheckCertKeyUsage, QEMU's
	// crypto/tlscredsx509.c).
	spec["usages"] = object.Array(append([]string{"digital signature", "key encipherment"}, extended...)...)
	return out
}

// CABundleSecret builds a Secret with only the authority of an external certificate, which the source has under key, for clients that must
// not get the other data of the source. The Secret is kept when the object is deleted.
func CABundleSecret(meta object.Meta, from secret.Source, key string) *unstructured.Unstructured {
	return secret.Composed(meta, from, nil, object.Map{CAKey: "{{ .authority }}"}, object.Map{"authority": key})
}
