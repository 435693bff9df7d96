package batchjob

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// Missing returns the references that do not exist. Only metadata is read.
func Missing(ctx context.Context, reader client.Reader, namespace string, refs []rights.Reference) ([]string, error) {
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

// Output returns a function that reads the given number of last lines of a container's log.
func Output(pods corev1client.PodsGetter, lines int64) func(ctx context.Context, pod *corev1.Pod, container string) (string, error) {
	const limit = 1 << 20
	return func(ctx context.Context, pod *corev1.Pod, container string) (string, error) {
		stream, err := pods.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
			Container: container, TailLines: new(lines),
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
