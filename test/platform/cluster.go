package platform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/crossplane-cobaltcore/test/internal/kubernetes"
	"github.com/c5c3/crossplane-cobaltcore/test/internal/process"
)

// controllers are the Kubernetes controllers that the platform needs. Fewer start sooner.
const controllers = "clusterrole-aggregation-controller,cronjob-controller,daemonset-controller,deployment-controller," +
	"disruption-controller,garbage-collector-controller,job-controller,namespace-controller," +
	"persistentvolumeclaim-protection-controller,pod-garbage-collector-controller,replicaset-controller," +
	"root-ca-certificate-publisher-controller,serviceaccount-controller,statefulset-controller,ttl-after-finished-controller"

// Cluster is a Kubernetes API: etcd, kube-apiserver and kube-controller-manager, without a node.
type Cluster struct {
	*kubernetes.API

	// Client reads and writes anything, as the administrator.
	Client client.WithWatch

	processes *process.Group
}

// startCluster starts etcd and an API server; it does not wait until the API server is ready.
func startCluster(name, dir string, audited bool, ps *process.Group) (*Cluster, error) {
	audit, err := audit(dir, audited)
	if err != nil {
		return nil, err
	}
	api, err := kubernetes.Start(name, dir, ps, audit...)
	return &Cluster{API: api, processes: ps}, err
}

// audit returns the flags with which an API server records its requests.
func audit(dir string, audited bool) ([]string, error) {
	if !audited {
		return nil, nil
	}
	const policy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
		"omitStages": ["RequestReceived", "ResponseStarted"], "rules": [{"level": "Metadata"}]}`
	path := filepath.Join(dir, "audit.json")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
		return nil, err
	}
	// Of a log that is rotated, as by default at 100 MB, only the end is counted.
	const megabytes = "1000000"
	return []string{
		"--audit-policy-file=" + path, "--audit-log-path=" + filepath.Join(dir, "audit.log"), "--audit-log-maxsize=" + megabytes,
	}, nil
}

// serving waits until the API is ready, and starts the controller manager.
func (c *Cluster) serving(ctx context.Context) (err error) {
	if err := c.Serve(ctx, controllers); err != nil {
		return err
	}
	c.Client, err = client.NewWithWatch(c.Config, client.Options{})
	return err
}

// serviceAccount waits for a service account in Crossplane's namespace and returns the result of tokenOf.
func (c *Cluster) serviceAccount(ctx context.Context, name string) (string, error) {
	var path string
	err := c.processes.Wait(ctx, fmt.Sprintf("the service account %s/%s", namespace, name), func(ctx context.Context) (bool, error) {
		var err error
		path, err = c.tokenOf(ctx, namespace, name)
		return err == nil, err
	})
	return path, err
}

// tokenOf returns the path of a kubeconfig with a token of a service account, so that a process has the permissions of
// its pod.
func (c *Cluster) tokenOf(ctx context.Context, namespace, name string) (string, error) {
	set, err := clientset.NewForConfig(c.Config)
	if err != nil {
		return "", err
	}
	day := int64(24 * 60 * 60)
	r, err := set.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	path := c.File(namespace + "-" + name + ".kubeconfig")
	return path, c.WriteKubeconfig(path, &clientcmdapi.AuthInfo{Token: r.Status.Token})
}

// waitForPermission waits until a service account in Crossplane's namespace has a permission for a resource. Aggregated
// permissions are effective with a delay.
func (c *Cluster) waitForPermission(ctx context.Context, account, verb string, resource schema.GroupResource) error {
	set, err := clientset.NewForConfig(c.Config)
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

// As returns a client that impersonates a user, such as a tenant.
func (c *Cluster) As(user string, groups ...string) (client.Client, error) {
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return client.New(config, client.Options{})
}

// env returns a variable of the environment.
func env(name, value string) string { return name + "=" + value }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
