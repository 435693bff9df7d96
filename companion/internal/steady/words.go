// Package steady says why a connection has failed in words that stay the same as long as the reason does. What is written into a status
// wakes Crossplane, and the errors of Go's packages have clocks and source ports in them, which are others each time.
package steady

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strings"
)

// IsCertificateExpired reports whether a certificate was refused for the time, which the error's own text has in it.
func IsCertificateExpired(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

// StableMessage are those of the innermost error, which have neither method nor address, and no time.
func StableMessage(err error) string {
	var (
		name    *net.DNSError
		timeout net.Error
	)
	switch {
	case IsCertificateExpired(err):
		return "the certificate has expired or is not valid yet"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		// Which of the two clocks rings first, that of the context or that of the connection, is chance.
		return "no answer in time"
	case errors.As(err, &name): // What keeps the server of names from being asked is in its text, with both addresses.
		parts := strings.Split(name.Err, ": ")
		return parts[len(parts)-1]
	}
	return last(err).Error()
}

// IsNoResponse says of a request over HTTP that there is no answer, from which host, and why: nothing if there is one, or if it was never
// sent.
func IsNoResponse(err error) string {
	var sent *url.Error
	if !errors.As(err, &sent) {
		return ""
	}
	host := "the server"
	if at, err := url.Parse(sent.URL); err == nil && at.Host != "" {
		host = at.Host
	}
	return "no answer from " + host + ": " + StableMessage(err)
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
