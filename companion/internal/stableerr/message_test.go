package stableerr

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

// TestMessagesOmitVaryingParts: parts that differ between attempts are omitted.
func TestMessagesOmitVaryingParts(t *testing.T) {
	from := func(port int, op string, err error) error {
		return &net.OpError{
			Op: op, Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: port}, Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2),
				Port: 6641}, Err: err,
		}
	}
	expired := func(now string) error {
		return &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time " + now +
			" is after then"}}
	}
	names := func(err string, timeout bool) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: err, Name: "k", Server: "10.0.0.10:53", IsTimeout: timeout}}
	}
	for name, tc := range map[string]struct {
		reason string
		errs   []error
		want   string
	}{
		"Expired": {
			"The time differs.", []error{expired("12:00"), fmt.Errorf("get: %w", expired("12:01"))},
			"the certificate has expired or is not valid yet",
		},
		"Timeout": {
			"Each connection has another port, and either timeout may be reported first.",
			[]error{from(40001, "read", os.ErrDeadlineExceeded), from(40002, "write", os.ErrDeadlineExceeded), fmt.Errorf("ask: %w",
				context.DeadlineExceeded)},
			"no response in time",
		},
		"Reset": {"The same.", []error{from(40001, "read", syscall.ECONNRESET), from(40002, "read", syscall.ECONNRESET)},
			"connection reset by peer"},
		"Unknown name": {"That is the response.", []error{names("no such host", false)}, "no such host"},
		"No server of names": {
			"The source port differs each time.",
			[]error{names("read udp 10.0.0.1:40001->10.0.0.10:53: i/o timeout", true), names("read udp 10.0.0.1:40002->10.0.0.10:53: i/o timeout",
				true)},
			"no response in time",
		},
		"Refusing server of names": {
			"The same.", []error{
				names("read udp 10.0.0.1:40001->10.0.0.10:53: read: connection refused", false),
				names("read udp 10.0.0.1:40002->10.0.0.10:53: read: connection refused", false),
			}, "connection refused",
		},
		"Plain": {"It has no variable parts.", []error{errors.New("reset")}, "reset"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range tc.errs {
				if got := StableMessage(err); got != tc.want {
					t.Errorf("%s %q, want %q", tc.reason, got, tc.want)
				}
			}
		})
	}
}
