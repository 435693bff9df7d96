package writes

import (
	"bytes"
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/c5c3/crossplane-cobaltcore/examples"
	"github.com/c5c3/crossplane-cobaltcore/internal/effort"
)

// TestMaximumCellsFitIntoLimits checks that with the maximum number of cells, no composite resource has more than 70 objects, none is
// larger than an API server accepts (etcd's 1.5 MB), and no response is larger than gRPC accepts (4 MiB), each with a
// wide margin.
func TestMaximumCellsFitIntoLimits(t *testing.T) {
	if !effort.Long() {
		t.Skip("sixteen cells take 5 CPU-seconds: make test-long composes them")
	}
	claim, err := examples.Files.ReadFile("nova/sixteen.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const mostObjects, mostBytes, mostAnswer = 70, 256 << 10, 512 << 10
	// A metadata API above the cells makes Nova itself the largest.
	m := converge(t, bytes.Replace(claim, []byte("      metadata: {perCell: true}\n"), nil, 1), atOnce)
	if !m.root.ready {
		t.Error("it never becomes ready")
	}
	t.Logf("%d writes for %d objects, %.1f for each", m.writes, m.objects, float64(m.writes)/float64(m.objects))
	if most := 17 * m.objects; m.writes > most {
		t.Errorf("%d writes, %d at most", m.writes, most)
	}
	status, err := json.Marshal(m.copied)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the claim's status has %d bytes", len(status))
	if len(status) > mostBytes {
		t.Errorf("the claim's status has %d bytes, %d at most", len(status), mostBytes)
	}
	largest := map[string]size{}
	m.root.measure(t, largest)
	for kind, s := range largest {
		t.Logf("%s: %d objects, %d bytes, an answer of %d", kind, s.objects, s.bytes, s.answer)
		if s.objects > mostObjects || s.bytes > mostBytes || s.answer > mostAnswer {
			t.Errorf("%s: %d objects, %d bytes, an answer of %d; %d, %d and %d at most", kind, s.objects, s.bytes, s.answer, mostObjects, mostBytes, mostAnswer)
		}
	}
}

// size is the size of a composite resource: the number of its objects, its bytes, and the bytes of its function's
// response.
type size struct{ objects, bytes, answer int }

// measure records the largest of each kind.
func (x *xr) measure(t *testing.T, largest map[string]size) {
	t.Helper()
	text, err := json.Marshal(x.object)
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := x.object["kind"].(string)
	is := size{objects: len(x.composed), bytes: len(text)}
	for name, c := range x.composed {
		is.answer += len(name) + proto.Size(c.desired.Tree())
		if c.nested != nil {
			c.nested.measure(t, largest)
		}
	}
	previous := largest[kind]
	largest[kind] = size{max(previous.objects, is.objects), max(previous.bytes, is.bytes), max(previous.answer, is.answer)}
}
