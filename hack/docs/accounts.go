package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	ovnv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovn/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/hack/chart/reviewed"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/korc"
	"github.com/c5c3/crossplane-cobaltcore/test/wiring"
)

// accountSections are the tables of the page, in their order.
var accountSections = []struct{ name, text string }{
	{keystoneUsers, "Users log in with a password. Pods of services do not have it: they have an application credential."},
	{applicationCredentials, "A credential has the named roles of its user in the user's project. It cannot create other credentials.\n" +
		"*all roles*: it has all roles of its user."},
	{databaseUsers, "Users may connect from each address, and require TLS. *all privileges* are of one database."},
	{queueUsers, "A user may configure, write and read everything in its virtual hosts."},
	{cephUsers, "Rook creates the keys. Capabilities are of monitors, managers and storage daemons."},
	{clientCertificates, "Certificates with which a program identifies itself, and which are not only a server's. " +
		"OVN's databases have no\nroles: each of these certificates may change everything in them."},
	{kubernetesAccounts, "Rules of Roles and ClusterRoles, by account. *named*: the rule is limited to names of objects. Composed accounts\n" +
		"have rights in the namespaces of their claims only; `rook-nodes` and `nodes` are for the whole cluster. Other composed pods\n" +
		"have no token."},
}

// Names of the sections.
const (
	keystoneUsers          = "Keystone users"
	applicationCredentials = "Application credentials"
	databaseUsers          = "Database users"
	queueUsers             = "Queue users"
	cephUsers              = "Ceph users"
	clientCertificates     = "Client certificates"
	kubernetesAccounts     = "Kubernetes accounts"
)

// accountsText introduces the tables.
const accountsText = `Every account with which a program logs in to another one, with its rights: of the complete example
(` + "`examples/complete`" + `), of a control plane with all services, and of the chart. Names do not contain the name of the
claim; ` + "`FULL`, `COMPLETE`, `HYPERVISORS` and `STORAGE`" + ` stand for namespaces of the examples. A claim with other
services, stores or pools has the same kinds of accounts.
`

// An account is a row of a table.
type account struct {
	section, name string
	// holders have the password, the key or the token; of Kubernetes accounts, the verbs of a rule.
	holders         []string
	rights, purpose string
}

// accountsPage describes all accounts. Sources is the project.
func accountsPage(sources fs.FS) ([]byte, error) {
	all, err := everyAccount(sources)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n# Accounts\n\n%s", emittedNotice, accountsText)
	for _, s := range accountSections {
		head := []string{"Account", "Holder", "Rights", "Purpose"}
		if s.name == kubernetesAccounts {
			head = []string{"Account", "Verbs", "Objects", "Purpose"}
		}
		t := &table{head: head}
		for _, a := range all {
			switch {
			case a.section != s.name:
				continue
			case a.purpose == "":
				return nil, fmt.Errorf("%s: account %s has no purpose; add it to hack/docs/purposes.go", s.name, a.name)
			}
			t.add(a.name, strings.Join(a.holders, ", "), a.rights, a.purpose)
		}
		fmt.Fprintf(&out, "\n## %s\n\n%s\n\n%s", s.name, s.text, t)
	}
	return out.Bytes(), nil
}

// everyAccount returns the accounts of the examples and of the chart, each section in alphabetical order.
func everyAccount(sources fs.FS) ([]account, error) {
	var claims [][]byte
	for _, file := range complete {
		claim, err := examples.Files.ReadFile(file)
		if err != nil {
			return nil, err
		}
		claims = append(claims, claim)
	}
	full, err := fullClaim()
	if err != nil {
		return nil, err
	}
	e, err := emit(append(claims, full)...)
	if err != nil {
		return nil, err
	}
	chart, err := chartAccounts(sources)
	if err != nil {
		return nil, err
	}
	var all []account
	for _, a := range append(e.accounts(), chart...) {
		i := slices.IndexFunc(all, func(b account) bool {
			return b.section == a.section && b.key() == a.key() && b.name == a.name && b.rights == a.rights
		})
		switch {
		case i < 0:
			a.purpose = cmp.Or(a.purpose, purposes[a.section][a.ownKey()], purposes[a.section][a.key()])
			all = append(all, a)
		case a.section != kubernetesAccounts:
			all[i].holders = append(all[i].holders, a.holders...)
		}
	}
	for i := range all {
		all[i].holders = unique(all[i].holders)
	}
	slices.SortStableFunc(all, func(a, b account) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// key returns the name of the account in the table of purposes; of Kubernetes accounts, the rule.
func (a account) key() string {
	if a.section == kubernetesAccounts {
		return strings.Join(a.holders, ", ") + " " + a.rights
	}
	return strings.ReplaceAll(a.name, "`", "")
}

// ownKey returns the key of a purpose that differs from the purpose of other accounts with the same rule.
func (a account) ownKey() string { return strings.ReplaceAll(a.name, "`", "") + " " + a.key() }

// nodeCertificates returns the certificates that a NodeIssuer issues to nodes.
func (e *emitted) nodeCertificates(name string, m map[string]any) account {
	holders, rights := "`ovn-controller` and `metadata` on the node", "OVN's role "+code(ovnv1.ChassisRole)
	if common := text(m, "spec", "server", "commonName"); common != "" {
		holders, rights = "`disk-transfer` and `nova-compute` on the node", "common name "+code(e.stableName(common))
		if text(m, "spec", "serviceAccountName") == "live-migration" {
			holders = "`libvirt` on the node"
		}
		if common == "qemu" {
			holders = "`QEMU` on the node"
		}
	}
	return account{
		clientCertificates, code(e.stableName(name + "-nodes")), []string{holders + ": a key in memory"},
		"authority " + code(text(m, "spec", "authoritySecretName")) + "; " + rights, "",
	}
}

// accounts returns the composed accounts.
func (e *emitted) accounts() []account { //nolint:gocognit // one step after the other
	var out []account
	var objects []wiring.Object
	for _, r := range e.results {
		for _, o := range r.Objects {
			m := o.Manifest.AsMap()
			if inner, ok := at(m, "spec", "forProvider", "manifest").(map[string]any); ok && o.Wrapped {
				m = inner
			}
			objects = append(objects, wiring.Object{Manifest: m})
		}
	}
	for _, o := range objects {
		m := o.Manifest
		group, _, _ := strings.Cut(text(m, "apiVersion"), "/")
		kind, namespace, name := text(m, "kind"), text(m, "metadata", "namespace"), text(m, "metadata", "name")
		add := func(section, name, secret, rights string) {
			holders := e.holders(namespace, secret)
			if own, ok := externalHolders[name]; ok {
				holders = append(holders, own...)
			}
			out = append(out, account{section, code(e.stableName(name)), holders, rights, ""})
		}
		switch kind + "." + group {
		case "User.openstack.k-orc.cloud":
			secret := cmp.Or(text(m, "spec", "resource", "passwordRef"), administratorSecret) // Keystone's bootstrap creates the administrator.
			add(keystoneUsers, cmp.Or(text(m, "spec", "resource", "name"), name), secret, rolesOf(objects, namespace, name))
		case "User.k8s.mariadb.com":
			user := text(m, "spec", "name")
			add(databaseUsers, user, text(m, "spec", "passwordSecretKeyRef", "name"), grantsOf(objects, namespace, user))
		case "MariaDB.k8s.mariadb.com":
			add(databaseUsers, "root", text(m, "spec", "rootPasswordSecretKeyRef", "name"), "everything on the server "+code(name))
		case "RabbitmqCluster.rabbitmq.com":
			add(queueUsers, defaultUser, name+"-default-user", "administrator of "+code(name))
		case "CredentialRotation.c5c3.io":
			secret := text(m, "spec", "secretName")
			if text(m, "spec", "target") == "ApplicationCredential" {
				add(applicationCredentials, secret, secret, e.credentialRights(m))
			} else if text(m, "spec", "target") == "QueueUser" {
				add(queueUsers, secret, secret, virtualHosts(m))
			}
		case "CephClient.ceph.rook.io":
			add(cephUsers, name, "rook-ceph-client-"+name, caps(m))
		case "CephObjectStoreUser.ceph.rook.io":
			add(cephUsers, name, "", "object store "+code(text(m, "spec", "store")))
		case "Certificate.cert-manager.io":
			if issuer := text(m, "spec", "issuerRef", "name"); isAuthority(m) || !slices.Contains(clientIssuers, issuer) {
				continue
			}
			add(clientCertificates, name, text(m, "spec", "secretName"), "authority "+code(text(m, "spec", "issuerRef", "name")))
		case "NodeIssuer.c5c3.io":
			out = append(out, e.nodeCertificates(name, m))
		case "RoleBinding.rbac.authorization.k8s.io":
			out = append(out, e.bound(objects, namespace, m)...)
		}
	}
	return out
}

const (
	administratorSecret = "keystone-admin"
	defaultUser         = "default user"
)

// externalHolders have accounts whose Secrets no composed object creates, by the name of the account.
var externalHolders = map[string][]string{defaultUser: {"RabbitMQ's operators"}}

// clientIssuers are the authorities whose certificates identify clients. All other authorities only issue certificates of servers.
var clientIssuers = []string{"ovn-ca", "nova-cell1-vnc-ca"}

func isAuthority(m map[string]any) bool { is, _ := at(m, "spec", "isCA").(bool); return is }

// holders returns the pods and programs that read a Secret or its copies.
func (e *emitted) holders(namespace, name string) []string {
	var out []string
	for _, s := range e.Secrets {
		if s.Namespace != namespace || s.Name != name {
			continue
		}
		for _, r := range s.Readers {
			switch {
			case r.Kind == "PushSecret", !r.Pods && (r.Group == "apps" || r.Group == "batch"):
				continue // Its pods read it, and the store keeps it.
			case r.Pods:
				out = append(out, code(e.stableName(r.Name)))
			case r.Kind == "SecretAggregate", r.Kind == "ExternalSecret":
				out = append(out, e.copied(r.ID)...)
			default:
				out = append(out, owner(r.ID))
			}
		}
	}
	return out
}

// copied returns the holders of the Secret that an object creates.
func (e *emitted) copied(creator wiring.ID) []string {
	for _, s := range e.Secrets {
		if s.Maker.ID == creator {
			return e.holders(s.Namespace, s.Name)
		}
	}
	return nil
}

// rolesOf returns the roles of a user, by the name of its object.
func rolesOf(objects []wiring.Object, namespace, user string) string {
	var out []string
	for _, o := range objects {
		r := at(o.Manifest, "spec", "resource")
		if text(o.Manifest, "kind") != "RoleAssignment" || text(o.Manifest, "metadata", "namespace") != namespace || text(r, "userRef") != user {
			continue
		}
		scope := "the system"
		if project := text(r, "projectRef"); project != "" {
			scope = "project " + code(project)
		} else if domain := text(r, "domainRef"); domain != "" {
			scope = "domain " + code(domain)
		}
		out = append(out, code(roleName(objects, namespace, text(r, "roleRef")))+" in "+scope)
	}
	return strings.Join(out, ", ")
}

// roleName returns the name in Keystone of a role, by the name of its object.
func roleName(objects []wiring.Object, namespace, name string) string {
	for _, o := range objects {
		if text(o.Manifest, "kind")+"/"+text(o.Manifest, "apiVersion") == "Role/"+korc.APIVersion &&
			text(o.Manifest, "metadata", "namespace") == namespace && text(o.Manifest, "metadata", "name") == name {
			return cmp.Or(text(o.Manifest, "spec", "import", "filter", "name"), name)
		}
	}
	return name
}

func grantsOf(objects []wiring.Object, namespace, user string) string {
	var out []string
	for _, o := range objects {
		spec := at(o.Manifest, "spec")
		if text(o.Manifest, "kind") != "Grant" || text(o.Manifest, "metadata", "namespace") != namespace || text(spec, "username") != user {
			continue
		}
		out = append(out, strings.ToLower(strings.Join(stringList(at(spec, "privileges")), ", "))+" of "+code(text(spec, "database")))
	}
	return strings.Join(out, ", ")
}

// credentialRights returns the user and the roles of an application credential.
func (e *emitted) credentialRights(m map[string]any) string {
	granted := "all roles"
	if names := stringList(at(m, "spec", "roles")); len(names) > 0 {
		granted = code(strings.Join(names, "`, `"))
	}
	return granted + " of " + code(e.stableName(text(m, "spec", "userName")))
}

func virtualHosts(m map[string]any) string {
	permissions, _ := at(m, "spec", "queue", "permissions").([]any)
	var out []string
	for _, p := range permissions {
		out = append(out, code(text(p, "vhost")))
	}
	return strings.Join(out, ", ")
}

func caps(m map[string]any) string {
	var out []string
	for _, daemon := range []string{"mon", "mgr", "osd", "mds"} {
		if c := text(m, "spec", "caps", daemon); c != "" {
			out = append(out, daemon+": "+code(c))
		}
	}
	return strings.Join(out, "; ")
}

// bound returns the rules of a composed Role that is bound to accounts. ClusterRoles are the chart's, or Rook's.
func (e *emitted) bound(objects []wiring.Object, namespace string, binding map[string]any) []account {
	var out []account
	subjects, _ := at(binding, "subjects").([]any)
	for _, o := range objects {
		if text(o.Manifest, "kind")+text(o.Manifest, "apiVersion") != "Role"+text(binding, "apiVersion") ||
			text(o.Manifest, "metadata", "namespace") != namespace || text(o.Manifest, "metadata", "name") != text(binding, "roleRef", "name") {
			continue
		}
		rules, _ := o.Manifest["rules"].([]any)
		for _, r := range rules {
			for _, s := range subjects {
				kinds := rule(strings.Join(stringList(at(r, "resources")), ", "), strings.Join(stringList(at(r, "apiGroups")), ", "),
					len(stringList(at(r, "resourceNames"))) > 0)
				out = append(out, account{kubernetesAccounts, code(e.stableName(text(s, "name"))), stringList(at(r, "verbs")), kinds, ""})
			}
		}
	}
	return out
}

// rule returns the objects of a rule.
func rule(resources, group string, named bool) string {
	if group = strings.Trim(group, `"`); group != "" {
		group = " of " + strings.TrimPrefix(group, ", ")
	}
	if named {
		group += ", named"
	}
	return resources + group
}

// generatedRule matches a rule in a generated file of the chart, and its reason.
var generatedRule = regexp.MustCompile(`# (.*)\n- apiGroups: \[(.*)\]\n  resources: \[(.*)\]\n  verbs: \[(.*)\]`)

// chartAccounts returns the rules of the chart's roles.
func chartAccounts(sources fs.FS) ([]account, error) {
	var out []account
	add := func(role, reason, groups, resources, verbs string, named bool) {
		out = append(out, account{
			kubernetesAccounts, reviewed.Holders[role] + ": " + code("cobaltcore:"+role), strings.Split(verbs, ", "),
			rule(resources, groups, named), reason,
		})
	}
	for _, r := range reviewed.Rules {
		if strings.Contains(r.Groups, "{{") { // The values are the kinds of claims.
			r.Groups, r.Resources = "", "all claims"
		}
		add(r.Role, r.Reason, r.Groups, r.Resources, r.Verbs, r.Names != "")
	}
	for _, role := range []string{"compose", "objects", "workload"} {
		data, err := fs.ReadFile(sources, "package/chart/generated/"+role+".yaml")
		if err != nil {
			return nil, err
		}
		for _, m := range generatedRule.FindAllStringSubmatch(string(data), -1) {
			add(role, m[1], m[2], m[3], m[4], false)
		}
	}
	return out, nil
}

// text returns the string at a path of fields.
func text(v any, path ...string) string {
	s, _ := at(v, path...).(string)
	return s
}

// stringList returns a list of strings.
func stringList(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		s, _ := item.(string)
		out = append(out, s)
	}
	return out
}
