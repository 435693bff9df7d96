package tempest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// modules stand for those that the image has: a cloud in which one user is left of a run before, and tests that report a line each.
const modules = `
import pathlib, json

class Thing(dict):
    __getattr__ = dict.get

class Keystone:
    def __init__(self, folder): self.file = folder / "users"
    def _none(self, *_, **__): return []
    projects = domains = groups = roles = services = regions = _none
    delete_group = delete_role = delete_service = delete_region = delete_project = delete_domain = _none
    def users(self, domain_id): return [Thing(id=n, name=n) for n in self.file.read_text().split()]
    def delete_user(self, user):
        self.file.write_text(" ".join(n for n in self.file.read_text().split() if n != user["id"]))
    def get(self, path):
        class Answer:
            def json(self): return {path.split("/")[-1]: []}
        return Answer()

class Cloud:
    def __init__(self, folder): self.identity = Keystone(folder)
`

// stubs are those modules, a Tempest that runs a script, and the files of the pod.
func stubs(t *testing.T, tests string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for name, text := range map[string]string{
		"stub.py":      modules,
		"openstack.py": "import os, pathlib, stub\ndef connect(**_): return stub.Cloud(pathlib.Path(os.environ['STUB']))\n",
		"subunit.py": "class ByteStreamToStreamResult:\n    def __init__(self, stream, non_subunit_name): self.stream = stream\n" +
			"    def run(self, result):\n        for line in self.stream:\n            status, name = line.decode().split()\n" +
			"            result.on_test({'status': status, 'id': name, 'details': {}})\n",
		"testtools.py": "class StreamToDict:\n    def __init__(self, on_test): self.on_test = on_test\n" +
			"    def startTestRun(self): pass\n    def stopTestRun(self): pass\n",
		"users":                "c5c3-tempest-left somebody",
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

// script is the script as a pod runs it.
func script(folder string) *exec.Cmd {
	c := exec.Command("python3", filepath.Join(folder, "config", scriptFile), filepath.Join(folder, "config"))
	c.Env = append(os.Environ(), "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"), "PYTHONPATH="+folder, "STUB="+folder,
		"WORK="+filepath.Join(folder, "work"), "MESSAGE="+filepath.Join(folder, "message"), "OS_AUTH__ADMIN_PASSWORD=secret")
	return c
}

// TestScript: what tests say is what the message says, and before and after them nothing of theirs is left.
func TestScript(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, tests string
		want          map[string]any
		ok            bool
	}{
		"Passed": {
			"What is left out is no failure.", "echo success a; echo success b; echo skip c",
			map[string]any{"passed": 2.0, "failed": 0.0, "skipped": 1.0, "failures": []any{}, "problem": ""}, true,
		},
		"Failed": {
			"Tempest says so, too.", "echo success a; echo fail b; exit 1",
			map[string]any{"passed": 1.0, "failed": 1.0, "skipped": 0.0, "failures": []any{"b"}, "problem": ""}, false,
		},
		"Lost": {
			"A test that never ended has failed.", "echo inprogress a; exit 1",
			map[string]any{"passed": 0.0, "failed": 1.0, "skipped": 0.0, "failures": []any{"a"}, "problem": ""}, false,
		},
		"None": {
			"No test is called so.", "exit 1",
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
			if left := text(t, folder, "users"); left != "somebody" {
				t.Errorf("%s\nleft are: %s", tc.reason, left)
			}
			if called := text(t, folder, "called"); !strings.Contains(called, "--regex ^a --exclude-list") || !strings.Contains(called, "--exclude-regex slow") {
				t.Errorf("it ran %s", called)
			}
			if strings.Contains(string(out), "secret") {
				t.Errorf("it tells a password:\n%s", out)
			}
		})
	}
}

// TestScriptStopped: a run that is stopped ends its tests, removes what they have made, and says that it is no result.
func TestScriptStopped(t *testing.T) {
	folder := stubs(t, "echo c5c3-tempest-1 somebody >$STUB/users\ntouch $STUB/began\nsleep 600")
	c := script(folder)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := os.Stat(filepath.Join(folder, "began")); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("it succeeds")
	}
	if got := message(t, folder)["problem"]; got != "the run was stopped before its end" {
		t.Errorf("it says %v", got)
	}
	if left := text(t, folder, "users"); left != "somebody" {
		t.Errorf("left are: %s", left)
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

// TestScriptHidden: what cannot be looked for keeps no test from running, and is said with what they found.
func TestScriptHidden(t *testing.T) {
	folder := stubs(t, "echo fail a; exit 1")
	conf := filepath.Join(folder, "config", confFile)
	if err := os.WriteFile(conf, []byte(strings.Replace(text(t, folder, "config/"+confFile), "glance = false", "glance = true", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := script(folder).CombinedOutput()
	got := message(t, folder)
	problem, _ := got["problem"].(string)
	if err == nil || got["failed"] != 1.0 || !strings.HasPrefix(problem, "cannot look for any image (") {
		t.Errorf("%v, %v\n%s", err, got, out)
	}
}
