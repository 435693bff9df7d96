package openstackapi

import (
	"context"
	"net/http"
	"net/url"
)

// pagesKey is the key of the first address of a list in a context.
type pagesKey struct{}

// withPages returns a context for the requests of one list.
func withPages(ctx context.Context) context.Context {
	return context.WithValue(ctx, pagesKey{}, &url.URL{})
}

// SameAddress returns a transport that requests all pages of a list from the address of the first page. Services build the link
// to the next page from their public address, which the companion may not reach, and whose certificate it does not know. Only
// the query of a link is used.
func SameAddress(way http.RoundTripper) http.RoundTripper { return sameAddress{way} }

type sameAddress struct{ way http.RoundTripper }

// RoundTrip sends a request.
func (s sameAddress) RoundTrip(r *http.Request) (*http.Response, error) {
	first, ok := r.Context().Value(pagesKey{}).(*url.URL)
	switch {
	case !ok:
	case first.Host == "":
		*first = *r.URL
	default:
		address := *first
		address.RawQuery = r.URL.RawQuery
		r = r.Clone(r.Context())
		r.URL, r.Host = &address, address.Host
	}
	return s.way.RoundTrip(r)
}
