package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/crossplane-cobaltcore/internal/offline/preview"
)

func TestTerminal(t *testing.T) {
	long := strings.Repeat("x", terminalColumns)
	cases := map[string]struct {
		reason, output string
		want           []string
	}{
		"Tree":    {reason: "Stage, component and objects of a line have different colors.", output: "├─ 01 a   1  Pod <a>\n", want: []string{"├─ 01 a   1  Pod <a>"}},
		"Fits":    {reason: "A line as long as the terminal is wide is shown whole.", output: long, want: []string{long}},
		"TooLong": {reason: "A longer one ends in an ellipsis.", output: long + "y", want: []string{long[1:] + "…"}},
		"Several": {reason: "Each line is one text.", output: "a\nb\n", want: []string{"a", "b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := append([]string{"$ run & see"}, tc.want...)
			if diff := cmp.Diff(want, texts(t, terminal("run & see", tc.output))); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// texts are the lines that an SVG shows.
func texts(t *testing.T, svg []byte) []string {
	t.Helper()
	var out []string
	inside := false
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "text" {
				inside, out = true, append(out, "")
			}
		case xml.EndElement:
			inside = inside && token.Name.Local != "text"
		case xml.CharData:
			if inside {
				out[len(out)-1] += string(token)
			}
		}
	}
}

func TestGraph(t *testing.T) {
	r := &preview.Result{
		Components: []preview.Component{
			{Owner: "cloud", Name: "database"}, {Owner: "keystone", Name: "api"}, {Owner: "cloud", Name: "identity", After: []string{"database"}},
		},
		Objects: []preview.Object{
			{Owner: "cloud", Component: "identity", APIVersion: "keystone.openstack.c5c3.io/v1alpha1", Kind: "Keystone", Name: "keystone"},
			{Owner: "cloud", Component: "database", APIVersion: "v1", Kind: "Service", Name: "keystone"},
		},
	}
	//nolint:dupword // An ID and its label.
	want := `flowchart LR
  subgraph cloud
    cloud.database[database]
    cloud.identity[identity]
  end
  subgraph keystone
    keystone.api[api]
  end
  cloud.database --> cloud.identity
  cloud.identity -.-> keystone
`
	if diff := cmp.Diff(want, graph(r)); diff != "" {
		t.Errorf("graph(...): -want, +got:\n%s", diff)
	}
}

func TestEmbed(t *testing.T) {
	const start, end = "<!-- begin generated: x -->\n", "<!-- end generated: x -->\n"
	cases := map[string]struct {
		reason, page, want string
		refused            bool
	}{
		"Empty":    {reason: "A block that holds nothing yet is filled.", page: "a\n" + start + end + "b\n", want: "a\n" + start + "new\n" + end + "b\n"},
		"Old":      {reason: "The content of a block is replaced.", page: start + "old\n" + end, want: start + "new\n" + end},
		"NoBlock":  {reason: "A page without the block is no place for it.", page: "a\n", refused: true},
		"NoEnd":    {reason: "Without its end, the rest of the page would go.", page: start + "a\n", refused: true},
		"Reversed": {reason: "An end before the beginning ends nothing.", page: end + start, refused: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := embed([]byte(tc.page), "x", "new\n")
			if diff := cmp.Diff(tc.want, string(got)); diff != "" || (err != nil) != tc.refused {
				t.Errorf("%s\nerror %v, refused %v; -want, +got:\n%s", tc.reason, err, tc.refused, diff)
			}
		})
	}
}
