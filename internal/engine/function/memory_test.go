package function_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/internal/engine/function"
)

func TestTuneMemory(t *testing.T) {
	before := debug.SetGCPercent(50)
	defer debug.SetGCPercent(before)

	t.Setenv("GOGC", "50")
	function.TuneMemory()
	if got := debug.SetGCPercent(50); got != 50 {
		t.Errorf("the percentage is %d, but GOGC is 50", got)
	}
	if err := os.Unsetenv("GOGC"); err != nil { // t.Setenv puts it back.
		t.Fatal(err)
	}
	function.TuneMemory()
	if got := debug.SetGCPercent(50); got <= 100 {
		t.Errorf("the percentage is %d, want more than Go's own 100", got)
	}
}
