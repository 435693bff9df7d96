//go:build openstack && linux

package uwsgi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/stopwatch"
	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// slowModule delays its start, which it records in a file, and its responses.
const slowModule = `import pathlib, time
pathlib.Path("loading").touch()
time.sleep(%d)

def application(environ, start):
    pathlib.Path("answering").touch()
    time.sleep(3)
    start("200 OK", [])
    return [b"late"]
`

// TestUWSGIStop checks that uWSGI stops immediately if it is stopped while its workers load the application, instead of
// at the end of the pod's grace period; and that it first completes a running request.
func TestUWSGIStop(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		Clients int
		request bool
		until   string
	}{
		"Loading":   {Clients: 60, until: "loading"},
		"Answering": {Clients: 0, request: true, until: "answering"},
	} {
		t.Run(name, func(t *testing.T) { testStop(t, fmt.Sprintf(slowModule, tc.Clients), tc.request, tc.until) })
	}
}

func testStop(t *testing.T, module string, request bool, until string) {
	dir, address := t.TempDir(), freeAddress(t)
	u := workload.UWSGI{
		Module: "slow:application", Listen: address, Processes: 2, Threads: 1, Harakiri: time.Minute, TerminationGracePeriod: time.Minute,
		Health: workload.HealthEndpoint{Address: freeAddress(t), File: workload.HealthFile, Hung: time.Hour, Absent: time.Hour},
	}
	for file, text := range map[string]string{"slow.py": module, "uwsgi.ini": u.Config(), workload.HealthFile: workload.HealthScript} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	venv := harness.Programs.Services[harness.Newest]
	command := exec.Command(filepath.Join(venv, "bin", "uwsgi"), "--ini", "uwsgi.ini")
	command.Dir, command.Env = dir, append(os.Environ(), "UWSGI_VIRTUALENV="+venv)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // it is read by its name
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }) // it has mostly ended
	answered := make(chan int, 1)
	if request {
		go func() { answered <- statusOf("http://" + address) }()
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, until)); err == nil {
			break
		}
		if stopwatch.Since(began) > time.Minute {
			text, _ := os.ReadFile(log.Name()) // it is only shown
			t.Fatalf("uWSGI is not %s after a minute:\n%s", until, text)
		}
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := stopwatch.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
		text, _ := os.ReadFile(log.Name()) // it is only shown
		t.Fatalf("uWSGI has not stopped after 30 s:\n%s", text)
	}
	if request {
		if status := <-answered; status != http.StatusOK {
			t.Errorf("the running request got %d", status)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it only reserves an address
	return l.Addr().String()
}

// statusOf sends a request as soon as the server listens, and returns its status: 0 if it got none.
func statusOf(url string) int {
	for range 100 {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
		if err != nil {
			return 0
		}
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			response.Body.Close() // it is not read
			return response.StatusCode
		}
		time.Sleep(200 * time.Millisecond)
	}
	return 0
}
