package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
)

// FindCloud reads the cloud that an object references. If the Secret is incomplete, reason is set; an error is from the API
// server.
func FindCloud(
	ctx context.Context, reader client.Reader, namespace string, ref common.CloudCredentialsReference,
) (c Cloud, reason string, err error) {
	key := client.ObjectKey{Namespace: namespace, Name: string(ref.SecretName)}
	s, err := apireader.Get(ctx, reader, "Secret", key, &corev1.Secret{})
	switch {
	case err != nil:
		return c, "", err
	case s == nil:
		return c, fmt.Sprintf("spec.cloudCredentialsRef: Secret %s does not exist", ref.SecretName), nil
	}
	if c, err = ReadCloud(s.Data, ref.CloudName); err != nil {
		return c, fmt.Sprintf("spec.cloudCredentialsRef: Secret %s: %s", ref.SecretName, err), nil
	}
	return c, "", nil
}

// FindService logs in with the credentials that an object references, and looks up a service in the catalog by its type. If
// that fails, reason is set; an error is from the API server.
func (t Transport) FindService(
	ctx context.Context, reader client.Reader, namespace string, ref common.CloudCredentialsReference, service string,
) (user *User, api *gophercloud.ServiceClient, reason string, err error) {
	cloud, reason, err := FindCloud(ctx, reader, namespace, ref)
	if err != nil || reason != "" {
		return nil, nil, reason, err
	}
	user, err = t.Login(ctx, cloud)
	if err != nil {
		return nil, nil, err.Error(), nil //nolint:nilerr // Returned as reason.
	}
	api, err = user.Service(service)
	if err != nil {
		return nil, nil, err.Error(), nil //nolint:nilerr // Returned as reason.
	}
	return user, api, "", nil
}

// APIVersion returns the version of Keystone's API, such as v3.14.
func (u *User) APIVersion(ctx context.Context) (string, error) {
	var body struct {
		Version struct {
			ID string `json:"id"`
		} `json:"version"`
	}
	//nolint:bodyclose // The decoder closes it.
	_, err := u.service.Get(ctx, u.service.Endpoint, &body, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	if err != nil {
		return "", explain("get the version of Keystone's API", err)
	}
	if body.Version.ID == "" {
		return "", errors.New("cannot get the version of Keystone's API: the response has none")
	}
	return body.Version.ID, nil
}

// HasRole reports whether a role is assigned, by IDs.
func (u *User) HasRole(ctx context.Context, a openstackv1.RoleAssignmentIDs) (bool, error) {
	err := roles.Validate(ctx, u.service, a.RoleID, roles.ValidateOpts(optionsOf(a))).Err
	switch {
	case err == nil:
		return true, nil
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return false, nil
	}
	return false, explain("check the role assignment", err)
}

// Assign assigns a role.
func (u *User) Assign(ctx context.Context, a openstackv1.RoleAssignmentIDs) error {
	if err := roles.Assign(ctx, u.service, a.RoleID, optionsOf(a)).Err; err != nil {
		return explain("assign the role", err)
	}
	return nil
}

// RemoveRole removes a role assignment. A missing assignment, user or role is not an error.
func (u *User) RemoveRole(ctx context.Context, a openstackv1.RoleAssignmentIDs) error {
	err := roles.Unassign(ctx, u.service, a.RoleID, roles.UnassignOpts(optionsOf(a))).Err
	if err == nil || gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return explain("remove the role", err)
}

func optionsOf(a openstackv1.RoleAssignmentIDs) roles.AssignOpts {
	return roles.AssignOpts{UserID: a.UserID, GroupID: a.GroupID, ProjectID: a.ProjectID, DomainID: a.DomainID, System: a.System != ""}
}

// EndpointRegion returns the region of an endpoint; "" if it has none.
func (u *User) EndpointRegion(ctx context.Context, id string) (string, error) {
	e, err := endpoints.Get(ctx, u.service, id).Extract()
	if err != nil {
		return "", explain("get endpoint "+id, err)
	}
	return e.Region, nil
}

// SetEndpointRegion sets the region of an endpoint. Keystone creates the region if it does not exist.
func (u *User) SetEndpointRegion(ctx context.Context, id, region string) error {
	if err := endpoints.Update(ctx, u.service, id, endpoints.UpdateOpts{Region: region}).Err; err != nil {
		return explain("set the region of endpoint "+id+" to "+region, err)
	}
	return nil
}

// userOptionsExempt are the options that exempt a service user from rules for people: lockout after failed logins, which
// anyone who knows its name can cause, passwords that expire or must be changed at the first login, and inactivity, which ends
// only with a login by password: an application credential does not count
// (https://docs.openstack.org/keystone/latest/admin/resource-options.html#user-options). keystone-manage bootstrap sets none
// of them. Rules for multi-factor authentication are not changed.
var userOptionsExempt = []users.Option{
	users.IgnoreLockoutFailureAttempts, users.IgnoreChangePasswordUponFirstUse, users.IgnorePasswordExpiry, "ignore_user_inactivity",
}

// ID returns the Keystone ID of the user.
func (u *User) ID() string { return u.id }

// Exempt exempts a service user from lockout, inactivity, password expiry and the password change at the first login. It
// reports whether a change was necessary.
func (u *User) Exempt(ctx context.Context, id string) (changed bool, err error) {
	_, lacking, err := u.lackingOptions(ctx, id)
	if err != nil || len(lacking) == 0 {
		return false, err
	}
	// Other options are not changed.
	if err := users.Update(ctx, u.service, id, users.UpdateOpts{Options: lacking}).Err; err != nil {
		return false, explain("exempt user "+id+" from lockout and password expiry", err)
	}
	return true, nil
}

// Exemption reports whether a user has the options that Exempt sets, and whether the user is enabled. A user that the rule about
// inactivity disables must not be updated: Keystone would disable it permanently, also without the rule
// (keystone.identity.backends.sql_model.User.enabled).
func (u *User) Exemption(ctx context.Context, id string) (exempt, enabled bool, err error) {
	user, lacking, err := u.lackingOptions(ctx, id)
	if err != nil {
		return false, false, err
	}
	return len(lacking) == 0, user.Enabled, nil
}

// lackingOptions returns a user, and the options that it needs to be exempt and does not have.
func (u *User) lackingOptions(ctx context.Context, id string) (*users.User, map[users.Option]any, error) {
	user, err := users.Get(ctx, u.service, id).Extract()
	if err != nil {
		return nil, nil, explain("get user "+id, err)
	}
	lacking := map[users.Option]any{}
	for _, o := range userOptionsExempt {
		if user.Options[string(o)] != true {
			lacking[o] = true
		}
	}
	return user, lacking, nil
}
