package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events of a run: a package that passes with a skipped test, one that fails, and one from the cache.
const events = `{"Action":"start","Package":"m/a"}
{"Action":"output","Package":"m/a","Test":"TestSkipped","Output":"=== RUN   TestSkipped\n"}
{"Action":"output","Package":"m/a","Test":"TestSkipped","Output":"    a_test.go:7: HELM names no program\n"}
{"Action":"output","Package":"m/a","Test":"TestSkipped","Output":"--- SKIP: TestSkipped (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestSkipped"}
{"Action":"output","Package":"m/a","Test":"TestQuiet","Output":"noise\n"}
{"Action":"pass","Package":"m/a","Test":"TestQuiet"}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t2.000s\n"}
{"Action":"pass","Package":"m/a","Elapsed":2}
{"Action":"output","Package":"m/b","Test":"TestBroken","Output":"=== RUN   TestBroken\n"}
{"Action":"output","Package":"m/b","Test":"TestBroken","Output":"    b_test.go:9: got 1, want 2\n"}
{"Action":"output","Package":"m/b","Test":"TestBroken","Output":"--- FAIL: TestBroken (0.00s)\n"}
{"Action":"fail","Package":"m/b","Test":"TestBroken"}
{"Action":"output","Package":"m/b","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"m/b","Output":"FAIL\tm/b\t1.000s\n"}
{"Action":"fail","Package":"m/b","Elapsed":1}
{"Action":"pass","Package":"m/c","Test":"TestGroup/sub"}
{"Action":"pass","Package":"m/c","Test":"TestGroup"}
{"Action":"output","Package":"m/c","Output":"ok  \tm/c\t(cached)\n"}
{"Action":"pass","Package":"m/c","Elapsed":0}
{"Action":"skip","Package":"m/untested"}
`

// readEvents returns the report of a run in which packages a and b used 3 and 5 CPU-seconds.
func readEvents(t *testing.T, o options, text string) (*report, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	o.out = out
	r := newReport(o, []goPackage{{ImportPath: "m/a", Dir: "/m/a"}, {ImportPath: "m/b", Dir: "/m/b"}, {ImportPath: "m/c", Dir: "/m/c"}})
	r.cpu.add(process{pid: 1, dir: "/m/a"}, 3*ticks)
	r.cpu.add(process{pid: 2, dir: "/m/b"}, 4*ticks)
	r.cpu.add(process{pid: 3, dir: "/m/b"}, 1*ticks)
	if err := r.read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return r, out
}

func TestReport(t *testing.T) {
	r, out := readEvents(t, options{total: 300, each: 40}, events)
	if err := r.finish(); err != nil {
		t.Errorf("finish(): %v; a failed test is no error of the report", err)
	}
	want := `ok  	m/a	2.0s	(3.0 CPU-seconds) [1/3]
=== RUN   TestBroken
    b_test.go:9: got 1, want 2
--- FAIL: TestBroken (0.00s)
panic: test timed out
FAIL	m/b	1.0s	(5.0 CPU-seconds) [2/3]
ok  	m/c	0.0s	(cached) [3/3]
skipped: m/a TestSkipped: HELM names no program
CPU-seconds: 8.0 of at most 300, 3 packages, 1 of them cached
     5.0  m/b
     3.0  m/a
failed: m/b
3 passed, 1 failed, 1 skipped
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output: -want, +got:\n%s", diff)
	}
}

func TestReportFailsAboveBudgetOrWithoutTests(t *testing.T) {
	skipped := strings.Join(strings.SplitAfter(events, "\n")[1:5], "")
	var none strings.Builder
	for _, p := range []string{"a", "b", "c"} {
		none.WriteString(`{"Action":"pass","Package":"m/` + p + `"}` + "\n")
	}
	cases := map[string]struct {
		reason, events string
		o              options
		want           string
	}{
		"Unlimited":   {reason: "Without a budget nothing is too expensive.", events: events},
		"Within":      {reason: "A budget that is used up is kept.", events: events, o: options{total: 8, each: 5}},
		"Package":     {reason: "A package over its budget is named.", events: events, o: options{each: 4}, want: "error: m/b: tests used 5.0 CPU-seconds"},
		"Total":       {reason: "Packages within their budgets can be too many.", events: events, o: options{total: 7, each: 40}, want: "error: all tests used 8.0 CPU-seconds, and must use at most 7"},
		"NoTest":      {reason: "A run without a test fails.", events: none.String(), want: `error: no test ran`},
		"OnlySkipped": {reason: "A run whose tests are all skipped tests nothing.", events: skipped + none.String(), o: options{filter: "TestSkipped"}, want: `error: no test ran: the filter "TestSkipped" selects none, or all of them were skipped (1)`},
		"Subtest":     {reason: "A filter of subtests that selects none fails, although the test around them passes.", events: strings.ReplaceAll(events, `"fail","Package":"m/b","Test"`, `"pass","Package":"m/b","Test"`), o: options{filter: "TestGroup/sub/none"}, want: "no subtest matches"},
		"Level":       {reason: "A filter of subtests that selects one passes.", events: strings.ReplaceAll(events, `"fail","Package":"m/b","Test"`, `"pass","Package":"m/b","Test"`), o: options{filter: "TestGroup/s"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, out := readEvents(t, tc.o, tc.events)
			err := r.finish()
			if (err != nil) != (tc.want != "") || !strings.Contains(out.String(), tc.want) {
				t.Errorf("\n%s\nfinish(): error %v, output without %q:\n%s", tc.reason, err, tc.want, out)
			}
		})
	}
}

func TestVerboseReportPrintsOutputOnce(t *testing.T) {
	r, out := readEvents(t, options{verbose: true}, events)
	if err := r.finish(); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{"noise\n": 1, "got 1, want 2\n": 1, "ok  \tm/a": 1} {
		if got := strings.Count(out.String(), line); got != want {
			t.Errorf("verbose output has %q %d times, want %d:\n%s", line, got, want, out)
		}
	}
}
