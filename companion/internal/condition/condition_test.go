package condition

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abcd", "abcde": "abcd", "abcé": "abc", "abé": "abé", "日本": "日", "𝄞x": "𝄞"} {
		if got := Cut(text, 4); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, most := rapid.String().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "most")
		got := Cut(text, most)
		if len(got) > most || !strings.HasPrefix(text, got) || !utf8.ValidString(got) || len(text)-len(got) > max(0, len(text)-most)+utf8.UTFMax-1 {
			t.Fatalf("%q becomes %q", text, got)
		}
	})
}
