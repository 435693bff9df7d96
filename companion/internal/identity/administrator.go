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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
)

// FindCloud reads the cloud that an object of a namespace refers to. What the Secret lacks is the problem; an error is the API server's.
func FindCloud(
	ctx context.Context, reader client.Reader, namespace string, ref common.CloudCredentialsReference,
) (c Cloud, reason string, err error) {
	key := client.ObjectKey{Namespace: namespace, Name: string(ref.SecretName)}
	s, err := live.Get(ctx, reader, "Secret", key, &corev1.Secret{})
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

// FindService logs in as an object of a namespace says, and finds a service in the catalog by its type. What keeps it from that is the
// problem; an error is the API server's.
func (t Transport) FindService(
	ctx context.Context, reader client.Reader, namespace string, ref common.CloudCredentialsReference, service string,
) (user *User, api *gophercloud.ServiceClient, reason string, err error) {
	cloud, reason, err := FindCloud(ctx, reader, namespace, ref)
	if err != nil || reason != "" {
		return nil, nil, reason, err
	}
	user, err = t.Login(ctx, cloud)
	if err != nil {
		return nil, nil, err.Error(), nil //nolint:nilerr // That is the problem.
	}
	api, err = user.Service(service)
	if err != nil {
		return nil, nil, err.Error(), nil //nolint:nilerr // That is the problem.
	}
	return user, api, "", nil
}

// APIVersion is what Keystone calls its API: v3.14.
func (u *User) APIVersion(ctx context.Context) (string, error) {
	var body struct {
		Version struct {
			ID string `json:"id"`
		} `json:"version"`
	}
	//nolint:bodyclose // Who decodes it closes it.
	_, err := u.service.Get(ctx, u.service.Endpoint, &body, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	if err != nil {
		return "", explain("ask for the version of the API", err)
	}
	if body.Version.ID == "" {
		return "", errors.New("cannot ask for the version of the API: Keystone's answer names none")
	}
	return body.Version.ID, nil
}

// HasRole reports whether a role is given, by IDs.
func (u *User) HasRole(ctx context.Context, a openstackv1.RoleAssignmentIDs) (bool, error) {
	err := roles.Validate(ctx, u.service, a.RoleID, roles.ValidateOpts(optionsOf(a))).Err
	switch {
	case err == nil:
		return true, nil
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return false, nil
	}
	return false, explain("look whether the role is given", err)
}

// Assign gives a role.
func (u *User) Assign(ctx context.Context, a openstackv1.RoleAssignmentIDs) error {
	if err := roles.Assign(ctx, u.service, a.RoleID, optionsOf(a)).Err; err != nil {
		return explain("give the role", err)
	}
	return nil
}

// RemoveRole takes a role away. That it is not given, or that one of the two is gone, is no error.
func (u *User) RemoveRole(ctx context.Context, a openstackv1.RoleAssignmentIDs) error {
	err := roles.Unassign(ctx, u.service, a.RoleID, roles.UnassignOpts(optionsOf(a))).Err
	if err == nil || gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return explain("take the role away", err)
}

func optionsOf(a openstackv1.RoleAssignmentIDs) roles.AssignOpts {
	return roles.AssignOpts{UserID: a.UserID, GroupID: a.GroupID, ProjectID: a.ProjectID, DomainID: a.DomainID, System: a.System != ""}
}

// EndpointRegion is the region of an endpoint: empty if it has none.
func (u *User) EndpointRegion(ctx context.Context, id string) (string, error) {
	e, err := endpoints.Get(ctx, u.service, id).Extract()
	if err != nil {
		return "", explain("look at endpoint "+id, err)
	}
	return e.Region, nil
}

// SetEndpointRegion puts an endpoint into a region, which is made if it is not there.
func (u *User) SetEndpointRegion(ctx context.Context, id, region string) error {
	if err := endpoints.Update(ctx, u.service, id, endpoints.UpdateOpts{Region: region}).Err; err != nil {
		return explain("put endpoint "+id+" into region "+region, err)
	}
	return nil
}

// userOptionsExempt are the options by which a user that a program logs in as is spared what is meant for people: being locked out by the failed
// logins of anybody who knows its name, and passwords that expire or have to be changed at the first login
// (https://docs.openstack.org/keystone/latest/admin/resource-options.html#user-options). keystone-manage bootstrap sets none of them. Rules
// for several factors are left as they are.
var userOptionsExempt = []users.Option{
	users.IgnoreLockoutFailureAttempts, users.IgnoreChangePasswordUponFirstUse, users.IgnorePasswordExpiry,
}

// ID of the user in Keystone.
func (u *User) ID() string { return u.id }

// Exempt spares a user that a program logs in as lockout, the expiry of its password and its change at the first login. It reports
// whether anything had to be changed.
func (u *User) Exempt(ctx context.Context, id string) (changed bool, err error) {
	is, err := users.Get(ctx, u.service, id).Extract()
	if err != nil {
		return false, explain("look at user "+id, err)
	}
	lacking := map[users.Option]any{}
	for _, o := range userOptionsExempt {
		if is.Options[string(o)] != true {
			lacking[o] = true
		}
	}
	if len(lacking) == 0 {
		return false, nil
	}
	// Options that are not named stay as they are.
	if err := users.Update(ctx, u.service, id, users.UpdateOpts{Options: lacking}).Err; err != nil {
		return false, explain("exempt user "+id+" from lockout and password expiry", err)
	}
	return true, nil
}
