package openstackapi_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/openstackapi"
)

type service func(*http.Request) (*http.Response, error)

// RoundTrip returns the response of the service.
func (s service) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// TestList: the items of all pages are returned, or an error that names the service and the request.
func TestList(t *testing.T) {
	const address = "http://nova/v2.1/"
	more := `"flavors_links": [{"rel": "next", "href": "https://cloud.example.com/compute/v2.1/flavors/detail?marker=1"}]`
	for name, tc := range map[string]struct {
		reason   string
		code     int
		bodies   []string
		noAnswer error
		extract  func(pagination.Page) ([]flavors.Flavor, error)
		want     []string
		wantErr  string
		rejected bool
	}{
		"one page": {
			reason: "The list has no further pages.", bodies: []string{`{"flavors": [{"id": "1", "name": "small"}]}`},
			want: []string{"small"},
		},
		"two pages": {
			reason: "The second page follows the link of the first one, with the address of the first request.",
			bodies: []string{`{"flavors": [{"id": "1", "name": "small"}], ` + more + `}`, `{"flavors": [{"id": "2", "name": "large"}]}`},
			want:   []string{"small", "large"},
		},
		"not a list": {
			reason: "The body is valid JSON, but has other types.", bodies: []string{`{"flavors": [{"id": 1}]}`},
			wantErr: "cannot list flavors: json: cannot unmarshal number",
		},
		"other items": {
			reason: "The pages cannot be decoded.", bodies: []string{`{"flavors": [{"id": "1", "name": "small"}]}`},
			extract: func(pagination.Page) ([]flavors.Flavor, error) { return nil, errors.New("no") },
			wantErr: "cannot list flavors: Nova returned an invalid response",
		},
		"rejected": {
			reason: "The message of the service is included.", code: http.StatusForbidden, bodies: []string{`{"forbidden": {"message": "not you"}}`},
			wantErr: "cannot list flavors: Nova returned HTTP 403: not you", rejected: true,
		},
		"no response": {
			reason: "The effect of a request without a response is unknown.", noAnswer: errors.New("connection refused"),
			wantErr: "cannot list flavors: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			page := 0
			client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: address}
			client.HTTPClient.Transport = openstackapi.SameAddress(service(func(r *http.Request) (*http.Response, error) {
				want := address + "flavors/detail"
				if page > 0 {
					want += "?marker=1"
				}
				if r.URL.String() != want || r.Host != "nova" {
					t.Errorf("%s: request to %s (%s), want %s", tc.reason, r.URL, r.Host, want)
				}
				if tc.noAnswer != nil {
					return nil, tc.noAnswer
				}
				body := tc.bodies[page]
				page++
				code := http.StatusOK
				if tc.code != 0 {
					code = tc.code
				}
				return &http.Response{
					StatusCode: code, Request: r, Body: io.NopCloser(strings.NewReader(body)),
					Header: http.Header{"Content-Type": {"application/json"}},
				}, nil
			}))
			extract := flavors.ExtractFlavors
			if tc.extract != nil {
				extract = tc.extract
			}
			list, err := openstackapi.List(t.Context(), "Nova", "list flavors", flavors.ListDetail(client, nil), extract)
			var got []string
			for _, f := range list {
				got = append(got, f.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if text := fmt.Sprint(err); (err != nil) != (tc.wantErr != "") || !strings.HasPrefix(text, tc.wantErr) && err != nil {
				t.Errorf("%s: %s, want %s", tc.reason, text, tc.wantErr)
			}
			if got := openstackapi.Rejected(err); got != tc.rejected {
				t.Errorf("%s: rejected is %t", tc.reason, got)
			}
		})
	}
}
