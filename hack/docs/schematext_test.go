package main

import (
	"strings"
	"testing"
)

func TestShorten(t *testing.T) {
	long := strings.Repeat("word ", 28) + "end."
	for name, tc := range map[string]struct{ reason, text, short, complete string }{
		"Short":  {"A short text stays.", "A field. Its use.", "A field. Its use.", ""},
		"Split":  {"Whole sentences stay in the cell.", "A field. " + long + " Last.", "A field. More below.", "A field. " + long + " Last."},
		"Long":   {"A cell does not end within a sentence.", long + " Two more.", "See below.", long + " Two more."},
		"Empty":  {"A field can have no text.", "", "", ""},
		"Limit":  {"A text with the maximum stays.", long + " More.", long + " More.", ""},
		"Second": {"As many sentences as fit.", "One. Two. " + long, "One. Two. More below.", "One. Two. " + long},
	} {
		t.Run(name, func(t *testing.T) {
			short, complete := shorten(tc.text)
			if short != tc.short || complete != tc.complete {
				t.Errorf("%s: %q, %q; want %q, %q", tc.reason, short, complete, tc.short, tc.complete)
			}
		})
	}
}
