package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
)

// Assignment is a role of a user or a group in a project, in a domain or on the system, by IDs.
type Assignment struct {
	RoleID, UserID, GroupID, ProjectID, DomainID string
	System                                       bool
}

// An Administrator is logged in, and changes what there is in Keystone. Every call may be repeated. Every error is a sentence with what
// Keystone answered.
type Administrator interface {
	// APIVersion is what Keystone calls its API: v3.14.
	APIVersion(ctx context.Context) (string, error)
	// ID is the administrator's own.
	ID() string
	// Exempt spares a user that a program logs in as lockout, the expiry of its password and its change at the first login. It reports
	// whether anything had to be changed.
	Exempt(ctx context.Context, id string) (changed bool, err error)
	// Assigned reports whether a role is given.
	Assigned(ctx context.Context, a Assignment) (bool, error)
	// Assign gives a role.
	Assign(ctx context.Context, a Assignment) error
	// Unassign takes a role away. That it is not given, or that one of the two is gone, is no error.
	Unassign(ctx context.Context, a Assignment) error
	// EndpointRegion is the region of an endpoint: empty if it has none.
	EndpointRegion(ctx context.Context, id string) (string, error)
	// SetEndpointRegion puts an endpoint into a region, which is made if it is not there.
	SetEndpointRegion(ctx context.Context, id, region string) error
}

// Administer logs in as an administrator.
func (t Transport) Administer(ctx context.Context, c Cloud) (Administrator, error) {
	u, err := open(ctx, t, c)
	if err != nil {
		return nil, err
	}
	return u, nil
}

// FindCloud reads the cloud that an object of a namespace refers to. What the Secret lacks is the problem; an error is the API server's.
func FindCloud(
	ctx context.Context, reader client.Reader, namespace string, ref c5c3v1.CloudCredentialsReference,
) (c Cloud, problem string, err error) {
	s := &corev1.Secret{}
	err = reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(ref.SecretName)}, s)
	switch {
	case apierrors.IsNotFound(err):
		return c, fmt.Sprintf("spec.cloudCredentialsRef: Secret %s does not exist", ref.SecretName), nil
	case err != nil:
		return c, "", fmt.Errorf("cannot read Secret %s: %w", ref.SecretName, err)
	}
	if c, err = ReadCloud(s.Data, ref.CloudName); err != nil {
		return c, fmt.Sprintf("spec.cloudCredentialsRef: Secret %s: %s", ref.SecretName, err), nil
	}
	return c, "", nil
}

func (u *user) APIVersion(ctx context.Context) (string, error) {
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

func (u *user) Assigned(ctx context.Context, a Assignment) (bool, error) {
	err := roles.Validate(ctx, u.service, a.RoleID, roles.ValidateOpts(a.options())).Err
	switch {
	case err == nil:
		return true, nil
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return false, nil
	}
	return false, explain("look whether the role is given", err)
}

func (u *user) Assign(ctx context.Context, a Assignment) error {
	if err := roles.Assign(ctx, u.service, a.RoleID, a.options()).Err; err != nil {
		return explain("give the role", err)
	}
	return nil
}

func (u *user) Unassign(ctx context.Context, a Assignment) error {
	err := roles.Unassign(ctx, u.service, a.RoleID, roles.UnassignOpts(a.options())).Err
	if err == nil || gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return explain("take the role away", err)
}

func (a Assignment) options() roles.AssignOpts {
	return roles.AssignOpts{UserID: a.UserID, GroupID: a.GroupID, ProjectID: a.ProjectID, DomainID: a.DomainID, System: a.System}
}

func (u *user) EndpointRegion(ctx context.Context, id string) (string, error) {
	e, err := endpoints.Get(ctx, u.service, id).Extract()
	if err != nil {
		return "", explain("look at endpoint "+id, err)
	}
	return e.Region, nil
}

func (u *user) SetEndpointRegion(ctx context.Context, id, region string) error {
	if err := endpoints.Update(ctx, u.service, id, endpoints.UpdateOpts{Region: region}).Err; err != nil {
		return explain("put endpoint "+id+" into region "+region, err)
	}
	return nil
}
