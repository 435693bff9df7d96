package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// source has one location of each kind.
//
//nolint:dupword // It is code.
const source = `package sample

import "errors"

type Kind string

const (

	First, Second Kind = "first", "second"
)

const words = "a sentence"

type Port struct {
	Name  string
	Open  bool
	Needs []string
	Kind  Kind
	next  *Port
}

func ports(n int) (map[string]Port, error) {
	if n > 3 {
		return nil, errors.New("too-many")
	}
	out := map[string]Port{
		"http": {Name: "web", Open: true, Needs: []string{"a", "b"}, Kind: First},
	}
	list := []int{}
	list = append(list, 5)
	p := &Port{next: nil, Name: words}
	p.Needs = []string{"c"}
	return out, nil
}
`

// TestMutants checks that each location is changed in all supported ways, all changes compile together, and unused values are not changed.
func TestMutants(t *testing.T) {
	p := sample(t)
	var got []string
	for _, m := range p.mutants {
		_, line, _ := strings.Cut(m.String(), ":")
		got = append(got, line)
	}
	want := []string{
		"23: 3 → 3+1", "23: 3 → 3-1",
		`27: drop entry "http": {Name: "web", Open: true, Needs: []string{"a", "b…`,
		`27: drop Name: "web"`, `27: drop Needs: []string{"a", "b"}`, "27: drop Kind: First", `27: "web" → "a"`, "27: true → false",
		`27: drop element "a"`, `27: drop element "b"`, `27: "a" → "b"`, `27: "b" → "a"`, "27: First → Second",
		"30: drop append(list, 5)", "30: 5 → 5+1", "30: 5 → 5-1",
		"31: drop Name: words",
		`32: drop p.Needs = []string{"c"}`, `32: drop element "c"`, `32: "c" → "b"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text := p.texts[filepath.Join(p.dir, "sample.go")]
	if strings.Count(text, "\n") != strings.Count(source, "\n") {
		t.Errorf("lines have moved:\n%s", text)
	}
}

// TestEquivalents checks that known equivalents are not tried, and that an obsolete entry or an entry without a reason is an error.
func TestEquivalents(t *testing.T) {
	p := sample(t)
	file := filepath.Join(t.TempDir(), "equivalent.txt")
	read := func(text string) (equivalents, error) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return readEquivalents(file)
	}
	known, err := read("# A comment.\n\nsample/sample.go ports: 3 → 3+1 # who knows\nother/a.go f: 1 → 2 # elsewhere\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := known.mark([]*pkg{p}); err != nil || p.mutants[0].equivalent != "who knows" || p.mutants[1].equivalent != "" {
		t.Errorf("%v, %+v", err, p.mutants[0])
	}
	if known, err = read("sample/sample.go ports: 4 → 5 # removed\n"); err != nil || known.mark([]*pkg{p}) == nil {
		t.Errorf("one that is no more is passed over (%v)", err)
	}
	if _, err = read("sample/sample.go ports: 3 → 3+1\n"); err == nil {
		t.Error("one without a reason is taken")
	}
}

// sample returns the source as a package of a separate module.
func sample(t *testing.T) *pkg {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "sample/sample.go": source} {
		if err := write(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	packages, err := load(context.Background(), []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) != 1 {
		t.Fatalf("%d packages", len(packages))
	}
	if _, err := packages[0].mutate(0); err != nil {
		t.Fatal(err)
	}
	return packages[0]
}
