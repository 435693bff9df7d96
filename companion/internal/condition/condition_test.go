package condition

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// TestSet: a condition has the observed generation, and the time of its last change.
func TestSet(t *testing.T) {
	first, then := time.Unix(1e9, 0), time.Unix(2e9, 0)
	var got []metav1.Condition
	Set(&got, "Ready", 1, first, False("Waits", strings.Repeat("é", 20000)))
	want := []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: "Waits", Message: strings.Repeat("é", 16384), ObservedGeneration: 1,
		LastTransitionTime: metav1.Time{Time: first},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	Set(&got, "Ready", 2, then, False("Fails", strings.Repeat("x", 32769)))
	want[0].Reason, want[0].Message, want[0].ObservedGeneration = "Fails", strings.Repeat("x", 32768), 2
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("another reason (-want +got):\n%s", diff)
	}
	Set(&got, "Ready", 2, then, True("Works", "it works"))
	want[0].Reason, want[0].Message, want[0].Status, want[0].LastTransitionTime = "Works", "it works", metav1.ConditionTrue,
		metav1.Time{Time: then}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("true (-want +got):\n%s", diff)
	}
}

func TestDetectsFinishedJobs(t *testing.T) {
	of := func(kind batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: status}
	}
	for name, tc := range map[string]struct {
		conditions []batchv1.JobCondition
		want       batchv1.JobConditionType
	}{
		"Runs":      {nil, ""},
		"Suspended": {[]batchv1.JobCondition{of(batchv1.JobSuspended, corev1.ConditionTrue)}, ""},
		"NotFailed": {[]batchv1.JobCondition{of(batchv1.JobFailed, corev1.ConditionFalse)}, ""},
		"Complete": {[]batchv1.JobCondition{of(batchv1.JobSuspended, corev1.ConditionFalse), of(batchv1.JobComplete, corev1.ConditionTrue)},
			batchv1.JobComplete},
		"Failed": {[]batchv1.JobCondition{of(batchv1.JobFailed, corev1.ConditionTrue)}, batchv1.JobFailed},
	} {
		if got := FinishedCondition(&batchv1.Job{Status: batchv1.JobStatus{Conditions: tc.conditions}}); got.Type != tc.want {
			t.Errorf("%s: %q, want %q", name, got.Type, tc.want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abcd", "abcde": "abcd", "abcé": "abc", "abé": "abé", "日本": "日",
		"𝄞x": "𝄞"} {
		if got := Truncate(text, 4); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text, most := rapid.String().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "most")
		got := Truncate(text, most)
		if len(got) > most || !strings.HasPrefix(text, got) || !utf8.ValidString(got) || len(text)-len(got) > max(0,
			len(text)-most)+utf8.UTFMax-1 {
			t.Fatalf("%q becomes %q", text, got)
		}
	})
}
