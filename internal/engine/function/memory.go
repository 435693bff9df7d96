package function

import (
	"os"
	"runtime/debug"
)

// collectPercent lets the heap grow to five times its size before it is collected.
const collectPercent = 400

// TuneMemory collects garbage less often than by default, unless GOGC is set. A call makes a megabyte of garbage on a heap of a few: the
// default would collect after every fourth call, which is a fifth of all work, to save memory that is not needed.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectPercent)
	}
}
