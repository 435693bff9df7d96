package wiring

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A secretReader is a program that reads the secret files of a folder.
type secretReader struct {
	// folder and program are regular expressions for the path of the mount, and for the command with its arguments.
	folder, program string
	// reason is the use of the files.
	reason string
}

// secretReaders lists the programs that read secret files. A program that is not listed for a folder must not mount it: an attacker
// in the container would have a secret that the program does not need.
var secretReaders = []secretReader{
	{`/tls$`, `^(uwsgi |apache2 |sh /etc/barbican/keys\.sh )`, "certificate and key of an API, or of the proxy in front of it"},
	{`/tls$`, `^nova-(novncproxy|spicehtml5proxy|serialproxy)`, "certificate and key of a console proxy"},
	{`^/etc/nova/vnc-client$`, `^nova-novncproxy`, "certificate and key with which a proxy connects to VNC servers"},
	{`^/etc/keystone/(fernet-keys|credential-keys)$`, `^uwsgi `, "keys of tokens and of stored credentials"},
	{`^/etc/keystone/domains$`, `^uwsgi `, "passwords of directories"},
	{`^/etc/keystone/(fernet-keys|credential-keys|domains)$`, `^DatabaseSync$`, "the upgrade check loads all back ends of Keystone"},
	{`^/etc/barbican/keys$`, `^(uwsgi |barbican-worker|sh /etc/barbican/)`, "keys that encrypt the keys of projects"},
	{`^/etc/horizon/secret-key$`, `^(uwsgi |sh )`, "key that signs sessions, which Django requires when it loads the settings"},
	{`^/etc/neutron/ovn$`, `^(uwsgi |neutron-(ovn-maintenance-worker|periodic-workers|rpc-server)|OVNSync$)`, "certificate of OVN's client"},
	{`^/etc/neutron/ovn$`, `^DatabaseSync$`, "not read: the Job mounts all files that Neutron's configuration names"},
	{`^/etc/glance/stores/`, `^uwsgi `, "logins of image stores"},
	{`^/etc/(ceph|cinder/backup-target)$`, `^cinder-(volume|backup)`, "keys of users of Ceph"},
	{`^/etc/ovn/tls$`, `^sh /etc/`, "certificate and key of a member or a client of OVN"},
	{`^/etc/(pki|libvirt)`, `^sh /etc/cobaltcore/libvirt\.sh`, "certificates and keys of live migration, and of VNC servers"},
	{`^/etc/disk-transfer$`, `^sh /etc/`, "certificate and key of the transfer of disks"},
	{`^/etc/nova/(credential|queue|storage)`, `^sh /etc/cobaltcore/nova-compute\.sh`, "logins of nova-compute"},
	{`^/keys$`, `^sleep infinity$`, "keys of users of Ceph, with which the probes of the container log in"},
	{`^/etc/keys$`, `^sh /etc/cobaltcore/volume-keys\.sh`, "keys of volumes, which it adds to libvirt"},
}

// isSecret reports whether the knowledge of a value gives access to something.
func (is valueKind) isSecret() bool {
	return !slices.Contains([]valueKind{certificate, authority, public, userName, credentialID, accessKeyID}, is)
}

// checkMounts checks that each container mounts only secret files that its program reads.
func (w *inventory) checkMounts() {
	for _, p := range w.pods {
		if p.spec == nil {
			continue
		}
		for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
			program := programOf(p, c)
			for _, m := range c.VolumeMounts {
				if secret := w.secretIn(p, m); secret != "" && !readsSecrets(m.MountPath, program) {
					w.foundf("%s: container %s mounts %s (%s), and nothing states that %q reads it.", p, c.Name, m.MountPath, secret, program)
				}
			}
		}
	}
}

// programOf returns the command of a container with its arguments. The companion sets the command of a template: it is the kind of the
// object with the template.
func programOf(p *pod, c corev1.Container) string {
	return first(strings.Join(slices.Concat(c.Command, c.Args), " "), p.of.kind)
}

// doesNotRead reports whether other programs read the secret files of a folder, and this one does not, although its configuration names
// the folder.
func doesNotRead(folder, program string) bool {
	return !readsSecrets(folder, program) && slices.ContainsFunc(secretReaders, func(r secretReader) bool {
		return regexp.MustCompile(r.folder).MatchString(folder)
	})
}

func readsSecrets(folder, program string) bool {
	return slices.ContainsFunc(secretReaders, func(r secretReader) bool {
		return regexp.MustCompile(r.folder).MatchString(folder) && regexp.MustCompile(r.program).MatchString(program)
	})
}

// secretIn returns the description of a secret value in a mount. Empty: the mount has no secret.
func (w *inventory) secretIn(p *pod, m corev1.VolumeMount) string {
	for _, s := range sourcesOf(p, m.Name) {
		if strings.HasPrefix(s.name, "configmap/") {
			continue
		}
		name := secretName{p.namespaceRef, s.name}
		keys := s.items
		if keys == nil {
			keys = map[string]string{"": ""}
			if created := w.secrets[name]; created != nil && created.keys != nil {
				keys = map[string]string{}
				for key := range created.keys {
					keys[key] = key
				}
			}
		}
		for key, at := range keys {
			v, _ := w.value(name, key)
			is := v.is
			if is == "" {
				is = means(first(at, key))
			}
			if is.isSecret() {
				return first(string(is), "an unknown value")
			}
		}
	}
	return ""
}
