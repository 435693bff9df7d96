package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/platform"
)

func readClaim(path string) (*unstructured.Unstructured, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	objects, err := platform.Decode(data)
	if err == nil && len(objects) != 1 {
		err = errNotOne
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return objects[0], nil
}

// component is an entry of the claim's status.components.
type component struct{ name, phase, ready, message string }

// order applies the claim and prints the progress of each component, until the claim is ready.
func order(ctx context.Context, p *platform.Platform, claim *unstructured.Unstructured, out io.Writer) error {
	name := types.NamespacedName{Namespace: claim.GetNamespace(), Name: claim.GetName()}
	if err := p.Order(ctx, claim); err != nil {
		return err
	}
	start, shown := time.Now(), map[string]string{}
	fmt.Fprintf(out, "\n%s %s is ordered:\n", claim.GetKind(), name)
	for {
		u, err := p.Get(ctx, claim.GroupVersionKind(), name)
		if err != nil {
			return err
		}
		for _, c := range components(u) {
			line := fmt.Sprintf("%-22s  %-8s  %5s  %s", c.name, c.phase, c.ready, shorten(c.message))
			if shown[c.name] != line {
				shown[c.name] = line
				fmt.Fprintf(out, "%5.1f s  %s\n", time.Since(start).Seconds(), strings.TrimSpace(line))
			}
		}
		if u != nil {
			if ready, _ := platform.ConditionOf(u, "Ready"); ready.Status == "True" {
				fmt.Fprintf(out, "%5.1f s  The claim is ready.\n", time.Since(start).Seconds())
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the claim is not ready: %w\n%s", context.Cause(ctx), strings.Join(conditions(u), "\n"))
		case <-time.After(200 * time.Millisecond):
		}
		if err := p.Err(); err != nil {
			return err
		}
	}
}

// shorten cuts a message to the length of a line.
func shorten(s string) string {
	const longest = 100
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return s
}

func components(u *unstructured.Unstructured) []component {
	if u == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "components")
	var out []component
	for _, entry := range list {
		m, _ := entry.(map[string]any)
		field := func(name string) string {
			s, _ := m[name].(string)
			return s
		}
		out = append(out, component{name: field("name"), phase: field("phase"), ready: field("ready"), message: field("message")})
	}
	return out
}

func conditions(u *unstructured.Unstructured) []string {
	if u == nil {
		return nil
	}
	var out []string
	for _, c := range platform.Conditions(u) {
		out = append(out, fmt.Sprintf("  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return out
}

// next prints the existing objects, and commands to try.
func next(ctx context.Context, p *platform.Platform, claim *unstructured.Unstructured, out io.Writer) {
	u, err := p.Get(ctx, claim.GroupVersionKind(), client.ObjectKeyFromObject(claim))
	if err != nil || u == nil {
		return
	}
	instance, _, _ := unstructured.NestedString(u.Object, "status", "instance")
	fmt.Fprintf(out, "\nIts objects are in the namespace %s:\n", instance)
	for _, line := range tree(ctx, p, instance) {
		fmt.Fprintln(out, "  "+line)
	}
	endpoints, _, _ := unstructured.NestedSlice(u.Object, "status", "endpoints")
	fmt.Fprintln(out, "\nEndpoints:")
	for _, e := range endpoints {
		m, _ := e.(map[string]any)
		fmt.Fprintf(out, "  %v  %v\n", m["service"], m["public"])
	}
	resource := strings.ToLower(claim.GetKind())
	fmt.Fprintf(out, `
Crossplane, its provider, the function and the companion are real; databases, queues and pods are fakes. In another terminal:

  export KUBECONFIG=%s PATH=%s:$PATH
  kubectl get %s,keystones,keyrepositories,databasesyncs -A
  kubectl get %s %s -n %s -o yaml
  kubectl get events -n %s
  kubectl edit %s %s -n %s          # for example, an unknown option of Keystone: the claim reports it
  kubectl delete %s %s -n %s        # retains the data; a new claim with the same name adopts it

Logs are in %s. Ctrl-C here, or make demo-down in another terminal, stops all of it.
`, p.Kubeconfig, filepath.Join(p.Dir, "bin"), resource, resource, claim.GetName(), claim.GetNamespace(), claim.GetNamespace(),
		resource, claim.GetName(), claim.GetNamespace(), resource, claim.GetName(), claim.GetNamespace(), filepath.Join(p.Dir, "logs"))
}

// tree returns a line for each kind of object in a namespace.
func tree(ctx context.Context, p *platform.Platform, namespace string) []string {
	names := map[string][]string{}
	for _, o := range p.Composed(ctx, namespace) {
		names[o.GetKind()] = append(names[o.GetKind()], o.GetName())
	}
	var out []string
	for kind, all := range names {
		slices.Sort(all)
		out = append(out, fmt.Sprintf("%-20s %s", kind, strings.Join(all, " ")))
	}
	slices.Sort(out)
	return out
}
