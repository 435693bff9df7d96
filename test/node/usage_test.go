//go:build node && linux

package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// usage logs the memory of a control plane, by component, as reported by the kubelet, and of the platform, by pod and
// by process.
func usage(ctx context.Context, t *testing.T, namespace string) {
	t.Helper()
	nodes := &corev1.NodeList{}
	if err := cluster.Client.List(ctx, nodes); err != nil || len(nodes.Items) == 0 {
		t.Fatalf("there is no node: %v", err)
	}
	set, err := kubernetes.NewForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	data, err := set.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes", nodes.Items[0].Name, "proxy/stats/summary").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var summary struct {
		Pods []struct {
			PodRef struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"podRef"`
			Containers []struct {
				Memory struct {
					RSSBytes        int64 `json:"rssBytes"`
					WorkingSetBytes int64 `json:"workingSetBytes"`
				} `json:"memory"`
			} `json:"containers"`
		} `json:"pods"`
	}
	if err := json.Unmarshal(data, &summary); err != nil {
		t.Fatal(err)
	}
	all := map[string]*memory{}
	for _, p := range summary.Pods {
		name := p.PodRef.Namespace + "/" + component(p.PodRef.Name)
		if p.PodRef.Namespace == namespace {
			name = "claim/" + component(p.PodRef.Name)
		} else if strings.HasPrefix(p.PodRef.Namespace, "tenant-") {
			continue // another claim's
		}
		m := all[name]
		if m == nil {
			m = &memory{}
			all[name] = m
		}
		m.count++
		for _, c := range p.Containers {
			m.resident += c.Memory.RSSBytes
			m.working += c.Memory.WorkingSetBytes
		}
	}
	for name, m := range processes(t) {
		all["process/"+name] = m
	}
	const mebibyte = 1 << 20
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		fmt.Fprintf(&out, "  %-60s %2d × %5d MiB resident, %5d MiB working set in all\n",
			name, m.count, m.resident/int64(m.count)/mebibyte, m.working/mebibyte)
	}
	t.Logf("memory:\n%s", out.String())
}

// memory is the memory of some pods or processes.
type memory struct {
	count             int
	resident, working int64
}

var suffixes = regexp.MustCompile(`(-[0-9a-f]{8,10}-[a-z0-9]{5}|-[a-z0-9]{5}|-[0-9]+)$`)

// component returns a pod's name without the suffix of its ReplicaSet, Job or StatefulSet.
func component(pod string) string {
	return strings.TrimSuffix(suffixes.ReplaceAllString(pod, ""), "-server")
}

// processes returns the programs of a node outside of pods.
func processes(t *testing.T) map[string]*memory {
	t.Helper()
	desired := []string{"etcd", "kube-apiserver", "kube-controller", "kube-scheduler", "kubelet", "kube-proxy", "containerd", "containerd-shim"}
	out := map[string]*memory{}
	paths, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		text := string(data)
		var name string
		var resident int64
		if _, err := fmt.Sscanf(text, "Name:\t%s", &name); err != nil || !slices.Contains(desired, name) {
			continue
		}
		_, after, _ := strings.Cut(text, "VmRSS:")
		if _, err := fmt.Sscanf(after, "%d kB", &resident); err != nil {
			continue
		}
		if out[name] == nil {
			out[name] = &memory{}
		}
		out[name].count++
		out[name].resident += resident << 10
		out[name].working += resident << 10
	}
	return out
}
