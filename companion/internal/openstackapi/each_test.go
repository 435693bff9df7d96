package openstackapi_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
)

// brokenBody is a response whose connection ends before its last byte.
type brokenBody struct{ io.Reader }

// Read reads the next bytes.
func (b brokenBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close does nothing.
func (brokenBody) Close() error { return nil }

// TestEach: the items of all pages are passed on, and a list that is incomplete is an error.
func TestEach(t *testing.T) {
	const (
		address    = "http://nova/v2.1/things"
		invalid    = "cannot list things: Nova returned an invalid response"
		incomplete = "cannot list things: the response of Nova is incomplete: unexpected EOF"
		next       = `"things_links": [{"rel": "self", "href": "x"}, {"rel": "next", "href": "https://cloud.example.com/v2.1/things?marker=1"}]`
	)
	for name, tc := range map[string]struct {
		reason  string
		code    int
		bodies  []string
		broken  bool
		want    []string
		wantErr string
	}{
		"array": {
			reason: "Other values are skipped.", bodies: []string{`{"a": [{"b": [1]}], "things": [{"id": "1", "more": {}}], "c": null}`},
			want: []string{"=1"},
		},
		"empty": {reason: "It has no items.", bodies: []string{`{"things": []}`}},
		"object": {
			reason: "Values have names.", bodies: []string{`{"things": {"a": {"id": "1"}, "b": {"id": "2"}}}`}, want: []string{"a=1", "b=2"},
		},
		"pages": {
			reason: "The link is before the items.", bodies: []string{`{` + next + `, "things": [{"id": "1"}]}`, `{"things": [{"id": "2"}]}`},
			want: []string{"=1", "=2"},
		},
		"same link": {
			reason: "The second page links to itself.", bodies: []string{`{"things": [], ` + next + `}`, `{"things": [], ` + next + `}`},
			wantErr: invalid,
		},
		"no list":    {reason: "It is another response.", bodies: []string{`{"versions": []}`}, wantErr: invalid},
		"no object":  {reason: "It is a list.", bodies: []string{`[]`}, wantErr: invalid},
		"no items":   {reason: "The list is null.", bodies: []string{`{"things": null}`}, wantErr: invalid},
		"other type": {reason: "An item has another type.", bodies: []string{`{"things": [{"id": 1}]}`}, wantErr: invalid},
		"no JSON":    {reason: "A proxy responds.", bodies: []string{`<html>`}, wantErr: invalid},
		"truncated": {
			reason: "The connection ends within the list.", bodies: []string{`{"things": [{"id": "1"}, {"id": "2"}`},
			broken: true, wantErr: incomplete,
		},
		"second page truncated": {
			reason: "The connection ends before the link to the third page.",
			bodies: []string{`{"things": [{"id": "1"}], ` + next + `}`, `{"things": [{"id": "2"}]`}, broken: true, wantErr: incomplete,
		},
		"rejected": {
			reason: "The message is included.", code: http.StatusForbidden, bodies: []string{`{"forbidden": {"message": "not you"}}`},
			wantErr: "cannot list things: Nova returned HTTP 403: not you",
		},
	} {
		t.Run(name, func(t *testing.T) {
			page := 0
			client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: "http://nova/v2.1/"}
			client.HTTPClient.Transport = openstackapi.SameAddress(service(func(r *http.Request) (*http.Response, error) {
				if got := r.URL.Host + r.URL.Path; got != "nova/v2.1/things" || r.URL.Query().Has("marker") != (page > 0) {
					t.Errorf("%s: request to %s", tc.reason, r.URL)
				}
				body := io.NopCloser(strings.NewReader(tc.bodies[page]))
				if page++; tc.broken && page == len(tc.bodies) {
					body = brokenBody{strings.NewReader(tc.bodies[page-1])}
				}
				code := http.StatusOK
				if tc.code != 0 {
					code = tc.code
				}
				return &http.Response{StatusCode: code, Request: r, Body: body, Header: http.Header{}}, nil
			}))
			var got []string
			err := openstackapi.Each(t.Context(), "Nova", "list things", openstackapi.Pages{Client: client, First: address, Key: "things"},
				func(name string, item struct{ ID string }) { got = append(got, name+"="+item.ID) })
			if tc.wantErr != "" {
				if err == nil || err.Error() != tc.wantErr {
					t.Errorf("%s: %v, want %s", tc.reason, err, tc.wantErr)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", tc.reason, err, diff)
			}
		})
	}
}
