package databasesync

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

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
