package platform

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// Request is a kind of request to the API server: its user, its verb, and its resource ("group/resource") and
// subresource. A server-side apply has the name of its field manager.
type Request struct{ User, Verb, Resource, Subresource, Manager string }

// Requests counts the requests to the management cluster's API server since the platform started (Options.Audit).
func (p *Platform) Requests() (map[Request]int, error) {
	log, err := os.Open(p.File("audit.log"))
	if err != nil {
		return nil, fmt.Errorf("cannot count requests: %w", err)
	}
	defer log.Close() //nolint:errcheck // it is only read
	out := map[Request]int{}
	lines := bufio.NewScanner(log)
	const longest = 1 << 20
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var e struct {
			Verb       string `json:"verb"`
			RequestURI string `json:"requestURI"`
			User       struct {
				Username string `json:"username"`
			} `json:"user"`
			ObjectRef struct {
				APIGroup    string `json:"apiGroup"`
				Resource    string `json:"resource"`
				Subresource string `json:"subresource"`
			} `json:"objectRef"`
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // the last line may not be complete yet
		}
		user := e.User.Username[strings.LastIndex(e.User.Username, ":")+1:]
		r := Request{
			User: user, Verb: e.Verb, Resource: e.ObjectRef.APIGroup + "/" + e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
		}
		if uri, err := url.Parse(e.RequestURI); err == nil && e.Verb == "patch" {
			r.Manager = uri.Query().Get("fieldManager")
		}
		out[r]++
	}
	return out, lines.Err()
}
