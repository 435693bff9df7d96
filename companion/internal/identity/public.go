package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/stableerr"
)

// Reasons why an address does not respond as Keystone does.
const (
	ReasonNameResolutionFailed = "NameResolutionFailed"
	ReasonConnectionFailed     = "ConnectionFailed"
	ReasonCertificateRejected  = "CertificateRejected"
	ReasonUnexpectedResponse   = "UnexpectedResponse"
)

// ConnectError is the reason why a client cannot connect to Keystone.
type ConnectError struct {
	// Reason is one of the constants above, Message is a sentence.
	Reason, Message string
}

// Error returns the message.
func (u *ConnectError) Error() string { return u.Message }

// Visit requests the version of Keystone's API at an address, as a client does before it logs in, without credentials. It
// follows no redirect, because clients send passwords to the address in the catalog.
func (t Transport) Visit(ctx context.Context, address string) *ConnectError {
	const timeout, limit = 10 * time.Second, 1 << 16
	way, err := t(nil)
	if err != nil {
		return &ConnectError{ReasonConnectionFailed, err.Error()}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return &ConnectError{ReasonConnectionFailed, fmt.Sprintf("%q is not an address", address)}
	}
	client := http.Client{
		Transport: way, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return unreachable(request.URL.Host, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return &ConnectError{ReasonUnexpectedResponse, fmt.Sprintf("%s returned %s: the address is not routed to Keystone", address,
			response.Status)}
	}
	var body struct {
		Version struct {
			ID string `json:"id"`
		} `json:"version"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, limit)).Decode(&body); err != nil || body.Version.ID == "" {
		return &ConnectError{ReasonUnexpectedResponse, address + " responded, but not as Keystone"}
	}
	return nil
}

// unreachable returns the step in which a request failed.
func unreachable(host string, err error) *ConnectError {
	var (
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		other       x509.HostnameError
	)
	switch {
	case errors.As(err, &name):
		return &ConnectError{ReasonNameResolutionFailed, fmt.Sprintf("the name of %s cannot be resolved: %s", host, stableerr.StableMessage(err))}
	case stableerr.IsCertificateExpired(err):
		return &ConnectError{ReasonCertificateRejected, fmt.Sprintf("the certificate of %s has expired or is not valid yet", host)}
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &other):
		return &ConnectError{
			ReasonCertificateRejected, fmt.Sprintf("the certificate of %s is not trusted by the system's authorities: %s", host,
				stableerr.StableMessage(err)),
		}
	}
	return &ConnectError{ReasonConnectionFailed, fmt.Sprintf("no connection to %s: %s", host, stableerr.StableMessage(err))}
}
