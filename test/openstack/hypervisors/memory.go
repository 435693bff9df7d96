//go:build openstack && linux

package hypervisors

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/openstack/harness"
)

// Logs returns the last log lines of the pods of a component of the pool.
func (m *Machines) Logs(t *testing.T, component string) string {
	t.Helper()
	const most = 6000
	var out strings.Builder
	for _, p := range m.Pods(t, component) {
		for _, c := range p.Spec.Containers {
			text, err := m.Cloud.Cluster.Output(context.Background(), &p, c.Name)
			fmt.Fprintf(&out, "%s %s (%v):\n%s\n", p.Name, c.Name, err, text[max(0, len(text)-most):])
		}
	}
	return out.String()
}

// Pods returns the pods of a component of the pool.
func (m *Machines) Pods(t *testing.T, component string) []corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	if err := m.Cloud.Cluster.Client.List(context.Background(), pods, client.InNamespace(m.Cloud.Pool().Namespace),
		client.MatchingLabels{harness.ComponentLabel: component}); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// Memory logs the memory of processes of this machine, by name, the largest first: the proportional set size.
func (m *Machines) Memory(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/smaps_rollup")
	if err != nil {
		t.Fatal(err)
	}
	type use struct {
		name       string
		kib, count int
	}
	of, sum := map[string]*use{}, 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		args, e := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err != nil || e != nil || len(args) == 0 {
			continue // it has ended, or is the kernel's
		}
		name := program(strings.Split(string(args), "\x00"))
		if of[name] == nil {
			of[name] = &use{name: name}
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Pss:" {
				kib, _ := strconv.Atoi(fields[1])
				of[name].kib, sum = of[name].kib+kib, sum+kib
			}
		}
		of[name].count++
	}
	all := make([]*use, 0, len(of))
	for _, u := range of {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b *use) int { return b.kib - a.kib })
	var out strings.Builder
	for _, u := range all[:min(len(all), 40)] {
		fmt.Fprintf(&out, "%s %d MiB (%d), ", u.name, u.kib>>10, u.count)
	}
	t.Logf("%.2f GiB: %s", float64(sum)/(1<<20), out.String())
}

// program returns the name of a command: for an interpreter, the script that it runs.
func program(args []string) string {
	name := filepath.Base(args[0])
	if strings.HasPrefix(name, "python") || name == "sh" {
		for _, a := range args[1:] {
			if !strings.HasPrefix(a, "-") && a != "" {
				return filepath.Base(a)
			}
		}
	}
	return name
}
