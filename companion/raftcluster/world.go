package raftcluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
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
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/controller"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/live"
	"github.com/c5c3/crossplane-cobaltcore/companion/internal/steady"
)

// observation is what is found out of a cluster.
type observation struct {
	cluster *c5c3v1.RaftCluster
	now     time.Time
	// limited is how long nobody may ask, problem why nobody can.
	limited      time.Duration
	errorMessage string
	// pods are those of the StatefulSet, each with its answer. There is no StatefulSet: none.
	pods []pod
	// chassis are the nodes that have registered. Nil: they are not counted, or nobody could say.
	chassis *c5c3v1.RaftChassis
	// nodes are what each of them has registered, and objects those that show it. Nil: they cannot be shown.
	nodes   []host
	objects map[string]*ovnchassisv1.OVNChassis
}

// pod is what one of the StatefulSet's says.
type pod struct {
	name string
	// database is what it says of its database, nil if it has none. Err: it does not answer; its words are steady, since they are written
	// into the status.
	database *database
	err      error
}

// observe reads the world.
func observe(ctx context.Context, env *controller.Env, c *c5c3v1.RaftCluster) (*observation, error) {
	w := &observation{cluster: c, now: env.Clock.Now()}
	if w.limited = env.Limit(client.ObjectKeyFromObject(c), time.Second); w.limited > 0 {
		return w, nil
	}
	key := client.ObjectKey{Namespace: c.Namespace, Name: string(c.Spec.StatefulSetName)}
	set, err := live.Get(ctx, env.Reader, "StatefulSet", key, &appsv1.StatefulSet{})
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
	if at := w.reader(); at != "" && c.Spec.CountChassis {
		// What was counted last stays in the status while nobody can say.
		if w.chassis, w.nodes, _ = registered(ctx, env, c, at, config.Clone(), w.now); w.chassis != nil {
			w.objects = w.known(ctx, env.Reader)
		}
	}
	return w, nil
}

// reader is the pod to read the database at: the one that leads, or else one that is in touch with it.
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

// credentials are what members are asked by.
func credentials(ctx context.Context, reader client.Reader, c *c5c3v1.RaftCluster) (config *tls.Config, problem string, err error) {
	name := string(c.Spec.ClientSecretName)
	s, err := live.Get(ctx, reader, "Secret", client.ObjectKey{Namespace: c.Namespace, Name: name}, &corev1.Secret{})
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
		return nil, why, nil //nolint:nilerr // it is told, without what is in it
	}
	return &tls.Config{RootCAs: authority, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, "", nil
}

// query asks one pod.
func query(ctx context.Context, env *controller.Env, c *c5c3v1.RaftCluster, name string, config *tls.Config) (*database, error) {
	ctx, cancel := context.WithTimeout(ctx, failureThreshold)
	defer cancel()
	conn, err := connect(ctx, env, c, name, config)
	if err != nil {
		return nil, err
	}
	return ask(ctx, conn, c.Spec.Database)
}

// registered asks one pod for the nodes.
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
		return nil, fmt.Errorf("cannot connect: %s", steady.StableMessage(err))
	}
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("cannot connect by TLS: %s", steady.StableMessage(err))
	}
	return secure, nil
}
