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

// pools is how much of a member's memory is for pages, in MiB. What is left is for connections, for the write sets of Galera and for a
// backup, which grow more slowly than the data: the larger the member, the larger the share.
var pools = []struct{ memory, pool int64 }{{0, 0}, {1 << 10, 256}, {2 << 10, 1 << 10}, {8 << 10, 5 << 10}, {32 << 10, 22 << 10}}

// BufferPool is the memory for pages of a member with so much memory (in bytes): a straight line between the members that are known, and on
// beyond the largest.
func BufferPool(memory int64) string {
	// The server rounds up to as much (innodb_buffer_pool_chunk_size), which is more than there is.
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

// size writes MiB as the server's configuration takes them.
func size(mib int64) string {
	if mib%1024 == 0 {
		return fmt.Sprintf("%dG", mib/1024)
	}
	return fmt.Sprintf("%dM", mib)
}

// Memory is what a member may use, or else what is set aside for it. It is 0 if nothing says.
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

// Connections is how many there may be: as many as are wanted, but not more than there is memory for outside the pool. An idle one of
// OpenStack's takes about 256 KiB (thread stack, session and TLS).
func Connections(desired, memory int64) int64 {
	const each, least = 256 << 10, 100
	if memory == 0 {
		return desired
	}
	return max(least, min(desired, memory/each))
}

// GaleraCache is how much of what was written a member keeps on its volume of such a size (in bytes): a hundredth, from Galera's own
// 128 MiB to 4 GiB.
func GaleraCache(volume int64) string {
	const least, most, share = 128, 4 << 10, 100
	return size(min(most, max(least, volume/mebibyte/share)))
}

// Threads is how many apply what other members wrote, of a member with so many cores (in thousandths): two for a core, as Galera's
// documentation has it, and no fewer.
func Threads(r *common.Resources) int64 {
	const milli, perCore, most = 1000, 2, 16
	if r == nil || r.Requests == nil || r.Requests.CPU == nil {
		return perCore
	}
	cores := (r.Requests.CPU.MilliValue() + milli - 1) / milli
	return min(most, perCore*max(1, cores))
}

// BackupTimeout is how long a backup of a volume of such a size (in bytes) may take: an hour for what goes before and after it, and one for
// each 32 GiB, which is what a core compresses and uploads where all is slow.
func BackupTimeout(volume int64) time.Duration {
	const perHour = 32 * gibibyte
	return time.Hour * time.Duration(1+(volume+perHour-1)/perHour)
}
