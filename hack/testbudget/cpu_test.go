package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestParseStat(t *testing.T) {
	const after = ") S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0 8 0 5555 1 1"
	cases := map[string]struct {
		reason, stat  string
		used, started int64
		ok            bool
	}{
		"Plain":       {reason: "User and system time are added, including the time of children.", stat: "42 (nova.test" + after, used: 127, started: 5555, ok: true},
		"Parentheses": {reason: "A name may contain parentheses and spaces.", stat: "42 (a) b (c.test" + after, used: 127, started: 5555, ok: true},
		"Short":       {reason: "A truncated line is not used.", stat: "42 (nova.test) S 1 2 3"},
		"Empty":       {reason: "The process has ended."},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			used, started, ok := parseStat(tc.stat)
			if used != tc.used || started != tc.started || ok != tc.ok {
				t.Errorf("\n%s\nparseStat() = %d, %d, %t, want %d, %d, %t", tc.reason, used, started, ok, tc.used, tc.started, tc.ok)
			}
		})
	}
}

// TestLook reads a fake /proc with the children of a go command: a test, a compiler, and a process that has ended.
func TestLook(t *testing.T) {
	proc := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(proc, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(name, target string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(proc, name)); err != nil {
			t.Fatal(err)
		}
	}
	write("9/task/9/children", "10 ")
	write("9/task/12/children", "11 13 ")
	for pid, program := range map[string]string{"10": "nova.test", "11": "compile"} {
		write(pid+"/stat", pid+" ("+program+") S 1 2 3 4 5 6 7 8 9 10 100 50 0 0 20 0 8 0 5555 1 1")
		link(pid+"/exe", "/tmp/go-build1/b001/"+program)
		link(pid+"/cwd", "/src/functions/nova")
	}
	var c cpu
	for range 2 { // A process counts once, however often it is read.
		c.look(proc, 9)
	}
	if got, seen := c.seconds("/src/functions/nova"); got != 1.5 || !seen {
		t.Errorf("seconds() = %v, %t, want 1.5, true", got, seen)
	}
	if _, seen := c.seconds("/src/functions/glance"); seen {
		t.Error("seconds() reports a package without a process")
	}
}

// TestWatch measures the real tests of a module that computes for a while.
func TestWatch(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processor time is read from /proc, which only Linux has")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.26\n",
		"a_test.go": "package a\n\nimport (\n\t\"hash/crc32\"\n\t\"testing\"\n)\n\nfunc TestBusy(t *testing.T) {\n\tfor range 3000 {\n\t\tcrc32.Update(0, crc32.MakeTable(7), make([]byte, 1<<17))\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	r := newReport(options{out: t.Output()}, []goPackage{{ImportPath: "m", Dir: dir}})
	if err := test(t.Context(), options{patterns: []string{"."}, count: 1}, r); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.cpu.seconds(dir); got < 0.05 {
		t.Errorf("measured %.2f CPU-seconds of a test that computes for longer", got)
	}
}
