//go:build linux

package clouds

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	horizonv1 "github.com/c5c3/crossplane-cobaltcore/apis/horizon/v1alpha1"
)

// A Client calls Keystone's API without a library, so that every response is unmodified.
type Client struct {
	// URL of the API, with /v3.
	URL string
	// Admin logs in as the administrator.
	Admin map[string]any
	HTTP  *http.Client
}

// RequestTimeout is the timeout of a request: the default of gateways without a configured timeout (proxy_read_timeout,
// https://nginx.org/en/docs/http/ngx_http_proxy_module.html), and enough for a Keystone whose pods all read a renewed
// certificate at the same time, on a busy machine.
const RequestTimeout = time.Minute

// Client returns a client of the cloud, at the internal or the public address of Keystone's bootstrap.
func (c *Cloud) Client(ctx context.Context, public bool) (*Client, error) {
	secrets := map[string]map[string][]byte{}
	for _, name := range []string{"keystone-admin", "keystone-tls"} {
		var err error
		if secrets[name], err = c.Operators.Secret(ctx, c.Namespace, name); err != nil {
			return nil, err
		}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(secrets["keystone-tls"]["ca.crt"]) {
		return nil, errors.New("keystone's certificate names no authority")
	}
	flag := "--bootstrap-internal-url"
	if public {
		flag, pool = "--bootstrap-public-url", c.Operators.Public.Pool()
	}
	url, err := c.BootstrapArgument(flag)
	if err != nil {
		return nil, err
	}
	admin := secrets["keystone-admin"]
	return &Client{
		URL:   url,
		Admin: Password(string(admin["username"]), "Default", string(admin["password"]), Project("admin", "Default")),
		HTTP: &http.Client{Timeout: RequestTimeout, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DialContext: c.Cluster.Dial, DisableKeepAlives: true,
		}},
	}, nil
}

// BootstrapArgument returns an argument of Keystone's bootstrap Job, by its flag.
func (c *Cloud) BootstrapArgument(flag string) (string, error) {
	for _, u := range c.Operators.All("Job.batch") {
		job := &batchv1.Job{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, job); err != nil {
			return "", err
		}
		command := job.Spec.Template.Spec.Containers[0].Command
		if i := slices.Index(command, flag); i >= 0 && i+1 < len(command) {
			return command[i+1], nil
		}
	}
	return "", fmt.Errorf("no Job has the argument %s", flag)
}

// Dashboard returns the public address of Horizon. It is empty if there is none.
func (c *Cloud) Dashboard() string {
	for _, u := range c.Operators.All("HTTPRoute.gateway.networking.k8s.io") {
		hosts, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "hostnames")
		if u.GetName() == horizonv1.ServiceName && len(hosts) > 0 {
			return "https://" + hosts[0]
		}
	}
	return ""
}

// Password returns a login by name and password, with a scope or, without one, for an unscoped token.
func Password(user, domain, password string, scope map[string]any) map[string]any {
	auth := map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{"user": map[string]any{
			"name": user, "domain": map[string]any{"name": domain}, "password": password,
		}}},
	}
	if scope != nil {
		auth["scope"] = scope
	}
	return auth
}

// ApplicationCredential returns a login by an application credential, which has its own scope.
func ApplicationCredential(id, secret string) map[string]any {
	return map[string]any{"identity": map[string]any{
		"methods": []string{"application_credential"}, "application_credential": map[string]any{"id": id, "secret": secret},
	}}
}

// Project returns the scope of a project.
func Project(name, domain string) map[string]any {
	return map[string]any{"project": map[string]any{"name": name, "domain": map[string]any{"name": domain}}}
}

// Domain returns the scope of a domain.
func Domain(name string) map[string]any {
	return map[string]any{"domain": map[string]any{"name": name}}
}

// A Token contains Keystone's data about a token.
type Token struct {
	Methods []string                  `json:"methods"`
	User    struct{ ID, Name string } `json:"user"`
	Project struct{ ID, Name string } `json:"project"`
	Roles   []struct{ Name string }   `json:"roles"`
	Catalog []struct {
		Type, Name string
		Endpoints  []Endpoint
	} `json:"catalog"`
}

// Endpoint is an endpoint of a catalog.
type Endpoint struct {
	Interface string `json:"interface"`
	URL       string `json:"url"`
	Region    string `json:"region"`
}

// Issue returns a token for a login.
func (c *Client) Issue(ctx context.Context, auth map[string]any) (string, error) {
	header, err := c.Do(ctx, http.MethodPost, "/auth/tokens", nil, map[string]any{"auth": auth}, nil)
	return header.Get("X-Subject-Token"), err
}

// Validate returns the data of a token, authenticated by another one.
func (c *Client) Validate(ctx context.Context, with, token string) (*Token, error) {
	out := struct{ Token Token }{}
	_, err := c.Do(ctx, http.MethodGet, "/auth/tokens", http.Header{"X-Auth-Token": {with}, "X-Subject-Token": {token}}, nil, &out)
	return &out.Token, err
}

// A StatusError is an error response.
type StatusError struct {
	Status int
	Body   string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the answer is %d: %.300s", e.Status, e.Body)
}

// Do sends a request to the API: in and out are JSON, and may be nil.
func (c *Client) Do(ctx context.Context, method, path string, header http.Header, in, out any) (http.Header, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return nil, err
	}
	maps.Copy(request.Header, header)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode > 299 {
		return response.Header, &StatusError{Status: response.StatusCode, Body: string(text)}
	}
	if out != nil {
		err = json.Unmarshal(text, out)
	}
	return response.Header, err
}

// StatusOf returns the HTTP status of an error: 0 if it has none.
func StatusOf(err error) int {
	var s *StatusError
	if errors.As(err, &s) {
		return s.Status
	}
	return 0
}
