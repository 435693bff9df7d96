package harness

import (
	"fmt"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
)

// A subject is a tested service or component. The names of its tests start with Test and its name.
type subject struct {
	name string
	// ceph: it needs a Ceph, which is installed and run only if the subject is selected.
	ceph bool
	// proxies: it needs the proxies of Ingress controllers and Gateways in front of its services. They are installed
	// only if the subject is selected.
	proxies bool
	// browser: it has pages.
	browser bool
	// alone: no OpenStack service runs in it, so that none is installed.
	alone bool
	// runsServers: servers run in it.
	runsServers bool
	// releases that it is about. None: all.
	releases []release.Release
}

// subjects lists all subjects.
var subjects = []subject{
	{name: "Barbican"},
	{name: "Brokers"},
	{name: "Ceph", ceph: true},
	{name: "Cinder", ceph: true},
	{name: "Configuration"},
	{name: "ExternalDatabase", releases: []release.Release{"2025.2"}},
	{name: "ExternalKeystone"},
	{name: "ExternalQueue", releases: []release.Release{"2025.2"}},
	{name: "Glance", ceph: true},
	{name: "Guides", runsServers: true, releases: []release.Release{"2025.2"}},
	{name: "Horizon", browser: true, runsServers: true},
	{name: "Heat"},
	{name: "Hypervisors", runsServers: true},
	{name: "Keystone"},
	{name: "Load", proxies: true, releases: []release.Release{"2025.2"}},
	{name: "MariaDB"},
	{name: "Migration", runsServers: true, releases: []release.Release{"2025.2"}},
	{name: "Neutron"},
	{name: "Node", alone: true, runsServers: true},
	{name: "Nova"},
	{name: "OVN", alone: true},
	{name: "Placement"},
	{name: "Plans", releases: []release.Release{"2025.2", "2026.1"}},
	{name: "Pods"},
	{name: "Pools", ceph: true, runsServers: true, releases: []release.Release{"2025.2"}},
	{name: "Smoke", ceph: true, runsServers: true},
	{name: "Suites", ceph: true, runsServers: true},
	{name: "Tempest"},
	{name: "UWSGI"},
	{name: "Volumes", ceph: true, runsServers: true},
}

// find returns the subject with a name, ignoring case.
func find(name string) (subject, error) {
	var names []string
	for _, s := range subjects {
		if strings.EqualFold(s.name, name) {
			return s, nil
		}
		names = append(names, strings.ToLower(s.name))
	}
	return subject{}, fmt.Errorf("nothing tests %q: choose one of %s", name, strings.Join(names, ", "))
}
