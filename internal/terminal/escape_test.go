package terminal

import "testing"

// TestEscape verifies that a text of a tenant cannot move a terminal's cursor, end a line or change its direction.
func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain: \"a\" 'b' ä 日 🙂 \\n": "plain: \"a\" 'b' ä 日 🙂 \\n",
		"a\nb\tc\rd\x1b[2J":          `a\nb\tc\rd\x1b[2J`,
		"\x00\x7f\u0085\u200b\u202e": `\x00\x7f\u0085\u200b\u202e`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

// TestEscapeLines verifies that a text of several lines keeps them.
func TestEscapeLines(t *testing.T) {
	if got, want := EscapeLines("a\x1b[2J\n\nb\n"), `a\x1b[2J`+"\n\nb\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
