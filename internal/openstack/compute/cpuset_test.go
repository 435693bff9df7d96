package compute

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseCPUSet(t *testing.T) {
	for name, tc := range map[string]struct {
		text, want, wantErr string
		reason              string
	}{
		"number":                  {text: "3", want: "3"},
		"range":                   {text: "2-5", want: "2-5"},
		"range of one":            {text: "4-4", want: "4"},
		"list":                    {text: "8,2-4", want: "2-4,8"},
		"exclusion":               {text: "2-10,^4", want: "2-3,5-10"},
		"exclusion first":         {text: "^4,2-6", want: "2-3,5-6", reason: "Nova subtracts exclusions after all items."},
		"excluded range":          {text: "0-15,^2-5", want: "0-1,6-15", reason: "Nova accepts a caret before a range."},
		"exclusion of a stranger": {text: "1,^9", want: "1"},
		"spaces and empty items":  {text: " 1, ,2 - 3,", want: "1-3", reason: "Nova strips spaces and skips empty items."},
		"twice":                   {text: "1,1-2", want: "1-2"},
		"zero":                    {text: "0", want: "0"},
		"largest":                 {text: "8191", want: "8191"},
		"backwards":               {text: "8-2", wantErr: `range "8-2" in "8-2" must begin with the smaller number`},
		"nothing left":            {text: "2-3,^2,^3", wantErr: `"2-3,^2,^3" must contain at least one processor`},
		"exclusion alone":         {text: "^3", wantErr: `"^3" must contain at least one processor`},
		"empty":                   {text: "", wantErr: `"" must contain at least one processor`},
		"too large":               {text: "8192", wantErr: `cannot parse "8192" in "8192": processor numbers must be between 0 and 8191`},
		"open range":              {text: "3-", wantErr: `cannot parse "3-" in "3-": processor numbers must be between 0 and 8191`},
		"three numbers":           {text: "1-2-3", wantErr: `cannot parse "1-2-3" in "1-2-3": processor numbers must be between 0 and 8191`},
		"two carets":              {text: "1,^^1", wantErr: `cannot parse "^^1" in "1,^^1": processor numbers must be between 0 and 8191`},
		"negative":                {text: "-1", wantErr: `cannot parse "-1" in "-1": processor numbers must be between 0 and 8191`},
		"word":                    {text: "all", wantErr: `cannot parse "all" in "all": processor numbers must be between 0 and 8191`},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := ParseCPUSet(tc.text)
			gotErr := ""
			if err != nil {
				gotErr = err.Error()
			}
			if diff := cmp.Diff([]string{tc.want, tc.wantErr}, []string{FormatCPUs(slices.Sorted(maps.Keys(set))), gotErr}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestParseCPUSetProperties checks that a formatted set parses to the same set, that items can be in any order, and that
// Common is the intersection.
func TestParseCPUSetProperties(t *testing.T) {
	item := rapid.Custom(func(t *rapid.T) string {
		from := rapid.IntRange(0, 40).Draw(t, "from")
		text := strconv.Itoa(from)
		if rapid.Bool().Draw(t, "range") {
			text += "-" + strconv.Itoa(from+rapid.IntRange(0, 9).Draw(t, "more"))
		}
		return map[bool]string{true: "^"}[rapid.IntRange(0, 3).Draw(t, "excluded") == 0] + text
	})
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(item, 1, 6).Draw(t, "items")
		set, err := ParseCPUSet(strings.Join(items, ","))
		shuffled, otherErr := ParseCPUSet(strings.Join(rapid.Permutation(items).Draw(t, "order"), ","))
		if (err == nil) != (otherErr == nil) || !maps.Equal(set, shuffled) {
			t.Fatalf("%v and another order differ: %v (%v), %v (%v)", items, set, err, shuffled, otherErr)
		}
		if err != nil {
			return
		}
		parsed, err := ParseCPUSet(FormatCPUs(slices.Sorted(maps.Keys(set))))
		if err != nil || !maps.Equal(set, parsed) {
			t.Fatalf("%v is %v after formatting: %v", set, parsed, err)
		}
		half := CPUSet{}
		for n := range set {
			half[n+1] = true
		}
		for _, n := range set.Common(half) {
			if !set[n] || !half[n] {
				t.Fatalf("%d is not in both", n)
			}
		}
		if got := set.Common(set); !slices.Equal(got, slices.Sorted(maps.Keys(set))) {
			t.Fatalf("a set has %v in common with itself", got)
		}
	})
}

// FuzzParseCPUSet checks that the parser only fails with an error, and that each result contains a processor.
func FuzzParseCPUSet(f *testing.F) {
	for _, seed := range []string{"2-10,^4", "^1-3,0-8", "8-2", "", ",", "0-9999", "１", "+1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ParseCPUSet(text)
		if (err == nil) != (len(set) > 0) {
			t.Errorf("%q: %v, %v", text, set, err)
		}
	})
}
