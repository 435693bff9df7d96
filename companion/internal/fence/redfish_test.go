package fence

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	uuid     = "00112233-4455-6677-8899-aabbccddeeff"
	password = "correct-horse-battery" // Must never be revealed.
)

// service is a Redfish service with one system.
type service struct {
	power, target, body string
	code                int
	requests            []string
	redirect            string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(data)))
	user, pass, _ := r.BasicAuth()
	switch {
	case s.redirect != "":
		http.Redirect(w, r, s.redirect, http.StatusTemporaryRedirect)
	case user != "root" || pass != password:
		w.WriteHeader(http.StatusUnauthorized)
	case s.code != 0:
		w.WriteHeader(s.code)
	case r.Method == http.MethodPost:
		s.power = "PoweringOff"
		w.WriteHeader(http.StatusNoContent)
	case s.body != "":
		_, _ = io.WriteString(w, s.body)
	default:
		system := map[string]any{"UUID": uuid, "PowerState": s.power}
		if s.target != "" {
			system["Actions"] = map[string]any{"#ComputerSystem.Reset": map[string]any{"target": s.target}}
		}
		_ = json.NewEncoder(w).Encode(system) //nolint:errchkjson // It has texts only.
	}
}

// serve starts the service with TLS, and returns its system.
func (s *service) serve(t *testing.T) *Redfish {
	t.Helper()
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	return &Redfish{
		URL: server.URL + "/redfish/v1/Systems/1", Username: "root", Password: password, Transport: server.Client().Transport,
	}
}

func TestRedfishState(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		service service
		want    State
		wantErr string
	}{
		"On":          {"It runs.", service{power: "On"}, State{On, uuid}, ""},
		"Off":         {"It runs nothing.", service{power: "Off"}, State{Off, uuid}, ""},
		"PoweringOff": {"It may still write.", service{power: "PoweringOff"}, State{Changing, uuid}, ""},
		"Paused":      {"It can continue.", service{power: "Paused"}, State{Changing, uuid}, ""},
		"NoState":     {"No proof.", service{body: `{"UUID": "` + uuid + `"}`}, State{}, "cannot read the power state: the response of HOST has none"},
		"NoJSON":      {"No proof.", service{body: `<html>`}, State{}, "cannot read the power state: the response of HOST has none"},
		"Fails":       {"No proof.", service{code: 503}, State{}, "HOST returned HTTP 503 for GET /redfish/v1/Systems/1"},
		"Redirect":    {"The login is for one host.", service{redirect: "https://example.com/"}, State{}, "HOST returned HTTP 307 for GET /redfish/v1/Systems/1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := tc.service.serve(t)
			got, err := r.State(t.Context())
			checkError(t, r, err, tc.wantErr)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// checkError compares an error, in which HOST is the address of the service.
func checkError(t *testing.T, r *Redfish, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = strings.ReplaceAll(err.Error(), r.host(), "HOST")
	}
	if got != want {
		t.Errorf("error %q, want %q", got, want)
	}
	if strings.Contains(got, password) {
		t.Errorf("the error has the password: %s", got)
	}
}

func TestRedfishPowerOff(t *testing.T) {
	const system = "GET /redfish/v1/Systems/1"
	for name, tc := range map[string]struct {
		reason  string
		service service
		want    []string
		wantErr string
		stop    error
	}{
		"NotConfirmed": {
			reason: "The node reports again.", service: service{power: "On"}, want: []string{system}, wantErr: "it runs", stop: errors.New("it runs"),
		},
		"Default": {
			"The resource has no action.", service{power: "On"},
			[]string{system, `POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset {"ResetType": "ForceOff"}`}, "", nil,
		},
		"Target": {
			"The resource has the address.", service{power: "On", target: "/redfish/v1/Systems/1/Actions/Reset"},
			[]string{system, `POST /redfish/v1/Systems/1/Actions/Reset {"ResetType": "ForceOff"}`}, "", nil,
		},
		"OtherHost": {
			"The login is for one host.", service{power: "On", target: "https://example.com/redfish/v1"}, []string{system},
			"cannot power off: the target of ComputerSystem.Reset of HOST must be a path below /redfish/", nil,
		},
		"OtherPath": {
			"It is no Redfish service.", service{power: "On", target: "/cgi-bin/x"}, []string{system},
			"cannot power off: the target of ComputerSystem.Reset of HOST must be a path below /redfish/", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := tc.service.serve(t)
			asked := false
			confirm := func(s State) error {
				asked = asked || s == State{On, uuid}
				return tc.stop
			}
			checkError(t, r, r.PowerOff(t.Context(), confirm), tc.wantErr)
			if diff := cmp.Diff(tc.want, tc.service.requests); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if want := len(tc.want) == 2 || tc.stop != nil; asked != want {
				t.Errorf("confirm was called: %v", asked)
			}
			if got := tc.service.power; (got == "PoweringOff") != (tc.wantErr == "") {
				t.Errorf("power %s", got)
			}
		})
	}
}

// TestRedfishTransport: errors without a response, and a login that is rejected.
func TestRedfishTransport(t *testing.T) {
	s := service{power: "On"}
	r := s.serve(t)
	r.Password = "other"
	_, err := r.State(t.Context())
	checkError(t, r, err, "HOST rejects the login (HTTP 401): see the Secret of redfish.secretName")

	r = s.serve(t)
	r.Transport = http.DefaultTransport
	if _, err = r.State(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown authority: %v", err)
	}

	r = s.serve(t)
	before := len(s.requests)
	r.URL = strings.Replace(r.URL, "https:", "http:", 1)
	_, err = r.State(t.Context())
	checkError(t, r, err, "redfish.url: must be an address with https")
	if len(s.requests) != before {
		t.Error("the login was sent without TLS")
	}

	r = s.serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, err = r.State(ctx)
	checkError(t, r, err, "no response from HOST: no response in time")
}

func TestCheckIdentity(t *testing.T) {
	for name, tc := range map[string]struct{ reason, reported, expected, want string }{
		"Same":    {"Letters have no case.", strings.ToUpper(uuid), uuid, ""},
		"Swapped": {"Firmware and kernel disagree about the order of bytes.", "33221100-5544-7766-8899-aabbccddeeff", uuid, ""},
		"Other": {
			"Another node would be powered off.", "33221100-5544-7766-8899-000000000000", uuid,
			"the controller belongs to system 33221100-5544-7766-8899-000000000000, and the node is " + uuid + ": correct redfish.url",
		},
		"NoNode": {"The Node was deleted.", uuid, "", "the UUID of the node is unknown"},
		"NoReport": {
			"The controller has none.", "", uuid, "the controller does not report the UUID of its system, and the node has " + uuid,
		},
		"Placeholder": {
			"Each board of the vendor has it.", "03000200-0400-0500-0006-000700080009", "03000200-0400-0500-0006-000700080009",
			"the UUID 03000200-0400-0500-0006-000700080009 is a placeholder of the firmware, which other systems have, too: set a unique UUID in the firmware",
		},
		"SwappedPlaceholder": {
			"The same in the other order of bytes.", "", "00020003-0004-0005-0006-000700080009",
			"the UUID 00020003-0004-0005-0006-000700080009 is a placeholder of the firmware, which other systems have, too: set a unique UUID in the firmware",
		},
		"Zero": {
			"It is unset.", "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000",
			"the UUID 00000000-0000-0000-0000-000000000000 is a placeholder of the firmware, which other systems have, too: set a unique UUID in the firmware",
		},
		"Ones": {
			"It is unset.", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", uuid,
			"the UUID FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF is a placeholder of the firmware, which other systems have, too: set a unique UUID in the firmware",
		},
		"NoUUID": {"It is no UUID.", "1-2", uuid, "the controller belongs to system 1-2, and the node is " + uuid + ": correct redfish.url"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := CheckIdentity(tc.reported, tc.expected); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
