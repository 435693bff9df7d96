package mariadb

import (
	"fmt"
	"time"

	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
)

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
)

// pools maps a member's memory to the part for pages, in MiB. The remainder is for connections, for the write sets of Galera and for a
// backup, which grow more slowly than the data: the larger the member, the larger the share.
var pools = []struct{ memory, pool int64 }{{0, 0}, {1 << 10, 256}, {2 << 10, 1 << 10}, {8 << 10, 5 << 10}, {32 << 10, 22 << 10}}

// BufferPool returns the memory for pages of a member with the given memory (in bytes). It interpolates linearly between the entries of
// pools, and extrapolates beyond the largest.
func BufferPool(memory int64) string {
	// The server rounds up to a multiple of this (innodb_buffer_pool_chunk_size), which would exceed the memory.
	const chunk = 128
	mib := memory / mebibyte
	i := 1
	for i < len(pools)-1 && mib > pools[i].memory {
		i++
	}
	from, to := pools[i-1], pools[i]
	pool := from.pool + (mib-from.memory)*(to.pool-from.pool)/(to.memory-from.memory)
	if pool > chunk {
		pool -= pool % chunk
	}
	return size(max(pool, 8))
}

// size formats MiB for the server's configuration.
func size(mib int64) string {
	if mib%1024 == 0 {
		return fmt.Sprintf("%dG", mib/1024)
	}
	return fmt.Sprintf("%dM", mib)
}

// Memory returns the memory limit of a member, or else its request. It is 0 if neither is set.
func Memory(r *common.Resources) int64 {
	if r == nil {
		return 0
	}
	for _, a := range []*common.ResourceAmounts{r.Limits, r.Requests} {
		if a != nil && a.Memory != nil {
			return a.Memory.Value()
		}
	}
	return 0
}

// Connections returns the connection limit: the desired number, but at most as many as fit into the memory outside the pool. An idle
// connection of OpenStack takes about 256 KiB (thread stack, session and TLS).
func Connections(desired, memory int64) int64 {
	const each, least = 256 << 10, 100
	if memory == 0 {
		return desired
	}
	return max(least, min(desired, memory/each))
}

// GaleraCache returns the amount of recent writes that a member keeps on a volume of the given size (in bytes): a hundredth, from
// Galera's default of 128 MiB to 4 GiB.
func GaleraCache(volume int64) string {
	const least, most, share = 128, 4 << 10, 100
	return size(min(most, max(least, volume/mebibyte/share)))
}

// Threads returns the number of threads that apply writes of other members: two for each core, as Galera's documentation recommends, at
// least 2 and at most 16.
func Threads(r *common.Resources) int64 {
	const milli, perCore, most = 1000, 2, 16
	if r == nil || r.Requests == nil || r.Requests.CPU == nil {
		return perCore
	}
	cores := (r.Requests.CPU.MilliValue() + milli - 1) / milli
	return min(most, perCore*max(1, cores))
}

// BackupTimeout returns the timeout of a backup of a volume of the given size (in bytes): one hour for preparation and completion, and
// one for each 32 GiB, the rate of one core that compresses and uploads on a slow system.
func BackupTimeout(volume int64) time.Duration {
	const perHour = 32 * gibibyte
	return time.Hour * time.Duration(1+(volume+perHour-1)/perHour)
}
