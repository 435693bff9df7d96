package faultinjection

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

func TestSample(t *testing.T) {
	var points []Point
	for call := range 20 {
		points = append(points, Point{Call: call})
	}
	late := func(p Point) bool { return p.Call >= 12 }
	// Of 12 to 15 and 17 to 19, make test takes every thirteenth: the first one.
	every := map[bool][]int{false: {0, 8, 16, 12}, true: {0, 8, 16, 12, 13, 14, 15, 17, 18, 19}}
	for name, tc := range map[string]struct {
		reason string
		stride int
		most   func(Point) bool
		want   []int
	}{
		"All": {"A stride of 1 returns all points once.", 1, late, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
			14, 15, 16, 17, 18, 19}},
		"Stride":  {"No points are more important.", 8, nil, []int{0, 8, 16}},
		"Matters": {"The most important ones follow.", 8, late, every[effort.Long()]},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, p := range Sample(points, tc.stride, tc.most) {
				got = append(got, p.Call)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestFaultErrors verifies that runs inject servers that do not respond, as well as servers that refuse and end connections, and that each
// call fails in two ways.
func TestFaultErrors(t *testing.T) {
	kinds := map[error]int{syscall.ECONNREFUSED: 0, context.DeadlineExceeded: 0, io.ErrUnexpectedEOF: 0}
	recorder := New(nil, NoFault)
	for range 6 {
		_ = recorder.Other("", func() error { return nil })
	}
	ways := map[int]map[error]bool{}
	for _, p := range recorder.Points() {
		if p.Fault != FailBeforeWrite {
			continue
		}
		api := New(nil, p)
		var got error
		for range 6 {
			got = errors.Join(got, api.Other("", func() error { return nil }))
		}
		for kind := range kinds {
			if errors.Is(got, kind) {
				kinds[kind]++
				if ways[p.Call] == nil {
					ways[p.Call] = map[error]bool{}
				}
				ways[p.Call][kind] = true
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"refused": 4, "silent": 4, "ended": 4}, map[string]int{
		"refused": kinds[syscall.ECONNREFUSED], "silent": kinds[context.DeadlineExceeded], "ended": kinds[io.ErrUnexpectedEOF],
	}); diff != "" {
		t.Errorf("runs of each kind (-want +got):\n%s", diff)
	}
	for call, kinds := range ways {
		if len(kinds) != 2 {
			t.Errorf("call %d fails in %d ways", call, len(kinds))
		}
	}
}
