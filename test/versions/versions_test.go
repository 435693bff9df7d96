package versions_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/images"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/install"
	"github.com/c5c3/crossplane-cobaltcore/test/versions"
)

const project = "../.."

// TestTable checks that each program has one row, and a reason exactly where no tested version is the deployed one.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, p := range versions.Table() {
		v, err := p.Versions(os.DirFS(project))
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if err := p.Check(v); err != nil {
			t.Error(err)
		}
		if names[p.Name] || v.Deployed == "" && len(v.Tested) == 0 {
			t.Errorf("%s has two rows, or no version", p.Name)
		}
		names[p.Name] = true
	}
}

func TestProgram_Check(t *testing.T) {
	cases := map[string]struct {
		reason  string
		program versions.Program
		has     versions.Versions
		wantErr string
	}{
		"equal":             {"Nothing is to be explained.", versions.Program{}, versions.Versions{Deployed: "1.2", Tested: []string{"1.1", "1.2"}}, ""},
		"equal with reason": {"A reason that is out of date.", versions.Program{Reason: "r"}, versions.Versions{Deployed: "1.2", Tested: []string{"1.2"}}, "remove the reason"},
		"patch release":     {"It is a difference, too.", versions.Program{}, versions.Versions{Deployed: "1.2.1", Tested: []string{"1.2.2"}}, "has no reason"},
		"explained":         {"It has a reason.", versions.Program{Reason: "r"}, versions.Versions{Deployed: "1.2.1", Tested: []string{"1.2.2"}}, ""},
		"not tested":        {"No suite runs it.", versions.Program{}, versions.Versions{Deployed: "1.2.1"}, "has no reason"},
		"supported":         {"Every patch release of a series is supported.", versions.Program{Supported: versions.Range{From: "1.2", To: "1.3"}}, versions.Versions{Deployed: "1.3.9", Tested: []string{"1.3.9"}}, ""},
		"too new":           {"A tested version must be supported.", versions.Program{Supported: versions.Range{From: "1.2", To: "1.3"}}, versions.Versions{Deployed: "1.3.0", Tested: []string{"1.3.0", "1.4.0"}}, "version 1.4.0 is not in the supported range 1.2 to 1.3"},
		"too old":           {"A deployed version must be supported.", versions.Program{Supported: versions.Range{From: "1.10"}}, versions.Versions{Deployed: "1.9.1", Tested: []string{"1.10.0"}}, "version 1.9.1 is not in the supported range 1.10 or newer"},
		"tests only":        {"Nothing deploys it.", versions.Program{}, versions.Versions{Tested: []string{"1.2.1"}}, "has no reason"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.program.Check(tc.has)
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("%s\nCheck(): %v, want %q", tc.reason, err, tc.wantErr)
			}
		})
	}
}

func TestRange_String(t *testing.T) {
	for want, r := range map[string]versions.Range{
		"": {}, "1.30 or newer": {From: "1.30"}, "2.6": {From: "2.6", To: "2.6"}, "1.18 to 1.20": {From: "1.18", To: "1.20"},
	} {
		if got := r.String(); got != want {
			t.Errorf("%#v: %q, want %q", r, got, want)
		}
	}
}

// TestMinimums checks that files with a minimum version, which cannot read the table, require the first supported one.
func TestMinimums(t *testing.T) {
	ranges := map[string]versions.Range{}
	for _, p := range versions.Supported() {
		ranges[p.Name] = p.Supported
	}
	for _, m := range versions.Minimums() {
		got, err := m.Version(os.DirFS(project))
		if err != nil {
			t.Error(err)
			continue
		}
		if want := ranges[m.Program].From; strings.TrimSuffix(got, ".0") != want {
			t.Errorf("%s requires %s %s, but test/versions/table.go supports %s; change one of them", m.File, m.Program, got, want)
		}
	}
}

// TestLibraries checks that go.mod has every library of the page, and one version of all modules of Kubernetes: their APIs belong together.
func TestLibraries(t *testing.T) {
	for _, l := range versions.Libraries() {
		if _, err := l.Version(os.DirFS(project)); err != nil {
			t.Error(err)
		}
	}
	want, err := versions.Library("k8s.io/client-go").Version(os.DirFS(project))
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/apiserver", "k8s.io/component-base"} {
		if got, err := versions.Library(module).Version(os.DirFS(project)); err != nil || got != want {
			t.Errorf("go.mod requires %s %s, %v; want %s, as of client-go", module, got, err, want)
		}
	}
}

func TestUpstream(t *testing.T) {
	for debian, want := range map[string][2]string{
		"1:11.8.9+ds-0+deb13u1":       {"11.8.9", "11.8"},
		"8.1.1+dfsg1-3+deb13u3":       {"8.1.1", "8.1"},
		"1.6.20~ds1-1+deb12u3":        {"1.6.20", "1.6"},
		"2.4.12.3-2+deb12u5":          {"2.4.12.3", "2.4"},
		"1:2.19-1+b1":                 {"2.19", "2.19"},
		"1:7.2+dfsg-7+deb12u18+b3":    {"7.2", "7.2"},
		"4.0.5-6+deb13u2":             {"4.0.5", "4.0"},
		"16.2.15+ds-0+deb12u2":        {"16.2.15", "16.2"},
		"1:27.3.4.1+dfsg-1+deb13u4":   {"27.3.4.1", "27.3"},
		"150.0.7871.100-1~deb12u1":    {"150.0.7871.100", "150.0"},
		"2":                           {"2", "2"},
		"1:10.0.13+ds-0+deb13u1~bpo1": {"10.0.13", "10.0"},
	} {
		upstream := versions.Upstream(debian)
		if diff := cmp.Diff(want, [2]string{upstream, versions.Series(upstream)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", debian, diff)
		}
	}
}

// TestThirdPartyImagesHaveRows checks that every image of another project is the deployed version of a program.
func TestThirdPartyImagesHaveRows(t *testing.T) {
	rows := map[versions.Source]bool{}
	for _, p := range versions.Table() {
		rows[p.Deployed] = true
	}
	for _, name := range release.Others() {
		reference, err := release.ImageFor(name, "", release.Override{Tag: "any"})
		if err != nil {
			t.Fatal(err)
		}
		if own := strings.Contains(reference, "/c5c3/"); !own && !rows[versions.Image(name)] {
			t.Errorf("image %s has no row", reference)
		}
	}
}

// developerTools build, check and render the project; none of them runs in a cloud or stands for a component of one.
var developerTools = []string{"chainsaw", "controller-gen", "cosign", "crossplane", "golangci-lint", "govulncheck", "gremlins", "helm", "image-verification"}

// TestToolsAndModulesHaveRows checks that every tool and every module with definitions belongs to a program.
func TestToolsAndModulesHaveRows(t *testing.T) {
	tools, definitions := map[string]bool{}, map[string]bool{}
	for _, p := range versions.Table() {
		for _, s := range append(slices.Clone(p.Tested), p.Deployed) {
			switch s := s.(type) {
			case versions.Tool:
				tools[s.Name] = true
			case versions.Definitions:
				definitions[string(s)] = true
			}
		}
	}
	folders, err := filepath.Glob(filepath.Join(project, "hack/tools/*/go.mod"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no tools: %v", err)
	}
	for _, f := range folders {
		name := filepath.Base(filepath.Dir(f))
		if tools[name] == slices.Contains(developerTools, name) {
			t.Errorf("tool %s has to have a row, or to be a developer's", name)
		}
	}
	data, err := os.ReadFile(filepath.Join(project, "hack/crds/modules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		module, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if module = regexp.MustCompile(`/v[0-9]+$`).ReplaceAllString(module, ""); module == "" || module == "#" {
			continue
		}
		if !definitions[module] && !slices.Contains(ownDefinitions, module) {
			t.Errorf("module %s of hack/crds/modules.txt has no row", module)
		}
	}
}

// ownDefinitions are modules of programs whose deployed version another source decides.
var ownDefinitions = []string{
	"github.com/crossplane-contrib/provider-kubernetes", "github.com/cobaltcore-dev/openstack-hypervisor-operator", "github.com/cobaltcore-dev/kvm-node-agent",
}

// utilities are libraries, and programs whose version no setting depends on. Images and suites have them of the same Debian.
var utilities = []string{
	"ca-certificates", "conntrack", "cryptsetup-bin", "curl", "dosfstools", "e2fsprogs", "ethtool", "gcc", "gdisk", "genisoimage", "iproute2", "iptables",
	"iputils-arping", "iputils-ping", "jq", "libldap-2.5-0", "libldap2-dev", "libsasl2-2", "libsasl2-dev", "libssl-dev", "libssl3", "lvm2",
	"mmdebstrap", "mount", "pkg-config", "procps", "python3-unbound", "tzdata", "udev", "util-linux", "xfsprogs",
}

// TestPackages checks that every Debian package of an image or a suite belongs to a program, and that the versions of
// the table are versions of existing packages.
func TestPackages(t *testing.T) {
	deployed, tested := map[versions.Debian]bool{}, map[versions.Debian]bool{}
	suites, err := install.Packages()
	if err != nil {
		t.Fatal(err)
	}
	for suite, packages := range suites {
		for _, p := range packages {
			tested[versions.Debian{Suite: suite, Package: p}] = true
		}
	}
	for file, form := range map[string]*regexp.Regexp{
		"test/node/install.go":             regexp.MustCompile(`\{"/[^"]+", "([a-z0-9.+-]+)"\}`),
		"test/node/images/*/Containerfile": nil,
		"test/openstack/install/debian.go": regexp.MustCompile(`"(python3-[a-z]+)"`),
	} {
		paths, err := filepath.Glob(filepath.Join(project, file))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no files %s: %v", file, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			suite, names := images.Debian, []string{}
			if form == nil {
				suite, names = recipe(t, string(data))
			} else {
				for _, found := range form.FindAllStringSubmatch(string(data), -1) {
					names = append(names, found[1])
				}
			}
			if len(names) == 0 {
				t.Errorf("%s has no packages", path)
			}
			for _, name := range names {
				tested[versions.Debian{Suite: suite, Package: name}] = true
			}
		}
	}
	table, err := images.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range table {
		for _, p := range slices.Concat(i.Runtime, i.Pages) {
			deployed[versions.Debian{Suite: i.Base(), Package: p}] = true
		}
		if i.Package != "" {
			deployed[versions.Debian{Suite: i.Base(), Package: "python3"}] = true
		}
	}
	rows := map[versions.Debian]bool{}
	for _, p := range versions.Table() {
		for _, s := range append(slices.Clone(p.Tested), p.Deployed) {
			d, ok := s.(versions.Debian)
			if !ok {
				continue
			}
			for _, name := range append([]string{d.Package}, p.Packages...) {
				rows[versions.Debian{Suite: d.Suite, Package: name}] = true
			}
			if s == p.Deployed && !deployed[d] {
				t.Errorf("%s: no image has package %s of %s", p.Name, d.Package, d.Suite)
			}
			if slices.Contains(p.Tested, s) && !tested[d] && !slices.Contains(dependencies, d.Package) {
				t.Errorf("%s: no suite installs package %s of %s", p.Name, d.Package, d.Suite)
			}
		}
	}
	for _, all := range []map[versions.Debian]bool{deployed, tested} {
		for d := range maps.Keys(all) {
			if !rows[d] && !slices.Contains(utilities, d.Package) {
				t.Errorf("package %s of Debian %s has no row in test/versions/table.go", d.Package, d.Suite)
			}
		}
	}
}

// dependencies are installed with another package of their program's neighbour: RabbitMQ brings Erlang, and libvirt-dev its library.
var dependencies = []string{"erlang-base", "libvirt0"}

// recipe returns the suite and the packages of a Containerfile.
func recipe(t *testing.T, text string) (suite string, packages []string) {
	t.Helper()
	base := regexp.MustCompile(`ARG BASE=\S+/debian:([a-z]+)-slim`).FindStringSubmatch(text)
	list := regexp.MustCompile(`(?s)--no-install-recommends(.*?)&&`).FindStringSubmatch(text)
	if base == nil || list == nil {
		t.Fatalf("no base or no packages in\n%s", text)
	}
	return base[1], strings.Fields(strings.ReplaceAll(list[1], "\\", " "))
}
