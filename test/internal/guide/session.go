package guide

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Session is the shell of a reader: variables, functions and files of a command exist for the next one.
type Session struct {
	// Dir is its working directory.
	Dir string

	shell  *exec.Cmd
	stdin  io.WriteCloser
	status *bufio.Reader
	output string
}

// Start starts a shell in a folder. The environment extends the environment of this process.
func Start(dir string, environment ...string) (*Session, error) {
	s := &Session{Dir: dir, output: filepath.Join(dir, ".output")}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	//nolint:noctx // Stop ends the shell.
	s.shell = exec.Command("bash", "--noprofile", "--norc", "-o", "pipefail")
	s.shell.Dir, s.shell.ExtraFiles = dir, []*os.File{write}
	s.shell.Env = append(os.Environ(), environment...)
	s.shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.stdin, err = s.shell.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.shell.Start(); err != nil {
		return nil, err
	}
	s.status = bufio.NewReader(read)
	return s, write.Close()
}

// Run runs a command to its end, and returns its output and its exit code. The shell ends with the context.
func (s *Session) Run(ctx context.Context, command string) (output string, code int, err error) {
	// A group without a subshell keeps variables. Its input is empty, as a command must not read the next one.
	script := fmt.Sprintf("{\n%s\n} >%s 2>&1 </dev/null\necho $? >&3\n", command, quoted(s.output))
	if _, err := io.WriteString(s.stdin, script); err != nil {
		return "", 0, err
	}
	ended := make(chan error, 1)
	var line string
	go func() {
		var err error
		line, err = s.status.ReadString('\n')
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		s.Stop()
		err = errors.Join(ctx.Err(), <-ended)
	}
	data, readErr := os.ReadFile(s.output)
	if err == nil {
		err = readErr
	}
	if err == nil {
		code, err = strconv.Atoi(strings.TrimSpace(line))
	}
	return string(data), code, err
}

// Stop ends the shell with its commands.
func (s *Session) Stop() {
	_ = syscall.Kill(-s.shell.Process.Pid, syscall.SIGKILL)
	_ = s.shell.Wait()
}

// quoted returns a text as a word of the shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Missing returns the first line of a page that is not printed after the line before it. An ellipsis stands for any text of a line.
func Missing(page, printed string) string {
	rest := strings.Split(printed, "\n")
	for want := range strings.SplitSeq(strings.TrimSpace(page), "\n") {
		if want = strings.TrimRight(want, " "); want == "" || want == "…" || want == "..." {
			continue
		}
		expression := regexp.QuoteMeta(want)
		for _, ellipsis := range []string{"…", `\.\.\.`} {
			expression = strings.ReplaceAll(expression, ellipsis, ".*")
		}
		matches := regexp.MustCompile("^" + expression + "$").MatchString
		i := slices.IndexFunc(rest, func(line string) bool { return matches(strings.TrimRight(line, " ")) })
		if i < 0 {
			return want
		}
		rest = rest[i+1:]
	}
	return ""
}
