package databasesync

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/consumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// consumersOf reads the workloads that use the database.
func consumersOf(ctx context.Context, reader client.Reader, sync *openstackv1.DatabaseSync) ([]consumer.Workload, error) {
	out := make([]consumer.Workload, len(sync.Spec.Consumers))
	for i, ref := range sync.Spec.Consumers {
		var err error
		key := client.ObjectKey{Namespace: sync.Namespace, Name: string(ref.Name)}
		if out[i], err = consumer.Observe(ctx, reader, ref.Kind, key); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// first is the first thing that a workload waits for: no words if none does.
func first(consumers []consumer.Workload, waits func(consumer.Workload) string) string {
	for _, c := range consumers {
		if why := waits(c); why != "" {
			return why
		}
	}
	return ""
}

// missing returns the references that do not exist. Only metadata is read.
func missing(ctx context.Context, reader client.Reader, namespace string, refs []rights.Reference) ([]string, error) {
	var out []string
	for _, r := range refs {
		o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: r.Kind}}
		o, err := live.Get(ctx, reader, r.Kind, client.ObjectKey{Namespace: namespace, Name: r.Name}, o)
		if err != nil {
			return nil, err
		}
		if o == nil {
			out = append(out, r.Kind+" "+r.Name)
		}
	}
	return out, nil
}

// output reads the last lines that a container has written.
func output(pods corev1client.PodsGetter) func(ctx context.Context, pod *corev1.Pod, container string) (string, error) {
	const lines, limit = 50, 1 << 20
	return func(ctx context.Context, pod *corev1.Pod, container string) (string, error) {
		stream, err := pods.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
			Container: container, TailLines: new(int64(lines)),
		}).Stream(ctx)
		if err != nil {
			return "", fmt.Errorf("cannot open the log of container %s: %w", container, err)
		}
		defer func() { _ = stream.Close() }()
		text, err := io.ReadAll(io.LimitReader(stream, limit))
		if err != nil {
			return "", fmt.Errorf("cannot read the log of container %s: %w", container, err)
		}
		return string(text), nil
	}
}
