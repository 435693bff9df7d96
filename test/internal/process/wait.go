package process

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Wait asks until the answer is yes. Its error says what was waited for and what stood in the way last; it does not go on when a process
// of the group has ended.
func (ps *Group) Wait(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	const pause = 100 * time.Millisecond
	for {
		ok, err := done(ctx)
		if ok {
			return nil
		}
		if failed := ps.Failed(); failed != nil {
			return fmt.Errorf("cannot wait for %s: %w", what, failed)
		}
		select {
		case <-ctx.Done():
			if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("%s did not come in time: %w", what, err)
		case <-time.After(pause):
		}
	}
}
