//go:build node && linux

package node_test

import (
	"context"
	"testing"
	"time"
)

// TestClusters: a claim of clusters becomes ready on one node, whose operators keep its members apart as far as there are nodes. It logs
// what it costs.
func TestClusters(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	claim := order(ctx, t, "testdata/cluster.yaml")
	namespace := instance(ctx, t, claim)
	usage(ctx, t, namespace)
	l := startLoad(ctx, t, namespace)
	time.Sleep(10 * time.Second)
	counts := l.stop()
	counts.lossless(t, "Galera")
	t.Run("Restricted", func(t *testing.T) { testRestricted(ctx, t, namespace) })
	t.Run("Delete", func(t *testing.T) { testDelete(ctx, t, claim, namespace) })
}
