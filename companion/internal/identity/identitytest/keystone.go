// Package identitytest is a fake Keystone for tests: logins by password, application credentials of a user, and changes of
// its own password; for an administrator, role assignments and the regions of endpoints; with the requests, responses and
// errors of the real one (https://docs.openstack.org/api-ref/identity/v3/).
package identitytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// All users are in this domain, and have this role in this project unless other roles are set.
const (
	domain  = "Default"
	project = "service"
	role    = "service"
)

// Credential is an application credential.
type Credential struct {
	ID, Name, Description, Secret, UserID string
	Roles                                 []string
}

// Keystone is an http.Handler.
type Keystone struct {
	mutex sync.Mutex
	// passwords by user name; the ID of a user is its name with the prefix "id-".
	passwords   map[string]string
	credentials map[string]Credential
	// roles of users with other roles, by user name.
	roles map[string][]string
	// tokens and their users, with the project or without.
	tokens       map[string]token
	createdCount int
	down         bool
	refuse       map[string]string
	// limit is the number of failed logins that locks a user out, failed is their number by user, and options are the options
	// by user.
	limit   int
	failed  map[string]int
	options map[string]map[string]any
	// disabled are the users that are disabled.
	disabled map[string]bool
	// assignments are the assigned roles, by the path of the assignment; regions are the regions of endpoints, by ID.
	assignments map[string]bool
	regions     map[string]string
	// services are the internal endpoints of other services, by type.
	services map[string]string
}

type token struct {
	user    string
	project bool
	roles   []string
}

// administrator is the user with all permissions, in a project of the same name.
const administrator = "admin"

// New returns a Keystone with users and their passwords.
func New(passwords map[string]string) *Keystone {
	return &Keystone{
		passwords: maps.Clone(passwords), credentials: map[string]Credential{}, tokens: map[string]token{}, refuse: map[string]string{},
		roles: map[string][]string{}, assignments: map[string]bool{},
		regions: map[string]string{}, services: map[string]string{}, failed: map[string]int{}, options: map[string]map[string]any{},
		disabled: map[string]bool{},
	}
}

// Credentials returns all application credentials by ID.
func (k *Keystone) Credentials() map[string]Credential {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return maps.Clone(k.credentials)
}

// AcceptsCredential reports whether a login with the application credential succeeds.
func (k *Keystone) AcceptsCredential(id, secret string) bool {
	c, ok := k.Credentials()[id]
	return ok && c.Secret == secret
}

// AcceptsPassword reports whether a login of the user succeeds.
func (k *Keystone) AcceptsPassword(user, password string) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.passwords[user] == password
}

// SetPassword changes a password as an administrator does.
func (k *Keystone) SetPassword(user, password string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.passwords[user] = password
}

// Add adds an application credential that another client created, and returns its ID.
func (k *Keystone) Add(user, name string) string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.add(user, Credential{Name: name, Secret: "theirs", Roles: k.rolesOf(user)}).ID
}

// SetRoles replaces the roles of a user in its project. Its application credentials are kept with their remaining roles.
func (k *Keystone) SetRoles(user string, roles ...string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.roles[user] = roles
}

func (k *Keystone) rolesOf(user string) []string {
	if roles, ok := k.roles[user]; ok {
		return roles
	}
	return []string{role}
}

// Remove removes all application credentials of a user, as the deletion of one of its roles does.
func (k *Keystone) Remove(user string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	maps.DeleteFunc(k.credentials, func(_ string, c Credential) bool { return c.UserID == "id-"+user })
}

// SetDown makes every request fail.
func (k *Keystone) SetDown(down bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.down = down
}

// Refuse makes requests with a method fail with 403 and a message; "" resets it.
func (k *Keystone) Refuse(method, message string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.refuse[method] = message
}

func (k *Keystone) add(user string, c Credential) Credential {
	k.createdCount++
	c.ID, c.UserID = fmt.Sprintf("%032x", k.createdCount), "id-"+user
	k.credentials[c.ID] = c
	return c
}

// RoundTrip serves a request without a network.
func (k *Keystone) RoundTrip(r *http.Request) (*http.Response, error) {
	return Answer(r, k.ServeHTTP)
}

// Answer returns the response of a fake service to a request, without a network.
func Answer(r *http.Request, serve http.HandlerFunc) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	serve(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

// ServeHTTP serves a request.
func (k *Keystone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.down {
		fail(w, http.StatusServiceUnavailable, "Service Unavailable")
		return
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/v3/"), "/")
	if r.Method == http.MethodPost && slices.Equal(path, []string{"auth", "tokens"}) {
		k.login(w, r)
		return
	}
	if r.URL.Path == "/v3" || r.URL.Path == "/v3/" {
		Write(w, http.StatusOK, map[string]any{"version": map[string]any{"id": "v3.14", "status": "stable"}})
		return
	}
	t, ok := k.tokens[r.Header.Get("X-Auth-Token")]
	if !ok {
		unauthorized(w)
		return
	}
	if message := k.refuse[r.Method]; message != "" {
		fail(w, http.StatusForbidden, message)
		return
	}
	if t.user == administrator && t.project && (path[0] != "users" || len(path) == 2) {
		k.administer(w, r, path)
		return
	}
	if len(path) < 3 || path[0] != "users" || path[1] != "id-"+t.user {
		fail(w, http.StatusForbidden, "You are not authorized to perform the requested action.")
		return
	}
	switch {
	case path[2] == "password" && len(path) == 3 && r.Method == http.MethodPost:
		k.changePassword(w, r, t)
	case path[2] == "application_credentials":
		k.applicationCredentials(w, r, t, path[3:])
	default:
		fail(w, http.StatusNotFound, "Not Found")
	}
}

func (k *Keystone) login(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Auth struct {
			Identity struct {
				Methods  []string `json:"methods"`
				Password struct {
					User struct {
						Name, Password string
						Domain         struct{ Name, ID string }
					} `json:"user"`
				} `json:"password"`
				Credential struct{ ID, Secret string } `json:"application_credential"`
			} `json:"identity"`
			Scope *struct {
				Project *struct {
					Name   string
					Domain struct{ Name string }
				} `json:"project"`
			} `json:"scope"`
		} `json:"auth"`
	}
	if !read(w, r, &body) {
		return
	}
	if slices.Equal(body.Auth.Identity.Methods, []string{"application_credential"}) {
		k.loginByCredential(w, body.Auth.Identity.Credential.ID, body.Auth.Identity.Credential.Secret)
		return
	}
	u := body.Auth.Identity.Password.User
	password, known := k.passwords[u.Name]
	if !slices.Equal(body.Auth.Identity.Methods, []string{"password"}) || !known || u.Domain.Name != domain || k.locked(u.Name) {
		unauthorized(w)
		return
	}
	if password != u.Password {
		k.failed[u.Name]++
		unauthorized(w)
		return
	}
	k.failed[u.Name] = 0
	t := token{user: u.Name}
	in := map[string]any{"id": "default", "name": domain}
	response := map[string]any{
		"methods": []string{"password"}, "audit_ids": []string{"a"},
		"issued_at": "2026-03-02T12:00:00.000000Z", "expires_at": "2026-03-02T13:00:00.000000Z",
		"user": map[string]any{"id": "id-" + u.Name, "name": u.Name, "domain": in, "password_expires_at": nil},
	}
	if s := body.Auth.Scope; s != nil && s.Project != nil {
		home := project
		if u.Name == administrator {
			home = administrator
		}
		t.project, t.roles = true, k.rolesOf(u.Name)
		if s.Project.Name != home || s.Project.Domain.Name != domain || len(t.roles) == 0 {
			unauthorized(w)
			return
		}
		response["project"] = map[string]any{"id": "project-id", "name": project, "domain": in}
		response["roles"] = references(t.roles)
		response["catalog"] = k.catalog()
	}
	k.issue(w, t, response)
}

func (k *Keystone) loginByCredential(w http.ResponseWriter, id, secret string) {
	c, ok := k.credentials[id]
	if !ok || c.Secret != secret {
		unauthorized(w)
		return
	}
	user := strings.TrimPrefix(c.UserID, "id-")
	roles := slices.DeleteFunc(slices.Clone(c.Roles), func(role string) bool { return !slices.Contains(k.rolesOf(user), role) })
	if len(roles) == 0 {
		unauthorized(w)
		return
	}
	k.issue(w, token{user: user, project: true, roles: roles}, map[string]any{
		"methods": []string{"application_credential"}, "audit_ids": []string{"a"},
		"issued_at": "2026-03-02T12:00:00.000000Z", "expires_at": "2026-03-02T13:00:00.000000Z",
		"user":  map[string]any{"id": c.UserID, "name": user, "domain": map[string]any{"id": "default", "name": domain}},
		"roles": references(roles), "catalog": k.catalog(),
		"project": map[string]any{"id": "project-id", "name": project, "domain": map[string]any{"id": "default", "name": domain}},
	})
}

func (k *Keystone) issue(w http.ResponseWriter, t token, response map[string]any) {
	id := fmt.Sprintf("token-%d", len(k.tokens))
	k.tokens[id] = t
	w.Header().Set("X-Subject-Token", id)
	Write(w, http.StatusCreated, map[string]any{"token": response})
}

func (k *Keystone) changePassword(w http.ResponseWriter, r *http.Request, t token) {
	var body struct {
		User struct {
			Original string `json:"original_password"`
			Password string `json:"password"`
		} `json:"user"`
	}
	switch {
	case !read(w, r, &body):
	case body.User.Original != k.passwords[t.user]:
		unauthorized(w)
	case body.User.Password == "" || body.User.Password == body.User.Original:
		fail(w, http.StatusBadRequest, "The new password must be another one than "+body.User.Password)
	default:
		k.passwords[t.user] = body.User.Password
		// Tokens that were issued for the old password are revoked.
		maps.DeleteFunc(k.tokens, func(_ string, o token) bool { return o.user == t.user })
		w.WriteHeader(http.StatusNoContent)
	}
}

func (k *Keystone) applicationCredentials(w http.ResponseWriter, r *http.Request, t token, path []string) {
	switch {
	case r.Method == http.MethodGet && len(path) == 0:
		list := []any{}
		for _, id := range slices.Sorted(maps.Keys(k.credentials)) {
			if c := k.credentials[id]; c.UserID == "id-"+t.user {
				list = append(list, c.json(false))
			}
		}
		links := map[string]any{"self": r.URL.String(), "next": nil, "previous": nil}
		Write(w, http.StatusOK, map[string]any{"application_credentials": list, "links": links})
	case r.Method == http.MethodPost && len(path) == 0:
		k.create(w, r, t)
	case r.Method == http.MethodDelete && len(path) == 1:
		if c, ok := k.credentials[path[0]]; !ok || c.UserID != "id-"+t.user {
			fail(w, http.StatusNotFound, "Could not find Application Credential: "+path[0]+".")
			return
		}
		delete(k.credentials, path[0])
		w.WriteHeader(http.StatusNoContent)
	default:
		fail(w, http.StatusNotFound, "Not Found")
	}
}

func (k *Keystone) create(w http.ResponseWriter, r *http.Request, t token) {
	var body struct {
		C struct {
			Name, Description, Secret string
			Unrestricted              bool
			Roles                     []struct{ Name string }
		} `json:"application_credential"`
	}
	if !read(w, r, &body) {
		return
	}
	roles := []string{}
	for _, r := range body.C.Roles {
		roles = append(roles, r.Name)
	}
	if len(roles) == 0 {
		roles = t.roles
	}
	used := func(c Credential) bool { return c.UserID == "id-"+t.user && c.Name == body.C.Name }
	switch {
	case body.C.Name == "" || len(body.C.Name) > 255 || body.C.Secret == "" || len(body.C.Secret) > 255:
		fail(w, http.StatusBadRequest, fmt.Sprintf("Invalid input for field 'secret': %q", body.C.Secret))
	case !t.project:
		fail(w, http.StatusBadRequest, "Could not find Project: None.")
	case slices.ContainsFunc(roles, func(role string) bool { return !slices.Contains(t.roles, role) }):
		fail(w, http.StatusBadRequest, "Invalid application credential: Cannot create an application credential with unassigned role")
	case slices.ContainsFunc(slices.Collect(maps.Values(k.credentials)), used):
		fail(w, http.StatusConflict, fmt.Sprintf(
			"Conflict occurred attempting to store application_credential - Duplicate entry found with name %s.", body.C.Name))
	default:
		created := k.add(t.user, Credential{Name: body.C.Name, Description: body.C.Description, Secret: body.C.Secret, Roles: roles})
		Write(w, http.StatusCreated, map[string]any{"application_credential": created.json(true)})
	}
}

func (c Credential) json(secret bool) map[string]any {
	out := map[string]any{
		"id": c.ID, "name": c.Name, "description": c.Description, "user_id": c.UserID, "project_id": "project-id", "system": nil,
		"roles": references(c.Roles), "expires_at": nil, "unrestricted": false,
		"links": map[string]any{"self": "https://keystone/v3/users/" + c.UserID + "/application_credentials/" + c.ID},
	}
	if secret {
		out["secret"] = c.Secret
	}
	return out
}

func references(roles []string) []any {
	out := []any{}
	for _, name := range roles {
		out = append(out, map[string]any{"id": name + "-id", "name": name, "domain_id": nil})
	}
	return out
}

func read(w http.ResponseWriter, r *http.Request, into any) bool {
	if json.NewDecoder(r.Body).Decode(into) != nil {
		fail(w, http.StatusBadRequest, "Expecting to find valid JSON in the request.")
		return false
	}
	return true
}

// Fail writes an error in the format of Nova, Neutron and Cinder: below its name.
func Fail(w http.ResponseWriter, code int, name, message string) {
	Write(w, code, map[string]any{name: map[string]any{"code": code, "message": message}})
}

// Write writes a response whose body consists of maps, lists, strings and numbers.
func Write(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // The body can always be encoded.
}

func unauthorized(w http.ResponseWriter) {
	fail(w, http.StatusUnauthorized, "The request you have made requires authentication.")
}

func fail(w http.ResponseWriter, code int, message string) {
	Write(w, code, map[string]any{"error": map[string]any{"code": code, "message": message, "title": http.StatusText(code)}})
}
