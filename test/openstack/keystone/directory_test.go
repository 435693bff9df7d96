//go:build openstack && linux

package keystone

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/clouds"
)

// Entries of the directory, and the password with which Keystone reads it: with all special characters of an INI file.
const (
	directoryHost     = "ldap.example.com"
	directoryPassword = `$ecret ${x} "quoted" 'and' # not; a comment`
	directoryConfig   = `include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
TLSCertificateFile %[1]s/tls.crt
TLSCertificateKeyFile %[1]s/tls.key
database mdb
suffix dc=example,dc=com
rootdn cn=root,dc=example,dc=com
rootpw root
directory %[1]s/data
overlay memberof
access to attrs=userPassword by anonymous auth
access to * by dn.exact=cn=keystone,dc=example,dc=com read by * none
`
	directoryEntries = `dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: cn=keystone,dc=example,dc=com
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: keystone
userPassword: %s

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=com
objectClass: organizationalUnit
ou: groups

dn: cn=alice,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
cn: alice
sn: Alice
userPassword: alice-password

dn: cn=bob,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
cn: bob
sn: Bob
userPassword: bob-password

dn: cn=openstack,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: openstack
member: cn=alice,ou=people,dc=example,dc=com
`
)

// directory runs OpenLDAP with two users, of whom alice is in the group openstack. The certificate is signed by a CA
// that only the given PEM contains.
func directory(t testing.TB, c *clouds.Cloud, certPEM, keyPEM []byte) error {
	t.Helper()
	dir := t.TempDir()
	address, err := c.Cluster.Address(directoryHost)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"tls.crt": string(certPEM), "tls.key": string(keyPEM), "slapd.conf": fmt.Sprintf(directoryConfig, dir),
		"entries.ldif": fmt.Sprintf(directoryEntries, directoryPassword), "data/.keep": "",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	url := "ldaps://" + address + ":636/"
	slapd := exec.Command("/usr/sbin/slapd", "-d", "0", "-h", url, "-f", filepath.Join(dir, "slapd.conf"))
	out := &strings.Builder{}
	slapd.Stdout, slapd.Stderr = out, out
	slapd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := slapd.Start(); err != nil {
		return err
	}
	t.Cleanup(func() { _ = slapd.Process.Kill(); _ = slapd.Wait() })
	for range 50 {
		add := exec.Command("ldapadd", "-x", "-H", url, "-D", "cn=root,dc=example,dc=com", "-w", "root", "-f", filepath.Join(dir, "entries.ldif"))
		add.Env = append(os.Environ(), "LDAPTLS_REQCERT=never")
		text, e := add.CombinedOutput()
		if e == nil {
			return nil
		}
		err = fmt.Errorf("cannot fill the directory: %w: %s %s", e, text, out)
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
