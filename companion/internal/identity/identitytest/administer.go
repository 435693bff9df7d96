package identitytest

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AssignedRoles returns the paths of all role assignments: projects/ID/users/ID/roles/ID, system/groups/ID/roles/ID and so
// on.
func (k *Keystone) AssignedRoles() []string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return slices.Sorted(maps.Keys(k.assignments))
}

// AssignRole assigns a role as another administrator does.
func (k *Keystone) AssignRole(path string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.assignments[path] = true
}

// UnassignRole removes a role as another administrator does.
func (k *Keystone) UnassignRole(path string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	delete(k.assignments, path)
}

// SetRegion creates an endpoint with the ID, or sets its region; "" for none.
func (k *Keystone) SetRegion(endpoint, region string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.regions[endpoint] = region
}

// Region returns the region of an endpoint.
func (k *Keystone) Region(endpoint string) string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.regions[endpoint]
}

// SetEndpoint adds the internal endpoint of another service to the catalog, in region RegionOne.
func (k *Keystone) SetEndpoint(kind, url string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.services[kind] = url
}

// Issued reports whether a token was issued by this Keystone.
func (k *Keystone) Issued(id string) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	_, ok := k.tokens[id]
	return ok
}

func (k *Keystone) catalog() []any {
	out := []any{}
	for _, kind := range slices.Sorted(maps.Keys(k.services)) {
		out = append(out, map[string]any{"id": kind + "-id", "type": kind, "name": kind, "endpoints": []any{map[string]any{
			"id": kind + "-internal", "interface": "internal", "region": "RegionOne", "region_id": "RegionOne", "url": k.services[kind],
		}}})
	}
	return out
}

// administer serves requests of an administrator.
func (k *Keystone) administer(w http.ResponseWriter, r *http.Request, path []string) {
	switch {
	case len(path) >= 5 && path[len(path)-2] == "roles":
		k.assignment(w, r, strings.Join(path, "/"))
	case len(path) == 2 && path[0] == "endpoints":
		k.endpoint(w, r, path[1])
	case len(path) == 2 && path[0] == "users":
		k.user(w, r, path[1])
	default:
		fail(w, http.StatusNotFound, "Not Found")
	}
}

// SetLockoutAttempts locks users out permanently after the given number of failed logins ([security_compliance]
// lockout_failure_attempts).
func (k *Keystone) SetLockoutAttempts(failures int) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.limit = failures
}

// Fail counts a login with a wrong password.
func (k *Keystone) Fail(user string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.failed[user]++
}

// Options returns the options of a user.
func (k *Keystone) Options(user string) map[string]any {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return maps.Clone(k.options[user])
}

// Disable disables a user, or enables it again.
func (k *Keystone) Disable(user string, disabled bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.disabled[user] = disabled
}

// SetOption sets an option of a user as another administrator does.
func (k *Keystone) SetOption(user, option string, value any) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.option(user, option, value)
}

func (k *Keystone) option(user, option string, value any) {
	if k.options[user] == nil {
		k.options[user] = map[string]any{}
	}
	k.options[user][option] = value
}

// locked reports whether a user is locked out: its correct password is rejected like a wrong one, without counting.
func (k *Keystone) locked(user string) bool {
	return k.limit > 0 && k.failed[user] >= k.limit && k.options[user]["ignore_lockout_failure_attempts"] != true
}

// user serves an administrator's requests for a user. Only options can be changed, individually.
func (k *Keystone) user(w http.ResponseWriter, r *http.Request, id string) {
	name := strings.TrimPrefix(id, "id-")
	if _, ok := k.passwords[name]; !ok || name == id {
		fail(w, http.StatusNotFound, "Could not find user: "+id+".")
		return
	}
	if r.Method == http.MethodPatch {
		var body struct {
			User struct {
				Options map[string]any `json:"options"`
			} `json:"user"`
		}
		if !read(w, r, &body) {
			return
		}
		for option, value := range body.User.Options {
			k.option(name, option, value)
		}
	}
	options := k.options[name]
	if options == nil {
		options = map[string]any{}
	}
	Write(w, http.StatusOK, map[string]any{"user": map[string]any{
		"id": id, "name": name, "domain_id": "default", "enabled": !k.disabled[name], "password_expires_at": nil, "options": options,
		"links": map[string]any{"self": "https://keystone/v3/users/" + id},
	}})
}

func (k *Keystone) assignment(w http.ResponseWriter, r *http.Request, path string) {
	switch {
	case r.Method == http.MethodPut:
		k.assignments[path] = true
	case !k.assignments[path]:
		fail(w, http.StatusNotFound, "Could not find role assignment.")
		return
	case r.Method == http.MethodDelete:
		delete(k.assignments, path)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (k *Keystone) endpoint(w http.ResponseWriter, r *http.Request, id string) {
	var body struct {
		Endpoint struct{ Region string } `json:"endpoint"`
	}
	region, ok := k.regions[id]
	switch {
	case !ok:
		fail(w, http.StatusNotFound, "Could not find endpoint: "+id+".")
		return
	case r.Method == http.MethodPatch:
		if !read(w, r, &body) {
			return
		}
		region = body.Endpoint.Region
		k.regions[id] = region
	}
	response := map[string]any{"id": id, "interface": "public", "url": "https://glance.example.com", "service_id": "service-id",
		"enabled": true}
	response["region"], response["region_id"] = nil, nil
	if region != "" {
		response["region"], response["region_id"] = region, region
	}
	Write(w, http.StatusOK, map[string]any{"endpoint": response})
}

// Clouds returns the Secret of an administrator, with a cloud named admin.
func Clouds(namespace, name, password string) *corev1.Secret {
	text := `clouds:
  admin:
    auth:
      auth_url: https://keystone.cloud.svc:5000/v3
      username: admin
      password: "` + password + `"
      project_name: admin
      user_domain_name: Default
      project_domain_name: Default
`
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"clouds.yaml": []byte(text)},
	}
}
