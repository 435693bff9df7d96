package wiring

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// login is the variable by which a program logs in to Keystone, with the group of options that it is in.
var login = regexp.MustCompile(`^OS_([A-Z0-9_]+?)__(?:APPLICATION_CREDENTIAL_SECRET|PASSWORD)$`)

// found maps option groups with a login to the types of the services that a program looks up in the catalog with it:
// OpenStack's programs name the group after the service
// (https://docs.openstack.org/nova/latest/configuration/config.html). A service_user authenticates the service in
// addition to the user's token; see forUsers.
var found = map[string]string{
	"placement": "placement", "neutron": "network", "cinder": "block-storage", "nova": "compute", "glance": "image", "service_user": "image",
	"barbican_service_user": "key-manager",
}

// delegated are the types of the services in which a program acts for users by trusts, with a separate login
// (heat/engine/clients/os).
var delegated = []string{"compute", "network", "image", "block-storage", "key-manager"}

// trustee is the group of that login.
const trustee = "trustee"

// logins returns the option groups with a login of a container.
func logins(c corev1.Container) []string {
	var out []string
	for _, e := range c.Env {
		if m := login.FindStringSubmatch(e.Name); m != nil {
			out = append(out, strings.ToLower(m[1]))
		}
	}
	return out
}

// forUsers reports whether a program with service_user acts for users on all resources of a server: it also calls
// Glance, for which there is no other login. Other programs use service_user for the services that they log in to.
func forUsers(logins []string) bool {
	return !slices.ContainsFunc([]string{"placement", "neutron", "cinder"}, func(g string) bool { return !slices.Contains(logins, g) })
}

// needFromCatalog records the flows to the services that a program finds in the catalog.
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

// settings is the variable by which a Django site is identified as the dashboard, and shown are the types of the
// services that it calls for its users if they are in the catalog
// (https://opendev.org/openstack/horizon/src/branch/master/openstack_dashboard/api).
const settings = "DJANGO_SETTINGS_MODULE"

var shown = []string{"compute", "image", "network", "placement", "block-storage", "orchestration"}

// imageOption is the option by which Cinder looks up Glance in the catalog. In 2025.1, Cinder calls Glance as the user
// only and has no login for it
// (https://docs.openstack.org/cinder/latest/configuration/block-storage/config-options.html).
const imageOption = "glance_catalog_info"

// needImages records the flow to Glance of a program that looks up Glance this way.
func (w *inventory) needImages(p *pod, c corev1.Container) {
	if p.replicas == nil { // a Job reads no image
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

// needShown records the flows of a dashboard to services, and from its users: through a route, or from anywhere.
func (w *inventory) needShown(p *pod, c corev1.Container) {
	if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == settings }) {
		return
	}
	for _, t := range shown {
		w.needType(p, t, "it shows users their resources")
	}
	if !w.routed(p.String()) {
		probed := healthPorts(p) // only the kubelet connects there
		for _, listens := range p.ports {
			if !slices.Contains(probed, listens.number) {
				w.need(outsider(anywhere), p.String(), listens.number, "it is a web site, and the networks of its users are unknown")
			}
		}
	}
}

// administrator is the variable of who tests a cloud, and tested are the types of the services that there are tests of
// (https://docs.openstack.org/tempest/latest/configuration.html).
const administrator = "OS_AUTH__ADMIN_PASSWORD"

var tested = []string{"compute", "image", "network", "placement", "block-storage", "key-manager"}

// needTested records the flows of tests: to Keystone at the configured address, and to the services that they find in
// the catalog.
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

// needType records the flows of a pod to the services of a type, at their internal addresses.
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

// calledServices returns the types of the services that the companion calls for an object, in addition to Keystone
// (companion/servicecheck, companion/cellmapping). With Nova, hypervisor pools may be added, and the companion removes
// the records of their former nodes from three services.
func calledServices(o object) []string {
	switch {
	case o.kind == "CellMapping":
		return []string{"compute"}
	case o.kind == "ServiceCheck" && text(o.manifest, "spec", "service") == "compute":
		return []string{"compute", "placement", "network"}
	}
	return []string{text(o.manifest, "spec", "service")}
}

// filledIn is the part of a recorded address that each reader replaces by its own account
// (https://docs.openstack.org/nova/latest/admin/cells.html#template-urls-in-cell-mappings).
const filledIn = "{password}"

// readsCells is the variable of the database in which Nova records its cells: a long-running program with it connects
// to all cells.
const readsCells = "OS_API_DATABASE__CONNECTION"

// everyCell matches the commands that read the databases of all cells and then exit. They send no messages.
// https://docs.openstack.org/nova/latest/cli/nova-manage.html,
// https://docs.openstack.org/nova/latest/cli/nova-status.html
var everyCell = regexp.MustCompile(`--all-cells\b|^nova-status$`)

// runsEverywhere reports whether any command of an object matches everyCell. The command may be outside of the template
// of the pods that run it.
func (o object) runsEverywhere() bool {
	found := false
	each(o.spec(), nil, func(_ []string, m fields) {
		found = found || slices.ContainsFunc(slices.Concat(texts(m, "command"), texts(m, "args")), everyCell.MatchString)
	})
	return found
}

// needCells records the flows of programs that read the records of cells to the cells' databases and message queues.
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
