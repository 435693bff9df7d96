package clustercheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	common "github.com/c5c3/crossplane-cobaltcore/apis/common/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
)

// observation is the state from which the status is computed.
type observation struct {
	check  *c5c3v1.ClusterCheck
	now    time.Time
	report common.ClusterReport
	// podSecurityErr is the reason why it is unknown whether Pod Security Admission is enabled.
	podSecurityErr error
	// err is the reason why the report is not complete.
	err error
}

// page is the number of objects of a request.
const page = 500

// maximum is the number of classes in a report, as in the schema.
const maximum = 64

func observe(ctx context.Context, env *controller.Env, c *c5c3v1.ClusterCheck) (*observation, error) {
	w := &observation{check: c, now: env.Clock.Now()}
	for _, read := range []func(context.Context, *controller.Env) error{
		w.readVersion, w.readFamily, w.readNodes, w.readStorageClasses, w.readGatewayClasses, w.readPodSecurity, w.readOperators,
	} {
		if err := read(ctx, env); err != nil {
			w.err = err // A condition reports it.
			break
		}
	}
	return w, nil
}

func (obs *observation) readVersion(ctx context.Context, env *controller.Env) error {
	v, err := env.Version(ctx)
	if err != nil {
		return fmt.Errorf("cannot read the version of the API server: %w", err)
	}
	obs.report.KubernetesVersion = v
	return nil
}

// readFamily reads the address of the API server for pods, which every cluster has.
func (obs *observation) readFamily(ctx context.Context, env *controller.Env) error {
	s := &corev1.Service{}
	if err := env.Reader.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "kubernetes"}, s); err != nil {
		return fmt.Errorf("cannot read Service kubernetes in namespace default: %w", err)
	}
	address, err := netip.ParseAddr(s.Spec.ClusterIP)
	if err != nil {
		return fmt.Errorf("cannot read the address of Service kubernetes in namespace default: %w", err)
	}
	obs.report.IPFamily = "IPv4"
	if address.Is6() {
		obs.report.IPFamily = common.IPv6
	}
	return nil
}

func (obs *observation) readNodes(ctx context.Context, env *controller.Env) error {
	found := &obs.report.Nodes
	list := &corev1.NodeList{}
	for next := true; next; next = list.Continue != "" {
		if err := env.Reader.List(ctx, list, client.Limit(page), client.Continue(list.Continue)); err != nil {
			return fmt.Errorf("cannot list the nodes: %w", err)
		}
		for _, n := range list.Items {
			found.Total++
			if isReady(&n) {
				found.Ready++
			}
			if a := n.Status.NodeInfo.Architecture; a != "" && !slices.Contains(found.Architectures, a) {
				found.Architectures = append(found.Architectures, a)
			}
		}
	}
	slices.Sort(found.Architectures)
	return nil
}

func isReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// defaultClass is the annotation of the class of volumes without a class.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

func (obs *observation) readStorageClasses(ctx context.Context, env *controller.Env) error {
	list := &storagev1.StorageClassList{}
	if err := env.Reader.List(ctx, list); err != nil {
		return fmt.Errorf("cannot list the StorageClasses: %w", err)
	}
	for _, c := range list.Items {
		obs.report.StorageClasses = append(obs.report.StorageClasses, common.StorageClassReport{
			Name: c.Name, Provisioner: c.Provisioner, Default: c.Annotations[defaultClass] == "true",
		})
	}
	slices.SortFunc(obs.report.StorageClasses, func(a, b common.StorageClassReport) int { return cmp.Compare(a.Name, b.Name) })
	obs.report.StorageClasses = first(obs.report.StorageClasses)
	return nil
}

var gatewayClasses = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GatewayClassList"}

func (obs *observation) readGatewayClasses(ctx context.Context, env *controller.Env) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gatewayClasses)
	err := env.Reader.List(ctx, list)
	switch {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err): // The cluster has no Gateway API.
		return nil
	case err != nil:
		return fmt.Errorf("cannot list the GatewayClasses: %w", err)
	}
	for _, c := range list.Items {
		obs.report.GatewayClasses = append(obs.report.GatewayClasses, common.GatewayClassReport{
			Name: c.GetName(), Accepted: hasCondition(&c, "Accepted"),
		})
	}
	slices.SortFunc(obs.report.GatewayClasses, func(a, b common.GatewayClassReport) int { return cmp.Compare(a.Name, b.Name) })
	obs.report.GatewayClasses = first(obs.report.GatewayClasses)
	return nil
}

func first[T any](all []T) []T { return all[:min(len(all), maximum)] }

// hasCondition reports whether a condition of an object is True.
func hasCondition(o *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions") // A malformed list has no conditions.
	return slices.ContainsFunc(conditions, func(c any) bool {
		fields, _ := c.(map[string]any)
		return fields["type"] == kind && fields["status"] == string(metav1.ConditionTrue)
	})
}

// levelLabel is the label with the level of a namespace. Pod Security Admission rejects unknownLevel, because the level does not exist.
const (
	levelLabel   = "pod-security.kubernetes.io/enforce"
	unknownLevel = `{"metadata":{"labels":{"` + levelLabel + `":"cobaltcore-check"}}}`
)

// readPodSecurity sets the label in a dry run. No right to create pods is necessary. A webhook or a policy of the cluster can reject the
// dry run, too: then the state is unknown, and the other properties are reported.
func (obs *observation) readPodSecurity(ctx context.Context, env *controller.Env) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: obs.check.Namespace}}
	err := env.Client.Patch(ctx, namespace, client.RawPatch(types.MergePatchType, []byte(unknownLevel)), client.DryRunAll)
	switch {
	case err == nil:
		obs.report.PodSecurity = new(false)
	case rejectsLevel(err):
		obs.report.PodSecurity = new(true)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		obs.podSecurityErr = fmt.Errorf("cannot check Pod Security Admission in a dry run: %w", err)
	default:
		return fmt.Errorf("cannot check Pod Security Admission in a dry run: %w", err)
	}
	return nil
}

// rejectsLevel reports whether an error is about the label with the level.
func rejectsLevel(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	causes := status.Status().Details.Causes
	return slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return strings.Contains(c.Field, levelLabel) })
}

var definition = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

func (obs *observation) readOperators(ctx context.Context, env *controller.Env) error {
	for _, checked := range obs.check.Spec.Operators {
		found := common.OperatorReport{Name: checked.Name}
		for _, d := range checked.Definitions {
			crd := &unstructured.Unstructured{}
			crd.SetGroupVersionKind(definition)
			err := env.Reader.Get(ctx, client.ObjectKey{Name: d.Name}, crd)
			if err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("cannot read CustomResourceDefinition %s: %w", d.Name, err)
			}
			if err != nil || !serves(crd, d.Version) {
				found.Missing = append(found.Missing, d.Name+" "+d.Version)
				continue
			}
			labels := crd.GetLabels()
			found.Version = cmp.Or(found.Version, labels["app.kubernetes.io/version"], labels["helm.sh/chart"])
		}
		obs.report.Operators = append(obs.report.Operators, found)
	}
	return nil
}

// serves reports whether the API server serves a version of a CustomResourceDefinition.
func serves(crd *unstructured.Unstructured, name string) bool {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions") // A malformed list has no versions.
	return hasCondition(crd, "Established") && slices.ContainsFunc(versions, func(v any) bool {
		fields, _ := v.(map[string]any)
		return fields["name"] == name && fields["served"] == true
	})
}
