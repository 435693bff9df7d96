package oslo

import "testing"

// TestLiteral covers all kinds of values with text.
func TestLiteral(t *testing.T) {
	const in, want = "a{{{ .b", `a{{ "{{" }}{ .b`
	got := Options{"a": in, "b": Template(in), "c": []string{in}, "d": Multi{in}, "e": 1}.Literal()
	if got["a"] != want || got["b"] != Template(want) || got["c"].([]string)[0] != want || got["d"].(Multi)[0] != want || got["e"] != 1 {
		t.Errorf("%v", got)
	}
}
