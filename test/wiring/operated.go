package wiring

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// operators add the pods, Services and Secrets that operators and the companion create for an object. By kind and
// group.
var operators = map[string]func(w *inventory, o object){
	"MariaDB.k8s.mariadb.com":              mariaDB,
	"ExternalMariaDB.k8s.mariadb.com":      externalMariaDB,
	"MaxScale.k8s.mariadb.com":             maxScale,
	"PhysicalBackup.k8s.mariadb.com":       physicalBackup,
	"RabbitmqCluster.rabbitmq.com":         rabbitMQ,
	"Valkey.cache.cs.sap.com":              valkey,
	"KeyRepository.openstack.c5c3.io":      migration,
	"Ingress.networking.k8s.io":            challenge,
	"Endpoint.openstack.k-orc.cloud":       noObjects,
	"Service.openstack.k-orc.cloud":        noObjects,
	"User.openstack.k-orc.cloud":           noObjects,
	"Role.openstack.k-orc.cloud":           noObjects,
	"Project.openstack.k-orc.cloud":        noObjects,
	"Domain.openstack.k-orc.cloud":         noObjects,
	"Database.k8s.mariadb.com":             noObjects,
	"User.k8s.mariadb.com":                 noObjects,
	"Grant.k8s.mariadb.com":                noObjects,
	"Certificate.cert-manager.io":          noObjects,
	"Issuer.cert-manager.io":               noObjects,
	"ServiceMonitor.monitoring.coreos.com": noObjects,
	"PrometheusRule.monitoring.coreos.com": noObjects,
	"Usage.protection.crossplane.io":       noObjects,
	// Read by provider-kubernetes, which only counts their users.
	"ProviderConfig.kubernetes.crossplane.io":          noObjects,
	"ClusterProviderConfig.kubernetes.m.crossplane.io": noObjects,

	"CephClient.ceph.rook.io":      cephClient,
	"CephCluster.ceph.rook.io":     cephCluster,
	"CephBlockPool.ceph.rook.io":   noObjects,
	"CephFilesystem.ceph.rook.io":  noObjects,
	"CephRBDMirror.ceph.rook.io":   noObjects,
	"CephNFS.ceph.rook.io":         noObjects,
	"CephObjectStore.ceph.rook.io": cephObjectStore,
	// github.com/rabbitmq/messaging-topology-operator v1.19.1 and v1.20.1, internal/controller: they are created in the
	// queue by its management API, without any pod or Service. Up to 1.19 the operator keeps a copy of a User's Secret,
	// which is not read.
	"Vhost.rabbitmq.com":      noObjects,
	"Policy.rabbitmq.com":     noObjects,
	"User.rabbitmq.com":       noObjects,
	"Permission.rabbitmq.com": noObjects,
}

// managedGroupSuffixes are suffixes of API groups whose kinds create only objects listed in tables, or only emitted
// objects.
var managedGroupSuffixes = []string{"", "apps", "batch", "policy", ".k8s.io", "c5c3.io", "external-secrets.io"}

func noObjects(*inventory, object) {}

// Namespaces of neighbors, by role: from upstream's manifests, unless the platform names others (spec.network).
const (
	ofMariaDBOperator = "mariadbOperator"
	ofRabbitOperator  = "rabbitmqOperators"
	ofPrometheus      = "monitoring"
	ofKORC            = "korc"
	ofExposure        = "exposure"
	ofHypervisors     = "hypervisors"
	ofCeph            = "Ceph's monitors and daemons"
	anywhere          = "anywhere"
)

var neighbours = map[string][]string{
	ofMariaDBOperator: {"mariadb-operator"}, // https://github.com/mariadb-operator/mariadb-operator/blob/main/docs/helm.md
	ofRabbitOperator:  {"rabbitmq-system"},  // https://www.rabbitmq.com/kubernetes/operator/install-operator
	ofPrometheus:      {"monitoring"},       // https://github.com/prometheus-operator/kube-prometheus
	ofKORC:            {"orc-system"},       // https://k-orc.cloud/installation/
}

// apiServer are the ports that an API server listens on, unless the platform names others.
var apiServer = []int{443, 6443}

// operated adds the pods that an operator creates, and their Services.
func (w *inventory) operated(o object, part string, l labels.Set, replicas *int, ports ...port) *pod {
	p := &pod{namespaceRef: o.namespaceRef, of: o, part: part, labels: l, replicas: replicas, ports: ports, tls: map[int]servedCertificate{}}
	w.pods = append(w.pods, p)
	return p
}

func (w *inventory) operatedService(o object, p *pod, name string, headless bool, l labels.Set, ports ...port) {
	s := &service{namespaceRef: o.namespaceRef, name: name, of: o, labels: l, headless: headless, to: []*pod{p}}
	for _, q := range ports {
		s.ports = append(s.ports, servicePort{q.name, q.number, strconv.Itoa(q.number)})
	}
	w.services = append(w.services, s)
}

// variants returns the host names of a Service (mariadb-operator v25.10.4, pkg/statefulset/statefulset.go:
// ServiceNameVariants).
func variants(namespace string, services ...string) []string {
	var out []string
	for _, s := range services {
		at := s + "." + namespace
		out = append(out, s, at, at+".svc", at+".svc.cluster.local")
	}
	return out
}

func app(name, instance string) labels.Set {
	return labels.Set{"app.kubernetes.io/name": name, "app.kubernetes.io/instance": instance}
}

// issuerOf returns the issuer in a field of spec.tls.
func issuerOf(o object, field string) string { return text(o.manifest, "spec", "tls", field, "name") }

// memberSecret returns the Secret with the certificate of a queue's members, which is a volume in the override of its pods, or "".
func memberSecret(o object) string {
	for _, v := range list(o.manifest, "spec", "override", "statefulSet", "spec", "template", "spec", "volumes") {
		return text(v, "secret", "secretName")
	}
	return ""
}

func memberReads(o object) []configRead {
	name := memberSecret(o)
	if name == "" {
		return nil
	}
	of := secretName{o.namespaceRef, name}
	return []configRead{
		{secretName: of, key: "tls.crt", as: "tls.crt", means: certificate}, {secretName: of, key: "tls.key", as: "tls.key", means: privateKey},
		{secretName: of, key: "ca.crt", as: "ca.crt", means: authority},
	}
}

// checkMembers checks the certificate of members that connect with TLS. They connect to the host in the name of an Erlang node, and
// replicas of streams to the short name (https://www.rabbitmq.com/docs/clustering-ssl, github.com/rabbitmq/osiris v1.8.5,
// src/osiris_replica.erl).
func (w *inventory) checkMembers(o object, members int) {
	secret, enabled := memberSecret(o), strings.Contains(text(o.manifest, "spec", "rabbitmq", "envConfig"), "inet_tls")
	if enabled != (secret != "") {
		w.foundf("%s has TLS between members (%t), and the Secret %q for it.", o, enabled, secret)
	}
	for _, c := range w.objects {
		if secret == "" || c.namespaceRef != o.namespaceRef || !c.is("Certificate.cert-manager.io") ||
			text(c.manifest, "spec", "secretName") != secret {
			continue
		}
		names := texts(c.manifest, "spec", "dnsNames")
		for i := range members {
			short := fmt.Sprintf("%s-server-%d", o.name, i)
			for _, name := range []string{short, short + "." + o.name + "-nodes." + o.namespace} {
				if !slices.Contains(names, name) {
					w.foundf("%s is for members of %s, and does not have the name %s.", c, o, name)
				}
			}
		}
	}
}

// rabbitMQ: github.com/rabbitmq/cluster-operator v2.20.0, internal/resource/{service,headless_service,default_user_secret}.go,
// internal/metadata/label.go; ports: https://www.rabbitmq.com/docs/networking#ports.
func rabbitMQ(w *inventory, o object) {
	n, _ := number(o.manifest, "spec", "replicas")
	l := labels.Set{"app.kubernetes.io/name": o.name, "app.kubernetes.io/component": "rabbitmq", "app.kubernetes.io/part-of": "rabbitmq"}
	clients := []port{{"amqp", 5672}, {"management", 15672}, {"prometheus", 15692}}
	amqp, management := 5672, 15672
	secret := text(o.manifest, "spec", "tls", "secretName")
	if secret != "" {
		clients = []port{{"amqps", 5671}, {"management-tls", 15671}, {"prometheus-tls", 15691}}
		amqp, management = 5671, 15671
	}
	members := []port{{"epmd", 4369}, {"cluster-rpc", 25672}}
	// Services publish to streams, which a majority of members has to write.
	streams := []port{{"first-stream", 6000}, {"last-stream", 6500}}
	p := w.operated(o, "", l, &n, slices.Concat(clients, members, streams)...)
	w.operatedService(o, p, o.name, false, l, clients...)
	w.operatedService(o, p, o.name+"-nodes", true, l, members...)
	for _, c := range w.objects {
		if c.namespaceRef == o.namespaceRef && c.is("Certificate.cert-manager.io") && text(c.manifest, "spec", "secretName") == secret {
			for _, q := range clients {
				p.tls[q.number] = servedCertificate{texts(c.manifest, "spec", "dnsNames"), text(c.manifest, "spec", "issuerRef", "name")}
			}
			for _, name := range []string{o.name + "." + o.namespace + ".svc", "*." + o.name + "-nodes." + o.namespace + ".svc"} {
				if !slices.Contains(p.tls[amqp].names, name) {
					w.foundf("%s is for %s, and does not have the name %s, by which that is reached.", c, o, name)
				}
			}
		}
	}
	w.checkMembers(o, n)
	if n > 1 {
		for _, q := range slices.Concat(members, streams) {
			w.need(p.String(), p.String(), q.number, "members of a cluster replicate")
		}
	}
	w.need(outsider(ofRabbitOperator), p.String(), management, "the operators make users and queues")
	// RabbitMQ 4.1 and later need no token (github.com/rabbitmq/rabbitmq-server, pull request 13050).
	token := at(o.manifest, "spec", "override", "statefulSet", "spec", "template", "spec", "automountServiceAccountToken")
	if mounted, ok := token.(bool); !ok || mounted {
		w.needAPIServer(p, "members find each other by it")
	}
	w.make(o.namespaceRef, o.name+"-default-user", o.String(), map[string]value{
		"username": {is: userName}, "password": {is: password}, "host": {is: public}, "port": {is: public}, "provider": {is: public},
		"type": {is: public}, "default_user.conf": {is: file}, "connection_string": {is: file},
	})
}

// valkey: github.com/SAP/valkey-operator v0.1.10, api/v1alpha1/types.go, and its chart (bitnami's valkey): not tested
// with the operator.
func valkey(w *inventory, o object) {
	n, _ := number(o.manifest, "spec", "replicas")
	l := labels.Set{
		"app.kubernetes.io/name": "valkey", "app.kubernetes.io/instance": o.name, "app.kubernetes.io/component": "node",
	}
	ports := []port{{"tcp-redis", 6379}}
	if truth(o.manifest, "spec", "sentinel", "enabled") {
		ports = append(ports, port{"tcp-sentinel", 26379})
	}
	store := ports
	if truth(o.manifest, "spec", "metrics", "enabled") {
		ports = append(slices.Clone(ports), port{"http-metrics", 9121})
	}
	p := w.operated(o, "", l, &n, ports...)
	for _, q := range store {
		if n > 1 {
			w.need(p.String(), p.String(), q.number, "members and sentinels communicate")
		}
	}
	if truth(o.manifest, "spec", "metrics", "monitor", "enabled") {
		w.need(outsider(ofPrometheus), p.String(), 9121, "the operator makes a ServiceMonitor")
	}
	w.make(o.namespaceRef, text(o.manifest, "spec", "binding", "secretName"), o.String(), map[string]value{
		"host": {is: public}, "port": {is: public}, "password": {is: password}, "caData": {is: authority}, "tlsEnabled": {is: public},
		"sentinelEnabled": {is: public}, "sentinelHost": {is: public}, "sentinelPort": {is: public}, "primaryName": {is: public},
	})
}

// migration: companion/keyrepository/migrate.go: a Job with the first container of the workload that uses the keys.
func migration(w *inventory, o object) {
	if at(o.manifest, "spec", "migrate") == nil {
		return
	}
	consumers := list(o.manifest, "spec", "consumers")
	if len(consumers) == 0 {
		return
	}
	d, ok := w.find(o.namespaceRef, text(consumers[0], "kind")+".apps", text(consumers[0], "name"))
	if !ok {
		w.foundf("%s is used by %s %s, which does not exist.", o, text(consumers[0], "kind"), text(consumers[0], "name"))
		return
	}
	p := w.operated(o, "migration", labels.Set{
		"app.kubernetes.io/name": "key-migration", "app.kubernetes.io/component": "migration", "app.kubernetes.io/part-of": "openstack",
		"app.kubernetes.io/managed-by": "crossplane-cobaltcore", jobLabel: o.name,
	}, nil)
	spec := corev1.PodSpec{}
	into(at(d.manifest, "spec", "template", "spec"), &spec)
	p.copiedEnv = spec.Containers[0].Env
}

// challenge: https://cert-manager.io/docs/configuration/acme/http01/: while a certificate is ordered, a pod serves the
// challenge for its host name. An issuer that does not belong to the cloud may order, whether it is in the namespace or
// not. The cloud itself signs names that only the cluster resolves.
func challenge(w *inventory, o object) {
	for _, c := range w.objects {
		if c.namespaceRef != o.namespaceRef || !c.is("Certificate.cert-manager.io") || w.ownIssuer(c) || ofServices(c) {
			continue
		}
		p := w.operated(c, "challenge", labels.Set{"acme.cert-manager.io/http01-solver": "true"}, nil, port{"http", 8089})
		w.need(outsider(ofExposure), p.String(), 8089, "an authority connects through the Ingress controller")
	}
}

// ofServices reports whether a certificate is for names of Services only.
func ofServices(certificate object) bool {
	names, _ := at(certificate.manifest, "spec", "dnsNames").([]any)
	return !slices.ContainsFunc(names, func(n any) bool { return !strings.Contains(fmt.Sprint(n), ".svc") })
}

// ownIssuer reports whether a certificate is issued by one of the cloud's issuers.
func (w *inventory) ownIssuer(certificate object) bool {
	return text(certificate.manifest, "spec", "issuerRef", "kind") == "Issuer" && slices.ContainsFunc(w.objects, func(o object) bool {
		return o.namespaceRef == certificate.namespaceRef && o.is("Issuer.cert-manager.io") &&
			text(o.manifest, "metadata", "name") == text(certificate.manifest, "spec", "issuerRef", "name")
	})
}

// A requiredField is a field that an object of an operator must have, with the reason.
type requiredField struct {
	path string
	// want is the value; nil: any.
	want   any
	reason string
	// many: it is only required if there are several pods.
	many bool
}

// requiredFields are the fields by kind that make an operator's pods satisfy the rules for emitted pods.
var requiredFields = map[string][]requiredField{
	"MariaDB": {
		{path: "tls.enabled", want: true, reason: "TLS"}, {path: "tls.required", want: true, reason: "connections with TLS only"},
		{path: "tls.serverCertIssuerRef.name", reason: "a certificate of our own authority"},
		{path: "tls.clientCertIssuerRef.name", reason: "a certificate of our own authority"},
		{path: "tls.galeraSSTEnabled", want: true, reason: "TLS between members", many: true},
		{path: "resources.requests.cpu", reason: "resources"}, {path: "resources.requests.memory", reason: "resources"},
		{path: "resources.limits.memory", reason: "resources"},
		{path: "securityContext.allowPrivilegeEscalation", want: false, reason: "a restricted container"},
		{path: "securityContext.capabilities.drop", reason: "a restricted container"},
		{path: "podSecurityContext.runAsNonRoot", want: true, reason: "a restricted pod"},
		{path: "podSecurityContext.seccompProfile.type", want: "RuntimeDefault", reason: "a restricted pod"},
		{path: "galera.agent.securityContext.allowPrivilegeEscalation", want: false, reason: "a restricted container", many: true},
		{path: "startupProbe.failureThreshold", reason: "time to copy a database before it is killed"},
		{path: "readinessProbe.periodSeconds", reason: "a probe"},
		{path: "podDisruptionBudget.maxUnavailable", want: 1.0, reason: "a disruption budget", many: true},
		{path: "topologySpreadConstraints", reason: "members on different nodes", many: true},
		{path: "updateStrategy.type", want: "ReplicasFirstPrimaryLast", reason: "a roll-out that moves the primary once"},
		{path: "rootPasswordSecretKeyRef.generate", want: false, reason: "the password that we keep"},
	},
	"MaxScale": {
		{path: "tls.enabled", want: true, reason: "TLS"}, {path: "tls.adminCertIssuerRef.name", reason: "a certificate of our own authority"},
		{path: "tls.listenerCertIssuerRef.name", reason: "a certificate of our own authority"},
		{path: "resources.requests.cpu", reason: "resources"}, {path: "resources.requests.memory", reason: "resources"},
		{path: "resources.limits.memory", reason: "resources"},
		{path: "podDisruptionBudget.maxUnavailable", want: 1.0, reason: "a disruption budget", many: true},
		{path: "topologySpreadConstraints", reason: "pods on different nodes", many: true},
	},
	"PhysicalBackup": {
		{path: "storage.s3.tls.enabled", want: true, reason: "TLS"},
		{path: "resources.requests.memory", reason: "resources"},
		{path: "resources.limits.memory", reason: "resources"},
		{path: "securityContext.allowPrivilegeEscalation", want: false, reason: "a restricted container"},
		{path: "podSecurityContext.runAsNonRoot", want: true, reason: "a restricted pod"},
		{path: "maxRetention", reason: "an end of old backups"}, {path: "schedule.cron", reason: "a schedule"},
	},
	"RabbitmqCluster": {
		{path: "tls.secretName", reason: "TLS"}, {path: "tls.caSecretName", reason: "TLS"},
		{path: "tls.disableNonTLSListeners", want: true, reason: "connections with TLS only"},
		{path: "resources.requests.cpu", reason: "resources"}, {path: "resources.requests.memory", reason: "resources"},
		{path: "resources.limits.memory", reason: "resources"},
		{path: "terminationGracePeriodSeconds", reason: "an end of its drain"},
		{path: "affinity.podAntiAffinity", reason: "members on different nodes", many: true},
	},
	"Vhost": {
		{path: "defaultQueueType", want: "quorum", reason: "queues that outlive the loss of a member"},
		{path: "deletionPolicy", reason: "an explicit decision on the deletion of its messages"},
	},
	"Policy": {
		{path: "definition.max-length-bytes", reason: "a bound on streams"},
		{path: "definition.stream-max-segment-size-bytes", reason: "segments that fit into the bound"},
	},
	"CephNFS": {
		{path: "server.placement.nodeAffinity", reason: "nodes that are left to it"},
		{path: "server.placement.podAntiAffinity", reason: "servers on different nodes"},
		{path: "server.resources.requests.memory", reason: "resources"},
	},
	"CephRBDMirror": {
		{path: "placement.nodeAffinity", reason: "nodes that are left to it"}, {path: "resources.requests.memory", reason: "resources"},
	},
	"CephCluster": {
		{path: "mon.allowMultiplePerNode", want: false, reason: "monitors on different nodes"},
		{path: "mgr.allowMultiplePerNode", want: false, reason: "managers on different nodes"},
		{path: "placement.all.nodeAffinity", reason: "nodes that are left to it"},
		{path: "storage.useAllNodes", reason: "a word on whose nodes are taken"},
		{path: "resources.mon.requests.memory", reason: "resources"}, {path: "resources.mgr.requests.memory", reason: "resources"},
		{path: "resources.osd.requests.memory", reason: "resources"},
		{path: "disruptionManagement.managePodBudgets", want: true, reason: "disruption budgets"},
		{path: "skipUpgradeChecks", want: false, reason: "upgrades that stop where Ceph is not healthy"},
		{path: "continueUpgradeAfterChecksEvenIfNotHealthy", want: false, reason: "upgrades that stop where Ceph is not healthy"},
		{path: "cleanupPolicy.confirmation", want: "", reason: "disks that are not wiped"},
	},
	"CephBlockPool": {{path: "failureDomain", reason: "copies that do not fail together"}},
	"CephClient": {
		{path: "caps.mon", want: "profile rbd", reason: "the right to write where another client died with a lock"},
		{path: "caps.osd", reason: "a right in a pool"},
	},
	"CephFilesystem": {
		{path: "preserveFilesystemOnDelete", want: true, reason: "files that outlive a mistake"},
		{path: "metadataServer.activeStandby", want: true, reason: "a server that stands by"},
	},
	"CephObjectStore": {
		{path: "gateway.sslCertificateRef", reason: "TLS"}, {path: "gateway.securePort", reason: "TLS"},
		{path: "preservePoolsOnDelete", want: true, reason: "objects that outlive a mistake"},
	},
	"Valkey": {
		{path: "tls.enabled", want: true, reason: "TLS"}, {path: "tls.certManager.issuer.name", reason: "a certificate of our own authority"},
		{path: "resources.requests.memory", reason: "resources"},
		{path: "resources.limits.memory", reason: "resources"},
	},
}

// budgeted are the kinds whose operators make no disruption budget: it has to be emitted.
var budgeted = []string{"RabbitmqCluster"}

// checkOperated checks that objects of operators have all required fields, and that this package knows the objects that
// each operator creates.
func (w *inventory) checkOperated() {
	for _, o := range w.objects {
		if _, known := operators[o.kind+"."+o.group]; !known && !slices.ContainsFunc(managedGroupSuffixes, func(g string) bool {
			return o.group == g || g != "" && strings.HasSuffix(o.group, g)
		}) {
			w.foundf("%s is of kind %s.%s: the table of operators has no entry for it (operated.go).", o, o.kind, o.group)
		}
		n, _ := number(o.manifest, "spec", "replicas")
		for _, a := range requiredFields[o.kind] {
			got := at(o.manifest, append([]string{"spec"}, strings.Split(a.path, ".")...)...)
			if a.many && n < 2 {
				continue
			}
			if got == nil || a.want != nil && fmt.Sprint(got) != fmt.Sprint(a.want) {
				w.foundf("%s does not request %s: spec.%s is %v.", o, a.reason, a.path, got)
			}
		}
	}
	for _, p := range w.pods {
		if p.spec == nil && slices.Contains(budgeted, p.of.kind) && *p.replicas > 1 && !slices.ContainsFunc(w.objects, func(o object) bool {
			return o.is("PodDisruptionBudget.policy") && o.namespaceRef == p.namespaceRef && selectsMap(at(o.manifest, "spec", "selector"), p.labels)
		}) {
			w.foundf("%s has %d pods and no disruption budget.", p, *p.replicas)
		}
	}
}

// namespacesOf returns the namespaces of a neighbor.
func (w *inventory) namespacesOf(role string) []string {
	if role == ofExposure {
		return w.exposedBy()
	}
	out := neighbours[role]
	for _, doc := range w.inputs {
		if requested := texts(doc, "spec", "network", role); len(requested) > 0 {
			out = requested
		}
	}
	return out
}

// exposedBy returns the namespaces of gateways and Ingress controllers, from the claim or else from the platform; none:
// any.
func (w *inventory) exposedBy() []string {
	for _, path := range [][]string{{"spec", "global", "exposure"}, {"spec", "exposure"}} {
		for _, doc := range w.inputs {
			if requested := texts(doc, append(path, "allowedNamespaces")...); len(requested) > 0 {
				return requested
			}
		}
	}
	return nil
}

func (w *inventory) apiPorts() []int {
	for _, doc := range w.inputs {
		var out []int
		for _, n := range list(doc, "spec", "network", "apiServerPorts") {
			if f, ok := n.(float64); ok {
				out = append(out, int(f))
			} else if i, ok := n.(int64); ok {
				out = append(out, int(i))
			}
		}
		if out != nil {
			return out
		}
	}
	return apiServer
}

// ordinals returns the names of a StatefulSet's pods.
func ordinals(set string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s-%d", set, i))
	}
	return out
}
