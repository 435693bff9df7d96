// Package openstackapi reads lists of OpenStack services, and formats their errors.
package openstackapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/stableerr"
)

// statusError is a message with the HTTP status of the response; 0 if there was no response.
type statusError struct {
	message string
	code    int
}

// Error returns the message.
func (f *statusError) Error() string { return f.message }

// Rejected reports whether a service rejected a request, so that it had no effect. After a missing response or a server error,
// the effect is unknown.
func Rejected(err error) bool {
	var f *statusError
	return errors.As(err, &f) && f.code >= http.StatusBadRequest && f.code < http.StatusInternalServerError
}

// DescribeError formats an error with the service's message, which Nova, Neutron and Cinder return below the name of the
// error, and Placement in a list.
func DescribeError(service, operation string, err error) error {
	text, code := err.Error(), 0
	var response gophercloud.ErrUnexpectedResponseCode
	if missing := stableerr.IsNoResponse(err); missing != "" {
		text = missing
	} else if errors.As(err, &response) {
		code = response.Actual
		text = strings.TrimSuffix(fmt.Sprintf("%s returned HTTP %d: %s", service, code, statusMessage(response.Body)), ": ")
	}
	return &statusError{fmt.Sprintf("cannot %s: %s", operation, text), code}
}

// List returns all items of a list that a service returns in pages, with a client whose transport is SameAddress. extract decodes
// them. operation describes the request in errors, such as "list flavors".
func List[T any](
	ctx context.Context, service, operation string, list pagination.Pager, extract func(pagination.Page) ([]T, error),
) ([]T, error) {
	pages, err := list.AllPages(withPages(ctx))
	if err != nil {
		return nil, DescribeError(service, operation, err)
	}
	items, err := extract(pages)
	if err != nil {
		return nil, fmt.Errorf("cannot %s: %s returned an invalid response", operation, service)
	}
	return items, nil
}

// statusMessage returns the message in an error response.
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
