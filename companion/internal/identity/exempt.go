package identity

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
)

// exemptions are the options by which a user that a program logs in as is spared what is meant for people: being locked out by the failed
// logins of anybody who knows its name, and passwords that expire or have to be changed at the first login
// (https://docs.openstack.org/keystone/latest/admin/resource-options.html#user-options). keystone-manage bootstrap sets none of them. Rules
// for several factors are left as they are.
var exemptions = []users.Option{
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
	for _, o := range exemptions {
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
