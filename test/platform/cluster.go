package platform

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/pki"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
)

// loopback is where everything listens.
const loopback = "127.0.0.1"

// controllers are those of Kubernetes that something here depends on. Fewer start sooner.
const controllers = "clusterrole-aggregation-controller,cronjob-controller,deployment-controller,disruption-controller," +
	"garbage-collector-controller,job-controller,namespace-controller,pod-garbage-collector-controller,replicaset-controller," +
	"root-ca-certificate-publisher-controller,serviceaccount-controller,statefulset-controller,ttl-after-finished-controller"

// Cluster is one Kubernetes API: etcd, kube-apiserver and kube-controller-manager, without a node.
type Cluster struct {
	// Name of the cluster.
	Name string
	// Kubeconfig is the path of the administrator's kubeconfig, Config the same for client-go.
	Kubeconfig string
	Config     *rest.Config
	// Client reads and writes anything, as the administrator.
	Client client.WithWatch

	dir       string
	ca        *pki.Authority
	processes *process.Group
	server    string // URL
	manager   int    // port of the controller manager
}

// startCluster starts etcd and an API server; it does not wait until that answers.
func startCluster(name, dir string, audited bool, ps *process.Group) (*Cluster, error) {
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	ca, err := pki.New(name)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Name: name, dir: dir, ca: ca, processes: ps, manager: ports[3],
		server:     "https://" + address(ports[2]),
		Kubeconfig: filepath.Join(dir, "admin.kubeconfig"),
	}
	if err := c.certificates(); err != nil {
		return nil, err
	}
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return nil, err
	}
	c.Config.QPS = -1 // the API server is ours alone
	c.Config.WarningHandler = rest.NoWarnings{}
	etcd, peer := "http://"+address(ports[0]), "http://"+address(ports[1])
	audit, err := c.audit(audited)
	if err != nil {
		return nil, err
	}
	// Nothing has to survive a crash of the machine, so etcd need not wait for the disk.
	if err := ps.Start(name+"-etcd", "etcd", nil,
		"--name="+name, "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster="+name+"="+peer,
	); err != nil {
		return nil, err
	}
	return c, ps.Start(name+"-apiserver", "kube-apiserver", nil, append(audit,
		"--etcd-servers="+etcd, "--bind-address="+loopback, "--advertise-address="+loopback, "--secure-port="+strconv.Itoa(ports[2]),
		"--tls-cert-file="+c.file("apiserver/tls.crt"), "--tls-private-key-file="+c.file("apiserver/tls.key"),
		"--client-ca-file="+c.file("apiserver/ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.file("tokens/tls.key"), "--service-account-signing-key-file="+c.file("tokens/tls.key"),
		"--service-cluster-ip-range=10.96.0.0/16", "--authorization-mode=RBAC", "--allow-privileged=true",
		"--endpoint-reconciler-type=none", "--enable-priority-and-fairness=false",
	)...)
}

// audit are the flags with which an API server records its requests.
func (c *Cluster) audit(audited bool) ([]string, error) {
	if !audited {
		return nil, nil
	}
	const policy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
		"omitStages": ["RequestReceived", "ResponseStarted"], "rules": [{"level": "Metadata"}]}`
	path := c.file("audit.json")
	if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
		return nil, err
	}
	// Of a log that is rotated, as by default at 100 MB, only the end is counted.
	const megabytes = "1000000"
	return []string{"--audit-policy-file=" + path, "--audit-log-path=" + c.file("audit.log"), "--audit-log-maxsize=" + megabytes}, nil
}

func (c *Cluster) file(path string) string { return filepath.Join(c.dir, filepath.FromSlash(path)) }

// certificates makes those of the API server and of who talks to it.
func (c *Cluster) certificates() error {
	hosts := []string{loopback, "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1"}
	for name, who := range map[string]struct {
		user  string
		group []string
		hosts []string
	}{
		"apiserver": {user: "kube-apiserver", hosts: hosts},
		"tokens":    {user: "service-accounts"}, // only its key is used, to sign tokens
		"admin":     {user: "admin", group: []string{"system:masters"}},
		"manager":   {user: "system:kube-controller-manager"},
	} {
		p, err := c.ca.Issue(pki.Subject{User: who.user, Groups: who.group, Hosts: who.hosts})
		if err != nil {
			return fmt.Errorf("cannot make the certificate of %s: %w", name, err)
		}
		if err := c.ca.Write(c.file(name), p); err != nil {
			return err
		}
		if who.hosts != nil {
			continue
		}
		if err := c.kubeconfig(c.file(name+".kubeconfig"), &clientcmdapi.AuthInfo{
			ClientCertificateData: p.Certificate, ClientKeyData: p.Key,
		}); err != nil {
			return err
		}
	}
	return nil
}

// kubeconfig writes the way into the cluster for someone.
func (c *Cluster) kubeconfig(path string, who *clientcmdapi.AuthInfo) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: c.server, CertificateAuthorityData: c.ca.Certificate}
	config.AuthInfos["user"] = who
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: "user"}
	config.CurrentContext = c.Name
	return clientcmd.WriteToFile(*config, path)
}

// serving waits until the API answers, and starts the controller manager.
func (c *Cluster) serving(ctx context.Context) error {
	set, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	if err := c.processes.Wait(ctx, "the API server of "+c.Name, func(ctx context.Context) (bool, error) {
		_, err := set.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, err
	}); err != nil {
		return err
	}
	if c.Client, err = client.NewWithWatch(c.Config, client.Options{}); err != nil {
		return err
	}
	config := c.file("manager.kubeconfig")
	return c.processes.Start(c.Name+"-controller-manager", "kube-controller-manager", nil,
		"--kubeconfig="+config, "--authentication-kubeconfig="+config, "--authorization-kubeconfig="+config,
		"--service-account-private-key-file="+c.file("tokens/tls.key"), "--root-ca-file="+c.file("apiserver/ca.crt"),
		"--use-service-account-credentials=true", "--leader-elect=false", "--controllers="+controllers,
		"--bind-address="+loopback, "--secure-port="+strconv.Itoa(c.manager),
	)
}

// serviceAccount waits for a service account in Crossplane's namespace and gives what tokenOf gives.
func (c *Cluster) serviceAccount(ctx context.Context, name string) (string, error) {
	var path string
	err := c.processes.Wait(ctx, fmt.Sprintf("the service account %s/%s", namespace, name), func(ctx context.Context) (bool, error) {
		var err error
		path, err = c.tokenOf(ctx, namespace, name)
		return err == nil, err
	})
	return path, err
}

// tokenOf gives the path of a kubeconfig with a token of a service account, so that a process has the rights that its pod would have.
func (c *Cluster) tokenOf(ctx context.Context, namespace, name string) (string, error) {
	set, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return "", err
	}
	day := int64(24 * 60 * 60)
	r, err := set.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	path := c.file(namespace + "-" + name + ".kubeconfig")
	return path, c.kubeconfig(path, &clientcmdapi.AuthInfo{Token: r.Status.Token})
}

// may waits until a service account in Crossplane's namespace may do something with a resource. Rights that come by aggregation
// come a moment later.
func (c *Cluster) may(ctx context.Context, account, verb string, resource schema.GroupResource) error {
	set, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	return c.processes.Wait(ctx, "the rights of "+account, func(ctx context.Context) (bool, error) {
		r, err := set.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User:               "system:serviceaccount:" + namespace + ":" + account,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: resource.Group, Resource: resource.Resource},
			},
		}, metav1.CreateOptions{})
		return err == nil && r.Status.Allowed, err
	})
}

// As is a client for someone else: what a tenant may do, for example.
func (c *Cluster) As(user string, groups ...string) (client.Client, error) {
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return client.New(config, client.Options{})
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// freePorts are ports that nobody listens on. All are held until all are found, so that no two are the same.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(loopback)})
		if err != nil {
			return nil, fmt.Errorf("cannot find a free port: %w", err)
		}
		defer l.Close() //nolint:errcheck // it was only to see that the port is free
		tcp, _ := l.Addr().(*net.TCPAddr)
		ports = append(ports, tcp.Port)
	}
	return ports, nil
}

// env is a variable of the environment.
func env(name, value string) string { return name + "=" + value }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
