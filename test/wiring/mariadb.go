package wiring

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// mariaDB: github.com/mariadb-operator/mariadb-operator v25.10.4: internal/controller/mariadb_controller.go (Services, ports),
// api/v1alpha1/mariadb_keys.go (Secrets), mariadb_types.go (names in certificates), pkg/builder/labels.
func mariaDB(w *inventory, o object) {
	n, _ := number(o.manifest, "spec", "replicas")
	l := app("mariadb", o.name)
	sql := port{"mariadb", 3306}
	ports := []port{sql}
	galera := []port{{"cluster", 4567}, {"ist", 4568}, {"sst", 4444}}
	agent := []port{{"agent", 5555}, {"agent-probe", 5566}}
	clustered := truth(o.manifest, "spec", "galera", "enabled")
	if clustered {
		ports = slices.Concat(ports, galera, agent)
	}
	p := w.operated(o, "", l, &n, ports...)
	w.operatedService(o, p, o.name, false, l, sql)
	w.operatedService(o, p, o.name+"-internal", true, l, ports...)
	names := variants(o.namespace, o.name, o.name+"-primary", o.name+"-secondary", "*."+o.name+"-internal")
	if clustered {
		w.operatedService(o, p, o.name+"-primary", false, l, sql)
		w.operatedService(o, p, o.name+"-secondary", false, l, sql)
		for _, q := range galera {
			w.need(p.String(), p.String(), q.number, "members of a Galera cluster replicate")
		}
		w.need(outsider(ofMariaDBOperator), p.String(), 5555, "the operator calls the agents")
		w.needAPIServer(p, "the agents review tokens")
	}
	if truth(o.manifest, "spec", "tls", "enabled") {
		p.tls[3306] = servedCertificate{names, issuerOf(o, "serverCertIssuerRef")}
	}
	w.need(outsider(ofMariaDBOperator), p.String(), 3306, "the operator makes databases and users")
	w.make(o.namespaceRef, o.name+"-ca-bundle", o.String(), map[string]value{"ca.crt": {is: authority, of: issuerOf(o,
		"serverCertIssuerRef")}})
	if truth(o.manifest, "spec", "metrics", "enabled") {
		exporter(w, o, p, 9104, 3306)
	}
	if b := at(o.manifest, "spec", "bootstrapFrom"); b != nil {
		bucketJob(w, o, "restore", text(b, "s3", "endpoint"), p)
	}
}

// externalMariaDB: the same, pkg/sql/sql.go: no object is created for it; the operator, in its namespace, logs in to
// the server and verifies it by the key ca.crt.
func externalMariaDB(w *inventory, o object) {
	if !truth(o.manifest, "spec", "tls", "enabled") {
		w.foundf("%s: the administrator's password is sent in plain text.", o)
	}
	ca := secretName{o.namespaceRef, text(o.manifest, "spec", "tls", "serverCASecretRef", "name")}
	w.checkRead(o, configRead{secretName: ca, key: "ca.crt", as: "serverCASecretRef", means: authority})
}

// exporter: the same, pkg/builder/deployment_builder.go: a Deployment whose pod queries the server, and is scraped by
// Prometheus.
func exporter(w *inventory, o object, server *pod, metrics, queried int) {
	p := w.operated(o, "exporter", app("exporter", o.name+"-metrics"), new(int), port{"metrics", metrics})
	w.operatedService(o, p, o.name+"-metrics", false, p.labels, port{"metrics", metrics})
	w.need(p.String(), server.String(), queried, "it queries the server")
	w.need(outsider(ofPrometheus), p.String(), metrics, "it is scraped")
}

// maxScale: the same, internal/controller/maxscale_controller.go, api/v1alpha1/maxscale_{keys,types}.go.
func maxScale(w *inventory, o object) {
	n, _ := number(o.manifest, "spec", "replicas")
	l := app("maxscale", o.name)
	ports := []port{{"admin", 8989}}
	for _, s := range list(o.manifest, "spec", "services") {
		n, _ := number(s, "listener", "port")
		ports = append(ports, port{text(s, "listener", "name"), n})
	}
	p := w.operated(o, "", l, &n, ports...)
	w.operatedService(o, p, o.name, false, l, ports...)
	w.operatedService(o, p, o.name+"-internal", true, l, ports...)
	if truth(o.manifest, "spec", "tls", "enabled") {
		names := variants(o.namespace, o.name, "*."+o.name+"-internal")
		for _, q := range ports {
			issuer := issuerOf(o, "listenerCertIssuerRef")
			if q.name == "admin" {
				issuer = issuerOf(o, "adminCertIssuerRef")
			}
			p.tls[q.number] = servedCertificate{names, issuer}
		}
	}
	w.make(o.namespaceRef, o.name+"-ca-bundle", o.String(), map[string]value{"ca.crt": {is: authority, of: issuerOf(o,
		"listenerCertIssuerRef")}})
	w.need(outsider(ofMariaDBOperator), p.String(), 8989, "the operator sets it up")
	server := "MariaDB " + text(o.manifest, "spec", "mariaDbRef", "name")
	w.need(p.String(), server, 3306, "it forwards queries")
	w.proxied = append(w.proxied, proxied{p.String(), server})
	if truth(o.manifest, "spec", "metrics", "enabled") {
		exporter(w, o, p, 9105, 8989)
	}
}

// physicalBackup: the same, pkg/builder/batch_builder.go: Jobs that read the database and write to a bucket.
func physicalBackup(w *inventory, o object) {
	i := slices.IndexFunc(w.objects, func(m object) bool {
		return m.namespaceRef == o.namespaceRef && m.is("MariaDB.k8s.mariadb.com") && m.name == text(o.manifest, "spec", "mariaDbRef", "name")
	})
	if i < 0 {
		w.foundf("%s backs up a MariaDB that does not exist.", o)
		return
	}
	bucketJob(w, o, "", text(o.manifest, "spec", "storage", "s3", "endpoint"), &pod{of: w.objects[i]})
}

func bucketJob(w *inventory, o object, part, bucket string, server *pod) {
	p := w.operated(o, part, labels.Set{jobLabel: o.name}, nil)
	w.need(p.String(), server.String(), 3306, "it copies the database")
	w.need(p.String(), outsider(anywhere), portOf(bucket), "it stores objects in the bucket")
}

// portOf returns the port of an object store; by default, the port of HTTPS.
func portOf(endpoint string) int {
	if _, port, ok := strings.Cut(endpoint, ":"); ok {
		n, _ := strconv.Atoi(port)
		return n
	}
	return schemePorts["https"]
}
