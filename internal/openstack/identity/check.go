// Package identity is what a Keystone's spec has to say beyond its schema, and what it means where it says nothing: for a claim, so that
// the claim reports it, and for a Keystone that someone makes by hand.
package identity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/rotation"
)

const service = "keystone"

// Check returns everything that is wrong with a spec in a release, as invalid.Spec errors, all of them joined. The spec has its defaults;
// base is its path.
func Check(base string, r release.Release, s *keystonev1.KeystoneSpec) error {
	return errors.Join(
		checkImage(base, r, s.Image),
		checkOverrides(base, r, s),
		checkSchedules(base, s),
		checkKeys(base, &s.Fernet),
		checkMemory(base, s),
		checkAddresses(base, s),
	)
}

// checkImage refuses the image of another release: its schema's steps would be those of the one, and its program the other's.
func checkImage(base string, r release.Release, i *common.Image) error {
	if i == nil {
		return nil
	}
	if err := release.CheckTag(service, r, i.Tag); err != nil {
		return invalid.Field(base+".image.tag", "%s", err)
	}
	return nil
}

// checkOverrides looks at options, those of directories too, and at access rules.
func checkOverrides(base string, r release.Release, s *keystonev1.KeystoneSpec) error {
	conf, err := override.Options(service, string(r), s.Overrides, base)
	_, rules := override.Rules(service, string(r), s.Overrides, base)
	errs := []error{err, rules}
	if methods, ok := conf["auth"]["methods"]; ok {
		errs = append(errs, checkMethods(base, s.Federation != nil, methods))
	}
	for i, b := range s.IdentityBackends {
		_, err := override.Directory(string(r), b.LDAP.Options, s.AllowUnknown, fmt.Sprintf("%s.identityBackends[%d].ldap", base, i))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// methods are those by which someone logs in whom the cloud does not run without.
var methods = []struct {
	name, who  string
	federation bool
}{
	{"password", "the administrator and the services log in by it", false},
	{"application_credential", "K-ORC logs in by it", false},
	{"token", "who has logged in at a provider chooses a project by it", true},
	{"openid", "who logs in at a provider does so by it", true},
	{"mapped", "who logs in at a provider does so by it", true},
}

// checkMethods refuses a list of methods that locks someone out.
func checkMethods(base string, federation bool, value any) error {
	var given []string
	switch v := value.(type) {
	case []string:
		given = v
	case string:
		for item := range strings.SplitSeq(v, ",") {
			given = append(given, strings.TrimSpace(item))
		}
	}
	var errs []error
	for _, m := range methods {
		if (federation || !m.federation) && !slices.Contains(given, m.name) {
			errs = append(errs, invalid.Field(base+".config.auth.methods", "%s is missing: %s; add it", m.name, m.who))
		}
	}
	return errors.Join(errs...)
}

// checkSchedules refuses schedules that look like one and are none, such as a minute 61, or whose day never comes: CronJobs and the
// companion would refuse them, long after the spec was accepted.
func checkSchedules(base string, s *keystonev1.KeystoneSpec) error {
	return errors.Join(
		CheckSchedule(base+".fernet.rotationSchedule", s.Fernet.RotationSchedule),
		CheckSchedule(base+".credentialKeys.rotationSchedule", s.CredentialKeys.RotationSchedule),
		CheckSchedule(base+".trustFlush.schedule", s.TrustFlush.Schedule),
	)
}

// CheckSchedule refuses a schedule in a field that no CronJob takes.
func CheckSchedule(field string, schedule common.Cron) error {
	if err := rotation.CheckSchedule(string(schedule)); err != nil {
		return invalid.Field(field, "%s; give minute, hour, day of month, month and day of week", err)
	}
	return nil
}

// checkKeys refuses what the companion would: fewer keys than tokens need, or more than a repository has.
func checkKeys(base string, f *keystonev1.Fernet) error {
	schedule, err := rotation.ParseSchedule(string(f.RotationSchedule))
	if err != nil {
		return nil //nolint:nilerr // checkSchedules says so
	}
	need := rotation.NeededKeys(
		time.Duration(f.TokenExpirationSeconds)*time.Second, time.Duration(*f.AllowExpiredWindowSeconds)*time.Second, schedule)
	switch n := f.MaxActiveKeys; {
	case need.Keys > rotation.MostKeys:
		return invalid.Field(base+".fernet.rotationSchedule",
			"a repository has %d keys at most, and %s; rotate less often, or let tokens expire earlier", rotation.MostKeys, need.Why)
	case n != nil && int(*n) < need.Keys:
		return invalid.Field(base+".fernet.maxActiveKeys",
			"with %d keys, tokens would be void that are still accepted: %s; give %d or more, or leave it out", *n, need.Why, need.Keys)
	}
	return nil
}

// checkAddresses refuses a port that there is not, to which no network policy could let pods through.
func checkAddresses(base string, s *keystonev1.KeystoneSpec) error {
	var errs []error
	check := func(field, address string) {
		if address == "" {
			return // Its schema says whether it has to be there.
		}
		if _, err := workload.PortOf(address); err != nil {
			errs = append(errs, invalid.Field(field, "%s", err))
		}
	}
	for i, b := range s.IdentityBackends {
		check(fmt.Sprintf("%s.identityBackends[%d].ldap.url", base, i), b.LDAP.URL)
	}
	if f := s.Federation; f != nil {
		check(base+".federation.metadataURL", string(f.MetadataURL))
		check(base+".federation.issuer", string(f.Issuer))
		check(base+".federation.introspectionURL", string(f.IntrospectionURL))
	}
	return errors.Join(errs...)
}
