package claim

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
	"github.com/c5c3/crossplane-cobaltcore/internal/tenant/limit"
)

// checkForms returns an error for each value that matches the schema and that the program that reads it rejects or ignores.
func (c *Claim) checkForms() error {
	var errs []error
	limit.Walk("spec", &c.Spec, func(field string, value any) {
		if v := reflect.ValueOf(value); v.Kind() == reflect.String {
			errs = append(errs, checkForm(field, v.String()))
		}
	})
	return errors.Join(errs...)
}

func checkForm(field, text string) error {
	switch {
	case strings.HasSuffix(field, ".s3.bucket"):
		return checkBucket(field, text)
	case strings.Contains(field, ".dnsServers["):
		return checkResolver(field, text)
	case strings.HasSuffix(field, ".nfs.mountOptions"):
		return checkMountOptions(field, text)
	case strings.HasSuffix(field, ".ldap.suffix"), strings.HasSuffix(field, ".ldap.userTreeDN"), strings.HasSuffix(field, ".ldap.groupTreeDN"):
		return checkDN(field, text)
	}
	return nil
}

// checkBucket returns an error for a bucket name that object stores reject.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
func checkBucket(field, name string) error {
	if _, err := netip.ParseAddr(name); err == nil {
		return invalid.Field(field, "%s has the form of an IP address, which object stores reject as a name; set another name", name)
	}
	if strings.Contains(name, "..") || strings.Contains(name, ".-") || strings.Contains(name, "-.") {
		return invalid.Field(field, "%s must have a letter or digit on each side of a dot: object stores reject it; set another name", name)
	}
	return nil
}

// CheckObjectStore returns an error for settings of an object store that exclude each other.
func CheckObjectStore(field, endpoint, form, bucket string, authority bool) error {
	var errs []error
	if authority && strings.HasPrefix(endpoint, "http://") {
		errs = append(errs, invalid.Field(field+".caSecretRef", "requires an endpoint with https://: %s has no certificate; set https, or "+
			"remove caSecretRef", endpoint))
	}
	if form == "virtual" {
		a, _ := limit.ReadAddress(endpoint)
		if _, err := netip.ParseAddr(a.Host); err == nil {
			errs = append(errs, invalid.Field(field+".urlFormat", "virtual puts the bucket before a host name, and the endpoint %s is an IP "+
				"address; set path, or a host name", endpoint))
		}
		if strings.Contains(bucket, ".") && strings.HasPrefix(endpoint, "https://") {
			errs = append(errs, invalid.Field(field+".urlFormat", "virtual makes %s.%s of the bucket, which no wildcard certificate matches; "+
				"set path, or a bucket without dots", bucket, a.Host))
		}
	}
	return errors.Join(errs...)
}

// checkResolver returns an error for a DNS server that servers cannot reach: a loopback address is their own.
func checkResolver(field, text string) error {
	ip, err := netip.ParseAddr(text)
	if err != nil || !ip.IsLoopback() && !ip.IsUnspecified() && !ip.IsMulticast() && !ip.IsLinkLocalUnicast() {
		return nil //nolint:nilerr // The schema reports it.
	}
	return invalid.Field(field, "%s is not usable as a DNS server: it is a loopback, link-local, multicast or unspecified address; set an "+
		"address that servers can reach", text)
}

// versions lists the versions of NFS that Linux can mount.
var versions = []string{"3", "4", "4.0", "4.1", "4.2"}

// mountOptions are the options of NFS mounts that a claim can set (https://man7.org/linux/man-pages/man5/nfs.5.html). They change how a
// node uses a share, and neither which server or port it connects to, nor which mounts it has.
var mountOptions = strings.Fields(`vers nfsvers minorversion proto nconnect max_connect trunkdiscovery notrunkdiscovery
	rsize wsize timeo retrans retry hard soft softerr softreval nosoftreval intr nointr
	ac noac actimeo acregmin acregmax acdirmin acdirmax lookupcache cto nocto sharecache nosharecache rdirplus nordirplus
	lock nolock local_lock resvport noresvport sec xprtsec
	rw nosuid nodev noexec atime noatime diratime nodiratime relatime norelatime`)

// checkMountOptions returns an error for options by which a node does not mount a share, mounts another one, or mounts it so that no volume
// can be created.
func checkMountOptions(field, options string) error {
	for o := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(o, "=")
		switch {
		case name == "":
			return invalid.Field(field, "%q has an empty option; write options with one comma between them, such as vers=4.1,hard", options)
		case o == "ro":
			return invalid.Field(field, "ro mounts shares read-only, and volumes are created in them; remove it")
		case !slices.Contains(mountOptions, name):
			return invalid.Field(field, "option %s cannot be set, because it is not in the list of options that only change how a node uses a "+
				"share: %s; remove it", name, strings.Join(mountOptions, ", "))
		case (name == "vers" || name == "nfsvers") && !slices.Contains(versions, value):
			return invalid.Field(field, "NFS version %s does not exist; set one of %s", value, strings.Join(versions, ", "))
		}
	}
	return nil
}

// checkDN returns an error for text that is not a distinguished name: LDAP servers reject every search below it with invalidDNSyntax
// (https://www.rfc-editor.org/rfc/rfc4514#section-3).
func checkDN(field, text string) error {
	for part := range strings.SplitSeq(strings.ReplaceAll(text, `\,`, ""), ",") {
		if key, _, ok := strings.Cut(part, "="); !ok || strings.TrimSpace(key) == "" {
			return invalid.Field(field, "%q is not a distinguished name: %q must be <attribute>=<value>; "+
				"write one such as ou=users,dc=example,dc=com", text, strings.TrimSpace(part))
		}
	}
	return nil
}
