package openstack

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
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
	// guests: servers run in it.
	runsServers bool
	// releases that it is about. None: all.
	releases []release.Release
}

// subjects are all of them.
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

// TestSubjects checks that every test with a cloud belongs to a subject, that every subject has a test, and that every
// service is one.
func TestSubjects(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Comments[0].List[0].Text != "//go:build openstack && linux" {
			continue
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				continue
			}
			at := slices.IndexFunc(subjects, func(s subject) bool { return strings.HasPrefix(f.Name.Name, "Test"+s.name) })
			if at < 0 {
				t.Errorf("%s of %s is of no subject: begin its name with Test and one of %v, or add one", f.Name.Name, file, subjects)
				continue
			}
			tested[subjects[at].name] = true
		}
	}
	for _, s := range subjects {
		if !tested[s.name] {
			t.Errorf("%s has no test", s.name)
		}
	}
	for kind := range kinds.Runners() {
		service, group, _ := strings.Cut(kind, ".")
		if strings.HasPrefix(group, strings.ToLower(service)+".openstack.") && !tested[service] {
			t.Errorf("no test runs a real %s", service)
		}
	}
}
