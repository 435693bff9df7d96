//go:build openstack && linux

package uwsgi

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// healthModule is an application that files in its folder make slow or break: "broken" and "slow" while it loads,
// "hold" while it processes requests.
const healthModule = `import os, pathlib, threading, time

if os.path.exists("broken"):
    raise RuntimeError("the application cannot be loaded")
while os.path.exists("slow"):
    time.sleep(0.1)

def moving():
    while os.path.exists("hold"):
        time.sleep(0.1)
        yield b"x" * 1000

def application(environ, start):
    start("200 OK", [])
    path = environ["PATH_INFO"]
    if path != "/":
        pathlib.Path("held-%d-%d" % (os.getpid(), threading.get_ident())).touch()
    if path == "/stream":
        return moving()
    while path == "/hold" and os.path.exists("hold"):
        time.sleep(0.1)
    return [str(os.getpid()).encode()]
`

// uwsgi is a running uWSGI with a composed configuration: two processes of two threads.
type uwsgi struct {
	t       *testing.T
	dir     string
	api     string
	health  string
	command *exec.Cmd
	ended   chan error
}

// startUWSGI starts uWSGI with the application and files with these names in its folder.
func startUWSGI(t *testing.T, hung, absent time.Duration, files ...string) *uwsgi {
	t.Helper()
	u := &uwsgi{t: t, dir: t.TempDir(), api: freeAddress(t), health: freeAddress(t), ended: make(chan error, 1)}
	c := workload.UWSGI{
		Module: "app:application", Listen: u.api, Processes: 2, Threads: 2, TerminationGracePeriod: time.Minute,
		Health: workload.HealthEndpoint{Address: u.health, File: workload.HealthFile, Hung: hung, Absent: absent},
	}
	u.write("app.py", healthModule)
	u.write(workload.HealthFile, workload.HealthScript)
	u.write("uwsgi.ini", c.Config())
	for _, name := range files {
		u.write(name, "")
	}
	venv := harness.Programs.Services[harness.Newest]
	u.command = exec.Command(filepath.Join(venv, "bin", "uwsgi"), "--ini", "uwsgi.ini")
	u.command.Dir, u.command.Env = u.dir, append(os.Environ(), "UWSGI_VIRTUALENV="+venv)
	log, err := os.Create(filepath.Join(u.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // it is read by its name
	u.command.Stdout, u.command.Stderr = log, log
	u.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := u.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { u.ended <- u.command.Wait() }()
	t.Cleanup(func() { _ = syscall.Kill(-u.command.Process.Pid, syscall.SIGKILL) }) // it has mostly ended
	return u
}

func (u *uwsgi) write(name, text string) {
	u.t.Helper()
	if err := os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

func (u *uwsgi) remove(name string) {
	u.t.Helper()
	if err := os.Remove(filepath.Join(u.dir, name)); err != nil {
		u.t.Fatal(err)
	}
}

func (u *uwsgi) log() string {
	text, _ := os.ReadFile(filepath.Join(u.dir, "log")) // it is only shown, or searched
	return string(text)
}

// probe returns the status and the text of a response, or an error instead.
func probe(url string) string {
	ctx, cancel := stopwatch.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close() // it is read to its end
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", response.StatusCode, body)
}

// want fails unless the responses of both probes have these prefixes.
func (u *uwsgi) want(live, ready, reason string) {
	u.t.Helper()
	for path, want := range map[string]string{workload.LivePath: live, workload.ReadyPath: ready} {
		if got := probe("http://" + u.health + path); !strings.HasPrefix(got, want) {
			u.t.Errorf("%s\n%s is %q, want %q\n%s", reason, path, got, want, u.log())
		}
	}
}

// until waits for an expected event.
func (u *uwsgi) until(description string, happened func() bool) {
	u.t.Helper()
	for began := time.Now(); !happened(); time.Sleep(50 * time.Millisecond) {
		if stopwatch.Since(began) > time.Minute {
			u.t.Fatalf("after a minute not: %s\n%s", description, u.log())
		}
	}
}

// untilAnswer waits for a response of a probe with a prefix.
func (u *uwsgi) untilAnswer(path, want string) {
	u.t.Helper()
	u.until(path+" is "+want, func() bool { return strings.HasPrefix(probe("http://"+u.health+path), want) })
}

// occupy takes all four slots with requests for a path, which end when the file "hold" is removed. It returns the
// results of the requests.
func (u *uwsgi) occupy(path string) <-chan string {
	u.t.Helper()
	const slots = 4
	u.write("hold", "")
	results := make(chan string, slots)
	for range slots {
		go func() {
			response, err := http.Get("http://" + u.api + path)
			if err != nil {
				results <- err.Error()
				return
			}
			defer response.Body.Close() // it is read to its end
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				results <- err.Error()
				return
			}
			results <- response.Status
		}()
	}
	u.until("all slots are taken", func() bool {
		held, err := filepath.Glob(filepath.Join(u.dir, "held-*"))
		return err == nil && len(held) == slots
	})
	return results
}

// working is the answer of a server whose workers take requests.
const working = "200 working: 2 of 2 workers"

// ready waits until the application accepts requests.
func (u *uwsgi) ready() {
	u.t.Helper()
	u.untilAnswer(workload.ReadyPath, working)
	if got := probe("http://" + u.api); !strings.HasPrefix(got, "200 ") {
		u.t.Fatalf("the application responds with %q\n%s", got, u.log())
	}
}

// pids returns the processes of a kind from the log: worker or mule. The newest is the last.
func (u *uwsgi) pids(kind string) []int {
	var out []int
	for _, m := range regexp.MustCompile(`spawned uWSGI `+kind+` \d+ \((?:new )?pid: (\d+)`).FindAllStringSubmatch(strings.ReplaceAll(u.log(), "Resp", "sp"), -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			out = append(out, n)
		}
	}
	return out
}

func (u *uwsgi) kill(pid int) {
	u.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		u.t.Fatal(err)
	}
}

// TestUWSGIHealth checks that a real uWSGI fails probes exactly if it is broken.
func TestUWSGIHealth(t *testing.T) {
	t.Parallel()
	const never = time.Hour
	for name, test := range map[string]func(*testing.T){
		"Busy": func(t *testing.T) {
			u := startUWSGI(t, never, never)
			u.ready()
			for range 50 {
				idle, err := net.Dial("tcp", u.health)
				if err != nil {
					t.Fatal(err)
				}
				defer idle.Close() // it is silent
			}
			results := u.occupy("/hold")
			u.untilAnswer(workload.ReadyPath, working+" take requests, 2 of them busy")
			u.want(working, working, "All slots are taken, and 50 clients of the endpoint are silent.")
			u.remove("hold")
			for range cap(results) {
				if got := <-results; got != "200 OK" {
					t.Errorf("a request got %s", got)
				}
			}
		},
		"Hanging": func(t *testing.T) {
			u := startUWSGI(t, 4*time.Second, never)
			u.ready()
			stream := make(chan string, 1)
			u.write("hold", "")
			go func() {
				response, err := http.Get("http://" + u.api + "/stream")
				if err != nil {
					stream <- err.Error()
					return
				}
				defer response.Body.Close() // it is read to its end
				_, err = io.Copy(io.Discard, response.Body)
				stream <- fmt.Sprint(response.Status, " ", err)
			}()
			held := func() []string {
				found, err := filepath.Glob(filepath.Join(u.dir, "held-*"))
				if err != nil {
					t.Fatal(err)
				}
				return found
			}
			u.until("the transfer has started", func() bool { return len(held()) == 1 })
			moving, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(held()[0]), "held-"), "-")
			// Requests hang until one is in the worker without the transfer.
			hanging := ""
			ends := make(chan string, 4)
			for hanging == "" {
				before := len(held())
				go func() { ends <- probe("http://" + u.api + "/hold") }()
				u.until("a request hangs", func() bool { return len(held()) > before })
				for _, h := range held() {
					if pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(h), "held-"), "-"); pid != moving {
						hanging = pid
					}
				}
			}
			u.until("the worker that hangs is replaced", func() bool { return len(u.pids("worker")) == 3 })
			u.want(working, working, "Another worker takes its place.")
			if pid, err := strconv.Atoi(hanging); err != nil || syscall.Kill(pid, 0) == nil {
				t.Errorf("worker %s runs (%v), want only the one of the transfer, %s\n%s", hanging, err, moving, u.log())
			}
			if !strings.Contains(u.log(), "has made no progress in a request for 4 s and is ended") {
				t.Errorf("the log does not name the worker that hung:\n%s", u.log())
			}
			u.remove("hold")
			if got := <-stream; got != "200 OK <nil>" {
				t.Errorf("the transfer in another worker ended with %s", got)
			}
			u.ready()
		},
		"Transfer": func(t *testing.T) {
			u := startUWSGI(t, 2*time.Second, never)
			u.ready()
			results := u.occupy("/stream")
			for began := time.Now(); time.Since(began) < 8*time.Second; time.Sleep(200 * time.Millisecond) {
				u.want(working, working, "Transfers take longer than any request may, and move.")
			}
			u.remove("hold")
			for range cap(results) {
				if got := <-results; got != "200 OK" {
					t.Errorf("a request got %s", got)
				}
			}
		},
		"Killed": func(t *testing.T) {
			u := startUWSGI(t, never, never)
			u.ready()
			u.kill(u.pids("worker")[0])
			u.want("200 working", "200 working", "Another worker takes requests.")
			u.until("a worker is replaced", func() bool { return len(u.pids("worker")) == 3 })
			u.ready()
			u.kill(u.pids("mule")[0])
			u.until("the endpoint is replaced", func() bool { return len(u.pids("mule")) == 2 })
			u.ready()
		},
		"NoWorker": func(t *testing.T) {
			u := startUWSGI(t, never, 2*time.Second)
			u.ready()
			u.write("slow", "")
			for _, pid := range u.pids("worker") {
				u.kill(pid)
			}
			u.untilAnswer(workload.LivePath, "503 broken: ")
			u.want("503 broken", "503 broken", "No worker has loaded the application.")
			u.remove("slow")
			u.untilAnswer(workload.LivePath, working)
		},
		"NeverLoaded": func(t *testing.T) {
			u := startUWSGI(t, never, 2*time.Second, "slow")
			u.untilAnswer(workload.LivePath, "503 broken: 2 of 2 workers run, and none has loaded the application")
		},
		"Unloadable": func(t *testing.T) {
			u := startUWSGI(t, never, never, "broken")
			ctx, cancel := stopwatch.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			select {
			case err := <-u.ended:
				if got := u.command.ProcessState.ExitCode(); got != 22 {
					t.Errorf("uWSGI ends with %d (%v), want 22\n%s", got, err, u.log())
				}
			case <-ctx.Done():
				t.Fatalf("uWSGI runs without an application\n%s", u.log())
			}
			if got := probe("http://" + u.health + workload.LivePath); !strings.Contains(got, "connection refused") {
				t.Errorf("without uWSGI, its endpoint responds with %q", got)
			}
		},
		"Reload": func(t *testing.T) {
			u := startUWSGI(t, never, 2*time.Second)
			u.ready()
			results := u.occupy("/hold")
			if err := u.command.Process.Signal(syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			u.untilAnswer(workload.ReadyPath, "503 draining: 2 of 2 workers")
			u.want("200 draining", "503 draining", "Requests from before a reload continue, and no new ones start.")
			u.remove("hold")
			for range cap(results) {
				if got := <-results; got != "200 OK" {
					t.Errorf("a request from before the reload got %s", got)
				}
			}
			u.until("all processes are new", func() bool { return len(u.pids("worker")) == 4 && len(u.pids("mule")) == 2 })
			u.ready()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}
