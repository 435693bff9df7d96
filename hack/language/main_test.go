package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProseFindsPrivatePhrases(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"Plain":    {reason: "Plain English has no hit.", text: "The claim sets 3 replicas. The function removes the others."},
		"Speech":   {reason: "A claim does not speak.", text: "the claim says 3", want: []string{"says"}},
		"Relative": {reason: "A noun is missing.", text: "what is there", want: []string{"what", "is there"}},
		"Question": {reason: "A question may begin with what.", text: "what if a node fails; what happens then?"},
		"Exists":   {reason: "The order of words is that of a question.", text: "is there a backup"},
		"Part":     {reason: "Phrases match whole words.", text: "a tasking", want: nil},
		"Case":     {reason: "A sentence begins with a capital letter.", text: "Nobody reads it.", want: []string{"Nobody"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, prose(tc.text).hits); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSplitSeparatesIdentifiersCommentsAndStrings(t *testing.T) {
	const src = "package a\n\n//go:embed what.txt\n// told is what Nova was told.\nvar toldWorld = f(`it says`, \"word\")\n"
	names, comments, literals := split([]byte(src))
	if diff := cmp.Diff([]string{"toldWorld"}, identifierSection(names).hits); diff != "" {
		t.Errorf("parts of an identifier are words (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("// told is what Nova was told.\n", comments); diff != "" {
		t.Errorf("directives are no comments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("`it says`\n", literals); diff != "" {
		t.Errorf("strings without a space are names (-want +got):\n%s", diff)
	}
}

func TestAllowedIsThreeIn1000(t *testing.T) {
	for words, want := range map[int]int{0: 1, 100: 1, 1000: 3, 2500: 7} {
		if got := (section{words: words}).allowed(); got != want {
			t.Errorf("%d words: %d hits are allowed, want %d", words, got, want)
		}
	}
}
