package wiring

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var (
	// databaseURL is the database URL of SQLAlchemy; the password is a variable
	// (https://docs.sqlalchemy.org/en/20/core/engines.html).
	databaseURL = regexp.MustCompile(`^mysql\+\w+://([^:/@]+):\$\((\w+)\)@([^:/]+):\d+/([^?]+)`)
	// queueURL is the transport URL of oslo.messaging
	// (https://docs.openstack.org/oslo.messaging/latest/reference/transport.html).
	queueURL = regexp.MustCompile(`^rabbit://([^:/@]+):\$\((\w+)\)@([^:/]+):\d+/([^?]+)`)
	// cloudLogin is a login by password in a clouds.yaml.
	cloudLogin = regexp.MustCompile(`username: "?([^"\n]+?)"?\n\s*password: \{\{ *\.(\w+)`)
	// userFlag is an argument that names a user, for a password in the environment.
	userFlag = regexp.MustCompile(`^--([a-z-]+-)username$`)
)

// checkAccounts checks that each login uses the password of the user that it names, and that the user exists.
func (w *inventory) checkAccounts() {
	for _, p := range w.pods {
		if p.spec == nil {
			continue
		}
		for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
			w.checkDatabaseLogin(p, c)
			w.checkQueueLogin(p, c)
			w.checkUserFlag(p, c)
		}
	}
	for _, o := range w.objects {
		switch {
		case o.is("User.k8s.mariadb.com"):
			w.checkPasswordOf(o, "passwordSecretKeyRef", text(o.manifest, "spec", "name"))
			w.checkServerOf(o)
		case o.is("MariaDB.k8s.mariadb.com"):
			w.checkPasswordOf(o, "rootPasswordSecretKeyRef", "root")
		case o.is("ExternalMariaDB.k8s.mariadb.com"):
			w.checkPasswordOf(o, "passwordSecretKeyRef", text(o.manifest, "spec", "username"))
		case o.is("Database.k8s.mariadb.com"), o.is("Grant.k8s.mariadb.com"):
			w.checkServerOf(o)
		case o.is("SecretAggregate.c5c3.io"):
			w.checkCloudLogin(o)
		case o.is("RemoteConsumer.c5c3.io"):
			w.checkRemoteConsumer(o)
		case o.is("User.openstack.k-orc.cloud"):
			w.checkExemption(o)
		}
		if name := text(o.manifest, "spec", "cloudCredentialsRef", "cloudName"); name != "" {
			secret := secretName{o.namespaceRef, text(o.manifest, "spec", "cloudCredentialsRef", "secretName")}
			if v, wrong := w.value(secret, "clouds.yaml"); wrong == "" && !strings.Contains(v.content, "\n  "+name+":\n") {
				w.foundf("%s logs in to cloud %s, which is not in the clouds.yaml of %s.", o, name, secret)
			}
		}
	}
}

// checkExemption checks that a user with a generated password is exempt from the rules for people: with them, the user of a service is
// locked out by any client, is disabled without logins by password, or never logs in.
func (w *inventory) checkExemption(o object) {
	if text(o.manifest, "spec", "resource", "passwordRef") == "" {
		return
	}
	for _, r := range w.objects {
		exempts, _ := at(r.manifest, "spec", "exemptUser").(bool)
		if r.namespaceRef == o.namespaceRef && r.is("RoleAssignment.openstack.c5c3.io") && exempts &&
			text(r.manifest, "spec", "resource", "userRef") == o.name {
			return
		}
	}
	w.foundf("%s is subject to lockout, inactivity and expiry of passwords: no RoleAssignment exempts it.", o)
}

// checkRemoteConsumer checks that each credential of a remote consumer is rotated here: the consumer waits forever for
// any other.
func (w *inventory) checkRemoteConsumer(o object) {
	for _, c := range list(o.manifest, "spec", "credentials") {
		rotated, rotates := false, false
		for _, r := range w.objects {
			if r.namespaceRef == o.namespaceRef && r.is("CredentialRotation.c5c3.io") {
				rotates, rotated = true, rotated || text(r.manifest, "spec", "secretName") == text(c, "secretName")
			}
		}
		if rotates && !rotated { // A pool may be judged without its control plane.
			w.foundf("%s uses Secret %s, whose credential no CredentialRotation there replaces.", o, text(c, "secretName"))
		}
	}
}

func (w *inventory) checkPasswordOf(o object, field, user string) {
	ref, _ := at(o.manifest, "spec", field).(fields)
	w.checkRead(o, configRead{secretName: secretName{o.namespaceRef, text(ref, "name")}, key: text(ref, "key"), as: field,
		means: password, of: user})
}

// checkServerOf checks that the database server referenced by an object exists and is of the referenced kind.
func (w *inventory) checkServerOf(o object) {
	kind := cmp.Or(text(o.manifest, "spec", "mariaDbRef", "kind"), "MariaDB")
	if _, ok := w.find(o.namespaceRef, kind+".k8s.mariadb.com", text(o.manifest, "spec", "mariaDbRef", "name")); !ok {
		w.foundf("%s is made on a %s that does not exist.", o, kind)
	}
}

// checkDatabaseLogin checks that the user of a database exists on the server, with this password and with privileges
// for this database.
func (w *inventory) checkDatabaseLogin(p *pod, c corev1.Container) {
	for _, e := range c.Env {
		m := databaseURL.FindStringSubmatch(e.Value)
		if m == nil {
			continue
		}
		user, from, database := m[1], m[2], m[4]
		secret, key := variable(c, p.namespaceRef, from)
		account, granted, exists := false, false, false
		for _, o := range w.objects {
			if o.namespaceRef != p.namespaceRef {
				continue
			}
			ref := at(o.manifest, "spec", "passwordSecretKeyRef")
			account = account || o.is("User.k8s.mariadb.com") && text(o.manifest, "spec", "name") == user &&
				text(ref, "name") == secret.name && text(ref, "key") == key
			granted = granted || o.is("Grant.k8s.mariadb.com") && text(o.manifest, "spec", "username") == user &&
				text(o.manifest, "spec", "database") == database
			exists = exists || o.is("Database.k8s.mariadb.com") && text(o.manifest, "spec", "name") == database
		}
		if !account {
			w.foundf("%s: container %s logs in to the database as %s with key %s of %s, which no User has.", p, c.Name, user, key, secret)
		}
		if !granted || !exists {
			w.foundf("%s: container %s uses database %s as %s, for which there is no Database or no Grant.", p, c.Name, database, user)
		}
	}
}

// formatsCells reports whether a container runs Nova's tools. They complete the addresses of cells in the database with the account in
// their own address (nova/objects/cell_mapping.py).
func formatsCells(c corev1.Container) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/nova/nova.conf" })
}

// checkQueueLogin checks that the user of a virtual host is created in the queue, with this password and with
// permissions in it.
func (w *inventory) checkQueueLogin(p *pod, c corev1.Container) {
	for _, e := range c.Env {
		m := queueURL.FindStringSubmatch(e.Value)
		if m == nil {
			continue
		}
		if p.replicas == nil && !formatsCells(c) {
			w.foundf("%s: container %s runs to completion and has an account on the queue, to which it does not connect.", p, c.Name)
		}
		vhost := m[4]
		secret, _ := variable(c, p.namespaceRef, m[2])
		named, key := variable(c, p.namespaceRef, strings.TrimSuffix(strings.TrimPrefix(m[1], "$("), ")"))
		queue := w.brokerAt(p.namespaceRef, m[3])
		if !w.hasQueueUser(p.namespaceRef, secret, queue, "") {
			w.foundf("%s: container %s logs in to %s with %s, for which no user is created there.", p, c.Name, queue, secret)
		}
		if named != secret || key != "username" {
			w.foundf("%s: container %s logs in to %s as %s with %s, which belongs to another user.", p, c.Name, queue, m[1], secret)
		}
		exists := slices.ContainsFunc(w.objects, func(o object) bool {
			return o.namespaceRef == p.namespaceRef && o.is("Vhost.rabbitmq.com") && text(o.manifest, "spec", "name") == vhost &&
				brokerIn(at(o.manifest, "spec", "rabbitmqClusterReference"), "name", "connectionSecret") == queue
		})
		if !exists || !w.hasQueueUser(p.namespaceRef, secret, queue, vhost) {
			w.foundf("%s: container %s uses virtual host %s of %s with %s, for which there is no Vhost or no permission.",
				p, c.Name, vhost, queue, secret)
		}
	}
}

// brokerAt returns the queue at a host: the RabbitmqCluster of the Service, or the Secret of the external queue's
// administrator, which has to be for the same host.
func (w *inventory) brokerAt(where namespaceRef, host string) string {
	for _, o := range w.objects {
		uri := text(o.manifest, "spec", "target", "template", "data", "uri")
		if o.namespaceRef == where && o.is("ExternalSecret.external-secrets.io") && strings.HasPrefix(uri, "https://"+host+":") {
			return text(o.manifest, "spec", "target", "name")
		}
	}
	queue, _, _ := strings.Cut(host, ".")
	return queue
}

// brokerIn returns the name of the broker in a reference, by a RabbitmqCluster or by a Secret.
func brokerIn(reference any, cluster, secret string) string {
	for _, path := range [][]string{{cluster}, {cluster, "name"}, {secret, "name"}} {
		if name := text(reference, path...); name != "" {
			return name
		}
	}
	return ""
}

// hasQueueUser reports whether the companion creates a user of the Secret in a queue, with permissions in a virtual
// host if one is named (apis/c5c3/v1alpha1, the target QueueUser).
func (w *inventory) hasQueueUser(where namespaceRef, secret secretName, queue, vhost string) bool {
	return slices.ContainsFunc(w.objects, func(o object) bool {
		return o.namespaceRef == where && o.is("CredentialRotation.c5c3.io") && text(o.manifest, "spec", "target") == "QueueUser" &&
			text(o.manifest, "spec", "secretName") == secret.name &&
			slices.ContainsFunc(list(o.manifest, "spec", "queue", "permissions"), func(permission any) bool {
				return brokerIn(permission, "rabbitMQRef", "connectionSecretRef") == queue && (vhost == "" || text(permission, "vhost") == vhost)
			})
	})
}

// variable returns the source of an environment variable's value.
func variable(c corev1.Container, where namespaceRef, name string) (secret secretName, key string) {
	for _, v := range c.Env {
		if v.Name == name && v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			return secretName{where, v.ValueFrom.SecretKeyRef.Name}, v.ValueFrom.SecretKeyRef.Key
		}
	}
	return secretName{}, ""
}

func (w *inventory) checkUserFlag(p *pod, c corev1.Container) {
	args := slices.Concat(c.Command, c.Args)
	for i, a := range args {
		m := userFlag.FindStringSubmatch(a)
		if m == nil || i+1 == len(args) {
			continue
		}
		variable := strings.ToUpper(strings.ReplaceAll(m[1], "-", "_")) + "PASSWORD"
		for _, e := range c.Env {
			if strings.HasSuffix(e.Name, variable) && e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				r := e.ValueFrom.SecretKeyRef
				w.checkRead(p.of, configRead{secretName: secretName{p.namespaceRef, r.Name}, key: r.Key, as: e.Name, means: password, of: args[i+1]})
			}
		}
	}
}

func (w *inventory) checkCloudLogin(o object) {
	for _, t := range stringMap(o.manifest, "spec", "template") {
		for _, m := range cloudLogin.FindAllStringSubmatch(t, -1) {
			for _, s := range list(o.manifest, "spec", "sources") {
				if text(s, "name") == m[2] {
					ref := at(s, "secretKeyRef")
					w.checkRead(o, configRead{secretName: secretName{o.namespaceRef, text(ref, "name")}, key: text(ref, "key"), as: m[2],
						means: password, of: m[1]})
				}
			}
		}
	}
}
