// Package answer makes sentences of what OpenStack's services answer when something is wrong.
package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/steady"
)

// statusError is a sentence, and the code of the answer: 0 if there was none.
type statusError struct {
	message string
	code    int
}

// Error is the sentence.
func (f *statusError) Error() string { return f.message }

// Refused reports whether a service said no: nothing came of the request. Of one that got no answer, or an error of the server's, nobody
// knows.
func Refused(err error) bool {
	var f *statusError
	return errors.As(err, &f) && f.code >= http.StatusBadRequest && f.code < http.StatusInternalServerError
}

// DescribeError makes a sentence of an error: what a service says, which Nova, Neutron and Cinder wrap in its name, and Placement lists.
func DescribeError(service, what string, err error) error {
	text, code := err.Error(), 0
	var response gophercloud.ErrUnexpectedResponseCode
	if missing := steady.IsNoResponse(err); missing != "" {
		text = missing
	} else if errors.As(err, &response) {
		code = response.Actual
		text = strings.TrimSuffix(fmt.Sprintf("%s answers %d: %s", service, code, statusMessage(response.Body)), ": ")
	}
	return &statusError{fmt.Sprintf("cannot %s: %s", what, text), code}
}

// statusMessage is what a service says of an error.
func statusMessage(body []byte) string {
	var wrapped map[string]struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &wrapped) == nil {
		for _, e := range wrapped {
			return e.Message
		}
	}
	var listed struct {
		Errors []struct {
			Detail string `json:"detail"`
		} `json:"errors"`
	}
	if json.Unmarshal(body, &listed) == nil && len(listed.Errors) > 0 {
		return strings.TrimSpace(listed.Errors[0].Detail)
	}
	return ""
}
