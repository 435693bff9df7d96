//go:build linux

package operators

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	realclock "k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	cinderv1 "github.com/c5c3/crossplane-cobaltcore/apis/cinder/v1alpha1"
	openstackv1 "github.com/c5c3/crossplane-cobaltcore/apis/openstack/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/cellmapping"
	"github.com/c5c3/crossplane-cobaltcore/companion/computecatalog"
	"github.com/c5c3/crossplane-cobaltcore/companion/credentialrotation"
	"github.com/c5c3/crossplane-cobaltcore/companion/databasesync"
	"github.com/c5c3/crossplane-cobaltcore/companion/keyrepository"
	"github.com/c5c3/crossplane-cobaltcore/companion/nodeissuer"
	"github.com/c5c3/crossplane-cobaltcore/companion/nodemaintenance"
	"github.com/c5c3/crossplane-cobaltcore/companion/ovnsync"
	"github.com/c5c3/crossplane-cobaltcore/companion/raftcluster"
	"github.com/c5c3/crossplane-cobaltcore/companion/remoteconsumer"
	"github.com/c5c3/crossplane-cobaltcore/companion/secretaggregate"
	"github.com/c5c3/crossplane-cobaltcore/companion/servicecheck"
	"github.com/c5c3/crossplane-cobaltcore/companion/testreport"
)

// pass is the reconcile interval of the companion's objects; loginPass is the interval of those that log in to
// Keystone.
const (
	pass      = 150 * time.Millisecond
	loginPass = time.Second
)

// clock is the machine's clock, set forward.
type clock struct{ o *Operators }

func (c clock) Now() time.Time { return time.Now().Add(time.Duration(c.o.skew.Load())) }

func (c clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Forward sets the companion's clock forward: everything due by then happens now.
func (o *Operators) Forward(d time.Duration) { o.skew.Add(int64(d)) }

// Now returns the time by the companion's clock.
func (o *Operators) Now() time.Time { return clock{o}.Now() }

// companion runs the companion's controllers sequentially, like its single worker.
func (o *Operators) companion(ctx context.Context) {
	api := o.Cluster.Client
	recorder := discard{}
	keys := &keyrepository.Reconciler{Client: api, Reader: api, Events: recorder, Clock: clock{o}, Random: rand.Reader}
	schema := &databasesync.Reconciler{Client: api, Reader: api, Output: o.Cluster.Output, Events: recorder, Clock: clock{o}}
	secrets := &secretaggregate.Reconciler{Client: api, Reader: api, Events: recorder, Clock: clock{o}, Random: rand.Reader}
	credentials := &credentialrotation.Reconciler{
		Client: api, Reader: api, Transport: o.transport, Events: recorder, Clock: clock{o}, Random: rand.Reader,
	}
	cells := &cellmapping.Reconciler{
		Client: api, Reader: api, Transport: o.transport, Output: o.Cluster.Output, Events: recorder, Clock: clock{o},
	}
	services := &servicecheck.Reconciler{}
	services.Client, services.Reader, services.Transport, services.Events, services.Clock = api, api, o.transport, recorder, clock{o}
	rafts := &raftcluster.Reconciler{Client: api, Reader: api, Dial: o.Cluster.Dial, Events: recorder, Clock: clock{o}}
	remotes := &remoteconsumer.Reconciler{Client: api, Reader: api, Events: recorder, Clock: clock{o}}
	comparisons := &ovnsync.Reconciler{Client: api, Reader: api, Output: o.Cluster.Output, Events: recorder, Clock: clock{o}}
	// Programs verify its certificates by the real clock.
	nodes := &nodeissuer.Reconciler{Client: api, Reader: api, Events: recorder, Clock: realclock.RealClock{}, Random: rand.Reader}
	reports := &testreport.Reconciler{Client: api, Reader: api, Events: recorder, Clock: clock{o}}
	catalogs := &computecatalog.Reconciler{Client: api, Reader: api, Transport: o.transport, Events: recorder, Clock: clock{o}}
	maintenances := &nodemaintenance.Reconciler{Client: api, Reader: api, Transport: o.transport, Events: recorder, Clock: clock{o}}
	o.administration(ctx)
	secret, job := &corev1.Secret{}, &batchv1.Job{}
	consumers := []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}, &corev1.Pod{}}
	with := func(more ...client.Object) []client.Object { return append(more, consumers...) }
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.onChange(rafts, with(&c5c3v1.RaftCluster{}, secret)...), &c5c3v1.RaftClusterList{}))
	o.Cluster.Loop(ctx, pass, o.Cluster.OnChange(o.topology, append(topologyKinds(), secret)...))
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.scheduledOrTriggered(cells, o.cellChanges()), &openstackv1.CellMappingList{}))
	ofCatalogs := o.scheduledOrTriggered(catalogs, o.edits(&openstackv1.ComputeCatalog{}))
	o.Cluster.Loop(ctx, pass, reconcileAll(api, ofCatalogs, &openstackv1.ComputeCatalogList{}))
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.expired(services), &openstackv1.ServiceCheckList{}))
	ofOrders := o.scheduledOrTriggered(maintenances, o.edits(&openstackv1.NodeMaintenance{}))
	o.Cluster.Loop(ctx, pass, reconcileAll(api, ofOrders, &openstackv1.NodeMaintenanceList{}))
	o.Cluster.Loop(ctx, loginPass, reconcileAll(api, o.onState(credentials, o.credential), &c5c3v1.CredentialRotationList{}))
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.onChange(secrets, &c5c3v1.SecretAggregate{}, secret), &c5c3v1.SecretAggregateList{}))
	ofRemotes := []client.Object{&c5c3v1.RemoteConsumer{}, &c5c3v1.CredentialRotation{}}
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.onChange(remotes, ofRemotes...), &c5c3v1.RemoteConsumerList{}))
	ofNodes := []client.Object{&c5c3v1.NodeIssuer{}, &certificatesv1.CertificateSigningRequest{}, &corev1.Node{}, secret}
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.onChange(nodes, ofNodes...), &c5c3v1.NodeIssuerList{}))
	ofKeys, ofSchema := with(&openstackv1.KeyRepository{}, secret, job), with(&openstackv1.DatabaseSync{}, job)
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.onChange(keys, ofKeys...), &openstackv1.KeyRepositoryList{}))
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.onChange(comparisons, &openstackv1.OVNSync{}, job), &openstackv1.OVNSyncList{}))
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.onChange(reports, &openstackv1.TestReport{}, job), &openstackv1.TestReportList{}))
	o.Cluster.Loop(ctx, pass, reconcileAll(api, o.onChange(schema, ofSchema...), &openstackv1.DatabaseSyncList{}))
}

// transport returns a transport into the cluster for clients that trust one CA.
func (o *Operators) transport(ca []byte) (http.RoundTripper, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("that is no certificate of an authority")
	}
	return &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DialContext: o.Cluster.Dial, DisableKeepAlives: true,
	}, nil
}

func reconcileAll(api client.Client, r reconcile.Reconciler, list client.ObjectList) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := api.List(ctx, list); err != nil {
			return err
		}
		return apimeta.EachListItem(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			if !ok {
				return fmt.Errorf("%T is no object", item)
			}
			_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
			return err
		})
	}
}

// onChange calls a reconciler when an object of a watched kind was written since its last pass, or when its delay has
// expired by the companion's clock.
func (o *Operators) onChange(r reconcile.Reconciler, watched ...client.Object) reconcile.Reconciler {
	return o.onState(r, func(context.Context, reconcile.Request) (string, error) {
		return fmt.Sprint(o.Cluster.Changes(watched...)), nil
	})
}

// onState is the same for the state that a reconciler watches.
func (o *Operators) onState(r reconcile.Reconciler, state func(context.Context, reconcile.Request) (string, error)) reconcile.Reconciler {
	type last struct {
		state string
		next  time.Time // zero: it waits for a change
	}
	passes := map[reconcile.Request]last{}
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		is, err := state(ctx, req)
		if err != nil {
			return reconcile.Result{}, err
		}
		began := o.Now()
		if previous, ok := passes[req]; ok && previous.state == is && (previous.next.IsZero() || began.Before(previous.next)) {
			return reconcile.Result{}, nil
		}
		result, err := r.Reconcile(ctx, req)
		if err != nil {
			delete(passes, req)
			return result, err
		}
		passes[req] = last{state: is}
		if result.RequeueAfter > 0 {
			passes[req] = last{state: is, next: began.Add(result.RequeueAfter)}
		}
		return result, nil
	})
}

// credential returns the watched state of a CredentialRotation, because each reconciliation is a login: the object, the
// Secrets that it fills and logs in with, the consumers of the credential, and users of message queues.
func (o *Operators) credential(ctx context.Context, req reconcile.Request) (string, error) {
	r := &c5c3v1.CredentialRotation{}
	if err := o.Cluster.Client.Get(ctx, req.NamespacedName, r); err != nil {
		return "", err
	}
	watched := map[string][]string{"Secret": {string(r.Spec.SecretName)}}
	if cloud := r.Spec.CloudCredentialsRef; cloud != nil {
		watched["Secret"] = append(watched["Secret"], string(cloud.SecretName))
	}
	for _, c := range r.Spec.Consumers {
		watched[c.Kind] = append(watched[c.Kind], string(c.Name))
	}
	var state strings.Builder
	fmt.Fprint(&state, r.Generation, r.Annotations, o.Cluster.Changes(append(topologyKinds(), &c5c3v1.RemoteConsumer{})...))
	for _, object := range []client.Object{
		&corev1.Secret{}, &c5c3v1.SecretAggregate{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{},
	} {
		kind, err := o.Cluster.Client.GroupVersionKindFor(object)
		if err != nil {
			return "", err
		}
		for _, name := range watched[kind.Kind] {
			object.SetResourceVersion("") // Otherwise it keeps the version of the previous object if there is none.
			err := o.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: name}, object)
			if client.IgnoreNotFound(err) != nil {
				return "", err
			}
			fmt.Fprintf(&state, " %s/%s %s", kind.Kind, name, object.GetResourceVersion())
		}
	}
	return state.String(), nil
}

// cellChanges triggers the reconciler of CellMappings for watched objects: their specs, and their Jobs.
func (o *Operators) cellChanges() func(context.Context, reconcile.Request) (bool, error) {
	observed := map[reconcile.Request]string{}
	return func(ctx context.Context, req reconcile.Request) (bool, error) {
		is, jobs := &openstackv1.CellMapping{}, &batchv1.JobList{}
		err := o.Cluster.Client.Get(ctx, req.NamespacedName, is)
		if err = errors.Join(err, o.Cluster.Client.List(ctx, jobs, client.InNamespace(req.Namespace))); err != nil {
			return false, err
		}
		var state strings.Builder
		fmt.Fprint(&state, is.Generation)
		for i := range jobs.Items {
			if metav1.IsControlledBy(&jobs.Items[i], is) {
				state.WriteString(" " + jobs.Items[i].ResourceVersion)
			}
		}
		before, now := observed[req], state.String()
		observed[req] = now
		return before != now, nil
	}
}

// discard ignores events.
type discard struct{}

var _ events.EventRecorder = discard{}

func (discard) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

// ready reports whether an object is ready at its current generation.
func ready(o client.Object, conditions []metav1.Condition) bool {
	c := apimeta.FindStatusCondition(conditions, "Ready")
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == o.GetGeneration()
}

// raftCluster waits until the companion has checked the cluster, which may have no member yet.
func (o *Operators) raftCluster(ctx context.Context, u *unstructured.Unstructured) error {
	if err := o.apply(ctx, u); err != nil {
		return err
	}
	r := &c5c3v1.RaftCluster{}
	return o.Cluster.Wait(ctx, Timeout, "the members of "+u.GetName(), func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(u), r)
		return r.Status.ObservedGeneration == r.Generation, err
	})
}

// remoteConsumer waits until the credentials in use are known.
func (o *Operators) remoteConsumer(ctx context.Context, u *unstructured.Unstructured) error {
	c := &c5c3v1.RemoteConsumer{}
	return o.available(ctx, u, c, "Ready", func() []metav1.Condition { return c.Status.Conditions })
}

// keyRepository waits until the companion has created the keys.
func (o *Operators) keyRepository(ctx context.Context, u *unstructured.Unstructured) error {
	if err := o.apply(ctx, u); err != nil {
		return err
	}
	r := &openstackv1.KeyRepository{}
	return o.Cluster.Wait(ctx, Timeout, "the keys of "+u.GetName(), func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(u), r)
		return ready(r, r.Status.Conditions), err
	})
}

// credentialRotation waits until the companion has created the credential.
func (o *Operators) credentialRotation(ctx context.Context, u *unstructured.Unstructured) error {
	if err := o.apply(ctx, u); err != nil {
		return err
	}
	r := &c5c3v1.CredentialRotation{}
	err := o.Cluster.Wait(ctx, Timeout, "the credential of "+u.GetName(), func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(u), r)
		// Virtual hosts may be created later, by objects that need the Secret first.
		return ready(r, r.Status.Conditions) || r.Spec.Queue != nil && r.Status.CurrentID != "", err
	})
	if err != nil {
		return fmt.Errorf("%w: %+v", err, r.Status.Conditions)
	}
	return nil
}

// secretAggregate waits until the companion has created the Secret.
func (o *Operators) secretAggregate(ctx context.Context, u *unstructured.Unstructured) error {
	if err := o.apply(ctx, u); err != nil {
		return err
	}
	a := &c5c3v1.SecretAggregate{}
	err := o.Cluster.Wait(ctx, Timeout, "the Secret of "+u.GetName(), func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(u), a)
		return ready(a, a.Status.Conditions), err
	})
	if err != nil {
		return fmt.Errorf("%w: %+v", err, a.Status.Conditions)
	}
	return nil
}

// databaseSync waits until the companion has migrated the schema so that the release may run, or requires pods to be
// stopped first.
func (o *Operators) databaseSync(ctx context.Context, u *unstructured.Unstructured) error {
	if err := o.apply(ctx, u); err != nil {
		return err
	}
	s := &openstackv1.DatabaseSync{}
	err := o.Cluster.Wait(ctx, Timeout, "the schema of "+u.GetName(), func(ctx context.Context) (bool, error) {
		err := o.Cluster.Client.Get(ctx, client.ObjectKeyFromObject(u), s)
		if s.Status.Phase == openstackv1.SyncPhaseFailed && err == nil {
			err = errors.New("the schema change has failed")
		}
		return s.Status.Quiesce || s.Status.InstalledRelease == s.Spec.Release && ready(s, s.Status.Conditions), err
	})
	if err != nil {
		err = fmt.Errorf("%w: phase %s: %+v", err, s.Status.Phase, s.Status.Conditions)
		for _, r := range s.Status.History {
			err = fmt.Errorf("%w\nstep %s of release %s: %s %s", err, r.Step, r.Release, r.Result, r.Log)
		}
	}
	return err
}

// cellMapping waits until Nova has the desired cell.
func (o *Operators) cellMapping(ctx context.Context, u *unstructured.Unstructured) error {
	m := &openstackv1.CellMapping{}
	return o.available(ctx, u, m, "Ready", func() []metav1.Condition { return m.Status.Conditions })
}

// serviceCheck waits until every process reports. It does not wait for Cinder's backends.
func (o *Operators) serviceCheck(ctx context.Context, u *unstructured.Unstructured) error {
	c := &openstackv1.ServiceCheck{}
	if service, _, _ := unstructured.NestedString(u.Object, "spec", "service"); service == cinderv1.ServiceType {
		return o.apply(ctx, u)
	}
	return o.available(ctx, u, c, "Ready", func() []metav1.Condition { return c.Status.Conditions })
}

// computeCatalog waits until Nova has the desired flavors and aggregates.
func (o *Operators) computeCatalog(ctx context.Context, u *unstructured.Unstructured) error {
	c := &openstackv1.ComputeCatalog{}
	return o.available(ctx, u, c, "Ready", func() []metav1.Condition { return c.Status.Conditions })
}

// ovnSync waits until the request is completed.
func (o *Operators) ovnSync(ctx context.Context, u *unstructured.Unstructured) error {
	s := &openstackv1.OVNSync{}
	return o.available(ctx, u, s, "Ready", func() []metav1.Condition { return s.Status.Conditions })
}

// edits triggers a reconciler for changes of the specs of a kind.
func (o *Operators) edits(is client.Object) func(context.Context, reconcile.Request) (bool, error) {
	observed := map[reconcile.Request]int64{}
	return func(ctx context.Context, req reconcile.Request) (bool, error) {
		err := o.Cluster.Client.Get(ctx, req.NamespacedName, is)
		before, now := observed[req], is.GetGeneration()
		observed[req] = now
		return before != now, err
	}
}
