//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/sandbox"
)

// dial connects to a host and port.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// browse runs a proxy that gives browsers of this machine access to the cloud, until it is interrupted.
func (o *options) browse() error {
	if o.running() == 0 {
		return fmt.Errorf("no cloud runs in %s; start one with make openstack-up", o.dir)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	server := &http.Server{Addr: o.proxy, ReadHeaderTimeout: time.Minute, Handler: proxy(
		func(ctx context.Context, _, address string) (net.Conn, error) {
			pid := o.running()
			if pid == 0 {
				return nil, errors.New("the cloud was stopped")
			}
			return sandbox.Dial(ctx, pid, address)
		},
	)}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve browsers: %w", err)
	}
	return nil
}

// proxy returns a proxy for browsers: it connects by dial, and does not decrypt https.
func proxy(to dial) http.Handler {
	httpProxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host }, // it names the host itself
		Transport: &http.Transport{DialContext: to},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodConnect:
			if err := tunnel(w, r, to); err != nil {
				fmt.Fprintln(os.Stderr, "proxy:", err)
			}
		case r.URL.Host == "":
			http.Error(w, "this is a proxy of browsers, and no site", http.StatusBadRequest)
		default:
			httpProxy.ServeHTTP(w, r)
		}
	})
}

// tunnel copies the data of both sides, until one of them has ended.
func tunnel(w http.ResponseWriter, r *http.Request, to dial) error {
	server, err := to(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return err
	}
	defer server.Close() //nolint:errcheck // both have ended
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return err
	}
	defer client.Close() //nolint:errcheck // both have ended
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return err
	}
	done := make(chan struct{}, 2) //nolint:mnd // both directions
	go func() {
		_, _ = io.Copy(server, buffered)
		done <- struct{}{}
	}()
	go func() {
		_, _ = io.Copy(client, server)
		done <- struct{}{}
	}()
	<-done
	return nil
}
