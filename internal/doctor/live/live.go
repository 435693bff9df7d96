// Package live reads the objects of a cluster with the rights of the user's kubeconfig.
package live

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client" //nolint:depguard // the command line reads a cluster; functions do not import this package
	"sigs.k8s.io/controller-runtime/pkg/log"    //nolint:depguard // see above

	"github.com/c5c3/crossplane-cobaltcore/internal/doctor"
)

// Reader reads objects of a cluster.
type Reader struct {
	client client.Reader
	now    func() time.Time
}

// Options select the cluster like the flags of kubectl. Empty fields have kubectl's defaults.
type Options struct {
	Kubeconfig, Context, Namespace string
	// Alternative is the flag that reads files in place of a cluster.
	Alternative string
	// Now returns the time.
	Now func() time.Time
}

// kubeconfigRemedy is the remedy if no cluster is configured.
const kubeconfigRemedy = "set KUBECONFIG or --kubeconfig, or read files with "

// Connect returns a reader for a cluster, and the namespace of the options or of the kubeconfig's context.
func Connect(o Options) (doctor.Reader, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	overrides.Context.Namespace = o.Namespace
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	namespace, _, err := config.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the kubeconfig: %w; "+kubeconfigRemedy+o.Alternative, err)
	}
	rest, err := config.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("cannot read the kubeconfig: %w; "+kubeconfigRemedy+o.Alternative, err)
	}
	log.SetLogger(logr.Discard()) // Without it, the client prints a warning after 30 s.
	rest.QPS, rest.Burst = 50, 100
	rest.Timeout = doctor.RequestTimeout // The discovery of kinds has no context.
	c, err := client.New(rest, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return nil, "", fmt.Errorf("cannot connect to the cluster: %w", err)
	}
	return New(c, o.Now), namespace, nil
}

// New returns a reader that uses a client and a clock.
func New(c client.Reader, now func() time.Time) *Reader { return &Reader{c, now} }

// Now returns the time.
func (r *Reader) Now() time.Time { return r.now() }

// Get returns an object.
func (r *Reader) Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
		return nil, err
	}
	return o, nil
}

// List returns the objects of a kind. Of Events, it returns warnings.
func (r *Reader) List(ctx context.Context, kind schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	options := []client.ListOption{client.InNamespace(namespace), client.Limit(doctor.MaxItems)}
	if kind.Group == "" && kind.Kind == "Event" {
		options = append(options, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("type", "Warning")})
	}
	err := r.client.List(ctx, l, options...)
	return l.Items, err
}
