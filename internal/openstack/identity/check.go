// Package identity validates a Keystone spec beyond its schema. It is used for claims, so that the
// claim reports the errors, and for a Keystone that is created manually.
package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/workload"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/override"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/release"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/rotation"
	"github.com/c5c3/crossplane-cobaltcore/internal/openstack/service"
	"github.com/c5c3/crossplane-cobaltcore/internal/schedule"
)

// Spec returns the parts of a Keystone spec that all services have.
func Spec(s *keystonev1.KeystoneSpec) service.Spec {
	return service.Spec{ServiceSpec: &s.ServiceSpec, Workload: &s.Workload, UWSGI: &s.UWSGI}
}

// Processes returns the default number of workers of a pod.
func Processes(r *common.Resources) int32 { return service.Processes(r) }

// Check returns all errors in a spec for a release, as joined invalid.Spec errors. The defaults of the spec must be set.
// base is the path of the spec.
func Check(base string, r release.Release, s *keystonev1.KeystoneSpec) error {
	return errors.Join(
		Spec(s).Check(base, keystonev1.ServiceName, r),
		checkOptions(base, r, s),
		checkKeys(base, &s.Fernet),
		checkAddresses(base, s),
		checkTransport(base, s),
	)
}

// checkOptions returns errors for options that prevent users from logging in, and for invalid options of LDAP directories.
func checkOptions(base string, r release.Release, s *keystonev1.KeystoneSpec) error {
	var errs []error
	conf, _ := override.Options(keystonev1.ServiceName, string(r), s.Overrides, base) // Spec.Check reports the error.
	if methods, ok := conf["auth"]["methods"]; ok {
		errs = append(errs, checkMethods(base, s.Federation != nil, methods))
	}
	errs = append(errs, checkPasswords(base, conf))
	for i, b := range s.IdentityBackends {
		_, err := override.Directory(string(r), b.LDAP.Options, s.AllowUnknown, fmt.Sprintf("%s.identityBackends[%d].ldap", base, i))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// methods are the authentication methods that the cloud requires.
var methods = []struct {
	name, why  string
	federation bool
}{
	{"password", "the administrator and the services log in by it", false},
	{"application_credential", "K-ORC logs in by it", false},
	{"token", "who has logged in at a provider chooses a project by it", true},
	{"openid", "who logs in at a provider does so by it", true},
	{"mapped", "who logs in at a provider does so by it", true},
}

// checkMethods returns an error for a list of methods without a required one.
func checkMethods(base string, federation bool, value any) error {
	var provided []string
	switch v := value.(type) {
	case []string:
		provided = v
	case string:
		for item := range strings.SplitSeq(v, ",") {
			provided = append(provided, strings.TrimSpace(item))
		}
	}
	var errs []error
	for _, m := range methods {
		if (federation || !m.federation) && !slices.Contains(provided, m.name) {
			errs = append(errs, invalid.Field(base+".config.auth.methods", "%s is missing: %s; add it", m.name, m.why))
		}
	}
	return errors.Join(errs...)
}

// checkKeys returns the errors that the companion would report: fewer keys than tokens require, or more than a repository
// can have.
func checkKeys(base string, f *keystonev1.Fernet) error {
	rotates, err := schedule.Parse(string(f.RotationSchedule))
	if err != nil {
		return nil //nolint:nilerr // reported by package syntax
	}
	need := rotation.NeededKeys(
		time.Duration(f.TokenExpirationSeconds)*time.Second, time.Duration(*f.AllowExpiredWindowSeconds)*time.Second, rotates)
	switch n := f.MaxActiveKeys; {
	case need.Keys > rotation.MaxKeys:
		return invalid.Field(base+".fernet.rotationSchedule",
			"a repository has %d keys at most, and %s; rotate less often, or let tokens expire earlier", rotation.MaxKeys, need.Reason)
	case n != nil && int(*n) < need.Keys:
		return invalid.Field(base+".fernet.maxActiveKeys",
			"%d keys are not enough: %s; set it to %d or more, or remove it", *n, need.Reason, need.Keys)
	}
	return nil
}

// checkTransport returns an error for directories to which passwords would be sent unencrypted, and for TLS settings that
// Keystone does not accept together (keystone.identity.backends.ldap.common).
func checkTransport(base string, s *keystonev1.KeystoneSpec) error {
	var errs []error
	for i, b := range s.IdentityBackends {
		field, start := fmt.Sprintf("%s.identityBackends[%d].ldap", base, i), startsTLS(b.LDAP.Options)
		switch encrypted := strings.HasPrefix(b.LDAP.URL, "ldaps://"); {
		case encrypted && start:
			errs = append(errs, invalid.Field(field+".options", "use_tls cannot be set with an address that begins with ldaps://: the "+
				"connection is "+
				"encrypted already; remove use_tls"))
		case encrypted, start, b.LDAP.AllowUnencrypted, b.LDAP.URL == "":
		default:
			errs = append(errs, invalid.Field(field+".url", "must begin with ldaps://: passwords of users would go there in the clear; change "+
				"it, set "+
				"options to {use_tls: true}, or set allowUnencrypted to true"))
		}
	}
	return errors.Join(errs...)
}

// startsTLS reports whether options enable StartTLS.
func startsTLS(options common.Options) bool {
	var text any
	if err := json.Unmarshal(options["use_tls"].Raw, &text); err != nil {
		return false // It is not set, or the registry reports invalid JSON.
	}
	start, err := strconv.ParseBool(fmt.Sprint(text))
	return err == nil && start
}

// checkAddresses returns an error for a URL with an invalid port, for which no network policy can be created.
func checkAddresses(base string, s *keystonev1.KeystoneSpec) error {
	var errs []error
	check := func(field, address string) {
		if address == "" {
			return // The schema reports missing required fields.
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
