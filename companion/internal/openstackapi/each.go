package openstackapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/stableerr"
)

// errInvalidPage is the error of a page that has no list, or whose next page has the same address.
var errInvalidPage = errors.New("invalid response")

// Pages is a list that a service returns in pages.
type Pages struct {
	// Client has a transport of SameAddress.
	Client *gophercloud.ServiceClient
	// First is the address of the first page.
	First string
	// Key is the name of the list in a response: an array, or an object.
	Key string
}

// Each calls each for the items of a list, with their names if the list is an object. Items are decoded one at a time, so that memory does
// not grow with the size of a page. The items are complete only if the error is nil: discard them otherwise.
func Each[T any](ctx context.Context, service, operation string, list Pages, each func(name string, item T)) error {
	ctx = withPages(ctx)
	for address := list.First; address != ""; {
		options := &gophercloud.RequestOpts{KeepResponseBody: true}
		response, err := list.Client.Get(ctx, address, nil, options)
		if err != nil {
			return DescribeError(service, operation, err)
		}
		next, err := decodePage(response.Body, list.Key, each)
		if closed := response.Body.Close(); err == nil {
			err = closed
		}
		switch {
		case err == nil && next == address:
			err = errInvalidPage
		case err != nil && !isInvalid(err):
			text := fmt.Sprintf("cannot %s: the response of %s is incomplete: %s", operation, service, stableerr.StableMessage(err))
			return &statusError{text, 0}
		}
		if err != nil {
			return fmt.Errorf("cannot %s: %s returned an invalid response", operation, service)
		}
		address = next
	}
	return nil
}

// isInvalid reports whether the content of a page is wrong, and not its transmission.
func isInvalid(err error) bool {
	var (
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
	)
	return errors.Is(err, errInvalidPage) || errors.As(err, &syntax) || errors.As(err, &kind)
}

// decodePage decodes a page until its end, so that its connection can be used again, and returns the link to the next page.
func decodePage[T any](body io.Reader, key string, each func(string, T)) (next string, err error) {
	d := json.NewDecoder(body)
	found := false
	if err := open(d, '{'); err != nil {
		return "", err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return "", err
		}
		switch name {
		case key:
			found, err = true, decodeItems(d, each)
		case key + "_links":
			next, err = decodeLink(d)
		default:
			err = skip(d)
		}
		if err != nil {
			return "", err
		}
	}
	if _, err := d.Token(); err != nil {
		return "", err
	}
	if !found {
		return "", errInvalidPage
	}
	_, err = io.Copy(io.Discard, body)
	return next, err
}

// open reads the beginning of an object or an array.
func open(d *json.Decoder, delimiter json.Delim) error {
	token, err := d.Token()
	if err == nil && token != delimiter {
		err = errInvalidPage
	}
	return err
}

// decodeItems decodes the items of an array or the values of an object.
func decodeItems[T any](d *json.Decoder, each func(string, T)) error {
	start, err := d.Token()
	if err != nil {
		return err
	}
	if start != json.Delim('[') && start != json.Delim('{') {
		return errInvalidPage
	}
	for d.More() {
		var name string
		if start == json.Delim('{') {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name, _ = token.(string)
		}
		var item T
		if err := d.Decode(&item); err != nil {
			return err
		}
		each(name, item)
	}
	_, err = d.Token()
	return err
}

// decodeLink decodes the links of a page, and returns the one to the next page; "" if there is none.
func decodeLink(d *json.Decoder) (string, error) {
	var links []struct {
		Rel  string `json:"rel"`
		Href string `json:"href"`
	}
	if err := d.Decode(&links); err != nil {
		return "", err
	}
	for _, l := range links {
		if l.Rel == "next" {
			return l.Href, nil
		}
	}
	return "", nil
}

// skip reads a value without keeping it.
func skip(d *json.Decoder) error {
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
