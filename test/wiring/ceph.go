package wiring

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// cephClient: github.com/rook/rook v1.18.8 and v1.20.6, pkg/operator/ceph/client/controller.go: a Secret with the
// user's key under two names. Rook creates its own pods for its other kinds, mostly on the host network: the network
// policies of a cloud do not apply to them.
func cephClient(w *inventory, o object) {
	w.make(o.namespaceRef, "rook-ceph-client-"+o.name, o.String(), map[string]value{
		o.name: {is: cephKey, free: true}, "userID": {is: userName}, "userKey": {is: cephKey},
	})
}

// cephCluster: the same versions, pkg/operator/ceph/cluster/{mgr,nodedaemon}: Services of metrics, unless they are
// disabled, of pods that do not belong to the cloud; controller/mirror_peer.go: a Secret with a token for other
// clusters, which contains a key.
func cephCluster(w *inventory, o object) {
	w.make(o.namespaceRef, "cluster-peer-token-"+o.name, o.String(), map[string]value{"token": {is: cephKey}, "cluster": {is: public}})
	if truth(o.manifest, "spec", "monitoring", "metricsDisabled") {
		return
	}
	for app, metrics := range map[string]port{
		"rook-ceph-mgr": {"http-metrics", 9283}, "rook-ceph-exporter": {"ceph-exporter-http-metrics", 9926},
	} {
		l := labels.Set{"app": app, "rook_cluster": o.namespace}
		p := &pod{namespaceRef: o.namespaceRef, of: o, part: app, labels: l, replicas: new(int), ports: []port{metrics},
			tls: map[int]servedCertificate{}}
		w.operatedService(o, p, app, false, l, metrics)
	}
}

// cephObjectStore: the same versions, pkg/operator/ceph/object/{objectstore,spec}.go: a Service of the gateways, whose
// pods do not belong to the cloud.
func cephObjectStore(w *inventory, o object) {
	l := labels.Set{"app": "rook-ceph-rgw", "rook_cluster": o.namespace, "rook_object_store": o.name}
	n, _ := number(o.manifest, "spec", "gateway", "securePort")
	https := port{"https", n}
	p := &pod{namespaceRef: o.namespaceRef, of: o, labels: l, replicas: new(int), ports: []port{https}, tls: map[int]servedCertificate{}}
	w.operatedService(o, p, "rook-ceph-rgw-"+o.name, false, l, https)
	secret := text(o.manifest, "spec", "gateway", "sslCertificateRef")
	for _, c := range w.objects {
		if c.namespaceRef == o.namespaceRef && c.is("Certificate.cert-manager.io") && text(c.manifest, "spec", "secretName") == secret {
			p.tls[n] = servedCertificate{texts(c.manifest, "spec", "dnsNames"), text(c.manifest, "spec", "issuerRef", "name")}
		}
	}
}

// storeReads returns the authorities by which gateways verify Keystone (the same versions, object/spec.go).
func storeReads(o object) []configRead {
	var out []configRead
	if bundle := text(o.manifest, "spec", "gateway", "caBundleRef"); bundle != "" {
		out = append(out, configRead{secretName: secretName{o.namespaceRef, bundle}, key: "cabundle", as: "cabundle", means: authority})
	}
	return out
}

// poolReads returns the tokens with which Rook connects to another cluster (pool/peers.go of v1.18.8).
func poolReads(o object) []configRead {
	var out []configRead
	for _, name := range texts(o.manifest, "spec", "mirroring", "peers", "secretNames") {
		out = append(out, configRead{secretName: secretName{o.namespaceRef, name}, key: "token", as: "token", means: cephKey},
			configRead{secretName: secretName{o.namespaceRef, name}, key: "direction", as: "direction", means: public})
	}
	return out
}

// monitors is the option of a client's configuration with the addresses of Ceph's monitors
// (https://docs.ceph.com/en/latest/rados/configuration/common/).
const monitors = "mon_host"

// cephPorts are the ports of monitors, by both protocols, and the first port of daemons
// (https://docs.ceph.com/en/latest/rados/configuration/network-config-ref/).
var cephPorts = []int{3300, 6789, 6800}

// needCeph records the flows of pods with a Ceph client configuration to monitors and daemons. User-provided
// configurations are not read.
func (w *inventory) needCeph(p *pod, c corev1.Container) {
	for _, m := range w.mounts(p, c) {
		for line := range strings.SplitSeq(m.value.content, "\n") {
			if option, _, ok := strings.Cut(line, "="); !ok || strings.TrimSpace(option) != monitors {
				continue
			}
			for _, port := range cephPorts {
				w.need(p.String(), outsider(ofCeph), port, m.path+" has their addresses")
			}
		}
	}
}

// outsiders returns the peers by which a policy may allow egress to a role: everything, or the pods of a Ceph cluster.
func (w *inventory) outsiders(to string) []peer {
	out := []peer{everywhere}
	if to == outsider(ofCeph) {
		for _, o := range w.objects {
			if o.is("CephCluster.ceph.rook.io") {
				out = append(out, peer{namespace: o.namespace})
			}
		}
	}
	return out
}
