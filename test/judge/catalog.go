package judge

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// login is the variable by which a program logs in to Keystone, with the group of options that it is in.
var login = regexp.MustCompile(`^OS_([A-Z0-9_]+?)__(?:APPLICATION_CREDENTIAL_SECRET|PASSWORD)$`)

// found are the types of the services that a program looks up in the catalog by a login, by its group: OpenStack's programs name the group
// after what they ask (https://docs.openstack.org/nova/latest/configuration/config.html). By service_user they show who they
// are beside the token of whoever they ask for; see forUsers.
var found = map[string]string{
	"placement": "placement", "neutron": "network", "cinder": "block-storage", "nova": "compute", "glance": "image", "service_user": "image",
	"barbican_service_user": "key-manager",
}

// delegated are the types of the services in which a program does what users delegate to it by trusts, for which it has a login of its own
// (heat/engine/clients/os).
var delegated = []string{"compute", "network", "image", "block-storage", "key-manager"}

// trustee is the group of that login.
const trustee = "trustee"

// logins are the groups by which a container logs in.
func logins(c corev1.Container) []string {
	var out []string
	for _, e := range c.Env {
		if m := login.FindStringSubmatch(e.Name); m != nil {
			out = append(out, strings.ToLower(m[1]))
		}
	}
	return out
}

// forUsers reports whether a program that has service_user does what users ask for, with all that belongs to a virtual machine: it
// asks Glance, too, for which there is no other login. Others show who they are to the services that they log in to.
func forUsers(logins []string) bool {
	return !slices.ContainsFunc([]string{"placement", "neutron", "cinder"}, func(g string) bool { return !slices.Contains(logins, g) })
}

// needFromCatalog takes down what a program finds in the catalog.
func (w *inventory) needFromCatalog(p *pod, c corev1.Container) {
	groups := logins(c)
	for _, group := range groups {
		if group == "service_user" && !forUsers(groups) {
			continue
		}
		w.needType(p, found[group], "it has a login for "+group)
		if group == trustee {
			for _, t := range delegated {
				w.needType(p, t, "users delegate to it")
			}
		}
	}
}

// settings is the variable of a web site of Django's that is the dashboard, and shown are the types of the services that it asks for its
// users, as far as they are in the catalog (https://opendev.org/openstack/horizon/src/branch/master/openstack_dashboard/api).
const settings = "DJANGO_SETTINGS_MODULE"

var shown = []string{"compute", "image", "network", "placement", "block-storage", "orchestration"}

// imageOption is where Cinder looks Glance up in the catalog. In 2025.1 it asks as the user alone, and has no login for it
// (https://docs.openstack.org/cinder/latest/configuration/block-storage/config-options.html).
const imageOption = "glance_catalog_info"

// needImages takes down that a program which looks Glance up so speaks to it.
func (w *inventory) needImages(p *pod, c corev1.Container) {
	if p.replicas == nil { // a Job asks for no image
		return
	}
	for _, m := range w.mounts(p, c) {
		for line := range strings.SplitSeq(m.value.content, "\n") {
			if strings.HasPrefix(line, imageOption) {
				w.needType(p, "image", "volumes are made of images")
			}
		}
	}
}

// needShown takes down what a dashboard asks, and that somebody comes to it: from where, a route says, or nobody.
func (w *inventory) needShown(p *pod, c corev1.Container) {
	if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == settings }) {
		return
	}
	for _, t := range shown {
		w.needType(p, t, "it shows users what there is")
	}
	if !w.routed(p.String()) {
		probed := healthPorts(p) // only the kubelet asks there
		for _, listens := range p.ports {
			if !slices.Contains(probed, listens.number) {
				w.need(outsider(anywhere), p.String(), listens.number, "it is a web site, and nobody says where users come from")
			}
		}
	}
}

// administrator is the variable of who tests a cloud, and tested are the types of the services that there are tests of
// (https://docs.openstack.org/tempest/latest/configuration.html).
const administrator = "OS_AUTH__ADMIN_PASSWORD"

var tested = []string{"compute", "image", "network", "placement", "block-storage", "key-manager"}

// needTested takes down what tests ask: Keystone where their configuration says that it is, and what they find in the catalog.
func (w *inventory) needTested(p *pod, c corev1.Container) {
	if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == administrator }) {
		return
	}
	for _, t := range tested {
		w.needType(p, t, "it tests it")
	}
	for _, m := range w.mounts(p, c) {
		for line := range strings.SplitSeq(m.value.content, "\n") {
			if strings.HasPrefix(line, "uri_v3 = ") {
				for _, a := range addresses(line) {
					w.needAddress(p, a, "it tests it")
				}
			}
		}
	}
}

// needType takes down that a pod speaks to the services of a type, at their internal addresses.
func (w *inventory) needType(p *pod, serviceType, why string) {
	for _, s := range w.objects {
		if !s.is("Service.openstack.k-orc.cloud") || serviceType == "" || text(s.manifest, "spec", "resource", "type") != serviceType {
			continue
		}
		for _, e := range w.objects {
			r := at(e.manifest, "spec", "resource")
			if e.namespaceRef != s.namespaceRef || !e.is("Endpoint.openstack.k-orc.cloud") || text(r, "serviceRef") != s.name ||
				text(r, "interface") != "internal" {
				continue
			}
			for _, a := range addresses(text(r, "url")) {
				w.needAddress(p, a, why)
			}
		}
	}
}

// asks are the types of the services that an object makes the companion ask, besides Keystone (companion/servicecheck,
// companion/cellmapping). Where there is Nova, pools may come, and what their nodes have left is asked of three.
func asks(o object) []string {
	switch {
	case o.kind == "CellMapping":
		return []string{"compute"}
	case o.kind == "ServiceCheck" && text(o.manifest, "spec", "service") == "compute":
		return []string{"compute", "placement", "network"}
	}
	return []string{text(o.manifest, "spec", "service")}
}

// filledIn is part of an address that is recorded, and that whoever reads the record fills in with its own account
// (https://docs.openstack.org/nova/latest/admin/cells.html#template-urls-in-cell-mappings).
const filledIn = "{password}"

// readsCells is the variable of the database in which Nova records its cells: who has it, and goes on, speaks to all of them.
const readsCells = "OS_API_DATABASE__CONNECTION"

// everyCell are the commands that look into the databases of all cells, and come to an end. They send no messages.
// https://docs.openstack.org/nova/latest/cli/nova-manage.html, https://docs.openstack.org/nova/latest/cli/nova-status.html
var everyCell = regexp.MustCompile(`--all-cells\b|^nova-status$`)

// runsEverywhere reports whether some command of an object is such a one. It may stand beside the template of the pods that run it.
func (o object) runsEverywhere() bool {
	found := false
	each(o.spec(), nil, func(_ []string, m fields) {
		found = found || slices.ContainsFunc(slices.Concat(texts(m, "command"), texts(m, "args")), everyCell.MatchString)
	})
	return found
}

// needCells takes down that what reads the records of cells speaks to their databases and message queues.
func (w *inventory) needCells(p *pod, c corev1.Container) {
	if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == readsCells }) {
		return
	}
	fields := []string{"databaseConnection", "transportURL"}
	if p.replicas == nil {
		if !p.of.runsEverywhere() {
			return
		}
		fields = fields[:1]
	}
	for _, o := range w.objects {
		if !o.is("CellMapping.openstack.c5c3.io") || o.namespaceRef != p.namespaceRef {
			continue
		}
		for _, field := range fields {
			for _, a := range addresses(text(o.manifest, "spec", field)) {
				w.needAddress(p, a, o.String()+" leads there")
			}
		}
	}
}
