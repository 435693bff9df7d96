package fence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/stableerr"
)

const (
	// RequestTimeout limits a request to a controller, from the connection to the end of the response. Controllers take several seconds, and
	// longer while they restart.
	RequestTimeout = 30 * time.Second
	// redfishLimit is the maximum size of a response, in bytes.
	redfishLimit = 1 << 20
)

// Redfish is a system of a Redfish service (https://www.dmtf.org/standards/redfish, DSP0266).
type Redfish struct {
	// URL of the system, with https.
	URL string
	// Username and Password are sent with each request (HTTP Basic authentication, which DSP0266 requires of a service).
	Username, Password string
	// Transport connects to the service.
	Transport http.RoundTripper
}

// State reads the power state of the system.
func (r *Redfish) State(ctx context.Context) (State, error) {
	s, err := r.system(ctx)
	if err != nil {
		return State{}, err
	}
	return s.state(), nil
}

// PowerOff switches the power off, if confirm accepts the state.
func (r *Redfish) PowerOff(ctx context.Context, confirm func(State) error) error {
	s, err := r.system(ctx)
	if err != nil {
		return err
	}
	target, err := r.target(s.Actions.Reset.Target)
	if err != nil {
		return err
	}
	if err := confirm(s.state()); err != nil {
		return err
	}
	_, err = r.request(ctx, http.MethodPost, target, []byte(`{"ResetType": "ForceOff"}`))
	return err
}

// redfishSystem is the resource of a system.
type redfishSystem struct {
	UUID       string `json:"UUID"`
	PowerState string `json:"PowerState"`
	Actions    struct {
		Reset struct {
			Target string `json:"target"`
		} `json:"#ComputerSystem.Reset"`
	} `json:"Actions"`
}

func (s *redfishSystem) state() State {
	power := Changing // PoweringOn, PoweringOff and Paused (DSP2046, ComputerSystem).
	switch s.PowerState {
	case string(On), string(Off):
		power = Power(s.PowerState)
	}
	return State{Power: power, SystemUUID: s.UUID}
}

func (r *Redfish) system(ctx context.Context) (*redfishSystem, error) {
	data, err := r.request(ctx, http.MethodGet, r.URL, nil)
	if err != nil {
		return nil, err
	}
	out := &redfishSystem{}
	if json.Unmarshal(data, out) != nil || out.PowerState == "" {
		return nil, fmt.Errorf("cannot read the power state: the response of %s has none", r.host())
	}
	return out, nil
}

// target returns the address of the action that changes the power. It is a path of the same service: credentials are sent to no other host.
func (r *Redfish) target(path string) (string, error) {
	if path == "" {
		return strings.TrimSuffix(r.URL, "/") + "/Actions/ComputerSystem.Reset", nil
	}
	base, err := url.Parse(r.URL)
	to, pathErr := url.Parse(path)
	if err != nil || pathErr != nil || to.Host != "" || to.Scheme != "" || !strings.HasPrefix(to.Path, "/redfish/") {
		return "", fmt.Errorf("cannot power off: the target of ComputerSystem.Reset of %s must be a path below /redfish/", r.host())
	}
	return base.ResolveReference(to).String(), nil
}

// request sends a request, and returns the body of the response. Errors contain no credentials, and do not change between two attempts.
func (r *Redfish) request(ctx context.Context, method, address string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil || request.URL.Scheme != "https" {
		return nil, errors.New("redfish.url: must be an address with https")
	}
	request.SetBasicAuth(r.Username, r.Password)
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Transport: r.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		if text := stableerr.IsNoResponse(err); text != "" {
			return nil, errors.New(text)
		}
		return nil, errors.New(stableerr.StableMessage(err))
	}
	defer response.Body.Close() //nolint:errcheck // It was read.
	data, err := io.ReadAll(io.LimitReader(response.Body, redfishLimit))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the response of %s is incomplete: %s", r.host(), stableerr.StableMessage(err))
	case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%s rejects the login (HTTP %d): see the Secret of redfish.secretName", r.host(), response.StatusCode)
	case response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices:
		return nil, fmt.Errorf("%s returned HTTP %d for %s %s", r.host(), response.StatusCode, method, request.URL.Path)
	}
	return data, nil
}

func (r *Redfish) host() string {
	if at, err := url.Parse(r.URL); err == nil && at.Host != "" {
		return at.Host
	}
	return "the controller"
}
