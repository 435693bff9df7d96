package storage

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	storagev1 "github.com/c5c3/crossplane-cobaltcore/apis/storage/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/engine/compose"
	"github.com/c5c3/crossplane-cobaltcore/internal/kube/rook"
)

// A service of OpenStack has a Ceph user, which may write to pools of some purposes and read pools of others.
type service struct {
	name         storagev1.Service
	write, read  []storagev1.Purpose
	managerWrite []storagev1.Purpose
}

// services lists the OpenStack services. A user is created if a pool exists that it writes to. Cinder and Nova clone images, and each
// other's disks; a user with read access to images only cannot delete a clone. The mon profile lets a client blocklist another one that
// died with a lock; without that, the image stays locked.
// https://docs.ceph.com/en/latest/rbd/rbd-openstack/#setup-ceph-client-authentication
var services = []service{
	{storagev1.ServiceGlance, of(storagev1.PurposeImages), nil, of(storagev1.PurposeImages)},
	{
		storagev1.ServiceCinder, of(storagev1.PurposeVolumes, storagev1.PurposeVMs), of(storagev1.PurposeImages),
		of(storagev1.PurposeVolumes, storagev1.PurposeVMs),
	},
	{storagev1.ServiceCinderBackup, of(storagev1.PurposeBackups), nil, of(storagev1.PurposeBackups)},
	{
		storagev1.ServiceNova, of(storagev1.PurposeVolumes, storagev1.PurposeVMs), of(storagev1.PurposeImages),
		of(storagev1.PurposeVMs),
	},
}

func of(p ...storagev1.Purpose) []storagev1.Purpose { return p }

// caps returns the capabilities of the service's user in the pools of a consumer, by kind of daemon. Nil: no pool exists that it writes to.
func (s service) caps(pools []pool) map[string]string {
	profiles := func(profile string, purposes []storagev1.Purpose) (out []string) {
		for _, purpose := range purposes {
			for _, p := range pools {
				if p.Purpose == purpose {
					out = append(out, "profile "+profile+" pool="+p.name)
				}
			}
		}
		return out
	}
	write := profiles("rbd", s.write)
	if len(write) == 0 {
		return nil
	}
	out := map[string]string{
		"mon": "profile rbd", "osd": strings.Join(append(write, profiles("rbd-read-only", s.read)...), ", "),
	}
	if manage := profiles("rbd", s.managerWrite); len(manage) > 0 {
		out["mgr"] = strings.Join(manage, ", ")
	}
	return out
}

// user is a Ceph user of a consumer.
type user struct {
	storagev1.ClientAccess
	caps map[string]string
}

// usersOf returns the users of a consumer.
func (m *model) usersOf(c *consumer) []user {
	var pools []pool
	for _, i := range c.pools {
		pools = append(pools, m.pools[i])
	}
	if m.isExternal() {
		return m.externalUsers()
	}
	var out []user
	for _, s := range services {
		if caps := s.caps(pools); caps != nil {
			name := c.prefixed(string(s.name))
			out = append(out, user{caps: caps, ClientAccess: storagev1.ClientAccess{
				Service: s.name, User: name, SecretName: rook.SecretName(name), SecretUUID: uuid(m.instance, name),
			}})
		}
	}
	return out
}

// uuid returns a UUID derived from the names of the cluster and the user (RFC 9562, version 8). It is deterministic.
func uuid(instance, user string) string {
	h := sha256.Sum256([]byte(instance + "/" + user))
	b := h[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (m *model) createsUsers() bool {
	return m.runsCeph() && slices.ContainsFunc(m.consumers, func(c consumer) bool { return len(m.usersOf(&c)) > 0 })
}

// users are created after the pools, because their capabilities name pools.
func users(m *model) ([]compose.Stage, error) {
	var stage compose.Stage
	for i := range m.consumers {
		for _, u := range m.usersOf(&m.consumers[i]) {
			stage = append(stage, compose.Resource{Name: userPrefix + u.User, Retain: true, Object: rook.Client(m.meta(u.User), u.caps)})
		}
	}
	return []compose.Stage{stage}, nil
}
