package cluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// environment returns the environment of a container: the address of the API server, the image's variables, then the container's, in
// which $(NAME) refers to an earlier one and $$ is a dollar sign
// (https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/).
//
// The pod's status contains its runtime fields.
func environment(ctx context.Context, api client.Reader, pod *corev1.Pod, container *corev1.Container, image []string) ([]string, error) {
	known := map[string]string{}
	out := append([]string{"KUBERNETES_SERVICE_HOST=" + APIHost, "KUBERNETES_SERVICE_PORT=443"}, image...)
	for _, e := range container.Env {
		value := expand(e.Value, known)
		if from := e.ValueFrom; from != nil {
			var err error
			if value, err = lookUp(ctx, api, pod, from); err != nil {
				return nil, fmt.Errorf("cannot set %s of pod %s: %w", e.Name, pod.Name, err)
			}
		}
		known[e.Name] = value
		out = append(out, e.Name+"="+value)
	}
	return out, nil
}

func lookUp(ctx context.Context, api client.Reader, pod *corev1.Pod, from *corev1.EnvVarSource) (string, error) {
	switch {
	case from.SecretKeyRef != nil:
		s := &corev1.Secret{}
		if err := api.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: from.SecretKeyRef.Name}, s); err != nil {
			return "", err
		}
		value, ok := s.Data[from.SecretKeyRef.Key]
		if !ok {
			return "", fmt.Errorf("secret %s has no key %s", s.Name, from.SecretKeyRef.Key)
		}
		return string(value), nil
	case from.FieldRef != nil:
		if value, ok := field(pod, from.FieldRef.FieldPath); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("a value from %v is not supported by the fake cluster", from)
}

// field returns a field of a pod that its containers can read.
// https://kubernetes.io/docs/concepts/workloads/pods/downward-api/#available-fields
func field(pod *corev1.Pod, path string) (string, bool) {
	for prefix, from := range map[string]map[string]string{"metadata.labels['": pod.Labels, "metadata.annotations['": pod.Annotations} {
		if key, ok := strings.CutPrefix(path, prefix); ok {
			return from[strings.TrimSuffix(key, "']")], true
		}
	}
	value, ok := map[string]string{
		"metadata.namespace": pod.Namespace, "metadata.name": pod.Name, "metadata.uid": string(pod.UID),
		"spec.nodeName": pod.Spec.NodeName, "spec.serviceAccountName": pod.Spec.ServiceAccountName,
		"status.podIP": pod.Status.PodIP, "status.podIPs": pod.Status.PodIP,
		"status.hostIP": pod.Status.HostIP, "status.hostIPs": pod.Status.HostIP,
	}[path]
	return value, ok
}

// expand replaces $(NAME) by a known variable and $$ by $. Unknown variables are unchanged.
func expand(text string, known map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case strings.HasPrefix(rest, "$$"):
			b.WriteByte('$')
			i++
		case strings.HasPrefix(rest, "$("):
			name, _, closed := strings.Cut(rest[2:], ")")
			value, ok := known[name]
			if !closed || !ok {
				b.WriteByte('$')
				continue
			}
			b.WriteString(value)
			i += len(name) + 2
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
