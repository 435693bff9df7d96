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

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/steady"
)

// Reasons why an address does not answer as Keystone does.
const (
	NameUnknown        = "NameUnknown"
	ConnectionFailed   = "ConnectionFailed"
	CertificateRefused = "CertificateRefused"
	WrongAnswer        = "WrongAnswer"
)

// Unreachable is why a client does not get through to Keystone.
type Unreachable struct {
	// Reason is one of the above, Message a sentence.
	Reason, Message string
}

// Error is the message.
func (u *Unreachable) Error() string { return u.Message }

// Visit asks for the version of Keystone's API at an address, as a client does before it logs in: with nobody's password. It follows no
// redirect, since clients send passwords to the address that the catalog names.
func (t Transport) Visit(ctx context.Context, address string) *Unreachable {
	const timeout, limit = 10 * time.Second, 1 << 16
	way, err := t(nil)
	if err != nil {
		return &Unreachable{ConnectionFailed, err.Error()}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return &Unreachable{ConnectionFailed, fmt.Sprintf("%q is no address", address)}
	}
	client := http.Client{
		Transport: way, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(request)
	if err != nil {
		return unreachable(request.URL.Host, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return &Unreachable{WrongAnswer, fmt.Sprintf("%s answers %s: what leads there does not lead to Keystone", address, answer.Status)}
	}
	var body struct {
		Version struct {
			ID string `json:"id"`
		} `json:"version"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, limit)).Decode(&body); err != nil || body.Version.ID == "" {
		return &Unreachable{WrongAnswer, address + " answers, but not as Keystone does: it is something else"}
	}
	return nil
}

// unreachable says in which step a request has failed.
func unreachable(host string, err error) *Unreachable {
	var (
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		authority   x509.UnknownAuthorityError
		other       x509.HostnameError
	)
	switch {
	case errors.As(err, &name):
		return &Unreachable{NameUnknown, fmt.Sprintf("the name of %s cannot be resolved: %s", host, steady.Words(err))}
	case steady.Expired(err):
		return &Unreachable{CertificateRefused, fmt.Sprintf("the certificate of %s has expired or is not valid yet", host)}
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &other):
		return &Unreachable{
			CertificateRefused, fmt.Sprintf("the certificate of %s is not trusted by the system's authorities: %s", host, steady.Words(err)),
		}
	}
	return &Unreachable{ConnectionFailed, fmt.Sprintf("no connection to %s: %s", host, steady.Words(err))}
}
