//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestProxy checks that a browser gets to hosts that only the proxy resolves, by https and http, and to no others.
func TestProxy(t *testing.T) {
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "at "+r.Host+r.URL.Path) })
	httpServer, secret := httptest.NewServer(site), httptest.NewTLSServer(site)
	defer httpServer.Close()
	defer secret.Close()
	known := map[string]string{"guest.example:80": httpServer.Listener.Addr().String(), "horizon.example:443": secret.Listener.Addr().String()}
	p := httptest.NewServer(proxy(func(ctx context.Context, network, address string) (net.Conn, error) {
		if known[address] == "" {
			return nil, errors.New("unknown host " + address)
		}
		return (&net.Dialer{}).DialContext(ctx, network, known[address])
	}))
	defer p.Close()
	through, err := url.Parse(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := secret.Client().Transport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(through)
	transport.TLSClientConfig.ServerName = "example.com" // of the certificate
	browser := &http.Client{Transport: transport}
	for name, tc := range map[string]struct {
		reason, address string
		code            int
		want            string
	}{
		"Secret":  {"It does not decrypt https.", "https://horizon.example/auth", http.StatusOK, "at horizon.example/auth"},
		"Plain":   {"Virtual machines serve without.", "http://guest.example/seconds", http.StatusOK, "at guest.example/seconds"},
		"Unknown": {"The host is unknown.", "http://unknown.example/", http.StatusBadGateway, ""},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := browser.Get(tc.address)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != tc.code || !strings.Contains(string(text), tc.want) {
				t.Errorf("%s\ngot %s: %s (%v)", tc.reason, response.Status, text, err)
			}
		})
	}
	if rejected, err := browser.Get("https://elsewhere.example/"); err == nil {
		_ = rejected.Body.Close()
		t.Error("got a response of an unknown host")
	} else if !strings.Contains(err.Error(), "Bad Gateway") {
		t.Errorf("unknown host: %v", err)
	}
	response, err := http.Get(p.URL + "/auth")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusBadRequest {
		t.Errorf("who takes it for a site gets %s", response.Status)
	}
}
