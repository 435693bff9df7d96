package tempest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// modules are stubs of the image's modules: a cloud in files, and tests that report a line each. A user is one word, NAME@WHERE with the
// place of its role. A project and a domain are NAME:DESCRIPTION.
const modules = `
import pathlib, json

class Thing(dict):
    __getattr__ = dict.get

class Assignment:
    def __init__(self, where):
        kind, _, id = where.partition("=")
        self.scope = {kind: {"id": id}} if id else {kind: {"all": True}}

class Keystone:
    def __init__(self, folder): self.folder = folder
    def _none(self, *_, **__): return []
    groups = roles = services = regions = _none
    delete_group = delete_role = delete_service = delete_region = update_domain = _none
    find_role = assign_project_role_to_user = _none
    def _words(self, file): return (self.folder / file).read_text().split() if (self.folder / file).exists() else []
    def _delete(self, file, word):
        (self.folder / file).write_text(" ".join(w for w in self._words(file) if w != word))
    def _places(self, file):
        return [Thing(id=w.split(":")[0], name=w.split(":")[0], description=w.partition(":")[2], word=w) for w in self._words(file)]
    def users(self, domain_id): return [Thing(id=w, name=w.split("@")[0]) for w in self._words("users")]
    def delete_user(self, user):
        if "kept" in user.name: raise RuntimeError("no")
        self._delete("users", user.id)
    def role_assignments(self, user_id): return [Assignment(w) for w in user_id.split("@")[1:]]
    def projects(self, domain_id=None): return self._places("projects")
    def delete_project(self, project): self._delete("projects", project.word)
    def domains(self): return self._places("domains")
    def delete_domain(self, domain): self._delete("domains", domain.word)
    def get(self, path):
        class Answer:
            def json(self): return {path.split("/")[-1]: []}
        return Answer()

class Session:
    def get_user_id(self): return "me"

class Nova:
    def flavors(self, **_):
        return [Thing(id=n, name=n, ram=r, disk=d, vcpus=1) for n, r, d in (("large", 64, 1), ("small", 8, 1), ("diskless", 4, 0))]
    def aggregates(self): return []
    def servers(self, all_projects): return []
    def services(self, binary):
        return [Thing(status=s, state=u) for s, u in (("enabled", "up"), ("enabled", "up"), ("disabled", "up"), ("enabled", "down"))]

class Neutron:
    def _none(self, **_): return []
    routers = subnet_pools = _none
    def extensions(self): return [Thing(alias="router"), Thing(alias="agent")]
    def __init__(self, folder): self.file = folder / "networks"
    def networks(self, is_router_external=None):
        return [Thing(id="outside", name="outside")] + [Thing(name=w) for w in (self.file.read_text().split() if self.file.exists() else [])]
    def create_network(self, name):
        self.file.write_text(name)
        return Thing(id=name)
    def create_subnet(self, **_): pass
    def delete_network(self, network): self.file.write_text("")

class Heat:
    def __init__(self, folder): self.file, self.lingers = folder / "stacks", folder / "lingers"
    def _words(self): return self.file.read_text().split() if self.file.exists() else []
    def stacks(self):
        if self.lingers.exists():  # one word for each list that still has a deleted object
            words = self.lingers.read_text().split()
            self.lingers.write_text(" ".join(words[1:]))
            if not words: return []
        return [Thing(name=w.split("/")[-1], parent_id=w.rpartition("/")[0] or None, word=w) for w in self._words()]
    def delete_stack(self, stack):
        if self.lingers.exists(): return
        self.file.write_text(" ".join(w for w in self._words() if w != stack.word and not w.startswith(stack.name + "/")))
    def wait_for_delete(self, stack, interval, wait): pass

class Cinder:
    def __init__(self, folder): self.file = folder / "volumes"
    def _words(self): return self.file.read_text().split() if self.file.exists() else []
    def backups(self, all_projects): return []
    snapshots = backups
    def volumes(self, all_projects): return [Thing(id=w, name=w) for w in self._words() if w]
    def delete_volume(self, volume): self.file.write_text(" ".join(w for w in self._words() if w != volume.id))
    def wait_for_delete(self, volume, interval, wait): pass
    def types(self, is_public): return []
    def services(self): return [Thing(binary="cinder-volume")]
    def backend_pools(self):
        file = self.file.parent / "pools"
        return [Thing(capabilities=json.loads(line)) for line in (file.read_text().splitlines() if file.exists() else [])]

class Glance:
    def __init__(self, folder): self.folder = folder
    def images(self, **_):
        if (self.folder / "hidden").exists(): raise RuntimeError("no service of images")
        return [Thing(id="kernel", name="kernel", disk_format="aki", size=1), Thing(id="guest", name="guest", disk_format="raw", size=2)]

    def stores(self):
        if (self.folder / "hidden").exists(): raise RuntimeError("no service of images")
        return (self.folder / "stores").read_text().split()

class Cloud:
    def __init__(self, folder):
        self.identity, self.session = Keystone(folder), Session()
        self.compute, self.network, self.block_storage, self.image = Nova(), Neutron(folder), Cinder(folder), Glance(folder)
        self.orchestration = Heat(folder)
    def connect_as_project(self, project): return self
    def project_cleanup(self, **_): pass
`

// stubs creates these modules, a Tempest that runs a script, and the files of the pod.
func stubs(t *testing.T, tests string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range map[string]string{
		"stub.py":      modules,
		"openstack.py": "import os, pathlib, stub\ndef connect(**_): return stub.Cloud(pathlib.Path(os.environ['STUB']))\n",
		"subunit.py": "class ByteStreamToStreamResult:\n    def __init__(self, stream, non_subunit_name): self.stream = stream\n" +
			"    def run(self, result):\n        for line in self.stream:\n            if b' ' not in line:\n" +
			"                result.status(file_name='stdout', file_bytes=line)\n                continue\n" +
			"            status, name = line.decode().split()\n" +
			"            result.on_test({'status': status, 'id': name, 'details': {}})\n",
		"testtools.py": "class StreamToDict:\n    def __init__(self, on_test): self.on_test = on_test\n    def status(self, **_): pass\n" +
			"    def startTestRun(self): pass\n    def stopTestRun(self): pass\n",
		"users":                "c5c3-tempest-left somebody",
		"stores":               "files pool",
		"bin/tempest":          "#!/bin/sh\necho \"$@\" >>" + folder + "/called\n" + tests,
		"config/tempest.conf":  conf(t),
		"config/exclude.txt":   excluded,
		"config/run.json":      `{"concurrency": 2, "include": "^a", "exclude": "slow"}`,
		"config/" + scriptFile: runScript,
	} {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func conf(t *testing.T) string {
	t.Helper()
	m, err := of(t, "services: [{type: identity, internalURL: \"https://k:5000/v3\"}]")
	if err != nil {
		t.Fatal(err)
	}
	return m.files[confFile]
}

// script returns the script in the form that a pod runs.
func script(folder string) *exec.Cmd {
	c := exec.Command("python3", filepath.Join(folder, "config", scriptFile), filepath.Join(folder, "config"))
	c.Env = append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"), "PYTHONPATH="+folder, "STUB="+folder,
		"WORK="+filepath.Join(folder, "work"), "MESSAGE="+filepath.Join(folder, "message"), "OS_AUTH__ADMIN_PASSWORD=secret",
		"PAUSE=0")
	return c
}

// TestScriptReportsResultsAndCleansUp verifies that the message contains the results of tests, and that their resources are removed before
// and after them.
func TestScriptReportsResultsAndCleansUp(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, tests string
		want          map[string]any
		ok            bool
	}{
		"Passed": {
			"A skipped test is not a failure.", "echo success a; echo success b; echo skip c",
			map[string]any{"passed": 2.0, "failed": 0.0, "skipped": 1.0, "failures": []any{}, "problem": ""}, true,
		},
		"Failed": {
			"Tempest also exits with an error.", "echo success a; echo fail b; exit 1",
			map[string]any{"passed": 1.0, "failed": 1.0, "skipped": 0.0, "failures": []any{"b"}, "problem": ""}, false,
		},
		"Lost": {
			"A test that never ended has failed.", "echo inprogress a; exit 1",
			map[string]any{"passed": 0.0, "failed": 1.0, "skipped": 0.0, "failures": []any{"a"}, "problem": ""}, false,
		},
		"None": {
			"No test matches, or Tempest prints the reason.", "echo ImportError; exit 1",
			map[string]any{
				"passed": 0.0, "failed": 0.0, "skipped": 0.0, "failures": []any{},
				"problem": "no test is called as tests.services, tests.includeRegex and tests.excludeRegex say; " +
					"or Tempest cannot load them: the pod's log says which",
			}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := stubs(t, "echo c5c3-tempest-1 somebody >"+"$STUB/users\n"+tc.tests)
			out, err := script(folder).CombinedOutput()
			if (err == nil) != tc.ok {
				t.Errorf("%s\n%v\n%s", tc.reason, err, out)
			}
			if diff := cmp.Diff(tc.want, message(t, folder)); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", tc.reason, diff, out)
			}
			if remaining := text(t, folder, "users"); remaining != "somebody" {
				t.Errorf("%s\nleft are: %s", tc.reason, remaining)
			}
			if called := text(t, folder, "called"); !strings.Contains(called, "--regex ^a --exclude-list") || !strings.Contains(called, "--exclude-regex slow") {
				t.Errorf("it ran %s", called)
			}
			if requested := strings.Contains(string(out), "\nImportError\n"); requested != strings.Contains(tc.tests, "ImportError") {
				t.Errorf("%s\nits log has the reason: %v\n%s", tc.reason, requested, out)
			}
			if strings.Contains(string(out), "secret") {
				t.Errorf("it prints a password:\n%s", out)
			}
		})
	}
}

// TestStoppedRunReportsAndCleansUp verifies that a stopped run ends its tests, removes their resources, and reports the completed ones,
// which is no result.
func TestStoppedRunReportsAndCleansUp(t *testing.T) {
	folder := stubs(t, "echo c5c3-tempest-1 somebody >$STUB/users\necho success a; echo skip b\nsleep 600")
	c := script(folder)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "SKIPPED: b") {
		continue
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out) // It ends with the process.
	if err := c.Wait(); err == nil {
		t.Error("it succeeds")
	}
	want := map[string]any{
		"passed": 1.0, "failed": 0.0, "skipped": 1.0, "failures": []any{}, "problem": "the run was stopped before its end",
	}
	if diff := cmp.Diff(want, message(t, folder)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if remaining := text(t, folder, "users"); remaining != "somebody" {
		t.Errorf("left are: %s", remaining)
	}
}

// TestScript_Lingers verifies that a stack which Heat lists for a while after its deletion counts as removed, and that one that stays does
// not.
func TestScript_Lingers(t *testing.T) {
	for lists, want := range map[string]string{
		"1 2": "", "1 2 3 4 5 6 7 8": "1 things could not be removed: stack lingering",
	} {
		folder := stubs(t, "echo lingering >$STUB/stacks; echo \""+lists+"\" >$STUB/lingers; echo success a")
		conf := filepath.Join(folder, "config", confFile)
		all := strings.Replace(text(t, folder, "config/"+confFile), "heat = false", "heat = true", 1)
		if err := os.WriteFile(conf, []byte(all), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := script(folder).CombinedOutput()
		if got := message(t, folder)["problem"]; got != want || (err == nil) != (want == "") {
			t.Errorf("%d more lists have the stack: %v, %q, want %q\n%s", len(strings.Fields(lists)), err, got, want, out)
		}
	}
}

// TestRemovesOnlyCredentialsOfTests verifies that credentials of tests are removed, although Tempest gives them a different prefix;
// resources of users with similar names are kept.
func TestRemovesOnlyCredentialsOfTests(t *testing.T) {
	const (
		project = "tempest-ImagesTest-108347469"
		domain  = "tempest-DomainsTest-7"
	)
	for name, tc := range map[string]struct {
		reason                   string
		users, projects, domains string
		// remaining are users, projects and domains after the run.
		remaining [3]string
		ok        bool
	}{
		"Project": {
			"A project with the marker in its description, and its users, including users without a role, because a run may have been killed earlier.",
			project + "-project-admin@project=" + project + "@project=other " + project + "-project somebody@project=" + project,
			project + ":" + project + "-desc", "",
			[3]string{"somebody@project=" + project}, true,
		},
		"Undescribed": {
			"A name alone does not mark a project or its users.",
			project + "-project@project=" + project, project + " " + project + "2:ours " + project + "3:" + project + "-desc", "",
			[3]string{project + "-project@project=" + project, project + " " + project + "2:ours " + project + "3:" + project + "-desc"}, true,
		},
		"Unnumbered": {
			"A description without a number does not mark it.", "", "tempest:tempest-desc tempest-nightly:tempest-nightly-desc tempest-a-0:tempest-a-0-desc tempest-a-1-b:tempest-a-1-b-desc", "",
			[3]string{"", "tempest:tempest-desc tempest-nightly:tempest-nightly-desc tempest-a-0:tempest-a-0-desc tempest-a-1-b:tempest-a-1-b-desc"}, true,
		},
		"Elsewhere": {
			"A user with roles in another project does not belong to the project, regardless of the name.",
			project + "-project@project=other " + project + "-projects@project=" + project + " " + project + "-domain@domain=" + project,
			project + ":" + project + "-desc", "",
			[3]string{
				project + "-project@project=other " + project + "-projects@project=" + project + " " + project + "-domain@domain=" + project,
			}, true,
		},
		"Kept": {
			"A project stays as long as a user of it does: without it nobody would know whose he is.",
			"tempest-kept-1-project@project=tempest-kept-1", "tempest-kept-1:tempest-kept-1-desc", "",
			[3]string{"tempest-kept-1-project@project=tempest-kept-1", "tempest-kept-1:tempest-kept-1-desc"}, false,
		},
		"Domain": {
			"A domain likewise.",
			domain + "-domain-reader@domain=" + domain, "", domain + ":" + domain + "-desc Default tempest-DomainsTest-8:ours",
			[3]string{"", "", "Default tempest-DomainsTest-8:ours"}, true,
		},
		"System": {
			"A user who has a role on the system, and nowhere else.",
			"tempest-RolesTest-5-system-reader@system tempest-RolesTest-6-system-reader@system@project=a tempest-RolesTest-7-system-reader tempest-system@system",
			"", "",
			[3]string{"tempest-RolesTest-6-system-reader@system@project=a tempest-RolesTest-7-system-reader tempest-system@system"}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := stubs(t, "echo success a")
			for i, file := range []string{"users", "projects", "domains"} {
				if err := os.WriteFile(filepath.Join(folder, file), []byte([]string{tc.users, tc.projects, tc.domains}[i]), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := script(folder).CombinedOutput()
			if (err == nil) != tc.ok {
				t.Errorf("%s\n%v\n%s", tc.reason, err, out)
			}
			if diff := cmp.Diff(tc.remaining, [3]string{text(t, folder, "users"), text(t, folder, "projects"), text(t, folder, "domains")}); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", tc.reason, diff, out)
			}
		})
	}
}

func message(t *testing.T, folder string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(text(t, folder, "message")), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func text(t *testing.T, folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// TestSkipsTestsOfMissingFeatures verifies that features are detected in the cloud. Tests of missing features are skipped, and do not fail.
func TestSkipsTestsOfMissingFeatures(t *testing.T) {
	folder := stubs(t, "echo success a")
	conf := filepath.Join(folder, "config", confFile)
	all := text(t, folder, "config/"+confFile)
	for _, service := range []string{"nova", "neutron", "cinder", "glance", "heat"} {
		all = strings.Replace(all, service+" = false", service+" = true", 1)
	}
	if err := os.WriteFile(conf, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		"volumes": "c5c3-tempest-of-nobody somebodys", "stacks": "api-12-empty api-12-empty/nested",
		"pools": `{"volume_backend_name": "b", "storage_protocol": ["ceph", "rbd"], "vendor_name": "Open Source", "multiattach": true}` + "\n" +
			`{"volume_backend_name": "a", "storage_protocol": "NFS", "vendor_name": "Other"}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := script(folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := text(t, folder, "volumes"); got != "somebodys" {
		t.Errorf("of volumes, in projects that are gone, too, are left: %s", got)
	}
	for _, file := range []string{"stacks", "networks"} {
		if got := text(t, folder, file); got != "" {
			t.Errorf("of %s are left: %s", file, got)
		}
	}
	requested := text(t, folder, "work/"+confFile) + "\n"
	for _, want := range []string{
		"api_extensions = agent,router", "public_network_id = outside", "backup = false",
		"flavor_ref = small", "flavor_ref_alt = large", "image_ref = guest", "image_ref_alt = guest",
		"min_compute_nodes = 2", "storage_protocol = ceph", "vendor_name = Open Source", "manage_volume = true", "manage_snapshot = true",
		"multi_backend = true", "backend_names = a,b", "volume_multiattach = false",
		"minimal_image_ref = guest", "minimal_instance_type = small", "fixed_network_name = c5c3-tempest-stacks",
	} {
		if !strings.Contains(requested, want+"\n") {
			t.Errorf("tests are not configured with %q:\n%s", want, requested)
		}
	}
}

// TestScript_Stores verifies that a copy of an image to another store is tested only if there is another store, and that the tests of
// exclude.txt are always skipped.
func TestScript_Stores(t *testing.T) {
	const copies = `^tempest\.api\.image\.v2\.admin\.test_images\.ImportCopyImagesTest\.`
	for stores, want := range map[string]bool{"files": true, "files pool": false} {
		folder := stubs(t, "cp ${WORK}/exclude.txt $STUB/excluded; echo success a")
		conf := filepath.Join(folder, "config", confFile)
		for file, content := range map[string]string{
			conf:                            strings.Replace(text(t, folder, "config/"+confFile), "glance = false", "glance = true", 1),
			filepath.Join(folder, "stores"): stores,
		} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := script(folder).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		lines := strings.Split(text(t, folder, "excluded"), "\n")
		if got := slices.Contains(lines, copies); got != want {
			t.Errorf("with stores %q the test is skipped: %v, want %v", stores, got, want)
		}
		for line := range strings.Lines(excluded) {
			if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
				t.Errorf("with stores %q a test runs that exclude.txt has: %s", stores, line)
			}
		}
		if !strings.Contains(text(t, folder, "called"), filepath.Join(folder, "work/exclude.txt")) {
			t.Errorf("Tempest reads another list: %s", text(t, folder, "called"))
		}
	}
}

// TestFailedDetectionSkipsNoTest verifies that a failed detection skips no test, and is reported with the results.
func TestFailedDetectionSkipsNoTest(t *testing.T) {
	folder := stubs(t, "echo fail a; exit 1")
	if err := os.WriteFile(filepath.Join(folder, "hidden"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(folder, "config", confFile)
	if err := os.WriteFile(conf, []byte(strings.Replace(text(t, folder, "config/"+confFile), "glance = false", "glance = true", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := script(folder).CombinedOutput()
	got := message(t, folder)
	reason, _ := got["problem"].(string)
	if err == nil || got["failed"] != 1.0 || !strings.HasPrefix(reason, "cannot look for any image (") {
		t.Errorf("%v, %v\n%s", err, got, out)
	}
}
