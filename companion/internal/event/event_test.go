package event

import (
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
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

func TestRecord(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	Record(recorder, &corev1.Pod{}, Warning, "Failed", strings.Repeat("é", 1000)+"%d")
	if got, want := <-recorder.Events, "Warning Failed "+strings.Repeat("é", 512); got != want {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
