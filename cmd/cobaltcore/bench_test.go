package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/functions/kinds"
	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

// BenchmarkPreview prints the complete cloud of an example as YAML, in one process, as a portal does for each claim.
func BenchmarkPreview(b *testing.B) {
	tuneMemory()
	for _, name := range []string{"controlplane/claim", "controlplane/full", "controlplane/services", "nova/sixteen"} {
		claim, err := examples.Files.ReadFile(name + ".yaml")
		if err != nil {
			b.Fatal(err)
		}
		r, err := preview.Run(claim, examples.Platform, kinds.Runners())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(path.Base(name), func(b *testing.B) {
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				if code := run([]string{"preview", "-f", "-", "--format", "yaml"}, bytes.NewReader(claim), &out, io.Discard); code != 0 {
					b.Fatalf("exit code %d", code)
				}
			}
			objects := float64(len(r.Objects))
			b.ReportMetric(objects, "objects")
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)/objects, "ms/object")
			b.ReportMetric(float64(out.Len()), "yaml-bytes")
		})
	}
}

// BenchmarkPreviewComplete prints the three claims of a complete cloud together.
func BenchmarkPreviewComplete(b *testing.B) {
	tuneMemory()
	const folder = "../../examples/complete/"
	args := []string{
		"preview", "-f", folder + "storage.yaml", "-f", folder + "control-plane.yaml", "-f", folder + "hypervisors.yaml", "--format", "yaml",
	}
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		if code := run(args, bytes.NewReader(nil), &out, io.Discard); code != 0 {
			b.Fatalf("exit code %d", code)
		}
	}
	objects := float64(bytes.Count(out.Bytes(), []byte("\napiVersion: ")))
	b.ReportMetric(objects, "objects")
	b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N)/objects, "ms/object")
	b.ReportMetric(float64(out.Len()), "yaml-bytes")
}

// BenchmarkValidate validates 100 claims together, as CI does for the repository of a platform team. Each one has its own names.
func BenchmarkValidate(b *testing.B) {
	tuneMemory()
	for _, name := range []string{"claim", "full"} {
		claim, err := examples.Files.ReadFile("controlplane/" + name + ".yaml")
		if err != nil {
			b.Fatal(err)
		}
		folder := b.TempDir()
		for i := range 100 {
			// Host names and locations of backups contain the name of the claim.
			data := regexp.MustCompile(`(  name: )cloud\b|\bproduction\b`).ReplaceAll(claim, fmt.Appendf(nil, "${1}cloud-%d", i))
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.yaml", i)), data, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var out bytes.Buffer
				if code := run([]string{"validate", "-f", folder}, bytes.NewReader(nil), &out, io.Discard); code != 0 {
					b.Fatalf("exit code %d: %s", code, out.String())
				}
			}
		})
	}
}
