package identity

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	keystonev1 "github.com/c5c3/crossplane-cobaltcore/apis/keystone/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/internal/invalid"
)

// Two workers that have loaded Keystone have 211 MiB on a real node (docs/performance.md): with less than least for each, the kernel ends
// one before it has answered. With comfortable, there is room for what requests need.
const (
	least       = 128 << 20
	comfortable = 256 << 20
)

// Processes is how many workers a pod gets by default: as many as its memory holds comfortably, as far as it is guaranteed. Two of them
// wait for the database in turns; beyond eight, further pods are worth more.
func Processes(r *common.Resources) int32 {
	const fewest, most = 1, 8
	memory := amount(r, func(r *common.Resources) *common.ResourceAmounts { return r.Requests })
	if memory == nil {
		memory = amount(r, func(r *common.Resources) *common.ResourceAmounts { return r.Limits })
	}
	if memory == nil {
		return defaultProcesses
	}
	return int32(min(max(memory.Value()/comfortable, fewest), most)) //nolint:gosec // bounded in the line itself
}

func amount(r *common.Resources, of func(*common.Resources) *common.ResourceAmounts) *resource.Quantity {
	if r == nil || of(r) == nil {
		return nil
	}
	return of(r).Memory
}

// checkMemory refuses a limit that ends the workers as they start.
func checkMemory(base string, s *keystonev1.KeystoneSpec) error {
	limit := amount(s.Resources, func(r *common.Resources) *common.ResourceAmounts { return r.Limits })
	need := int64(s.UWSGI.Processes) * least
	if limit == nil || limit.Value() >= need {
		return nil
	}
	return invalid.Field(base+".resources.limits.memory",
		"%s cannot hold %d uWSGI processes, each of which needs %s; give %s or more, or lower uwsgi.processes",
		limit, s.UWSGI.Processes, bytes(least), bytes(need))
}

func bytes(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }

// Defaults of a spec apply to a Keystone that is made by hand; a control plane names them all.
const (
	defaultProcesses = 2
	defaultThreads   = 1
	defaultHarakiri  = 60
	defaultTokens    = 3600
	// defaultWindow is Keystone's own default of [token] allow_expired_window.
	defaultWindow = 172800
	// defaultInterval and the others, in days, are those of a CredentialRotation.
	defaultInterval    = 90
	defaultPreRotation = 7
	defaultGrace       = 1
)

// SetDefaults repeats the defaults of the schema, for callers that do not go through an API server, and adds those that no schema has.
func SetDefaults(s *keystonev1.KeystoneSpec) {
	s.Bootstrap.AdminUser = cmp.Or(s.Bootstrap.AdminUser, keystonev1.DefaultAdminUser)
	s.Database.Port = cmp.Or(s.Database.Port, keystonev1.DatabasePort)
	s.Fernet.RotationSchedule = cmp.Or(s.Fernet.RotationSchedule, "0 0 * * 0")
	s.Fernet.TokenExpirationSeconds = cmp.Or(s.Fernet.TokenExpirationSeconds, defaultTokens)
	s.Fernet.AllowExpiredWindowSeconds = new(ptr.Deref(s.Fernet.AllowExpiredWindowSeconds, defaultWindow))
	s.CredentialKeys.RotationSchedule = cmp.Or(s.CredentialKeys.RotationSchedule, "0 0 1 * *")
	s.TrustFlush.Schedule = cmp.Or(s.TrustFlush.Schedule, "0 * * * *")
	s.UWSGI.Processes = cmp.Or(s.UWSGI.Processes, Processes(s.Resources))
	s.UWSGI.Threads = cmp.Or(s.UWSGI.Threads, defaultThreads)
	s.UWSGI.HarakiriSeconds = cmp.Or(s.UWSGI.HarakiriSeconds, defaultHarakiri)
	s.KORCCredential.IntervalDays = cmp.Or(s.KORCCredential.IntervalDays, defaultInterval)
	s.KORCCredential.PreRotationDays = new(ptr.Deref(s.KORCCredential.PreRotationDays, defaultPreRotation))
	s.KORCCredential.GracePeriodDays = new(ptr.Deref(s.KORCCredential.GracePeriodDays, defaultGrace))
}
