// Package stableerr describes connection errors with messages that change only with the reason. A change of a status triggers
// Crossplane, and the errors of Go's packages contain times and source ports, which differ each time.
package stableerr

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
)

// IsCertificateExpired reports whether a certificate was rejected because of the time, which is part of the original error
// message.
func IsCertificateExpired(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

// StableMessage returns the message of the innermost error, which has no method, address or time.
func StableMessage(err error) string {
	var (
		name    *net.DNSError
		timeout net.Error
	)
	switch {
	case IsCertificateExpired(err):
		return "the certificate has expired or is not valid yet"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		// It is random whether the timeout of the context or of the connection is reported first.
		return "no response in time"
	case errors.As(err, &name): // The reason why the name server is unreachable is in its text, with both addresses.
		parts := strings.Split(name.Err, ": ")
		return parts[len(parts)-1]
	}
	return last(err).Error()
}

// IsNoResponse describes the missing response to an HTTP request, with the host and the reason; "" if there was a response,
// or if the request was never sent.
func IsNoResponse(err error) string {
	var sent *url.Error
	if !errors.As(err, &sent) {
		return ""
	}
	host := "the server"
	if at, err := url.Parse(sent.URL); err == nil && at.Host != "" {
		host = at.Host
	}
	return "no response from " + host + ": " + StableMessage(err)
}

func last(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
