package guide

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const root = "../../.."

// TestTable checks that the table has each command of tutorials and how-to guides, and nothing else.
func TestTable(t *testing.T) {
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, p := range pages {
		for _, b := range p.Blocks {
			for _, c := range p.Commands(b) {
				e, err := table.Entry(c)
				if err != nil {
					t.Error(err)
				}
				counts[e.In]++
			}
		}
	}
	for _, problem := range table.Unused() {
		t.Error(problem)
	}
	if counts[Platform] < 150 || counts[OpenStack] < 30 {
		t.Errorf("found only these commands: %v", counts)
	}
}

func TestEntry(t *testing.T) {
	table := &Table{Reasons: map[string]string{"ceph": "No Ceph."}, Pages: map[string][]Entry{
		"page": {
			{Starts: "ceph", In: None, Why: "ceph"}, {Starts: "rbd", In: None, Why: "A text."}, {Starts: "pip", In: None}, {Starts: "x", In: "moon"},
			{Starts: "cobaltcore doctor", In: Offline}, {Starts: "kubectl", In: Platform},
		},
		"all": {{In: None, Why: "ceph"}},
	}}
	cases := map[string]struct {
		reason, page, command, want, wantErr string
	}{
		"Suite":      {reason: "The first entry that fits.", page: "page", command: "kubectl get x", want: Platform},
		"Reason":     {reason: "A named reason.", page: "page", command: "ceph status", want: None},
		"Text":       {reason: "A reason without a name.", page: "page", command: "rbd ls", want: None},
		"Offline":    {reason: "The tests of the command line run it on each page.", page: "other", command: "cobaltcore plan -f x", want: Offline},
		"NoReason":   {reason: "A command that runs nowhere requires a reason.", page: "page", command: "pip install x", wantErr: "requires the start of a command, and a reason"},
		"NoStart":    {reason: "A page cannot be excluded as a whole.", page: "all", command: "ls", wantErr: "requires the start of a command"},
		"Misspelled": {reason: "An unknown suite.", page: "page", command: "x", wantErr: `"moon" is no suite`},
		"Cluster":    {reason: "A command that needs a cluster.", page: "page", command: "cobaltcore doctor x", wantErr: "does not run"},
		"New":        {reason: "A command that the table does not have.", page: "page", command: "openstack token issue", wantErr: "run it in a suite, or give a reason"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := table.Entry(Command{Page: tc.page, Text: tc.command})
			if err != nil || tc.wantErr != "" {
				if err == nil || tc.wantErr == "" || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.wantErr)
				}
				return
			}
			if got.In != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got.In, tc.want)
			}
		})
	}
	if diff := cmp.Diff([]string(nil), (&Table{}).Unused()); diff != "" {
		t.Error(diff)
	}
	unused := &Table{Reasons: map[string]string{"x": "y"}, Pages: map[string][]Entry{"p": {{Starts: "ls"}}}}
	if diff := cmp.Diff([]string{`p: no command is left for the entry "ls"`, "no entry has the reason x"}, unused.Unused()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSplit(t *testing.T) {
	cases := map[string]struct {
		reason, code string
		want         []Command
	}{
		"Lines":    {reason: "Each line is a command, without comments alone.", code: "# x\na b # c\n\nd\n", want: []Command{{Line: 1, Text: "a b # c"}, {Line: 3, Text: "d"}}},
		"Continue": {reason: "Lines that end in a backslash, a pipe or an operator.", code: "a \\\n b |\n c ||\n d &&\n e\nf\n", want: []Command{{Text: "a \\\n b |\n c ||\n d &&\n e"}, {Line: 5, Text: "f"}}},
		"Quote":    {reason: "A quote has several lines.", code: "a 'b\n# c' d\ne\n", want: []Command{{Text: "a 'b\n# c' d"}, {Line: 2, Text: "e"}}},
		"Comment":  {reason: "An apostrophe in a comment is no quote.", code: "a # don't\nb\n", want: []Command{{Text: "a # don't"}, {Line: 1, Text: "b"}}},
		"Escape":   {reason: "An escaped quote does not end the text.", code: "a \"b \\\" c\"\nd\n", want: []Command{{Text: "a \"b \\\" c\""}, {Line: 1, Text: "d"}}},
		"Loop":     {reason: "A loop ends with done.", code: "for a in b; do\n  c\ndone\nd\n", want: []Command{{Text: "for a in b; do\n  c\ndone"}, {Line: 3, Text: "d"}}},
		"Document": {reason: "A here-document ends with its word.", code: "a <<EOF\nb 'c\nEOF\nd <<<\"$e\"\nf\n", want: []Command{{Text: "a <<EOF\nb 'c\nEOF"}, {Line: 3, Text: "d <<<\"$e\""}, {Line: 4, Text: "f"}}},
		"Function": {reason: "A function in one line.", code: "f() { a '{b: \"'$1'\"}' | c; }\nd\n", want: []Command{{Text: "f() { a '{b: \"'$1'\"}' | c; }"}, {Line: 1, Text: "d"}}},
		"Open":     {reason: "An open quote ends with the block.", code: "a 'b\n", want: []Command{{Text: "a 'b"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, split(tc.code)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

const page = `# Title

1. Write ` + "`a.yaml`" + ` with values:

    ` + "```yaml" + `
    a:
      b: 1
    ` + "```" + `

Text about ` + "`a.yaml`" + `.

` + "```yaml" + `
b: 2
` + "```" + `

` + "```sh" + `
cat a.yaml
X=$(echo y)
` + "```" + `

It prints:

` + "```" + `
a:
  b: …
` + "```" + `

` + "```sh" + `
echo $X NAME
false
other
` + "```" + `

` + "```" + `
y z
` + "```" + `
`

func TestParse(t *testing.T) {
	p, err := Parse("x", page)
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Line: 6, Language: YAML, Code: "a:\n  b: 1\n", File: "a.yaml"}, {Line: 13, Language: YAML, Code: "b: 2\n"},
		{Line: 17, Language: Shell, Code: "cat a.yaml\nX=$(echo y)\n"}, {Line: 24, Code: "a:\n  b: …\n"},
		{Line: 29, Language: Shell, Code: "echo $X NAME\nfalse\nother\n"}, {Line: 35, Code: "y z\n"},
	}
	if diff := cmp.Diff(want, p.Blocks); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := p.Commands(p.Blocks[4])[1]; got != (Command{Page: "x", Line: 30, Text: "false"}) {
		t.Errorf("got %+v", got)
	}
	if _, err := Parse("x", "```sh\nls\n"); err == nil {
		t.Error("a block without an end is accepted")
	}
}

func TestMissing(t *testing.T) {
	cases := map[string]struct{ reason, page, printed, want string }{
		"Equal":    {reason: "All lines are printed.", page: "a\nb\n", printed: "a\nb\n"},
		"More":     {reason: "A page may omit lines.", page: "a\nc\n", printed: "x\na\nb\nc \n"},
		"Ellipsis": {reason: "A part or a line varies.", page: "a … c\n…\nd-...\n", printed: "a b c\nd-x\n"},
		"Other":    {reason: "A line differs.", page: "a\nb c\n", printed: "a\nb d\n", want: "b c"},
		"Part":     {reason: "A line is longer than on the page.", page: "a\n", printed: "ab\n", want: "a"},
		"Order":    {reason: "The order differs.", page: "a\nb\n", printed: "b\na\n", want: "b"},
		"Twice":    {reason: "A line is printed once, and twice on the page.", page: "a\na\n", printed: "a\n", want: "a"},
		"Pattern":  {reason: "A line is no expression.", page: "a.c\n", printed: "abc\n", want: "a.c"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Missing(tc.page, tc.printed); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// follow runs the commands of the page above in a shell, and returns the commands with their output and error.
func follow(t *testing.T, tour Tour) ([]string, error) {
	t.Helper()
	p, err := Parse("x", page)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	table := &Table{Pages: map[string][]Entry{"x": {{Starts: "other", In: None, Why: "It is not installed."}, {In: Platform}}}}
	var got []string
	tour.Page = "x"
	err = s.Take(t.Context(), p, table, Platform, tour, func(c Command, output string, err error) {
		entry := c.Text + ": " + strings.TrimSpace(output)
		if err != nil {
			entry += ": " + err.Error()
		}
		got = append(got, entry)
	})
	return got, err
}

func TestTake(t *testing.T) {
	var steps []string
	step := func(name string) func() error {
		return func() error {
			steps = append(steps, name)
			return nil
		}
	}
	failed := errors.New("it failed")
	cases := map[string]struct {
		reason  string
		tour    Tour
		want    []string
		steps   []string
		wantErr string
	}{
		"Page": {
			reason: "A failing command is reported. The output of a block with a command of another suite is not compared.",
			want:   []string{"cat a.yaml: a:\n  b: 1", "X=$(echo y): ", "echo $X NAME: y NAME", "false: : exit code 1, want 0"},
		},
		"Reader": {
			reason: "Names, files and expected failures of a reader, and steps in words.",
			tour: Tour{
				Replace: []string{"NAME", "z"}, Merge: map[int]string{1: "a.yaml"}, Codes: map[string][]int{"false": {1}},
				Before: map[string]func() error{"": step("start"), "echo": step("echo")}, After: step("end"),
			},
			want: []string{"cat a.yaml: a:\n  b: 1\nb: 2", "X=$(echo y): ", "echo $X z: y z", "false: "}, steps: []string{"start", "echo", "end"},
		},
		"Append": {
			reason: "A text that is added to a file, and another file.", tour: Tour{Append: map[int]string{1: "a.yaml"}, Codes: map[string][]int{"false": {AnyCode}}},
			want: []string{"cat a.yaml: a:\n  b: 1\nb: 2", "X=$(echo y): ", "echo $X NAME: y NAME", "false: "},
		},
		"Output": {
			reason: "The page shows another output.", tour: Tour{Write: map[int]string{1: "a.yaml"}, Codes: map[string][]int{"false": {1}}},
			want: []string{"cat a.yaml: b: 2", "X=$(echo y): ", "X=$(echo y): b: 2: x:24: the commands do not print \"a:\" there", "echo $X NAME: y NAME", "false: "},
		},
		"Fails":   {reason: "A step in words fails.", tour: Tour{Before: map[string]func() error{"": func() error { return failed }}}, wantErr: "it failed"},
		"Unknown": {reason: "A step before a command that the page does not have.", tour: Tour{Before: map[string]func() error{"ls": step("ls")}}, wantErr: `no command starts with "ls"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			steps = nil
			got, err := follow(t, tc.tour)
			if err != nil || tc.wantErr != "" {
				if err == nil || tc.wantErr == "" || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.steps, steps); diff != "" {
				t.Errorf("%s\nsteps (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	s := &Session{Dir: t.TempDir()}
	const base = "list:\n- name: a\n  x: 1\n- b\nother: 1\n"
	if err := s.Write("f.yaml", base); err != nil {
		t.Fatal(err)
	}
	if err := s.Merge("f.yaml", "list: [{name: a, w: [2]}, b, c, {z: 3}]\nother: 2\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(s.Dir, "f.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "list:\n- name: a\n  w:\n  - 2\n  x: 1\n- b\n- c\n- z: 3\nother: 2\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCommandEndsWithItsContext checks that a command does not outlive its context.
func TestCommandEndsWithItsContext(t *testing.T) {
	s, err := Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := s.Run(ctx, "sleep 100"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v", err)
	}
}
