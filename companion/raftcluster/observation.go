package raftcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	c5c3v1 "github.com/c5c3/crossplane-cobaltcore/apis/c5c3/v1alpha1"
	ovnchassisv1 "github.com/c5c3/crossplane-cobaltcore/apis/ovnchassis/v1alpha1"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/apireader"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/stableerr"
)

// observation is the state of a cluster that was read in one pass.
type observation struct {
	cluster *c5c3v1.RaftCluster
	now     time.Time
	// limited is the remaining rate limit; errorMessage is the reason why members cannot be queried.
	limited      time.Duration
	errorMessage string
	// pods of the StatefulSet, each with its response; empty if the StatefulSet does not exist.
	pods []pod
	// chassis are the registered nodes; nil if they are not counted or could not be read. chassisErr is the reason.
	chassis    *c5c3v1.RaftChassis
	chassisErr error
	// nodes are the registrations of the nodes, and objects their OVNChassis; nil if the OVNChassis cannot be listed.
	nodes   []host
	objects map[string]*ovnchassisv1.OVNChassis
}

// pod is the response of a pod of the StatefulSet.
type pod struct {
	name string
	// database is the state of its database; nil if it has none. err is set if the pod does not respond; its text is stable,
	// because it is written to the status.
	database *database
	err      error
}

// observe queries the members.
func observe(ctx context.Context, env *controller.Env, c *c5c3v1.RaftCluster) (*observation, error) {
	w := &observation{cluster: c, now: env.Clock.Now()}
	if w.limited = env.Limit(client.ObjectKeyFromObject(c), time.Second); w.limited > 0 {
		return w, nil
	}
	key := client.ObjectKey{Namespace: c.Namespace, Name: string(c.Spec.StatefulSetName)}
	set, err := apireader.Get(ctx, env.Reader, "StatefulSet", key, &appsv1.StatefulSet{})
	if err != nil || set == nil {
		return w, err
	}
	config, problem, err := credentials(ctx, env.Reader, c)
	if err != nil || problem != "" {
		w.errorMessage = problem
		return w, err
	}
	w.pods = make([]pod, ptr.Deref(set.Spec.Replicas, 1))
	var all sync.WaitGroup
	for i := range w.pods {
		p := &w.pods[i]
		p.name = fmt.Sprintf("%s-%d", set.Name, i)
		all.Go(func() { p.database, p.err = query(ctx, env, c, p.name, config.Clone()) })
	}
	all.Wait()
	if c.Spec.CountChassis {
		w.readChassis(ctx, env, config)
	}
	return w, nil
}

// readChassis counts the registered nodes. Without a response, the status keeps the last count, and a condition says so: a count that
// fails for hours would otherwise look like a fleet without changes.
func (obs *observation) readChassis(ctx context.Context, env *controller.Env, config *tls.Config) {
	from := obs.reader()
	if from == "" {
		obs.chassisErr = errors.New("no member responds")
		return
	}
	chassis, nodes, err := registered(ctx, env, obs.cluster, from, config.Clone(), obs.now)
	if err != nil {
		obs.chassisErr = fmt.Errorf("%s: %s", from, stableerr.StableMessage(err))
		return
	}
	obs.chassis, obs.nodes, obs.objects = chassis, nodes, obs.known(ctx, env.Reader)
}

// reader returns the pod from which the database is read: the leader, otherwise a connected member.
func (obs *observation) reader() string {
	out := ""
	for _, p := range obs.pods {
		if p.database == nil || !p.database.connected || p.database.cluster != obs.cluster.Status.ClusterID {
			continue
		}
		if out == "" || p.database.leader {
			out = p.name
		}
	}
	return out
}

// credentials returns the TLS configuration for queries.
func credentials(ctx context.Context, reader client.Reader, c *c5c3v1.RaftCluster) (config *tls.Config, problem string, err error) {
	name := string(c.Spec.ClientSecretName)
	s, err := apireader.Get(ctx, reader, "Secret", client.ObjectKey{Namespace: c.Namespace, Name: name}, &corev1.Secret{})
	if err != nil {
		return nil, "", err
	}
	if s == nil {
		return nil, "Secret " + name + " does not exist", nil
	}
	pair, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey])
	authority := x509.NewCertPool()
	if err != nil || !authority.AppendCertsFromPEM(s.Data["ca.crt"]) {
		why := "Secret " + name + " does not hold a client's certificate, its key and the authority ca.crt"
		return nil, why, nil //nolint:nilerr // reported without the content
	}
	return &tls.Config{RootCAs: authority, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, "", nil
}

// query reads the state of one pod.
func query(ctx context.Context, env *controller.Env, c *c5c3v1.RaftCluster, name string, config *tls.Config) (*database, error) {
	ctx, cancel := context.WithTimeout(ctx, failureThreshold)
	defer cancel()
	conn, err := connect(ctx, env, c, name, config)
	if err != nil {
		return nil, err
	}
	return readDatabase(ctx, conn, c.Spec.Database)
}

// registered reads the nodes from one pod.
func registered(
	ctx context.Context, env *controller.Env, c *c5c3v1.RaftCluster, name string, config *tls.Config, now time.Time,
) (*c5c3v1.RaftChassis, []host, error) {
	ctx, cancel := context.WithTimeout(ctx, failureThreshold)
	defer cancel()
	conn, err := connect(ctx, env, c, name, config)
	if err != nil {
		return nil, nil, err
	}
	return count(ctx, conn, c.Spec.Database, now)
}

// connect connects to one pod.
func connect(ctx context.Context, env *controller.Env, c *c5c3v1.RaftCluster, name string, config *tls.Config) (net.Conn, error) {
	config.ServerName = name + "." + string(c.Spec.Domain)
	conn, err := env.Dial(ctx, "tcp", net.JoinHostPort(config.ServerName, strconv.Itoa(int(c.Spec.Port))))
	if err != nil {
		return nil, fmt.Errorf("cannot connect: %s", stableerr.StableMessage(err))
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("cannot connect by TLS: %s", stableerr.StableMessage(err))
	}
	return secure, nil
}
