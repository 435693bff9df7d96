package oslo

import "testing"

// Render's output always passes, so the check is tested with modified files.
func TestVerify(t *testing.T) {
	want := File{"g": {"o": {"a"}}}
	cases := map[string]struct {
		reason string
		args   string
		ok     bool
	}{
		"Same":   {"The file matches its options.", "[g]\no = a\n", true},
		"Option": {"An option more.", "[g]\no = a\np = b\n", false},
		"Group":  {"A group more.", "[g]\no = a\n[h]\np = b\n", false},
		"Value":  {"Another value.", "[g]\no = b\n", false},
		"Twice":  {"The option twice.", "[g]\no = a\no = a\n", false},
		"Less":   {"An option less.", "[g]\n", false},
		"Broken": {"No configuration file at all.", "[g", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := verify(tc.args, want); (err == nil) != tc.ok {
				t.Errorf("%s\ngot error %v", tc.reason, err)
			}
		})
	}
}
