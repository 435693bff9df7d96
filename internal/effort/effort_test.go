package effort_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

func TestOf(t *testing.T) {
	cases := map[string]struct {
		reason, variable string
		want             int
	}{
		"Unset": {reason: "make test does not set the variable.", want: 3},
		"Set":   {reason: "make test-long sets it.", variable: "1", want: 40},
		"Off":   {reason: "Only 1 selects the long search.", variable: "0", want: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("COBALTCORE_TEST_LONG", tc.variable)
			if got := effort.Of(3, 40); got != tc.want {
				t.Errorf("\n%s\nOf(3, 40) = %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

func TestSample(t *testing.T) {
	cases := map[string]struct {
		reason, variable string
		stride           int
		want             []int
	}{
		"Stride":  {reason: "Every second item is tried, and the first one.", stride: 2, want: []int{1, 3, 5}},
		"Greater": {reason: "At least one item is tried.", stride: 9, want: []int{1}},
		"One":     {reason: "A stride of 1 selects all.", stride: 1, want: []int{1, 2, 3, 4, 5}},
		"Long":    {reason: "make test-long tries all items.", variable: "1", stride: 2, want: []int{1, 2, 3, 4, 5}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("COBALTCORE_TEST_LONG", tc.variable)
			if diff := cmp.Diff(tc.want, effort.Sample([]int{1, 2, 3, 4, 5}, tc.stride)); diff != "" {
				t.Errorf("\n%s\nSample(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
