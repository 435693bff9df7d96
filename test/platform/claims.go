package platform

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/internal/readiness"
)

// Order creates a claim, and its namespace if it does not exist. The error is the API server's if it rejects the claim.
func (p *Platform) Order(ctx context.Context, claim *unstructured.Unstructured) error {
	if err := p.apply(ctx, namespaceObject(claim.GetNamespace())); err != nil {
		return err
	}
	return p.apply(ctx, claim.DeepCopy())
}

// WaitReady waits until the current generation of a claim is ready. The error lists the components that it waits for.
func (p *Platform) WaitReady(ctx context.Context, claim *unstructured.Unstructured) error {
	name := client.ObjectKeyFromObject(claim)
	return p.processes.Wait(ctx, "Ready of "+nameOf(claim), func(ctx context.Context) (bool, error) {
		u, err := p.Get(ctx, claim.GroupVersionKind(), name)
		if err != nil || u == nil {
			return false, err
		}
		c, ok := ConditionOf(u, "Ready")
		if ok && c.Status == "True" && c.ObservedGeneration == u.GetGeneration() {
			return true, nil
		}
		return false, fmt.Errorf("its conditions are\n%s", describe(u))
	})
}

// describe returns a line for each condition that is not true.
func describe(u *unstructured.Unstructured) string {
	var out strings.Builder
	for _, c := range Conditions(u) {
		if c.Status != "True" {
			fmt.Fprintf(&out, "  %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	return out.String()
}

// Composed returns the objects in a namespace of the kinds that are composed. Kinds that cannot be listed are skipped.
func (c *Cluster) Composed(ctx context.Context, namespace string) []unstructured.Unstructured {
	var out []unstructured.Unstructured
	for _, kind := range readiness.Rules.Kinds() {
		m, err := c.Client.RESTMapper().RESTMapping(kind)
		if err != nil || m.Scope.Name() != "namespace" {
			continue
		}
		all, err := c.List(ctx, m.GroupVersionKind, namespace)
		if err != nil {
			continue
		}
		out = append(out, all...)
	}
	return out
}

// Err returns an error when a process of the platform has ended unexpectedly, with the end of its log.
func (p *Platform) Err() error { return p.processes.Failed() }
