//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/node/podaccess"
)

// server is the API of Kubernetes. A program in a container can trust it without its authority, as an attacker would.
type server struct {
	address string
	client  *http.Client
}

// api adds the access to the API server, with each token that was found.
func api(f *podaccess.Facts) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" {
		host, port = "kubernetes.default.svc", "443"
	}
	s := server{net.JoinHostPort(host, port), &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // An attacker does not verify it.
	}}}
	if !accepts(s.address) {
		return
	}
	var err error
	f.API.Reachable = true
	if f.API.Anonymous, _, err = s.call(http.MethodGet, "/api/v1/secrets", "", nil); err != nil {
		f.Errors = append(f.Errors, err.Error())
	}
	for i := range f.API.Tokens {
		if err := s.rights(&f.API.Tokens[i]); err != nil {
			f.Errors = append(f.Errors, fmt.Sprintf("%s: %s", f.API.Tokens[i].Path, err))
		}
	}
}

// call sends a request, and returns the status and the body of the response.
func (s server) call(method, path, token string, body any) (int, []byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequestWithContext(context.Background(), method, "https://"+s.address+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // It was read.
	out, err := io.ReadAll(response.Body)
	return response.StatusCode, out, err
}

// review creates an object that the API server answers with its status.
func (s server) review(group, resource, kind, token string, spec, status any) error {
	code, data, err := s.call(http.MethodPost, "/apis/"+group+"/v1/"+resource, token, map[string]any{
		"apiVersion": group + "/v1", "kind": kind, "spec": spec,
	})
	if err != nil {
		return err
	}
	if code >= http.StatusMultipleChoices {
		return fmt.Errorf("%s: %d", resource, code)
	}
	return json.Unmarshal(data, &struct {
		Status any `json:"status"`
	}{status})
}

// rights adds the user of a token and its rights.
func (s server) rights(t *podaccess.Token) error {
	data, err := os.ReadFile(t.Path)
	if err != nil {
		return err
	}
	token := strings.TrimSpace(string(data))
	var who struct {
		UserInfo struct{ Username string }
	}
	if err := s.review("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", token, map[string]any{}, &who); err != nil {
		t.User = subject(token)
		return err
	}
	t.User = who.UserInfo.Username
	namespace := "default"
	if parts := strings.Split(t.User, ":"); len(parts) > 2 {
		namespace = parts[2]
	}
	everywhere, err := s.rules(token, "default")
	if err != nil {
		return err
	}
	own, err := s.rules(token, namespace)
	if err != nil {
		return err
	}
	for _, r := range own {
		r.Everywhere = slices.ContainsFunc(everywhere, func(e podaccess.Rule) bool { return key(e) == key(r) })
		t.Rules = append(t.Rules, r)
	}
	return s.escalations(t, token, namespace)
}

func key(r podaccess.Rule) string { return fmt.Sprint(r.Verbs, r.Group, r.Resource, r.Names) }

// subject returns the subject of a token that the API server rejects: it is for another audience.
func subject(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) < 2 {
		return ""
	}
	data, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Subject  string   `json:"sub"`
		Audience []string `json:"aud"`
	}
	_ = json.Unmarshal(data, &claims)
	return claims.Subject + " for " + strings.Join(claims.Audience, ", ")
}

// rules returns the rights in a namespace, without the rights that each account has.
func (s server) rules(token, namespace string) ([]podaccess.Rule, error) {
	var status struct {
		Incomplete    bool
		ResourceRules []struct{ Verbs, APIGroups, Resources, ResourceNames []string }
	}
	if err := s.review("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", token,
		map[string]any{"namespace": namespace}, &status); err != nil {
		return nil, err
	}
	if status.Incomplete {
		return nil, fmt.Errorf("the rights in %s are incomplete", namespace)
	}
	var out []podaccess.Rule
	for _, r := range status.ResourceRules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				if strings.HasPrefix(resource, "selfsubject") {
					continue
				}
				out = append(out, podaccess.Rule{Verbs: r.Verbs, Group: group, Resource: resource, Names: r.ResourceNames})
			}
		}
	}
	return out, nil
}

// escalations are requests with which an account obtains other rights: verb, group, resource, subresource. Own: in the namespace of the pod
// only.
var escalations = []struct {
	verb, group, resource, subresource string
	own                                bool
}{
	{"list", "", "secrets", "", false}, {"list", "", "secrets", "", true},
	{"create", "", "pods", "", false}, {"create", "", "pods", "", true}, {"create", "", "pods", "exec", true},
	{"create", "", "serviceaccounts", "token", true}, {"get", "", "nodes", "proxy", false},
	{"create", "batch", "jobs", "", true}, {"create", "apps", "deployments", "", true}, {"create", "apps", "daemonsets", "", true},
	{"create", "rbac.authorization.k8s.io", "clusterrolebindings", "", false},
	{"create", "rbac.authorization.k8s.io", "rolebindings", "", true},
	{"escalate", "rbac.authorization.k8s.io", "clusterroles", "", false}, {"bind", "rbac.authorization.k8s.io", "clusterroles", "", false},
	{"impersonate", "", "users", "", false}, {"impersonate", "", "serviceaccounts", "", false},
	{"update", "networking.k8s.io", "networkpolicies", "", true},
	{"update", "admissionregistration.k8s.io", "validatingadmissionpolicies", "", false},
}

// escalations adds the escalations that the API server allows.
func (s server) escalations(t *podaccess.Token, token, namespace string) error {
	for _, e := range escalations {
		attributes := map[string]any{"verb": e.verb, "group": e.group, "resource": e.resource, "subresource": e.subresource}
		place := "everywhere"
		if e.own {
			attributes["namespace"], place = namespace, "in its namespace"
		}
		var status struct{ Allowed bool }
		if err := s.review("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", token,
			map[string]any{"resourceAttributes": attributes}, &status); err != nil {
			return err
		}
		if status.Allowed {
			t.Allowed = append(t.Allowed, fmt.Sprintf("%s %s %s", e.verb, filepath.Join(e.resource, e.subresource), place))
		}
	}
	return nil
}
