package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// BenchmarkPreview shows the whole example cloud as YAML, in one process: what a portal does for each claim.
func BenchmarkPreview(b *testing.B) {
	tuneMemory()
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		if code := run([]string{"preview", "--format", "yaml"}, strings.NewReader(""), &out, io.Discard); code != 0 {
			b.Fatalf("exit code %d", code)
		}
	}
	b.ReportMetric(float64(out.Len()), "yaml-bytes")
}
