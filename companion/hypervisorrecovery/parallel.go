package hypervisorrecovery

import (
	"sync"
	"sync/atomic"
)

// parallelReads is the number of devices that are read at the same time. A pool of 100 nodes with the default limit has at most 34 failed
// ones.
const parallelReads = 32

// parallelRequests is the number of requests that are sent to Nova at the same time.
const parallelRequests = 8

// inParallel executes the tasks, at most limit of them at the same time, and starts them in their order.
func inParallel(limit int, tasks []func()) {
	var next atomic.Int64
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= len(tasks) {
				return
			}
			tasks[i]()
		}
	}
	var group sync.WaitGroup
	for range min(max(limit, 1), len(tasks)) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
}
