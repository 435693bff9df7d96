//go:build openstack && linux

package harness

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/cluster"
)

// Must returns the result of a step.
func Must[T any](t *testing.T) func(T, error) T {
	return func(out T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// Created returns the result of create.
func Created[T any](t *testing.T, create func() (*T, error)) *T {
	t.Helper()
	out, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Apply creates or updates an object from YAML.
func Apply(t *testing.T, c *cluster.Cluster, text string, o client.Object) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(context.Background(), o); err != nil {
		t.Fatal(err)
	}
}

// WaitFor waits up to a minute until a condition holds.
func WaitFor(t *testing.T, c *cluster.Cluster, label string, holds func() bool) {
	t.Helper()
	err := c.Wait(context.Background(), time.Minute, label, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatal(err)
	}
}
