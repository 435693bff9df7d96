package process

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Wait polls until the condition is true. Its error contains the condition and the last obstacle; it returns early if a
// process of the group has ended.
func (ps *Group) Wait(ctx context.Context, description string, done func(context.Context) (bool, error)) error {
	const pause = 100 * time.Millisecond
	for {
		ok, err := done(ctx)
		if ok {
			return nil
		}
		if failed := ps.Failed(); failed != nil {
			return fmt.Errorf("cannot wait for %s: %w", description, failed)
		}
		select {
		case <-ctx.Done():
			if err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				err = context.Cause(ctx)
			}
			return fmt.Errorf("%s did not come in time: %w", description, err)
		case <-time.After(pause):
		}
	}
}
