//go:build linux

package clouds

import (
	"fmt"
	"io"
	"time"
)

// Stamped returns a writer that prefixes each line with the elapsed seconds.
func Stamped(to io.Writer) io.Writer { return &stamped{to: to, start: time.Now()} }

type stamped struct {
	to    io.Writer
	start time.Time
}

func (s *stamped) Write(text []byte) (int, error) {
	_, err := fmt.Fprintf(s.to, "%6.1f %s", time.Since(s.start).Seconds(), text)
	return len(text), err
}
