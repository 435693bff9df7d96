package oslo

import "testing"

// TestBoolean checks which texts OpenStack parses as a boolean.
func TestBoolean(t *testing.T) {
	for text, want := range map[string][2]bool{
		"true": {true, true}, "Yes\n": {true, true}, "1": {true, true}, "on": {true, true}, "T": {true, true}, "y": {true, true},
		"false": {false, true}, "No": {false, true}, "0": {false, true}, "OFF": {false, true}, "f": {false, true}, "n": {false, true},
		"": {}, "maybe": {}, "2": {}, "truee": {},
	} {
		if value, ok := Boolean(text); value != want[0] || ok != want[1] {
			t.Errorf("%q: %v, %v; want %v", text, value, ok, want)
		}
	}
}
