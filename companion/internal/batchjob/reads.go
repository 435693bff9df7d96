package batchjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	rights "github.com/c5c3/crossplane-cobaltcore/internal/kube/c5c3"
)

// Missing returns the references that do not exist. Only metadata is read.
func Missing(ctx context.Context, reader client.Reader, namespace string, refs []rights.Reference) ([]string, error) {
	var out []string
	for _, r := range refs {
		o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: r.Kind}}
		o, err := apireader.Get(ctx, reader, r.Kind, client.ObjectKey{Namespace: namespace, Name: r.Name}, o)
		if err != nil {
			return nil, err
		}
		if o == nil {
			out = append(out, r.Kind+" "+r.Name)
		}
	}
	return out, nil
}

// CheckUnchanged returns a conflict error if an object was changed or deleted since it was read. Call it after the object's Jobs
// were read: then a record without a Job is older than that, and a Job is older than the record with which it is released. empty
// is an empty object of the kind.
func CheckUnchanged(ctx context.Context, reader client.Reader, kind string, o, empty client.Object) error {
	now, _ := empty.DeepCopyObject().(client.Object)
	if err := client.IgnoreNotFound(reader.Get(ctx, client.ObjectKeyFromObject(o), now)); err != nil {
		return fmt.Errorf("cannot read the %s: %w", kind, err)
	}
	if now.GetResourceVersion() != o.GetResourceVersion() {
		resource := openstackv1.GroupVersion.WithResource(strings.ToLower(kind) + "s")
		return apierrors.NewConflict(resource.GroupResource(), o.GetName(), errors.New("it changed while its Jobs were read"))
	}
	return nil
}

// ReadOutput returns the output of a finished Job. ok is false if it cannot be read, which is logged: that does not prevent the
// record of the result.
func ReadOutput(ctx context.Context, env *controller.Env, res Result) (text string, ok bool) {
	if res.Pod == nil {
		return "", false
	}
	text, err := env.Output(ctx, res.Pod, res.Container)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot read the output of a Job", "pod", res.Pod.Name)
		return "", false
	}
	return text, true
}

// WithOutput sets the Env's source of output: the given number of last lines of a container's log.
func WithOutput(mgr ctrl.Manager, lines int64) func(*controller.Env) error {
	return func(env *controller.Env) error {
		logs, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
		if err != nil {
			return fmt.Errorf("cannot create a client for logs: %w", err)
		}
		env.Output = Output(logs.CoreV1(), lines)
		return nil
	}
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
