package golden

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestReadReturnsWrittenTexts(t *testing.T) {
	texts := rapid.MapOfN(rapid.SampledFrom([]string{"a.yaml", "b.yaml", "c.txt"}), rapid.SampledFrom([]string{"", "1\n", "2"}), 0, 3)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		c := Cases{Dir: dir, Base: "small"}
		want := map[string]map[string]string{"small": texts.Draw(t, "small"), "large": texts.Draw(t, "large")}
		for _, name := range c.Order([]string{"large", "small"}) {
			if err := c.write(name, want[name]); err != nil {
				t.Fatal(err)
			}
		}
		for name, w := range want {
			got, err := c.read(name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

func TestFilesOfCaseAreDifferencesFromBase(t *testing.T) {
	c := Cases{Dir: t.TempDir(), Base: "small"}
	for _, err := range []error{
		c.write("small", map[string]string{"equal.yaml": "x", "other.yaml": "y", "small.yaml": "z"}),
		c.write("large", map[string]string{"equal.yaml": "x", "other.yaml": "changed", "large.yaml": "new"}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := folder(filepath.Join(c.Dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"other.yaml": "changed", "large.yaml": "new", same: "equal.yaml\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestListWithoutFileIsRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		large  map[string]string
	}{
		"missing": {reason: "the base has no such file", large: map[string]string{same: "absent.yaml\n"}},
		"twice":   {reason: "the case has a file and an entry of the list", large: map[string]string{same: "equal.yaml\n", "equal.yaml": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := Cases{Dir: t.TempDir(), Base: "small"}
			if err := c.write("small", map[string]string{"equal.yaml": "x"}); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(c.Dir, "large"), 0o700); err != nil {
				t.Fatal(err)
			}
			for file, text := range tc.large {
				if err := os.WriteFile(filepath.Join(c.Dir, "large", file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := c.read("large"); err == nil {
				t.Errorf("%s: got %v, want an error", tc.reason, got)
			}
		})
	}
}

func TestReservedNameIsRejected(t *testing.T) {
	c := Cases{Dir: t.TempDir(), Base: "small"}
	if err := c.write("small", map[string]string{same: "x"}); err == nil {
		t.Error("a text with the name of the list was written")
	}
}

func TestBaseIsSmallOrFirst(t *testing.T) {
	for want, names := range map[string][]string{"small": {"apart", "small", "smallest"}, "smallest": {"apart", "smallest"}, "apart": {"medium", "apart"}} {
		if got := In("testdata", names).Base; got != want {
			t.Errorf("In(%v) has the base %s, want %s", names, got, want)
		}
	}
}

func TestOrderStartsWithBase(t *testing.T) {
	got := Cases{Base: "small"}.Order([]string{"small", "medium", "apart"})
	if diff := cmp.Diff([]string{"small", "apart", "medium"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
