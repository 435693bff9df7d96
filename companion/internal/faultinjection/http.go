package faultinjection

import (
	"net/http"
	"strings"
)

// HTTP returns a transport to a service with the same faults as the API. A login counts as a read.
func (a *API) HTTP(service http.RoundTripper) http.RoundTripper { return faultyTransport{a, service} }

type faultyTransport struct {
	api     *API
	service http.RoundTripper
}

// RoundTrip executes a request.
func (obs faultyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	written := ""
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
		written = r.Method + " " + r.URL.Path
	}
	var response *http.Response
	err := obs.api.Other(written, func() error {
		var err error
		response, err = obs.service.RoundTrip(r) //nolint:bodyclose // The calling client closes it.
		return err
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}
