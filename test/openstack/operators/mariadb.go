//go:build linux

package operators

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/names"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
)

// MariaDBImage is the image of the servers.
const MariaDBImage = "mariadb"

const (
	// mariaDBConfig is the annotation with which the operator replaces pods after a change of the configuration
	// (internal/controller/mariadb_controller_update.go).
	mariaDBConfig = "k8s.mariadb.com/config"

	mariaDBPort = 3306
	// mariaDBUser is the user of servers set by the operator.
	mariaDBUser = 999
	tlsDir      = "/etc/pki"
)

// mariaDB runs one server of a MariaDB object, with its configuration, and with TLS if enabled. A Galera cluster is one
// server here: services see no difference.
// https://github.com/mariadb-operator/mariadb-operator/blob/main/docs/api_reference.md
func (o *Operators) mariaDB(ctx context.Context, u *unstructured.Unstructured) error {
	namespace, name := u.GetNamespace(), u.GetName()
	ref := func(field string) string { return text(u, "spec", "tls", "serverCertIssuerRef", field) }
	issuer, err := o.issuer(ctx, namespace, ref("kind"), ref("name"))
	if err != nil {
		return err
	}
	var names []string
	for _, n := range []string{name, name + "-primary", name + "-internal", name + "-0." + name + "-internal"} {
		names = append(names, n, n+"."+namespace, n+"."+namespace+".svc", n+"."+namespace+".svc.cluster.local")
	}
	p, err := issuer.Issue(pki.Subject{Hosts: names})
	if err != nil {
		return err
	}
	root, err := o.Secret(ctx, namespace, text(u, "spec", "rootPasswordSecretKeyRef", "name"))
	if err != nil {
		return err
	}
	password := string(root[text(u, "spec", "rootPasswordSecretKeyRef", "key")])
	init := fmt.Sprintf("CREATE OR REPLACE USER 'root'@'%%' IDENTIFIED BY %s;\n"+
		"GRANT ALL PRIVILEGES ON *.* TO 'root'@'%%' WITH GRANT OPTION;\n",
		quoted(password))
	for secret, data := range map[string]map[string][]byte{
		name + "-ca-bundle":   {"ca.crt": issuer.Certificate},
		name + "-server-cert": {"tls.crt": p.Certificate, "tls.key": p.Key, "ca.crt": issuer.Certificate},
		name + "-client-cert": {"tls.crt": p.Certificate, "tls.key": p.Key, "ca.crt": issuer.Certificate},
		name + "-files":       {"my.cnf": []byte(text(u, "spec", "myCnf")), "init.sql": []byte(init)},
	} {
		if err := o.SetSecret(ctx, namespace, secret, data); err != nil {
			return err
		}
	}
	if err := o.restored(ctx, u); err != nil {
		return err
	}
	return o.run(ctx, mariaDBServer(u), name)
}

// mariaDBServer returns the server of a MariaDB object.
func mariaDBServer(u *unstructured.Unstructured) server {
	name := u.GetName()
	args := []string{
		"--defaults-file=/etc/mysql/my.cnf", "--datadir=/var/lib/mysql", "--socket=/tmp/mysqld.sock", "--pid-file=/tmp/mysqld.pid",
		"--tmpdir=/tmp", fmt.Sprintf("--port=%d", mariaDBPort), "--init-file=/etc/mysql/init.sql",
		// A machine that runs everything has less memory than the servers of a cloud, and its disk is thrown away.
		"--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=2",
		"--ssl-ca=" + tlsDir + "/ca.crt", "--ssl-cert=" + tlsDir + "/tls.crt", "--ssl-key=" + tlsDir + "/tls.key",
	}
	if required, _, _ := unstructured.NestedBool(u.Object, "spec", "tls", "required"); required {
		args = append(args, "--require-secure-transport=ON")
	}
	return server{
		namespace: u.GetNamespace(), name: name, service: name + "-internal", user: mariaDBUser,
		annotations: map[string]string{mariaDBConfig: names.Hash(10, text(u, "spec", "myCnf"))},
		labels:      map[string]string{"app.kubernetes.io/name": "mariadb", "app.kubernetes.io/instance": name},
		prepare:     []string{"/bin/sh", "-c", makeDatabase},
		data:        "/var/lib/mysql",
		secrets:     map[string]string{"/etc/mysql": name + "-files", tlsDir: name + "-server-cert"},
		container: corev1.Container{
			Name: "mariadb", Image: MariaDBImage, Args: args, Ports: []corev1.ContainerPort{{Name: "mariadb", ContainerPort: mariaDBPort}},
		},
	}
}

// makeDatabase initializes an empty data folder, as the entry point of the server's image does.
const makeDatabase = `[ -d /var/lib/mysql/mysql ] || exec mariadb-install-db --no-defaults --auth-root-authentication-method=normal \
  --skip-test-db --skip-name-resolve --datadir=/var/lib/mysql --tmpdir=/tmp`

// restored restores the data folder of a new server that starts from a backup.
func (o *Operators) restored(ctx context.Context, u *unstructured.Unstructured) error {
	if _, restore, _ := unstructured.NestedMap(u.Object, "spec", "bootstrapFrom"); !restore {
		return nil
	}
	dir := o.Cluster.ClaimDir(u.GetNamespace(), dataClaim(u.GetName()))
	if _, err := os.Stat(filepath.Join(dir, "mysql")); err == nil {
		return nil
	}
	return o.restore(ctx, u)
}

// maxScale adds a name to the server behind it.
func (o *Operators) maxScale(ctx context.Context, u *unstructured.Unstructured) error {
	server, err := o.Find("MariaDB.k8s.mariadb.com", u.GetNamespace(), text(u, "spec", "mariaDbRef", "name"))
	if err != nil {
		return err
	}
	return o.Cluster.Apply(ctx, mariaDBServer(server).at(u.GetName()))
}

// externalMariaDB logs in to an external server, and runs the operator's query: reconcileStatus in
// https://github.com/mariadb-operator/mariadb-operator/blob/v25.10.4/internal/controller/external_mariadb_controller.go
func (o *Operators) externalMariaDB(ctx context.Context, u *unstructured.Unstructured) error {
	_, err := o.query(ctx, u, "SELECT @@version, @@wsrep_on")
	return err
}

func (o *Operators) database(ctx context.Context, u *unstructured.Unstructured) error {
	err := o.referred(ctx, u, fmt.Sprintf(
		"CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET %s COLLATE %s", text(u, "spec", "name"),
		text(u, "spec", "characterSet"), text(u, "spec", "collate")))
	return err
}

func (o *Operators) databaseUser(ctx context.Context, u *unstructured.Unstructured) error {
	ref, key := text(u, "spec", "passwordSecretKeyRef", "name"), text(u, "spec", "passwordSecretKeyRef", "key")
	data, err := o.Secret(ctx, u.GetNamespace(), ref)
	if err != nil {
		return err
	}
	account := quoted(text(u, "spec", "name")) + "@" + quoted(text(u, "spec", "host"))
	is := fmt.Sprintf("%s IDENTIFIED BY %s", account, quoted(string(data[key])))
	if ssl, _, _ := unstructured.NestedBool(u.Object, "spec", "require", "ssl"); ssl {
		is += " REQUIRE SSL"
	}
	connections, found, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "maxUserConnections")
	if !found {
		connections = 10 // the operator's default
	}
	is += fmt.Sprintf(" WITH MAX_USER_CONNECTIONS %v", connections)
	// An existing user is adopted, whatever its owner.
	err = o.referred(ctx, u, "CREATE USER IF NOT EXISTS "+is+";\nALTER USER "+is)
	return err
}

func (o *Operators) grant(ctx context.Context, u *unstructured.Unstructured) error {
	err := o.referred(ctx, u, fmt.Sprintf("GRANT %s ON `%s`.%s TO %s@%s",
		strings.Join(texts(u, "spec", "privileges"), ", "), text(u, "spec", "database"), text(u, "spec", "table"),
		quoted(text(u, "spec", "username")), quoted(text(u, "spec", "host"))))
	return err
}

// SQL runs a statement on a server as root, and returns its output: a line for each row, with tab-separated values.
func (o *Operators) SQL(ctx context.Context, namespace, server, statement string) (string, error) {
	u, err := o.Find("MariaDB.k8s.mariadb.com", namespace, server)
	if err != nil {
		return "", err
	}
	return o.query(ctx, u, statement)
}

// referred runs a statement on the server that an object refers to.
func (o *Operators) referred(ctx context.Context, u *unstructured.Unstructured, statement string) error {
	kind := cmp.Or(text(u, "spec", "mariaDbRef", "kind"), "MariaDB")
	server, err := o.Find(kind+".k8s.mariadb.com", u.GetNamespace(), text(u, "spec", "mariaDbRef", "name"))
	if err != nil {
		return err
	}
	_, err = o.query(ctx, server, statement)
	return err
}

// query runs a statement on a server, as the user that its object names: on a composed server as root, on an external
// one as its administrator, with the certificate verification of that object.
func (o *Operators) query(ctx context.Context, u *unstructured.Unstructured, statement string) (string, error) {
	host, user, password := u.GetName()+"."+u.GetNamespace()+".svc", "root", "rootPasswordSecretKeyRef"
	args := []string{"--no-defaults", "--ssl", "--skip-column-names", "--batch"}
	if u.GetKind() == "ExternalMariaDB" {
		host, user, password = text(u, "spec", "host"), text(u, "spec", "username"), "passwordSecretKeyRef"
		ca, err := o.Secret(ctx, u.GetNamespace(), text(u, "spec", "tls", "serverCASecretRef", "name"))
		if err != nil {
			return "", err
		}
		dir, err := os.MkdirTemp("", "mariadb-")
		if err != nil {
			return "", err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		file := filepath.Join(dir, "ca.crt")
		if err := os.WriteFile(file, ca["ca.crt"], 0o600); err != nil {
			return "", err
		}
		port, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "port")
		args = append(args, fmt.Sprintf("--port=%v", port), "--ssl-ca="+file, "--ssl-verify-server-cert")
	}
	secret, err := o.Secret(ctx, u.GetNamespace(), text(u, "spec", password, "name"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "mariadb", append(args, "--host="+host, "--user="+user)...)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+string(secret[text(u, "spec", password, "key")]))
	cmd.Stdin = strings.NewReader(statement + ";\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot run SQL: %w: %s", err, out)
	}
	return string(out), nil
}

// quoted returns a text as an SQL string.
func quoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
